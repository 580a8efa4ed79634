# SPDX-License-Identifier: MIT
"""The compiled library makes nothing before main() and destroys nothing behind it: so whoever calls it there, from
destructors of statics or functions given to atexit(), finds all of it. In a library that does either, there are symbols
that say so.

usage: exit_time.py NM LIBRARY
"""

import re
import subprocess
import sys

BEFORE_MAIN = re.compile(r"\b_GLOBAL__(?:sub_)?[IDN]\w*|\b__cxx_global_\w+")
BEHIND_MAIN = re.compile(r"\b(?:__cxa_atexit|atexit|__dtor_\w+)\b")


def main():
    symbols = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    if "file_not_found" not in symbols and "read_options" not in symbols:
        return "these are not the library's symbols"
    problems = [f"something is done before main(): {name}" for name in BEFORE_MAIN.findall(symbols)]
    problems += [f"something is destroyed behind main(): {name}" for name in BEHIND_MAIN.findall(symbols)]
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
