#!/usr/bin/env python3
"""Compare describe.py with the descriptions (.json) that stand beside .zt files.

Usage: check.py DIRECTORY...
Every .zt file of each directory must have a description and be equal to it. Ends with 'N passed, N failed';
status 0 only if nothing failed and there was something to check.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from oracle.description import NOT_CONTENT, describe, sha256
from oracle.model import FormatError


def difference(path: Path) -> str | None:
    """What is wrong with one file, or None."""
    expected: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    data = path.read_bytes()
    if expected.get("file_sha256", sha256(data)) != sha256(data):
        return "the file is not the one that is described"
    content = {key: value for key, value in expected.items() if key not in NOT_CONTENT}
    return first_difference(content, describe(data), "")


def first_difference(expected: Any, found: Any, place: str) -> str | None:
    """The first place where two JSON values differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted(expected.keys() | found.keys()):
            if key not in expected or key not in found:
                return f"{place}/{key} is only {'expected' if key in expected else 'found'}"
            if problem := first_difference(expected[key], found[key], f"{place}/{key}"):
                return problem
        return None
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return next((p for i, (a, b) in pairs if (p := first_difference(a, b, f"{place}/{i}"))), None)
    return (
        None
        if expected == found and type(expected) is type(found)
        else f"{place}: expected {expected!r}, found {found!r}"
    )


def check(path: Path) -> bool:
    """Check one file and print a line about it."""
    try:
        problem = difference(path)
    except (FormatError, OSError, ValueError) as error:
        problem = str(error)
    print(f"ok   {path.name}" if problem is None else f"FAIL {path.name}: {problem}")
    return problem is None


def main(arguments: list[str]) -> int:
    """Check all files of all directories."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    results = [check(path) for folder in arguments for path in sorted(Path(folder).glob("*.zt"))]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
