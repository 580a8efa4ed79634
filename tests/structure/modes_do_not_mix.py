# SPDX-License-Identifier: MIT
"""Files with and without ZTENSOR_COMPILED don't link into one program, and the linker's message says why; and files
with and without exceptions, or header-only ones with and without xxHash, zlib or JSON, use other symbols, so that what
one of them calls is not found in another.

usage: modes_do_not_mix.py COMPILER INCLUDE_FOLDERS, the folders separated by semicolons
"""

import pathlib
import re
import subprocess
import sys
import tempfile

TELLING_NAME = "with_and_without_ZTENSOR_COMPILED"
FLAGS = {
    "header_only": [],
    "header_only_without_exceptions": ["-fno-exceptions"],
    "header_only_without_xxhash": ["-DZTENSOR_WITHOUT_XXHASH"],
    "header_only_without_zlib": ["-DZTENSOR_WITHOUT_ZLIB"],
    "header_only_without_json": ["-DZTENSOR_WITHOUT_JSON"],
    "header_only_without_xxhash_without_zlib_without_json":
        ["-DZTENSOR_WITHOUT_XXHASH", "-DZTENSOR_WITHOUT_ZLIB", "-DZTENSOR_WITHOUT_JSON"],
    "compiled": ["-DZTENSOR_COMPILED"],
    "compiled_without_exceptions": ["-DZTENSOR_COMPILED", "-fno-exceptions"],
}
# Needs nothing that only a compiled library has, so that linking fails for one reason alone.
CALLER = "#include <ztensor/format.hpp>\nvoid called(ztensor::version);\nvoid call(ztensor::version);\nvoid call(ztensor::version g) { called(g); }\n"
CALLED = "#include <ztensor/format.hpp>\nvoid called(ztensor::version);\nvoid called(ztensor::version) {}\n"
USER = "#include <ztensor/format.hpp>\nvoid {name}(ztensor::version);\nvoid {name}(ztensor::version) {{}}\n"


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)


class Toolchain:
    def __init__(self, compiler, folders, scratch):
        self.compiler = [compiler, "-std=c++17", *(f"-I{folder}" for folder in folders)]
        self.scratch = pathlib.Path(scratch)

    def object_file(self, name, text, flags=()):
        source, made = self.scratch / f"{name}.cpp", self.scratch / f"{name}.o"
        source.write_text(text, encoding="utf-8")
        done = run(*self.compiler, *flags, "-c", str(source), "-o", str(made))
        if done.returncode != 0:
            sys.exit(f"{name} does not compile:\n{done.stdout}")
        return made

    def link(self, *objects):
        """What the linker says; nothing if it links."""
        done = run(*self.compiler, *map(str, objects), "-o", str(self.scratch / "program"))
        return "" if done.returncode == 0 else done.stdout or "no message"


def main():
    with tempfile.TemporaryDirectory() as scratch:
        tools = Toolchain(sys.argv[1], [part for part in sys.argv[2].split(";") if part], scratch)
        program = tools.object_file("main", "int main() {}\n")
        if not program.read_bytes().startswith(b"\x7fELF"):
            print("SKIPPED: that files of both modes don't link; only ELF has the means that is tested here")
            return 0
        users = {mode: [tools.object_file(f"{mode}_{i}", USER.format(name=f"use_{i}"), flags) for i in (1, 2)]
                 for mode, flags in FLAGS.items()}
        problems = []
        for mode, objects in users.items():
            if not re.search(rb"\dv0_%s\d" % mode.encode(), objects[0].read_bytes()):
                problems.append(f"no symbol of v0_{mode} in a file of that mode")
            for other, others in users.items():
                is_mixed = mode.startswith("compiled") != other.startswith("compiled")
                said = tools.link(program, objects[0], others[1])
                if is_mixed and TELLING_NAME not in said:
                    problems.append(f"files of {mode} and {other}: {said or 'they link'}")
                elif said and not is_mixed:
                    problems.append(f"files of {mode} and {other} don't link: {said}")
        caller = tools.object_file("caller", CALLER)
        for mode, flags in FLAGS.items():
            links = not tools.link(program, caller, tools.object_file(f"called_{mode}", CALLED, flags))
            if links != (mode == "header_only"):
                problems.append(f"a header-only file's call {'reaches' if links else 'does not reach'} a file of {mode}")
        print("\n".join(problems))
        return 1 if problems else 0


sys.exit(main())
