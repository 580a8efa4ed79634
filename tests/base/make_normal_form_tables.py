#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tables of include/ztensor/detail/base/normal_form.hpp anew, and the version of Unicode that they are of.
They come from the package unicodedata2, whose version is that of Unicode: Python's own data is as old as Python. Take
the newest: text that is in Normalization Form C by a later version of Unicode is so by every earlier one, too.

usage: make_normal_form_tables.py include/ztensor/detail/base/normal_form.hpp
"""

import pathlib
import re
import sys

import unicodedata2 as unicodedata

TABLES = re.compile(r"(// Written by tests/base/make_normal_form_tables.py, by Unicode )\S+\.\n.*?(?=\n// -- normal form\n)", re.DOTALL)
LAST = 0x110000
HANGUL = range(0xac00, 0xd7a4)
SURROGATES = range(0xd800, 0xe000)


def runs(value_of):
    """(first, last, value) of neighbours of the same value, where there is one."""
    found = []
    for code in range(LAST):
        value = None if code in SURROGATES else value_of(code)
        if not value:
            continue
        if found and found[-1][1] == code - 1 and found[-1][2] == value:
            found[-1][1] = code
        else:
            found.append([code, code, value])
    return found


def table(comment, kind, name, rows):
    """Rows of numbers, as many to a line as fit."""
    lines = [f"\n/// {comment}\n// clang-format off\ninline constexpr {kind} {name}[] = {{"]
    line = "   "
    for row in rows:
        word = " {" + ", ".join(f"0x{each:x}" for each in row) + "},"
        if len(line + word) > 120:
            lines.append(line)
            line = "   "
        line += word
    return "\n".join(lines + [f"{line}\n}};\n// clang-format on\n"])


def main():
    pairs = []
    for code in (each for each in range(LAST) if each not in HANGUL):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<") and unicodedata.normalize("NFC", chr(code)) == chr(code):
            pairs.append((code, int(parts[0], 16), int(parts[1], 16)))
    excluded = runs(lambda code: code not in HANGUL and unicodedata.normalize("NFC", chr(code)) != chr(code))
    tables = table("By character.", "combining_run", "combining_runs", runs(lambda code: unicodedata.combining(chr(code))))
    tables += table("By character.", "excluded_run", "excluded_runs", [each[:2] for each in excluded])
    tables += table("By what they make.", "composed_pair", "composed_pairs", pairs)
    header = pathlib.Path(sys.argv[1])
    text = header.read_text(encoding="utf-8")
    header.write_text(TABLES.sub(rf"\g<1>{unicodedata.unidata_version}.\n" + tables, text), encoding="utf-8")


if __name__ == "__main__":
    main()
