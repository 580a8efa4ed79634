# SPDX-License-Identifier: MIT
"""Compiles a file twice: as it stands it must compile, with MISUSE defined it must not. Declarations are enough for that,
so it is done in compiled mode, which has no more.

usage: must_not_compile.py FILE COMPILER INCLUDE_FOLDERS, the folders separated by semicolons
"""

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
    wrong = compile_file(source, compiler, folders, "-DMISUSE")
    if wrong.returncode == 0:
        return "the misuse compiles"
    errors = [line for line in wrong.stdout.splitlines() if "error:" in line]
    print("\n".join(errors[:3]))
    return 0 if errors else f"the compiler failed without an error:\n{wrong.stdout}"


sys.exit(main())
