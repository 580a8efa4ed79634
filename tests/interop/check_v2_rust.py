#!/usr/bin/env python3
"""Random files of version 2 between us and its reference in Rust (rust/, the crate ztensor 2.1.1), both ways.

Usage: check_v2_rust.py DIRECTORY --reference COMMAND --inspect COMMAND... --migrate COMMAND... [--seed N] [--count N] [FILE...]
What the reference writes (canonical, aligned and compressed, appended to, in shards) must be found by the example
`inspect` part by part and verify; the example `migrate` must write the canonical files anew byte for byte, and all the
others so that the reference finds the same in them. FILEs are ours, which the reference must read as `inspect` does.
Ends with 'N passed, N failed'; status 0 only if nothing failed. The reference is built by
`cargo build --release --manifest-path tests/interop/rust/Cargo.toml`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path


def output_of(command: list[str]) -> str:
    """What a command prints; it must succeed."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise AssertionError(f"{command[0]}: {result.stderr.strip()}")
    return result.stdout


def lines_of(inspect: list[str], path: Path) -> list[str]:
    """What `inspect` finds, in the words of the reference's program."""
    lines = []
    for each in json.loads(output_of([*inspect, "--json", str(path)]))["objects"]:
        for role, part in each["components"].items():
            lines.append(f"{each['name']} {each['format']} {each['shape']} {role} {part['dtype']} {part.get('type', '-')} {part['decoded_sha256']}")
    return sorted(lines)


def read_by_reference(reference: str, paths: list[Path]) -> dict[Path, list[str]]:
    """What the reference finds in files."""
    found: dict[Path, list[str]] = {}
    lines: list[str] = []
    for line in output_of([reference, "read", *map(str, paths)]).splitlines():
        if line.startswith("== "):
            lines = found.setdefault(Path(line[3:]), [])
        elif line:
            lines.append(line)
    return found


def check_written(arguments: argparse.Namespace, path: Path) -> Path:
    """A file of the reference; gives what `migrate` made of it."""
    expected = [line for line in path.with_suffix(".expected").read_text(encoding="utf-8").splitlines() if line]
    found = lines_of(arguments.inspect, path)
    assert found == expected, f"found {set(found) ^ set(expected)}"
    output_of([*arguments.inspect, "--verify", str(path)])
    anew = path.with_suffix(".anew.zt")
    anew.unlink(missing_ok=True)
    output_of([*arguments.migrate, "--version", "2", str(path), str(anew)])
    is_canonical = int(path.stem) % 4 == 0
    assert not is_canonical or anew.read_bytes() == path.read_bytes(), "written anew it differs"
    return anew


def main() -> int:
    """Write, read and compare; only differences get a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--inspect", nargs="+", required=True)
    parser.add_argument("--migrate", nargs="+", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    output_of([arguments.reference, "write", str(arguments.directory), str(arguments.seed), str(arguments.count)])
    problems, anew = [], {}
    for path in sorted(arguments.directory.glob("[0-9][0-9][0-9][0-9].zt")):
        try:
            anew[check_written(arguments, path)] = path
        except AssertionError as problem:
            problems.append(f"{path}: {problem}")
    for path, found in read_by_reference(arguments.reference, [*anew, *arguments.files]).items():
        source = anew.get(path)
        expected = lines_of(arguments.inspect, path if source is None else source)
        if found != expected:
            problems.append(f"{path}: the reference finds {set(found) ^ set(expected)}")
    for problem in problems:
        print(f"FAIL {problem}")
    print(f"{arguments.count + len(arguments.files) - len(problems)} passed, {len(problems)} failed")
    return 0 if not problems else 1


if __name__ == "__main__":
    sys.exit(main())
