#!/usr/bin/env python3
"""Append to files of any generation and edit them, and compare what they hold with what they held.

Usage: check_go_on.py DIRECTORY... --out OUTDIR --go-on COMMAND...
From every .zt file of each directory four are made: appended to and edited, beside and in place. Each must hold all
that the original holds, and one tensor more. Files of 1.0 must be refused. Ends with 'N passed, N failed'.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from check import first_difference
from oracle.description import Json, describe
from oracle.model import FormatError

WAYS = ("append", "append-in-place", "edit", "edit-in-place")
NEW_NAMES = ("appended by ztensor", "renamed by ztensor")


def content(description: Json) -> Json:
    """All but the places in the file, the order in the index, and what the file is called."""
    objects = {}
    for obj in description["objects"]:
        parts = {role: {key: value for key, value in part.items() if key != "offset"}
                 for role, part in obj["components"].items()}
        objects[obj["name"]] = dict(obj, components=parts)
    attributes = {entry["key"]: entry for entry in description["attributes"] or []}
    return {"generation": description["generation"], "attributes": attributes, "objects": objects}


def difference(command: list[str], path: Path, way: str, out: Path) -> str | None:
    """What is wrong with one file, or None."""
    before = describe(path.read_bytes())
    shutil.copyfile(path, out)
    result = subprocess.run([*command, str(out), way], capture_output=True, check=False)
    complaint = result.stderr.decode(errors="replace").strip()
    if before["generation"].startswith("1.0"):
        out.unlink()
        return None if complaint.startswith("not_expressible:") else f"1.0 should be refused: {complaint}"
    if result.returncode != 0:
        return f"{way}: status {result.returncode}: {complaint}"
    try:
        after = content(describe(out.read_bytes()))
    except FormatError as error:
        return f"{way}: describe.py refuses the new file: {error}"
    new = [name for name in NEW_NAMES if after["objects"].pop(name, None) is not None]
    if len(new) != 1:
        return f"{way}: the new tensor is not there"
    problem = first_difference(content(before), after, "")
    return None if problem is None else f"{way}: {problem}"


def main(words: list[str] | None = None) -> int:
    """Every way for all files of all directories; only problems get a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--go-on", nargs="+", required=True)
    arguments = parser.parse_args(words)
    arguments.out.mkdir(parents=True, exist_ok=True)
    paths = [path for folder in arguments.directories for path in sorted(folder.glob("*.zt"))]
    passed = failed = 0
    for path in paths:
        for way in WAYS:
            problem = difference(arguments.go_on, path, way, arguments.out / f"{path.stem}.{way}.zt")
            passed, failed = passed + (problem is None), failed + (problem is not None)
            if problem is not None:
                print(f"FAIL {path}: {problem}")
    print(f"{passed} passed, {failed} failed")
    return 0 if paths and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
