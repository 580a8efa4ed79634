# SPDX-License-Identifier: MIT
"""Compiles a file several times: as it stands it must compile, with MISUSE defined it must not. Where it holds several
misuses, one for each number that it compares MISUSE with, none of them may. Declarations are enough for that, so it is
done in compiled mode, which has no more. What a comment behind `MISUSE == N` says must stand in the only error. What the
file includes is read once, as a precompiled header.

usage: must_not_compile.py FILE COMPILER INCLUDE_FOLDERS, the folders separated by semicolons
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)


def precompile(text, scratch, compiler):
    """The flags by which a file with that text has its headers already."""
    header = pathlib.Path(scratch) / "included.hpp"
    header.write_text("".join(re.findall(r"^#include <.+>\n", text, re.MULTILINE)), encoding="utf-8")
    done = run(*compiler, "-x", "c++-header", str(header), "-o", f"{header}.gch")
    if done.returncode != 0:
        sys.exit(f"its headers do not compile:\n{done.stdout}")
    return ["-include", str(header)]


def main():
    source, folders = sys.argv[1], [part for part in sys.argv[3].split(";") if part]
    compiler = [sys.argv[2], "-std=c++17", "-DZTENSOR_COMPILED", "-Werror=unused-result", *(f"-I{each}" for each in folders)]
    with open(source, encoding="utf-8") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as scratch:
        return check(source, text, [*compiler, *precompile(text, scratch, compiler), "-fsyntax-only"])


def check(source, text, compiler):
    right = run(*compiler, source)
    if right.returncode != 0:
        return f"the right use does not compile:\n{right.stdout}"
    cures = {int(number): cure for number, cure in re.findall(r"MISUSE == (\d+)(?: +// (.+))?$", text, re.MULTILINE)}
    if sorted(cures) != list(range(1, text.count("MISUSE ==") + 1)): # one that was left out would never be tried
        return f"the misuses are not numbered from 1 on, each in one line: {sorted(cures)}"
    for number, cure in sorted((cures or {1: ""}).items()):
        wrong = run(*compiler, f"-DMISUSE={number}", source)
        if wrong.returncode == 0:
            return f"misuse {number} compiles"
        errors = [line for line in wrong.stdout.splitlines() if "error:" in line]
        print("\n".join(errors[:3]))
        if not errors:
            return f"the compiler failed without an error:\n{wrong.stdout}"
        if cure and (len(errors) != 1 or cure not in wrong.stdout.replace('" "', "")):
            return f"misuse {number} is not met by one error that says: {cure}\n{wrong.stdout}"
    return 0


sys.exit(main())
