# SPDX-License-Identifier: MIT
"""Compiles a file several times: as it stands it must compile, with MISUSE defined it must not. Where it holds several
misuses, one for each number that it compares MISUSE with, none of them may. Declarations are enough for that, so it is
done in compiled mode, which has no more. What a comment behind `MISUSE == N` says must stand in the only error.

usage: must_not_compile.py FILE COMPILER INCLUDE_FOLDERS, the folders separated by semicolons
"""

import re
import subprocess
import sys


def compile_file(source, compiler, folders, *flags):
    includes = [f"-I{folder}" for folder in folders]
    command = [compiler, "-std=c++17", "-DZTENSOR_COMPILED", "-fsyntax-only", "-Werror=unused-result", *includes, *flags, source]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)


def main():
    source, compiler, folders = sys.argv[1], sys.argv[2], [part for part in sys.argv[3].split(";") if part]
    right = compile_file(source, compiler, folders)
    if right.returncode != 0:
        return f"the right use does not compile:\n{right.stdout}"
    with open(source, encoding="utf-8") as file:
        cures = {int(number): cure for number, cure in re.findall(r"MISUSE == (\d+)(?: // (.+))?", file.read())}
    for number, cure in sorted((cures or {1: ""}).items()):
        wrong = compile_file(source, compiler, folders, f"-DMISUSE={number}")
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
