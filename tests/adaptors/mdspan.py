# SPDX-License-Identifier: MIT
"""Builds and runs programs/mdspan.cpp with the first compiler and standard library that have an mdspan: the given one in
C++23, the given one with Kokkos' header in its folders, or clang++ with libc++.

usage: mdspan.py WORK_FOLDER COMPILER FLAG...

Status 77 with a line "SKIPPED: why" where there is none.
"""

import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent / "programs" / "mdspan.cpp"
PROBES = {
    "std::mdspan": "#include <version>\n#if !defined(__cpp_lib_mdspan)\n#error none\n#endif\n#include <mdspan>\n",
    "Kokkos' mdspan": "#if __has_include(<mdspan/mdspan.hpp>)\n#include <mdspan/mdspan.hpp>\n#else\n"
                      "#include <experimental/mdspan>\n#endif\n",
}


def candidates(compiler):
    """Which mdspan, and the command that compiles with it."""
    for standard in ("-std=c++23", "-std=c++2b"):
        yield "std::mdspan", [compiler, standard]
    yield "Kokkos' mdspan", [compiler, "-std=c++17"]
    for version in ("", *(f"-{number}" for number in range(30, 17, -1))):
        clang = shutil.which("clang++" + version)
        if clang:
            yield "std::mdspan", [clang, "-stdlib=libc++", "-std=c++2b"]


def has(library, command):
    probe = subprocess.run([*command, "-x", "c++", "-fsyntax-only", "-"], input=PROBES[library], universal_newlines=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return probe.returncode == 0


def main():
    folder, compiler, flags = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    for library, command in candidates(compiler):
        if has(library, command):
            break
    else:
        print("SKIPPED: no compiler here has <mdspan> or Kokkos' mdspan (Debian: clang-19 and libc++-19-dev)")
        return 77
    print(f"{library} by {' '.join(command)}", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "mdspan"
    warnings = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror".split()
    subprocess.run([*command, *warnings, str(SOURCE), "-o", str(program), *flags], check=True)
    return subprocess.call([str(program)])


if __name__ == "__main__":
    sys.exit(main())
