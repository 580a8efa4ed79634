#!/usr/bin/env python3
"""Random files of version 2, written by its reference and read by the example `inspect`, value by value.

Usage: check_v2.py DIRECTORY --inspect COMMAND... [--seed N] [--count N]
Files and shards go to DIRECTORY. What they should hold is found by the decoder in tests/corpus/v2, which knows neither
implementation. Each is also verified, and once more with a byte of a digested part changed, which must be found.
Ends with 'N passed, N failed'; status 0 only if nothing failed.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "corpus" / "v2"))

import make  # noqa: E402
import ztensor  # noqa: E402
from check import first_difference  # noqa: E402
from container import data_shard, file, xxh3  # noqa: E402

WIDTHS = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u64": 8, "u32": 4, "u16": 2, "u8": 1}
TYPES = {"f8_e4m3fn": "u8", "f8_e5m2": "u8", "f8_e4m3fnuz": "u8", "f8_e5m2fnuz": "u8", "f8_e8m0": "u8", "complex64": "f32", "complex128": "f64"}
SEEKABLE = "zt.zstd-seekable/1"


def numbers(random_: random.Random, count: int, most: int, kind: str) -> bytes:
    """`count` integers below `most`, as that type."""
    return struct.pack(f"<{count}{'I' if kind == 'u32' else 'Q'}", *(random_.randrange(most) for _ in range(count)))


def attribute(random_: random.Random, depth: int = 0) -> Any:
    """Any value that the reference takes."""
    kinds = [lambda: random_.randrange(-2**40, 2**40), lambda: random_.random() * 10 ** random_.randrange(-30, 30), lambda: "ä" * random_.randrange(30),
             lambda: None, lambda: random_.random() < 0.5, lambda: float(random_.randrange(100))]
    if depth < 3:
        kinds += [lambda: [attribute(random_, depth + 1) for _ in range(random_.randrange(4))],
                  lambda: {f"k{i}": attribute(random_, depth + 1) for i in range(random_.randrange(4))}]
    return random_.choice(kinds)()


def add_dense(random_: random.Random, writer: ztensor.Writer, name: str) -> None:
    """A plain or typed tensor, compressed at times."""
    shape = [random_.randrange(1, 9) for _ in range(random_.randrange(5))]
    if random_.random() < 0.1:
        shape.append(0)
    count = 1
    for each in shape:
        count *= each
    more: dict[str, str] = {"encoding": SEEKABLE} if random_.random() < 0.3 else {}
    logical = random_.choice([*TYPES, "bool", "f4_e2m1", *[None] * 10])
    if logical == "bool":
        return writer.add(name, bytes(random_.randrange(2) for _ in range(count)), shape, "u8", logical="bool", **more)
    if logical == "f4_e2m1":
        data = bytearray(random_.randbytes((count + 1) // 2))
        if count % 2:
            data[-1] &= 15
        return writer.add(name, bytes(data), shape, "u8", logical=logical, **more)
    dtype = TYPES[logical] if logical else random_.choice(list(WIDTHS))
    size = count * WIDTHS[dtype] * (2 if logical in ("complex64", "complex128") else 1)
    if logical:
        more["logical"] = logical
    return writer.add(name, random_.randbytes(size), shape, dtype, **more)


def add_sparse(random_: random.Random, writer: ztensor.Writer, name: str) -> None:
    """CSR or COO, by the rules of their data."""
    rows, columns, kind = random_.randrange(1, 9), random_.randrange(1, 9), random_.choice(["u32", "u64"])
    cells = sorted(random_.sample(range(rows * columns), random_.randrange(rows * columns + 1)))
    values = {"data": random_.randbytes(4 * len(cells)), "dtype": "f32"}
    pack = lambda of: {"data": struct.pack(f"<{len(of)}{'I' if kind == 'u32' else 'Q'}", *of), "dtype": kind}
    if random_.random() < 0.5:
        indptr = [sum(cell < row * columns for cell in cells) for row in range(rows + 1)]
        parts = {"values": values, "indices": pack([cell % columns for cell in cells]), "indptr": pack(indptr)}
        return writer.add_object(name, [rows, columns], parts, layout="zt.sparse_csr/1")
    random_.shuffle(cells)
    coords = [cell // columns for cell in cells] + [cell % columns for cell in cells]
    return writer.add_object(name, [rows, columns], {"values": values, "coords": pack(coords)}, layout="zt.sparse_coo/1")


def add_quantized(random_: random.Random, writer: ztensor.Writer, name: str) -> None:
    """Groups of codes, or microscaled blocks."""
    groups = random_.randrange(1, 4)
    scales = lambda count, **kind: {"data": random_.randbytes(count * WIDTHS[kind["dtype"]]), **kind}
    if random_.random() < 0.5:
        parts = {"data": {"data": random_.randbytes(16 * groups * 2), "dtype": "u8", "logical": "f4_e2m1"}, "scales": scales(groups * 2, dtype="u8", logical="f8_e8m0")}
        return writer.add_object(name, [2, 32 * groups], parts, layout="zt.mx/1", attributes=make.MX)
    parts = {"data": {"data": random_.randbytes(32 * groups), "dtype": "u32"}, "scales": scales(groups * 2, dtype="f32")}
    return writer.add_object(name, [32 * groups, 2], parts, layout="zt.quant_group/1", attributes=make.GROUP)


def write(random_: random.Random, path: Path) -> None:
    """A random file, appended to at times."""
    def fill(writer: ztensor.Writer, prefix: str) -> None:
        for i in range(random_.randrange(6)):
            random_.choice([add_dense, add_dense, add_sparse, add_quantized])(random_, writer, f"{prefix}{i}" + "n" * random_.randrange(30))
        if random_.random() < 0.5:
            writer.set_attributes({f"a{i}": attribute(random_) for i in range(random_.randrange(4))})

    with ztensor.Writer(str(path), canonical=False, align=random_.choice([4096, 8192, 65536])) as writer:
        fill(writer, "first")
    if random_.random() < 0.3:
        with ztensor.Writer(str(path), canonical=False, align=4096, append=True) as writer:
            fill(writer, "second")


def sharded(random_: random.Random, folder: Path) -> bytes:
    """A root with its shards beside it, which no interface of the Python package writes; the reference must read it."""
    folder.mkdir(exist_ok=True)
    table, objects = {}, {}
    for name in (f"{i:05}" for i in range(random_.randrange(1, 4))):
        blobs = [random_.randbytes(random_.randrange(1, 5000)) for _ in range(random_.randrange(1, 4))]
        data, places = data_shard(blobs)
        (folder / f"model-{name}.zt").write_bytes(data)
        table[name] = {"size": len(data), "digest": xxh3(data)}
        for i, (blob, place) in enumerate(zip(blobs, places)):
            objects[f"{name}.{i}"] = {"shape": [len(blob)], "layout": "dense", "parts": {"data": {"dtype": "u8", "blob": place, "shard": name, "digest": xxh3(blob)}}}
    root = file({"shards": table, "objects": objects})
    (folder / "model.zt").write_bytes(root)
    ztensor.verify(str(folder / "model.zt"), deep=True)
    return root


def status(inspect: list[str], path: Path) -> int:
    """Of verifying the file."""
    return subprocess.run([*inspect, "--verify", str(path)], capture_output=True, check=False).returncode


def difference(inspect: list[str], path: Path, random_: random.Random) -> str | None:
    """What is wrong with how a file is read, or None."""
    content = path.read_bytes()
    expected = make.describe(content)
    result = subprocess.run([*inspect, "--json", str(path)], capture_output=True, check=False)
    if result.returncode != 0 or status(inspect, path) != 0:
        return f"refused: {result.stderr.decode(errors='replace').strip()}"
    if problem := first_difference(expected, json.loads(result.stdout), ""):
        return problem
    places = [part for each in expected["objects"] for part in each["components"].values() if part["length"] and "digest" in part and part["encoding"] == "raw"]  # a frame may say the same in other bytes
    if places:
        part = random_.choice(places)
        damaged = bytearray(content)
        damaged[part["offset"] + random_.randrange(part["length"])] ^= 1 << random_.randrange(8)
        path.with_suffix(".damaged").write_bytes(damaged)
        if status(inspect, path.with_suffix(".damaged")) != 1:
            return f"a changed byte of the part at {part['offset']} was not found"
    return None


def sharded_difference(inspect: list[str], folder: Path, root: bytes) -> str | None:
    """The same of a model in shards."""
    path = folder / "model.zt"
    if status(inspect, path) != 0:
        return "a model in shards is refused"
    shard = next(folder.glob("model-*.zt"))
    data = bytearray(shard.read_bytes())
    data[4096] ^= 1
    shard.write_bytes(data)
    if status(inspect, path) != 1:
        return "a changed shard was not found"
    shard.unlink()
    return None if status(inspect, path) == 1 else "a missing shard was not found"


def main(words: list[str] | None = None) -> int:
    """Write and compare; only differences get a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--inspect", nargs="+", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    arguments = parser.parse_args(words)
    arguments.directory.mkdir(parents=True, exist_ok=True)
    random_ = random.Random(arguments.seed)
    problems, tried = [], 0
    for i in range(arguments.count):
        path = arguments.directory / f"{i:03}.zt"
        path.unlink(missing_ok=True)
        write(random_, path)
        problems.append((path, difference(arguments.inspect, path, random_)))
        if i % 10 == 0:
            folder = arguments.directory / f"{i:03}-sharded"
            root = sharded(random_, folder)
            problems.append((folder, sharded_difference(arguments.inspect, folder, root)))
    tried = len(problems)
    failed = [each for each in problems if each[1] is not None]
    for path, problem in failed:
        print(f"FAIL {path}: {problem}")
    print(f"{tried - len(failed)} passed, {len(failed)} failed")
    return 0 if not failed else 1


if __name__ == "__main__":
    sys.exit(main())
