# SPDX-License-Identifier: MIT
"""Compiles each header of one folder alone, and twice in a row, without making object code.

usage: headers_alone.py INCLUDE_FOLDER FOLDER SKIPPED INCLUDE_FOLDERS WARNINGS COMPILER FLAG...

FOLDER is below INCLUDE_FOLDER; its own folders are not looked into. SKIPPED are the names of headers that are not for
this system or mode. All SKIPPED, INCLUDE_FOLDERS and WARNINGS are one word each, separated by semicolons.
"""

import pathlib
import subprocess
import sys
import tempfile


def compile_alone(header, scratch, compiler):
    source = pathlib.Path(scratch) / "alone.cpp"
    source.write_text(f"#include <{header}>\n" * 2, encoding="utf-8")
    done = subprocess.run([*compiler, str(source)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True)
    if done.stdout:
        print(f"{header}:\n{done.stdout}")
    return done.returncode == 0


def main():
    root, folder = pathlib.Path(sys.argv[1]), sys.argv[2]
    skipped, includes, warnings = ([part for part in word.split(";") if part] for word in sys.argv[3:6])
    compiler = [*sys.argv[6:], *warnings, *(f"-I{include}" for include in includes)]
    headers = [path.relative_to(root).as_posix() for path in sorted((root / folder).glob("*.hpp"))
               if path.name not in skipped]
    with tempfile.TemporaryDirectory() as scratch:
        failed = [header for header in headers if not compile_alone(header, scratch, compiler)]
    print(f"{len(headers)} headers compiled, {len(failed)} of them in vain")
    return 1 if failed or not headers else 0


sys.exit(main())
