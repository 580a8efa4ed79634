# SPDX-License-Identifier: MIT
"""Writes every ```cpp block of Markdown files as a program and prints what to run.

usage: readme_blocks.py OUTPUT_FOLDER FILE.md...
       readme_blocks.py --mpi OUTPUT.cpp FILE.md

A block with a main function is a program of its own, NAME, which is the file's name and the line. The others are fragments,
which have the whole library and some standard headers to begin with: each is a function of the program FRAGMENTS, printed
as FRAGMENTS/NAME, where NAME is the argument that runs it. `<!-- continue -->` above a block appends it to the block before.
Fragments with MPI are left to tests/adaptors/mpi_test.py: the second form writes those of a file as one program.
"""

import pathlib
import re
import sys

HAS_MAIN = re.compile(r"^int main\(", re.MULTILINE)
PRELUDE = "#include <ztensor/import.hpp>\n#include <ztensor/ztensor.hpp>\n" \
    "#include <algorithm>\n#include <iostream>\n#include <memory>\n#include <string>\n#include <vector>\n"



def find_blocks(name, lines):
    """A list of blocks; a block is a list of (line number, text)."""
    blocks = []
    inside = continues = False
    for number, line in enumerate(lines, start=1):
        if inside and line.startswith("```"):
            inside = False
        elif inside:
            blocks[-1].append((number, line))
        elif line.strip() == "<!-- continue -->":
            continues = True
        elif line.startswith("```cpp"):
            inside = True
            if not continues:
                blocks.append([])
            elif not blocks:
                sys.exit(f"{name}, line {number}: nothing to continue")
            continues = False
        elif line.strip():
            continues = False
    if inside:
        sys.exit(f"{name}: the last block does not end")
    return blocks


def numbered(block, name):
    """The block's text, with the lines of the file that compilers then name in their messages."""
    text, expected = [], None
    for number, line in block:
        if number != expected:
            text.append(f'#line {number} "{name}"')
        text.append(line)
        expected = number + 1
    return "\n".join(text) + "\n"


def has_main(block):
    return HAS_MAIN.search("\n".join(line for _, line in block))


def has_mpi(block):
    return any("mpi::" in line for _, line in block)


def mpi_program(block, path):
    """A program of one fragment, for which `rank` and `size` are those of this process."""
    return (f"#include <ztensor/mpi.hpp>\n{PRELUDE}int main(int count, char** arguments) {{\n    MPI_Init(&count, &arguments);\n"
            "    int rank = 0, size = 1;\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    MPI_Comm_size(MPI_COMM_WORLD, &size);\n"
            f"    {{\n{numbered(block, path)}    }}\n    MPI_Finalize();\n}}\n")


def fragments_program(fragments):
    """One function of each fragment, all includes before them; `fragments` are triples of name, block and file."""
    includes, functions, calls = [], [], []
    for name, block, path in fragments:
        own_includes = [item for item in block if item[1].startswith("#include")]
        statements = [item for item in block if item not in own_includes]
        includes.append(numbered(own_includes, path))
        functions.append(f"static void {name}() {{\n{numbered(statements, path)}}}\n")
        calls.append(f'    if (name == "{name}") {{\n        return {name}(), 0;\n    }}\n')
    return (f"{PRELUDE}{''.join(includes)}{''.join(functions)}int main(int count, char** arguments) {{\n"
            f"    const std::string name = count == 2 ? arguments[1] : std::string();\n{''.join(calls)}    return 1;\n}}\n")


def write_if_changed(path, text):
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main():
    if sys.argv[1] == "--mpi":
        page = pathlib.Path(sys.argv[3])
        block, = filter(has_mpi, find_blocks(page.name, page.read_text(encoding="utf-8").splitlines()))
        return write_if_changed(pathlib.Path(sys.argv[2]), mpi_program(block, page.as_posix()))
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    names, fragments = [], []
    for path in map(pathlib.Path, sys.argv[2:]):
        for block in find_blocks(path.name, path.read_text(encoding="utf-8").splitlines()):
            name = f"{path.stem.lower()}_{block[0][0]}"
            if has_mpi(block):
                continue
            if has_main(block):
                write_if_changed(folder / f"{name}.cpp", numbered(block, path.as_posix()))
                names.append(name)
            else:
                fragments.append((name, block, path.as_posix()))
    if fragments:
        write_if_changed(folder / "fragments.cpp", fragments_program(fragments))
    print(" ".join(names + [f"fragments/{name}" for name, _, _ in fragments]))
    return None


main()
