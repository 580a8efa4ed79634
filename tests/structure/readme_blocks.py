# SPDX-License-Identifier: MIT
"""Writes every ```cpp block of a Markdown file as a program of its own and prints the programs' names.

usage: readme_blocks.py README.md OUTPUT_FOLDER

A block without a main function is wrapped into one, its own includes first and the whole library before them.
`<!-- continue -->` above a block appends it to the block before.
"""

import pathlib
import re
import sys

HAS_MAIN = re.compile(r"^int main\(", re.MULTILINE)
PRELUDE = "#include <ztensor/ztensor.hpp>\n#include <iostream>\n#include <string>\n#include <vector>\n"


def find_blocks(lines):
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
                sys.exit(f"line {number}: nothing to continue")
            continues = False
        elif line.strip():
            continues = False
    if inside:
        sys.exit("the last block does not end")
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


def program(block, name):
    if HAS_MAIN.search("\n".join(line for _, line in block)):
        return numbered(block, name)
    includes = [item for item in block if item[1].startswith("#include")]
    statements = [item for item in block if item not in includes]
    return f"{PRELUDE}{numbered(includes, name)}int main() {{\n{numbered(statements, name)}}}\n"


def write_if_changed(path, text):
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main():
    readme, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for block in find_blocks(readme.read_text(encoding="utf-8").splitlines()):
        name = f"line_{block[0][0]}"
        write_if_changed(folder / f"{name}.cpp", program(block, readme.as_posix()))
        names.append(name)
    print(" ".join(names))


main()
