#!/usr/bin/env python3
"""Let the example `rewrite` turn files of any generation into files of 1.2, and compare what they mean.

Usage: check_rewrite.py DIRECTORY... --out OUTDIR --rewrite COMMAND...
Every .zt file of each directory must be rewritten and mean the same; one that uses a dtype or an encoding that the
format does not know must be refused, with one line that says why, and leave no file. Ends with 'N passed, N failed'.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from check import first_difference
from oracle.decode import decoded_bytes
from oracle.description import Json, describe, sha256
from oracle.index import read
from oracle.model import WIDTHS, FormatError

ENCODINGS = ("raw", "zstd")


def has_unknown_words(data: bytes) -> bool:
    """Whether no writer can encode the file anew."""
    parts = [part for obj in read(data).objects for part in obj.components.values()]
    return any(part.dtype not in WIDTHS or part.encoding not in ENCODINGS for part in parts)


def meaning(description: Json) -> Json:
    """What every generation can say, whatever the order in the index and the place in the file."""
    objects = {obj["name"]: object_meaning(obj) for obj in description["objects"]}
    return {"attributes": by_key(description["attributes"]), "objects": objects}


def object_meaning(obj: Json) -> Json:
    """Sparse objects by their parts, which the generations keep in different places; others by their components."""
    out = {"shape": obj["shape"], "format": obj["format"], "attributes": by_key(obj["attributes"])}
    components = obj["components"]
    if "csr" in obj or "coo" in obj:
        values = components.get("values") or components["data"]
        words = {"dtype": values["dtype"], "type": type_of(values)}
        return out | {"parts": obj.get("csr") or obj["coo"], "values": words}
    return out | {"components": {role: component_meaning(part) for role, part in components.items()}}


def component_meaning(part: Json) -> Json:
    """Words and elements; of a digest that matches, its algorithm."""
    algorithm = part["digest"].partition(":")[0] if part["digest_state"] == "match" else None
    return {
        "dtype": part["dtype"],
        "type": type_of(part),
        "encoding": part["encoding"],
        "algorithm": algorithm,
        "elements": part.get("decoded_little_endian_sha256", part["decoded_sha256"]),
    }


def original_meaning(data: bytes) -> Json:
    """What is to be found again. In 0.1 every bool but 0 is true; 1.2 knows only 1."""
    out = meaning(describe(data))
    file = read(data)
    for obj in file.objects if file.generation == (0, 1) else []:
        part = obj.components["data"]
        if part.dtype == "bool" and obj.format == "dense":
            bools = decoded_bytes(file, obj, part)
            out["objects"][obj.name]["components"]["data"]["elements"] = sha256(bytes(byte != 0 for byte in bools))
    return out


def type_of(part: Json) -> str | None:
    """The logical type; an empty word is one, too."""
    return part.get("type")


def by_key(attributes: list[Json] | None) -> Json:
    """Attributes without their order; absent and empty mean the same."""
    return {entry["key"]: entry for entry in attributes or []}


def difference(rewrite: list[str], path: Path, out: Path) -> str | None:
    """What is wrong with one file, or None."""
    data = path.read_bytes()
    result = subprocess.run([*rewrite, str(path), str(out)], capture_output=True, check=False)
    complaint = result.stderr.decode(errors="replace").strip()
    if has_unknown_words(data):
        refused = result.returncode == 1 and complaint.count("\n") == 0 and complaint and not out.exists()
        return None if refused else f"it should be refused, but the status is {result.returncode}: {complaint}"
    if result.returncode != 0:
        return f"status {result.returncode}: {complaint}"
    try:
        rewritten = describe(out.read_bytes())
    except FormatError as error:
        return f"describe.py refuses the new file: {error}"
    if rewritten["generation"] != "1.2":
        return f"the new file is of generation {rewritten['generation']}"
    return first_difference(original_meaning(data), meaning(rewritten), "")


def main(words: list[str] | None = None) -> int:
    """Rewrite all files of all directories; only problems get a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rewrite", nargs="+", required=True)
    arguments = parser.parse_args(words)
    paths = [path for folder in arguments.directories for path in sorted(folder.glob("*.zt"))]
    problems = {path: difference(arguments.rewrite, path, arguments.out / path.name) for path in paths}
    failed = {path: problem for path, problem in problems.items() if problem is not None}
    for path, problem in failed.items():
        print(f"FAIL {path}: {problem}")
    print(f"{len(paths) - len(failed)} passed, {len(failed)} failed")
    return 0 if paths and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
