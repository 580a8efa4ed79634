#!/usr/bin/env python3
"""A witness of planes: reads such objects from files of 1.2 by what SPEC.md says of them, and compares them with the raw
tensor beside each, whose name ends in ".raw", and with the record beside the file, where there is one.

Usage: check_planes.py FILE...
A record FILE.json says of each object its shape and the SHA-256 of its elements, least significant byte first.
Ends with 'N passed, N failed'; status 0 only if nothing failed, and something was compared.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from oracle.need import require

numpy = require("numpy", "requirements-reference.txt")
cbor2, zstandard = require("cbor2"), require("zstandard")
FORMAT = "ztensor-cpp.planes/1"
WIDTHS = {"bf16": 2, "f16": 2, "f32": 4}


def objects_of(file: bytes) -> dict:
    """The objects in the index, whose size stands before the magic at the end."""
    size = int.from_bytes(file[-16:-8], "little")
    return cbor2.loads(file[-16 - size : -16])["objects"]


def content_of(file: bytes, part: dict) -> bytes:
    """The decoded bytes of a component."""
    blob = file[part["offset"] : part["offset"] + part["length"]]
    if part.get("encoding", "raw") == "raw":
        return blob
    return zstandard.ZstdDecompressor().stream_reader(blob, read_across_frames=True).read()


def join(file: bytes, tensor: dict) -> bytes:
    """The elements of a tensor in planes, least significant byte first."""
    width = WIDTHS[tensor["attributes"]["planes.dtype"]]
    assert tensor["attributes"]["planes.exponent_bits"] == 8 and len(tensor["components"]) == 2
    exponents = numpy.frombuffer(content_of(file, tensor["components"]["exponent"]), "u1").reshape(-1, 1)
    fractions = numpy.frombuffer(content_of(file, tensor["components"]["fraction"]), "u1").reshape(-1, width - 1)
    turned = numpy.ascontiguousarray(numpy.hstack([fractions, exponents])).view(f"<u{width}")
    return (turned >> 1 | turned << (8 * width - 1)).tobytes()


def check(path: Path) -> list[bool]:
    """Whether each tensor in planes of a file is what it should be."""
    file, record, results = path.read_bytes(), Path(f"{path}.json"), []
    objects = objects_of(file)
    expected = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    for name, tensor in objects.items():
        if tensor["format"] != FORMAT:
            continue
        found = join(file, tensor)
        said = {"shape": tensor["shape"], "sha256": hashlib.sha256(found).hexdigest()}
        results.append(found == content_of(file, objects[f"{name}.raw"]["components"]["data"]))
        results.append(name not in expected or said == expected[name])
        if not all(results[-2:]):
            print(f"{path}: {name}: other elements")
    results.append(set(expected) <= set(objects))
    return results if len(results) > 1 else [False]


def main(words: list[str]) -> int:
    """Check the files."""
    results = [each for word in words for each in check(Path(word))]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
