#!/usr/bin/env python3
"""Compare with the reference implementation, the Python package ztensor 1.2.3.

Usage: reference.py read [--known-limits] FILE...
           Each file must open with the reference, and every component must have the bytes, every sparse object the
           parts, and every digest the value that describe.py finds. One line for each file, status 0 if all are ok.
           With --known-limits, a file that the reference is known to refuse is ok if it does refuse it.
       reference.py write OUTDIR [--seed N] [--questions]
           Write files with the reference, each with a description by describe.py. --questions writes, instead, what the
           reference writes against the specification or on points that the rulings leave open.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from oracle import reference_files
from oracle.decode import u64_bytes
from oracle.description import Json, describe, sha256
from oracle.index import read as read_index
from oracle.model import LONG_NAMES, FormatError, Object, ZtFile
from oracle.need import require
from oracle.reference_limits import has_container_keys, refusals
from oracle.rules import element_width, known_count

ztensor = require("ztensor", "requirements-reference.txt")
numpy = require("numpy", "requirements-reference.txt")
require("ml_dtypes", "requirements-reference.txt")

VERSION = "1.2.3"
LONG_NAME_OF = {short: word for word, short in LONG_NAMES.items()}


class Difference(Exception):
    """The reference says something else than describe.py."""


class Limit(Exception):
    """The reference can't do this, as is known of it."""


# ---- reading ------------------------------------------------------------------------------------------------


def open_reference(path: Path, data: bytes) -> Any:
    """A reader of the reference; Limit if it refuses as expected."""
    expected = refusals(data)
    try:
        reader = ztensor.Reader(str(path))
    except Exception as error:
        if expected:
            raise Limit(f"refuses {expected[0]}") from None
        raise Difference(f"the reference does not open it: {error}") from None
    if expected:
        raise Difference(f"the reference opens it, though it should refuse {expected[0]}")
    return reader


def check_file(path: Path) -> str:
    """Compare one file; what was compared."""
    data = path.read_bytes()
    description, file = describe(data), read_index(data)
    reader = open_reference(path, data)
    objects = [obj for obj in file.objects if file.generation != (0, 1) or obj.format == "dense"]
    if sorted(reader.keys()) != sorted(obj.name for obj in objects):
        raise Difference("other object names")
    if len(objects) < len(file.objects):
        raise Limit("drops the 0.1 tensors that are not dense without a word")
    if has_container_keys(data):
        raise Limit("fails to give metadata of objects with arrays or maps as keys in attributes")
    expected = {obj["name"]: obj for obj in description["objects"]}
    for obj in objects:
        check_object(reader, file, obj, expected[obj.name])
    digests = check_digests(file)
    return f"{len(objects)} objects, {sum(len(obj.components) for obj in objects)} components, {digests} digests"


def check_object(reader: Any, file: ZtFile, obj: Object, expected: Json) -> None:
    """Metadata and bytes of one object."""
    metadata = reader.metadata(obj.name)
    if [size % (1 << 64) for size in metadata.shape] != obj.shape or metadata.format != obj.format:
        raise Difference(f"{obj.name}: other shape or format")
    keys = None if obj.attributes is None else sorted(key for key, _ in obj.attributes)
    if file.generation >= (1, 1) and (None if metadata.attributes is None else sorted(metadata.attributes)) != keys:
        raise Difference(f"{obj.name}: other attributes")
    if metadata.components.keys() != obj.components.keys():
        raise Difference(f"{obj.name}: other components")
    buffers = {role: check_component(reader, obj, role, metadata.components[role], expected) for role in obj.components}
    check_dense(reader, obj, expected)
    check_sparse(obj, buffers, expected)


def check_component(reader: Any, obj: Object, role: str, found: Json, expected: Json) -> bytes:
    """Fields and bytes of one component."""
    part, wanted = obj.components[role], expected["components"][role]
    fields = {
        "dtype": LONG_NAME_OF[part.dtype],
        "type": part.type,
        "offset": part.offset,
        "length": part.length,
        "encoding": part.encoding,
    }
    if part.encoding not in ("raw", "zstd"):
        raise Limit(f"takes the unknown encoding {part.encoding!r} of a 0.1 file for raw")
    if found != fields:
        raise Difference(f"{obj.name}/{role}: {found} instead of {fields}")
    # The private call, because the public ones fail for compound types and unknown types.
    buffer, _ = reader._inner._read_component_raw(obj.name, role)
    content = bytes(buffer)
    if sha256(content) != wanted["decoded_sha256"]:
        raise Difference(f"{obj.name}/{role}: other bytes")
    return content


def check_dense(reader: Any, obj: Object, expected: Json) -> None:
    """The public call for dense objects, which goes by the shape (it can't do compound types)."""
    if obj.format != "dense":
        return
    data = obj.components["data"]
    if element_width(data) is None or data.type in ("complex64", "complex128") or len(obj.shape) > 32:
        return
    if known_count(data) == 0:
        return  # NumPy refuses some of the larger empty shapes
    array = reader.read_numpy(obj.name)
    if sha256(array.tobytes()) != expected["components"]["data"]["decoded_sha256"]:
        raise Difference(f"{obj.name}: read_numpy gives other bytes")
    if list(array.shape) != (obj.shape or [1]):  # the reference makes vectors of scalars
        raise Difference(f"{obj.name}: read_numpy gives the shape {array.shape}")


def check_sparse(obj: Object, buffers: dict[str, bytes], expected: Json) -> None:
    """The parts of a sparse object, made by NumPy from what the reference read."""

    def indices(role: str) -> str:
        dtype = LONG_NAME_OF[obj.components[role].dtype]
        return sha256(u64_bytes([int(value) for value in numpy.frombuffer(buffers[role], dtype)]))

    if "csr" in expected:
        found = {
            "indptr_u64_sha256": indices("indptr"),
            "indices_u64_sha256": indices("indices"),
            "values_sha256": sha256(buffers["values"]),
        }
    elif "coo" in expected:
        found = {"coords_u64_soa_sha256": indices("coords"), "values_sha256": sha256(buffers["values"])}
    else:
        return
    wanted = expected.get("csr") or expected["coo"]
    if {key: wanted[key] for key in found} != found:
        raise Difference(f"{obj.name}: other sparse parts")


def check_digests(file: ZtFile) -> int:
    """Every digest, against the one that the reference writes for the same stored bytes.

    Its Python reader verifies none of raw blobs, and of zstd blobs none that is spelled without 0x.
    """
    wanted: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digests.zt"
        writer = ztensor.Writer(str(path))
        for obj in file.objects:
            for part in obj.components.values():
                algorithm, _, value = (part.digest or "").partition(":")
                if algorithm not in ("crc32c", "sha256"):
                    continue
                name = f"{len(wanted)}"
                wanted[name] = f"{algorithm}:{value.lower().removeprefix('0x')}"
                stored = numpy.frombuffer(file.stored(part), "uint8")
                writer.write_numpy(name, stored, checksum=algorithm)
        writer.finish()
        written = read_index(path.read_bytes()).objects
    found = {obj.name: (obj.components["data"].digest or "").lower().replace(":0x", ":") for obj in written}
    if found != wanted:
        raise Difference("other digests")
    return len(wanted)


def read_one(path: Path, known_limits: bool) -> bool:
    """Check one file and print its line."""
    try:
        line, good = f"ok    {path.name}: {check_file(path)}", True
    except Limit as limit:
        line, good = f"limit {path.name}: reference {VERSION} {limit}", known_limits
    except (Difference, FormatError, OSError) as error:
        line, good = f"FAIL  {path.name}: {error}", False
    except BaseException as error:  # a panic of the reference is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        line, good = f"FAIL  {path.name}: {type(error).__name__}: {error}", False
    print(line)
    return good


# ---- writing ------------------------------------------------------------------------------------------------


def write_all(folder: Path, seed: int, questions: bool) -> int:
    """Write and describe all files."""
    folder.mkdir(parents=True, exist_ok=True)
    makers = reference_files.QUESTIONS if questions else reference_files.FILES
    for name, make in makers.items():
        path = folder / f"{name}.zt"
        rng = numpy.random.default_rng([seed, *hashlib.sha256(name.encode()).digest()])
        make(path, rng)
        data = path.read_bytes()
        head = {
            "file": path.name,
            "file_sha256": sha256(data),
            "written_by": f"reference {VERSION}, Python package, by tests/interop/reference.py, seed {seed}",
        }
        if questions:
            head["question"] = (make.__doc__ or "").strip()
        path.with_suffix(".json").write_text(json.dumps(head | description_or_error(data), indent=1) + "\n", "utf-8")
    print(f"{len(makers)} files written to {folder}, seed {seed}")
    return 0


def description_or_error(data: bytes) -> Json:
    """The description, or the rule that the file breaks."""
    try:
        return describe(data)
    except FormatError as error:
        return {"refused": str(error)}


def main(words: list[str] | None = None) -> int:
    """Read or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    reading = commands.add_parser("read")
    reading.add_argument("files", nargs="+", type=Path)
    reading.add_argument("--known-limits", action="store_true")
    writing = commands.add_parser("write")
    writing.add_argument("outdir", type=Path)
    writing.add_argument("--seed", type=int, default=1)
    writing.add_argument("--questions", action="store_true")
    arguments = parser.parse_args(words)
    if arguments.command == "write":
        return write_all(arguments.outdir, arguments.seed, arguments.questions)
    results = [read_one(path, arguments.known_limits) for path in arguments.files]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
