#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes include/ztensor/detail/base/normal_form_tables.hpp from Python's own Unicode data.

usage: make_normal_form_tables.py > include/ztensor/detail/base/normal_form_tables.hpp
"""

import sys
import unicodedata

HEAD = """// SPDX-License-Identifier: MIT
//
// Which characters compose to which in Normalization Form C, by Unicode {version}. Written by
// tests/base/make_normal_form_tables.py; Hangul is left out, which is computed.
#ifndef ZTENSOR_DETAIL_CORE_NORMAL_FORM_TABLES_HPP
#define ZTENSOR_DETAIL_CORE_NORMAL_FORM_TABLES_HPP

#include <ztensor/version.hpp>

#include <cstdint>

namespace ztensor {{
inline namespace ZTENSOR_MODE {{
namespace detail {{

struct combining_run {{ ///< marks of one class, which is not 0
    std::uint32_t first;
    std::uint32_t last;
    std::uint32_t order;
}};

struct excluded_run {{ ///< characters that no text in this form holds
    std::uint32_t first;
    std::uint32_t last;
}};

struct composed_pair {{
    std::uint32_t whole;
    std::uint32_t first;
    std::uint32_t second;
}};
"""
TAIL = """
} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
"""
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


def print_table(comment, kind, name, rows):
    """Rows of numbers, as many to a line as fit."""
    print(f"\n/// {comment}\n// clang-format off\ninline constexpr {kind} {name}[] = {{")
    line = "   "
    for row in rows:
        word = " {" + ", ".join(f"0x{each:x}" for each in row) + "},"
        if len(line + word) > 120:
            print(line)
            line = "   "
        line += word
    print(f"{line}\n}};\n// clang-format on")


def main():
    pairs = []
    for code in range(LAST):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<") and unicodedata.normalize("NFC", chr(code)) == chr(code):
            pairs.append((code, int(parts[0], 16), int(parts[1], 16)))
    excluded = runs(lambda code: code not in HANGUL and unicodedata.normalize("NFC", chr(code)) != chr(code))
    sys.stdout.write(HEAD.format(version=unicodedata.unidata_version))
    print_table("By character.", "combining_run", "combining_runs", runs(lambda code: unicodedata.combining(chr(code))))
    print_table("By character.", "excluded_run", "excluded_runs", [each[:2] for each in excluded])
    print_table("By what they make.", "composed_pair", "composed_pairs", pairs)
    sys.stdout.write(TAIL)


if __name__ == "__main__":
    main()
