#!/usr/bin/env python3
"""Write random files with safetensors, NumPy and gguf, let `zt convert` make .zt files of them and the same again.

Usage: check_export.py OUTDIR --zt COMMAND... [--seed N] [--count N]
What comes back must be to its own package what went away, bit by bit, and byte by byte where that package leaves no
choice: a safetensors file but for the spaces that end its header, and every .npy file of an archive. Data lies at
multiples of 64 bytes. Weights of GGUF's blocks go to safetensors as what the gguf package makes of them. Ends with
'N passed, N failed'; status 0 only if nothing failed.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from check_foreign import Arrays, Written, numpy, safetensors_numpy, write_npy_numbers, write_npz_numbers, write_safetensors
from foreign_models import gguf, random_bits
from oracle.need import require

safetensors = require("safetensors", "requirements-foreign.txt")

ALIGNMENT = 64
LOCAL_HEADER_BYTES = 30


def convert(zt: list[str], *words: object) -> str | None:
    """Run one conversion; what it complained of, or None. Of a file without tensors it may say so."""
    result = subprocess.run([*zt, "convert", *map(str, words)], capture_output=True, check=False)
    lines = result.stderr.decode(errors="replace").splitlines()
    said = [line for line in lines if not line.endswith(": no tensors were found in it")]
    if result.returncode != 0 or result.stdout or said:
        return f"{words}: status {result.returncode}: {' '.join(lines)}"
    return None


def same_array(a: Any, b: Any) -> bool:
    """Bit by bit, with shape and type; NaN is NaN of the same payload."""
    native = b.astype(b.dtype.newbyteorder("=")) if b.dtype.byteorder == ">" else b
    return a.shape == b.shape and a.dtype == native.dtype and a.tobytes() == native.tobytes(order="C")


def array_differences(found: Arrays, expected: Arrays) -> Iterator[str]:
    """What a package reads else than was given to it."""
    if sorted(found) != sorted(expected):
        yield f"it has {sorted(found)}, not {sorted(expected)}"
        return
    yield from (f"{name!r} is not what it was" for name in found if not same_array(found[name], expected[name]))


def parts_of(content: bytes) -> tuple[bytes, bytes, int]:
    """Header without its padding, data, and where the data starts."""
    end = 8 + int.from_bytes(content[:8], "little")
    return content[8:end].rstrip(b" "), content[end:], end


def safetensors_differences(path: Path, arrays: Arrays, metadata: dict[str, str]) -> Iterator[str]:
    """Read with the package, and beside what the package would have written."""
    content = path.read_bytes()
    header, data, begin = parts_of(content)
    if begin % ALIGNMENT != 0:
        yield f"the data starts at byte {begin}"
    contiguous = {name: numpy.array(array, order="C") for name, array in arrays.items()}
    package = safetensors_numpy.save(contiguous, metadata or None)
    if dict(safetensors.deserialize(content)) != dict(safetensors.deserialize(package)):
        yield "the package reads other tensors than it writes"
    expected = parts_of(package)
    if data != expected[1]:
        yield "the data is not what the package writes"
    if len(metadata) < 2 and header != expected[0]:  # the package writes it in any order
        yield f"the header is {header!r}, not {expected[0]!r}"


def npy_bytes(array: Any) -> bytes:
    """What numpy.save writes."""
    out = io.BytesIO()
    numpy.save(out, numpy.ascontiguousarray(array).reshape(array.shape))
    return out.getvalue()


def npz_differences(path: Path, arrays: Arrays) -> Iterator[str]:
    """Read with NumPy, and beside the archive that it would have written."""
    with numpy.load(path) as archive:
        yield from array_differences(dict(archive), arrays)
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        if archive.testzip() is not None:
            yield f"{archive.testzip()} is damaged"
        for entry in archive.infolist():
            lengths = content[entry.header_offset + 26 : entry.header_offset + LOCAL_HEADER_BYTES]
            name_bytes, extra_bytes = int.from_bytes(lengths[:2], "little"), int.from_bytes(lengths[2:], "little")
            if (entry.header_offset + LOCAL_HEADER_BYTES + name_bytes + extra_bytes) % ALIGNMENT != 0:
                yield f"{entry.filename} does not start at a multiple of {ALIGNMENT}"
            array = arrays[entry.filename.removesuffix(".npy")]
            little = array.astype(array.dtype.newbyteorder("<"))
            if archive.read(entry) != npy_bytes(little):
                yield f"{entry.filename} is not what numpy.save writes"


# Types that NumPy has not, and the bits of an element.
PACKED_TYPES = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "C64": 64}


def write_packed(chance: random.Random, folder: Path, number: int) -> Written:
    """A safetensors file of types that NumPy has not, by hand."""
    header: dict[str, Any] = {}
    data = b""
    for i in range(chance.randrange(9)):
        kind = chance.choice(list(PACKED_TYPES))
        shape = [chance.choice([0, 1, 3]) for _ in range(chance.randrange(3))] + [8]
        content = chance.randbytes(int(numpy.prod(shape, dtype="u8")) * PACKED_TYPES[kind] // 8)
        header[f"t{i}"] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path = folder / f"{number}.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path, "packed", {}, {}


def packed_differences(path: Path, original: Path) -> Iterator[str]:
    """Both as the package reads them."""
    if dict(safetensors.deserialize(path.read_bytes())) != dict(safetensors.deserialize(original.read_bytes())):
        yield "the package reads other tensors than went away"


def is_dequantized(kind: Any) -> bool:
    """Whether the installed package computes weights of these blocks."""
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    try:
        return elements > 1 and gguf.quants.dequantize(numpy.zeros((1, size), "u1"), kind).size == elements
    except NotImplementedError:
        return False


DEQUANTIZED = [kind.name for kind in gguf.GGML_QUANT_SIZES if is_dequantized(kind)]


def write_blocks(chance: random.Random, folder: Path, number: int) -> Written:
    """Blocks of random bytes, with the weights that the package computes of them."""
    path = folder / f"{number}.gguf"
    writer = gguf.GGUFWriter(path, "test")
    arrays: Arrays = {}
    for name in DEQUANTIZED:
        kind = gguf.GGMLQuantizationType[name]
        shape = [chance.choice([1, 2, 3]) for _ in range(chance.randrange(3))]
        blocks = random_bits(chance, "uint8", [*shape, chance.choice([1, 2, 5]) * gguf.GGML_QUANT_SIZES[kind][1]])
        with numpy.errstate(all="ignore"):
            arrays[name] = gguf.quants.dequantize(blocks, kind).astype("float32")
        writer.add_tensor(name, blocks.copy(), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path, "blocks", arrays, {}


def block_differences(path: Path, arrays: Arrays) -> Iterator[str]:
    """Weights bit by bit; which of two NaN a sum keeps is the processor's to say."""
    found = safetensors_numpy.load_file(path)
    for name, expected in arrays.items():
        same = found[name].view("u4") == expected.view("u4")
        if not (same | (numpy.isnan(found[name]) & numpy.isnan(expected))).all():
            yield f"{name!r} is not what the package computes"


def differences(zt: list[str], written: Written, options: list[str]) -> Iterator[str]:
    """What did not come back as it went away."""
    path, kind, arrays, metadata = written
    ending = ".safetensors" if kind in ("safetensors", "packed", "blocks") else ".npz"
    middle, back = path.with_suffix(".zt"), path.with_suffix(".back" + ending)
    away, home = (["--dtype=f32"], ["--drop-attributes"]) if kind == "blocks" else ([], [])
    conversions: list[list[Any]] = [[*options, *away, path, middle], [*home, middle, back]]
    straight = path.with_suffix(".straight" + ending)
    if kind == "blocks":
        conversions.append([*away, *home, path, straight])
    for words in conversions:
        problem = convert(zt, *words)
        if problem is not None:
            yield problem
            return
    if kind == "safetensors":
        yield from safetensors_differences(back, arrays, metadata)
    elif kind == "packed":
        yield from packed_differences(back, path)
    elif kind == "blocks":
        yield from block_differences(back, arrays)
        yield from block_differences(straight, arrays)
    else:
        yield from npz_differences(back, arrays)


def main(words: list[str] | None = None) -> int:
    """Write and compare; only differences get a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--zt", nargs="+", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=30)
    arguments = parser.parse_args(words)
    passed = failed = 0
    writers = {"safetensors": write_safetensors, "packed": write_packed, "npz": write_npz_numbers, "npy": write_npy_numbers,
               "blocks": write_blocks}  # fmt: skip
    for kind, write in writers.items():
        folder = arguments.out / kind
        folder.mkdir(parents=True, exist_ok=True)
        chance = random.Random(f"{arguments.seed} export {kind}")
        for number in range(arguments.count):
            written = write(chance, folder, number)
            options = chance.choice([[], ["--zstd"], ["--digest"], ["--zstd=3", "--digest=crc32c"]])
            problem = next(differences(arguments.zt, written, options), None)
            if problem is not None:
                print(f"FAIL {written[0]}: {problem}")
            passed, failed = passed + (problem is None), failed + (problem is not None)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
