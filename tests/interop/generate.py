#!/usr/bin/env python3
"""Write small valid, hand-encoded .zt files of every generation, each with its description (NAME.json).

Usage: generate.py OUTDIR [--seed N] [--only TEXT] [--questions]
The descriptions come from describe.py's code. Each file is checked before it is written: the bytes that were put in
must come out, and the names must be those that cbor2 finds in the index.
--questions writes, instead, files on points that the rulings leave open; each description says the question.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

from oracle.build import Built
from oracle.cases import CASES, Case
from oracle.description import describe, sha256
from oracle.need import require

cbor2 = require("cbor2")


def index_names(data: bytes, index_length: int) -> list[str]:
    """The object names that cbor2 finds in the index."""
    footer = 16 if data[:8] == data[-8:] else 8
    index = cbor2.loads(data[len(data) - footer - index_length : len(data) - footer])
    if isinstance(index, list):
        return [entry["name"] for entry in index]
    return list(index["tensors" if footer == 8 else "objects"])


def verify(case: Case, built: Built, description: dict[str, Any]) -> None:
    """What was put in came out; a failure here is a mistake in these scripts."""
    found = {
        (obj["name"], role): part["decoded_sha256"]
        for obj in description["objects"]
        for role, part in obj["components"].items()
        if "decoded_sha256" in part
    }
    wanted = {place: sha256(plain) for place, plain in built.plain.items()}
    names = [obj["name"] for obj in description["objects"]]
    if found != wanted or sorted(names) != sorted(built.names):
        raise AssertionError(f"{case.name}: the description does not say what was put in")
    if case.cbor2_reads_it and index_names(built.data, description["index_length"]) != names:
        raise AssertionError(f"{case.name}: cbor2 finds other names")


def write(case: Case, folder: Path, seed: int) -> None:
    """Make one file and its description."""
    built = case.make(random.Random(f"{seed} {case.name}"))
    description = describe(built.data)
    verify(case, built, description)
    head = {
        "file": f"{case.name}.zt",
        "file_sha256": sha256(built.data),
        "written_by": f"hand-encoded by tests/interop/generate.py, seed {seed}",
    }
    if case.question is not None:
        head["question"] = case.question
    (folder / f"{case.name}.zt").write_bytes(built.data)
    (folder / f"{case.name}.json").write_text(json.dumps(head | description, indent=1) + "\n", encoding="utf-8")


def main(words: list[str] | None = None) -> int:
    """Write all files that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outdir", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="write only files whose name holds this text")
    parser.add_argument("--questions", action="store_true", help="write the files on open points instead")
    arguments = parser.parse_args(words)
    arguments.outdir.mkdir(parents=True, exist_ok=True)
    chosen = [
        case
        for case in CASES.values()
        if (case.question is not None) == arguments.questions and arguments.only in case.name
    ]
    for case in chosen:
        write(case, arguments.outdir, arguments.seed)
    print(f"{len(chosen)} files written to {arguments.outdir}, seed {arguments.seed}")
    return 0 if chosen else 1


if __name__ == "__main__":
    sys.exit(main())
