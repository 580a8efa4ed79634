#!/usr/bin/env python3
"""Write random files of other formats with the packages that they come from, and compare with `inspect --json`.

Usage: check_foreign.py OUTDIR --inspect COMMAND... [--seed N] [--count N] [--only FORMAT...]
Every element of every tensor, its shape and its type must be what the package was given, and texts that the file carries
must be its attributes. Ends with 'N passed, N failed'; status 0 only if nothing failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import foreign_models
from oracle.need import require

numpy = require("numpy", "requirements-foreign.txt")
ml_dtypes = require("ml_dtypes", "requirements-foreign.txt")
safetensors_numpy = require("safetensors.numpy", "requirements-foreign.txt")

Arrays = dict[str, Any]
Written = tuple[Path, str, Arrays, dict[str, str]]

# What numpy calls a type → (our storage type, our logical type).
TYPES = {
    "float64": ("f64", ""), "float32": ("f32", ""), "float16": ("f16", ""), "bfloat16": ("bf16", ""),
    "int64": ("i64", ""), "int32": ("i32", ""), "int16": ("i16", ""), "int8": ("i8", ""),
    "uint64": ("u64", ""), "uint32": ("u32", ""), "uint16": ("u16", ""), "uint8": ("u8", ""), "bool": ("bool", ""),
    "complex64": ("f32", "complex64"), "complex128": ("f64", "complex128"),
    "float8_e4m3fn": ("u8", "f8_e4m3fn"), "float8_e5m2": ("u8", "f8_e5m2"),
    "float8_e4m3fnuz": ("u8", "f8_e4m3fnuz"), "float8_e5m2fnuz": ("u8", "f8_e5m2fnuz"),
}  # fmt: skip


def random_text(chance: random.Random, most: int) -> str:
    """Text of any characters that a file may hold."""
    alphabet = "abcdefghijklmnopqrstuvwxyz._/0123456789" + 'ABZ "\\äß漢字🦀\n\t\u2028' * chance.randrange(2)
    return "".join(chance.choice(alphabet) for _ in range(chance.randrange(most)))


def random_shape(chance: random.Random) -> list[int]:
    """Few elements, of any rank up to 5."""
    return [chance.choice([0, 1, 1, 2, 3, 5, 17]) for _ in range(chance.randrange(6))]


def random_array(chance: random.Random, dtype: Any) -> Any:
    """Any bits, in either order of dimensions."""
    dtype = numpy.dtype(dtype)
    shape = random_shape(chance)
    count = int(numpy.prod(shape, dtype="u8"))
    if dtype == numpy.bool_:
        array = numpy.frombuffer(chance.randbytes(count), "u1") % 2 == 1
    else:
        array = numpy.frombuffer(chance.randbytes(count * dtype.itemsize), dtype)
    return array.reshape(shape, order=chance.choice("CF"))


def random_arrays(chance: random.Random, dtypes: list[Any], is_allowed: Callable[[str], bool]) -> Arrays:
    """Some arrays of some types, by name."""
    arrays: Arrays = {}
    for i in range(chance.randrange(20)):
        name = f"{random_text(chance, 20)}{i}"
        if is_allowed(name):
            arrays[name] = random_array(chance, chance.choice(dtypes))
    return arrays


NUMPY_TYPES = [name for name in TYPES if not name.startswith(("bfloat", "float8"))]
NAMED_TYPES = [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2]  # whose headers say what they are


def no_numbers(chance: random.Random) -> Any:
    """An array that NumPy saves, and that is to be skipped."""
    count = chance.randrange(9)
    fields = [(random_text(chance, 9) + str(i), chance.choice(["<f4", ">i2", "S3", ("?", (2,))])) for i in range(1 + count)]
    return chance.choice([
        numpy.array([random_text(chance, 9) for _ in range(count)], chance.choice(["U", ">U5"])),
        numpy.array([{"a": 1}, None] * count, object),
        numpy.zeros(count, chance.choice(["S20", "M8[ns]", "m8[25s]", ">M8[D]", "longdouble", ">c32"])),
        numpy.zeros(count, [(name, *(type if isinstance(type, tuple) else (type,))) for name, type in fields]),
    ])  # fmt: skip


def is_number(array: Any) -> bool:
    """Whether it becomes an object."""
    return isinstance(array, foreign_models.Blocks) or array.dtype.name in TYPES


def write_safetensors(chance: random.Random, folder: Path, number: int) -> Written:
    """Any types, and metadata or none."""
    types = ["float64", "float32", "float16", ml_dtypes.bfloat16, "int64", "int32", "int16", "int8", "uint64", "uint32",
             "uint16", "uint8", "bool", ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]  # fmt: skip
    arrays = random_arrays(chance, types, lambda name: True)
    metadata = {random_text(chance, 9) + str(i): random_text(chance, 200) for i in range(chance.randrange(4))}
    path = folder / f"{number}.safetensors"
    contiguous = {name: numpy.array(array, order="C") for name, array in arrays.items()}
    safetensors_numpy.save_file(contiguous, path, metadata or None)
    return path, "safetensors", arrays, metadata


def write_npy_numbers(chance: random.Random, folder: Path, number: int, array: Any = None) -> Written:
    """Any version, byte order and order of dimensions."""
    if array is None:
        array = random_array(chance, numpy.dtype(chance.choice(NUMPY_TYPES)).newbyteorder(chance.choice("<>")))
    path = folder / f"{number}.npy"
    with path.open("wb") as file:
        numpy.lib.format.write_array(file, array, chance.choice([None, (1, 0), (2, 0), (3, 0)]))
    return path, "npy", {str(number): array}, {}


def write_npy(chance: random.Random, folder: Path, number: int) -> Written:
    """The same, and types that NumPy has from elsewhere."""
    array = random_array(chance, chance.choice(NAMED_TYPES)) if chance.randrange(9) == 0 else None
    return write_npy_numbers(chance, folder, number, array)


def write_npz_numbers(chance: random.Random, folder: Path, number: int, others: list[Any] | None = None) -> Written:
    """Stored or deflated; with `others` of these types, too, and arrays that are no numbers."""
    types = [numpy.dtype(name).newbyteorder(order) for name in NUMPY_TYPES for order in "<>"] + (others or [])

    def is_allowed(name: str) -> bool:
        return "\\" not in name and ".." not in name and not name.startswith(("/", "file"))

    arrays = random_arrays(chance, types, is_allowed)
    if others:
        arrays.update((f"no numbers {i}", no_numbers(chance)) for i in range(chance.randrange(4)))
    path = folder / f"{number}.npz"
    chance.choice([numpy.savez, numpy.savez_compressed])(path, **arrays)
    return path, "npz", arrays, {}


def write_npz(chance: random.Random, folder: Path, number: int) -> Written:
    """The same with all of these."""
    return write_npz_numbers(chance, folder, number, NAMED_TYPES)


WRITERS = {"safetensors": write_safetensors, "npy": write_npy, "npz": write_npz, **foreign_models.WRITERS}


def expected_of(array: Any) -> list[Any]:
    """Shape, storage type, logical type, and the SHA-256 of the elements, little-endian."""
    if isinstance(array, foreign_models.Blocks):
        return [array.shape, array.storage, array.logical, hashlib.sha256(array.content).hexdigest()]
    storage, logical = TYPES[array.dtype.name]
    little = array.astype(array.dtype.newbyteorder("<")) if array.dtype.byteorder == ">" else array
    return [list(array.shape), storage, logical, hashlib.sha256(little.tobytes(order="C")).hexdigest()]


def differences(found: Any, kind: str, arrays: Arrays, attributes: dict[str, str]) -> Iterator[str]:
    """What `inspect` says else than was written."""
    if found["generation"] != kind:
        yield f"it is taken for {found['generation']}"
    skipped = sorted(name for name, array in arrays.items() if not is_number(array))
    if sorted(each["name"] for each in found.get("skipped", [])) != skipped:
        yield f"it skips {found.get('skipped')}, not {skipped}"
    arrays = {name: array for name, array in arrays.items() if is_number(array)}
    objects = {each["name"]: each for each in found["objects"]}
    if sorted(objects) != sorted(arrays):
        yield f"it has {sorted(objects)}, not {sorted(arrays)}"
        return
    for name, array in arrays.items():
        data = objects[name]["components"]["data"]
        key = "decoded_little_endian_sha256" if "byte_order" in data else "decoded_sha256"
        said = [objects[name]["shape"], data["dtype"], data.get("type", ""), data[key]]
        wanted = expected_of(array)
        if said != wanted:
            yield f"{name!r} is {said}, not {wanted}"
        if data["digest_state"] not in ("match", "absent"):
            yield f"{name!r}: the digest is {data['digest_state']}"
    texts = {each["key"]: each["cbor"] for each in found["attributes"] or [] if "cbor" in each}
    for key, text in attributes.items():
        encoded = text.encode()
        if key not in texts and len(encoded) < 200:
            yield f"the attribute {key!r} is missing"
        elif key in texts and not bytes.fromhex(texts[key]).endswith(encoded):
            yield f"the attribute {key!r} is {texts[key]}"


def problem_of(inspect: list[str], written: Written) -> str | None:
    """What is wrong with one file, or None."""
    path, kind, arrays, attributes = written
    result = subprocess.run([*inspect, "--json", str(path)], capture_output=True, check=False)
    if result.returncode != 0:
        return f"status {result.returncode}: {result.stderr.decode(errors='replace').strip()}"
    return next(differences(json.loads(result.stdout), kind, arrays, attributes), None)


def main(words: list[str] | None = None) -> int:
    """Write and compare; only differences get a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--inspect", nargs="+", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--only", nargs="+", choices=sorted(WRITERS), default=sorted(WRITERS))
    arguments = parser.parse_args(words)
    passed = failed = 0
    for kind in arguments.only:
        folder = arguments.out / kind
        folder.mkdir(parents=True, exist_ok=True)
        chance = random.Random(f"{arguments.seed} {kind}")
        for number in range(arguments.count):
            written = WRITERS[kind](chance, folder, number)
            problem = problem_of(arguments.inspect, written)
            if problem is not None:
                print(f"FAIL {written[0]}: {problem}")
            passed, failed = passed + (problem is None), failed + (problem is not None)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
