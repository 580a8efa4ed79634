#!/usr/bin/env python3
"""Compare what the example `inspect --json` prints with the descriptions.

Usage: check_inspect.py DIRECTORY... --inspect COMMAND...
Every .zt file of each directory is compared with the .json beside it or, where there is none, with what describe.py
finds. Ends with 'N passed, N failed'; status 0 only if nothing failed and there was something to compare.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from check import first_difference
from oracle.description import NOT_CONTENT, describe
from oracle.model import FormatError


def expectation(path: Path) -> dict[str, Any]:
    """The content that a file should have."""
    description = path.with_suffix(".json")
    if not description.exists():
        return describe(path.read_bytes())
    found: dict[str, Any] = json.loads(description.read_text(encoding="utf-8"))
    return {key: value for key, value in found.items() if key not in NOT_CONTENT}


def difference(inspect: list[str], path: Path) -> str | None:
    """What is wrong with the output for one file, or None."""
    try:
        expected = expectation(path)
    except FormatError as error:
        return f"describe.py refuses it: {error}"
    result = subprocess.run([*inspect, "--json", str(path)], capture_output=True, check=False)
    if result.returncode != 0:
        return f"status {result.returncode}: {result.stderr.decode(errors='replace').strip()}"
    try:
        return first_difference(expected, json.loads(result.stdout), "")
    except ValueError as error:
        return f"no JSON: {error}"


def main(words: list[str] | None = None) -> int:
    """Compare all files of all directories; only differences get a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--inspect", nargs="+", required=True)
    arguments = parser.parse_args(words)
    paths = [path for folder in arguments.directories for path in sorted(folder.glob("*.zt"))]
    problems = {path: problem for path in paths if (problem := difference(arguments.inspect, path)) is not None}
    for path, problem in problems.items():
        print(f"FAIL {path}: {problem}")
    print(f"{len(paths) - len(problems)} passed, {len(problems)} failed")
    return 0 if paths and not problems else 1


if __name__ == "__main__":
    sys.exit(main())
