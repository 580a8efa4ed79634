#!/usr/bin/env python3
"""Write random files of version 2, and compare them with what the reference, the Python package ztensor 2.1.2, writes.

Usage: check_v2_written.py --out OUTDIR --write COMMAND... --migrate COMMAND... [--count N] [--seed N]
The commands are write_v2 and the example migrate. The same tensors in canonical form must be the same file, byte for byte, and so with another
alignment, in any order and compressed, but for the compressed bytes; the reference must read whatever is written,
appended to, sharded and migrated from 1.2, value by value, and find its digests right; and the content digest is that
of the text of the format, whatever the layout. Ends with 'N passed, N failed'.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

from oracle.need import require

ztensor = require("ztensor", "version_2.txt")

VERSION = "2.1.2"
WIDTHS = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u64": 8, "u32": 4, "u16": 2,
          "u8": 1}
LOGICAL = {"bool": "u8", "f8_e4m3fn": "u8", "f8_e5m2": "u8", "f8_e4m3fnuz": "u8", "f8_e5m2fnuz": "u8", "f8_e8m0": "u8",
           "f4_e2m1": "u8", "complex64": "f32", "complex128": "f64"}


@dataclass
class Part:
    """One component, as both writers are told of it."""
    dtype: str
    data: bytes
    logical: str | None = None


@dataclass
class Model:
    """One object. `verb` is how write_v2 is told of it."""
    name: str
    shape: list[int]
    parts: dict[str, Part]
    layout: str = "dense"
    attributes: dict[str, Any] | None = None
    verb: str = "object"


@dataclass
class File:
    """Objects, and the attributes of the file."""
    objects: list[Model] = field(default_factory=list)
    attributes: dict[str, Any] | None = None


# ---- random models ------------------------------------------------------------------------------------------


def random_value(random_: random.Random, depth: int = 0) -> Any:
    """Anything that the reference takes as the value of an attribute."""
    kinds: list[Callable[[], Any]] = [
        lambda: random_.choice([0, 1, 23, 24, 255, 256, 65536, 2 ** 32, 2 ** 53, -1, -24, -25, -2 ** 40]),
        lambda: random_.choice([0.5, 1.0, 0.1, 1e300, 65504.0, 1e-8, float("inf"), float("nan"), -0.0, 3.4028234663852886e38]),
        lambda: random_.choice(["", "text", "ü", "日本語", "x" * 40]),
        lambda: random_.choice([True, False, None]),
    ]
    if depth < 3:
        kinds.append(lambda: [random_value(random_, depth + 1) for _ in range(random_.randrange(4))])
        kinds.append(lambda: {random_name(random_): random_value(random_, depth + 1)
                              for _ in range(random_.randrange(5))})
    return random_.choice(kinds)()


def random_name(random_: random.Random) -> str:
    """Short and long, so that bytewise order and that of CBOR differ."""
    return random_.choice(["a", "b", "Z", "é", "layer.", "m" * 30, "w"]) + str(random_.randrange(1000))


def random_attributes(random_: random.Random) -> dict[str, Any] | None:
    if random_.random() < 0.5:
        return None
    return {random_name(random_): random_value(random_) for _ in range(random_.randrange(5))}


def random_shape(random_: random.Random) -> list[int]:
    return [random_.choice([0, 1, 2, 3, 5, 8]) for _ in range(random_.randrange(4))]


def count_of(shape: list[int]) -> int:
    count = 1
    for dimension in shape:
        count *= dimension
    return count


def size_of(dtype: str, logical: str | None, count: int) -> int:
    if logical == "f4_e2m1":
        return (count + 1) // 2
    return count * WIDTHS[dtype] * (2 if logical in ("complex64", "complex128") else 1)


def random_part(random_: random.Random, count: int) -> Part:
    """Few different bytes, so that parts repeat."""
    logical = random_.choice([None, None, *LOGICAL])
    dtype = LOGICAL[logical] if logical is not None else random_.choice(list(WIDTHS))
    size = size_of(dtype, logical, count)
    data = bytes(random_.choice([0, 1]) for _ in range(size)) if random_.random() < 0.7 else random_.randbytes(size)
    if logical == "bool":
        data = bytes(byte & 1 for byte in data)
    if logical == "f4_e2m1" and count % 2:
        data = data[:-1] + bytes([data[-1] & 15])
    return Part(dtype, data, logical)


def pack(kind: str, numbers: list[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}{kind}", *numbers)


def random_csr(random_: random.Random, name: str) -> Model:
    rows, columns = random_.randrange(5), random_.randrange(1, 6)
    indices: list[int] = []
    indptr = [0]
    for _ in range(rows):
        indices += sorted(random_.sample(range(columns), random_.randrange(columns + 1)))
        indptr.append(len(indices))
    values = pack("I", [random_.randrange(9) for _ in indices])
    parts = {"values": Part("u32", values), "indices": Part("u64", pack("Q", indices)),
             "indptr": Part("u64", pack("Q", indptr))}
    return Model(name, [rows, columns], parts, "zt.sparse_csr/1", verb="csr")


def random_coo(random_: random.Random, name: str) -> Model:
    shape = [random_.randrange(1, 5) for _ in range(random_.randrange(1, 4))]
    cells = {tuple(random_.randrange(size) for size in shape) for _ in range(4)}
    coords = [cell[axis] for axis in range(len(shape)) for cell in cells]
    parts = {"values": Part("u32", pack("I", [random_.randrange(9) for _ in cells])),
             "coords": Part("u32", pack("I", coords))}
    return Model(name, shape, parts, "zt.sparse_coo/1", verb="coo")


def random_quantized(random_: random.Random, name: str) -> Model:
    rows, bits, group = random_.randrange(1, 4), random_.choice([4, 8]), random_.choice([8, 16])
    shape, groups = [rows, 32], rows * 32 // group
    attributes = {"bits": bits, "group_size": group, "axis": 1, "scale_form": "f32_factors",
                  "packing": {"word": "u32", "order": "lsb_first", "per_word": 32 // bits},
                  "zero_point": {"form": "tensor", "packing": "plain"}}
    parts = {"data": Part("u32", random_.randbytes(rows * 32 * bits // 8)),
             "scales": Part("f32", pack("f", [random_.random() for _ in range(groups)])),
             "zeros": Part("i8", random_.randbytes(groups))}
    return Model(name, shape, parts, "zt.quant_group/1", attributes)


def random_mx(random_: random.Random, name: str) -> Model:
    rows = random_.randrange(1, 4)
    parts = {"data": Part("u8", random_.randbytes(rows * 32), "f4_e2m1"),
             "scales": Part("u8", random_.randbytes(rows * 2), "f8_e8m0")}
    return Model(name, [rows, 64], parts, "zt.mx/1", {"block_size": 32, "scale_form": "e8m0_exponent"})


def random_object(random_: random.Random, name: str) -> Model:
    kind = random_.randrange(8)
    if kind == 0:
        return random_csr(random_, name)
    if kind == 1:
        return random_coo(random_, name)
    if kind == 2:
        return random_quantized(random_, name)
    if kind == 3:
        return random_mx(random_, name)
    shape = random_shape(random_)
    if kind == 4:
        parts = {random_name(random_): random_part(random_, random_.randrange(9)) for _ in range(3)}
        return Model(name, shape, parts, "vendor.layout/1", random_attributes(random_))
    verb = random_.choice(["dense", "dense", "object"])
    attributes = random_attributes(random_) if verb == "object" else None
    return Model(name, shape, {"data": random_part(random_, count_of(shape))}, attributes=attributes, verb=verb)


def random_file(random_: random.Random) -> File:
    names = sorted({random_name(random_) for _ in range(random_.randrange(12))}, key=lambda name: name.encode())
    return File([random_object(random_, name) for name in names], random_attributes(random_))


# ---- what both are told -------------------------------------------------------------------------------------


def cbor(value: Any) -> bytes:
    """In the order of the dictionary, floats in 64 bits and some heads too long: ours has to put that right."""
    def head(major: int, argument: int) -> bytes:
        return bytes([major << 5 | 27]) + argument.to_bytes(8, "big")
    if value is None or isinstance(value, bool):
        return {None: b"\xf6", True: b"\xf5", False: b"\xf4"}[value]
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, str):
        text = value.encode()
        return b"\x7f" + head(3, len(text)) + text + b"\xff"
    if isinstance(value, list):
        return b"\x9f" + b"".join(map(cbor, value)) + b"\xff"
    return head(5, len(value)) + b"".join(cbor(key) + cbor(each) for key, each in value.items())


def hexed(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return data.hex() or "_"


def script_of(file: File, first_line: str, encoding: str = "raw") -> str:
    """For write_v2."""
    lines = [first_line]
    if file.attributes is not None:
        lines += [f"file_attr {hexed(key)} {hexed(cbor(value))}" for key, value in file.attributes.items()]
        lines.append("file_attributes")
    for each in file.objects:
        shape = ",".join(map(str, each.shape)) or "-"
        if each.verb == "csr" and encoding == "raw":
            data = " ".join(hexed(each.parts[role].data) for role in ("values", "indices", "indptr"))
            lines.append(f"csr {hexed(each.name)} {shape} {data}")
        elif each.verb == "coo" and encoding == "raw":
            data = " ".join(hexed(each.parts[role].data) for role in ("values", "coords"))
            lines.append(f"coo {hexed(each.name)} {shape} {data}")
        elif each.verb in ("dense", "stream"):
            part = each.parts["data"]
            lines.append(f"{each.verb} {hexed(each.name)} {shape} {part.dtype} {part.logical or '-'} {encoding} "
                         f"{hexed(part.data)}")
        else:
            lines.append(f"object {hexed(each.name)} {hexed(each.layout)} {shape}")
            lines += [f"attr {hexed(key)} {hexed(cbor(value))}" for key, value in (each.attributes or {}).items()]
            if each.attributes == {}:
                lines.append("no_attributes")
            lines += [f"part {hexed(role)} {part.dtype} {part.logical or '-'} {encoding} {hexed(part.data)}"
                      for role, part in each.parts.items()]
            lines.append("end")
    return "\n".join(lines) + "\n"


def write_ours(command: list[str], file: File, path: Path, first_line: str, encoding: str = "raw") -> None:
    script = path.with_suffix(".script")
    script.write_text(script_of(file, first_line, encoding), encoding="utf-8")
    result = subprocess.run([*command, str(path), str(script)], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise AssertionError(f"write_v2: {result.stderr.strip()}")


def write_theirs(file: File, path: Path, encoding: str | None = None, **options: Any) -> None:
    with ztensor.Writer(str(path), **options) as out:
        if file.attributes is not None:
            out.set_attributes(file.attributes)
        for each in file.objects:
            parts: dict[str, dict[str, object]] = {}
            for role, part in each.parts.items():
                parts[role] = {"data": part.data, "dtype": part.dtype}
                if part.logical is not None:
                    parts[role]["logical"] = part.logical
                if encoding is not None:
                    parts[role]["encoding"] = encoding
            out.add_object(each.name, each.shape, parts, layout=each.layout, attributes=each.attributes)


# ---- the content digest, by the text of the format ----------------------------------------------------------


def shortest_float(value: float) -> bytes:
    """In the fewest bytes that keep the value."""
    if value != value:
        return b"\xf9\x7e\x00"
    for major, form in ((b"\xf9", ">e"), (b"\xfa", ">f")):
        try:
            packed = struct.pack(form, value)
        except OverflowError:
            continue
        if struct.pack(">d", struct.unpack(form, packed)[0]) == struct.pack(">d", value):
            return major + packed
    return b"\xfb" + struct.pack(">d", value)


def deterministic(value: Any) -> bytes:
    """RFC 8949 §4.2.1."""
    def head(major: int, argument: int) -> bytes:
        if argument < 24:
            return bytes([major << 5 | argument])
        size = next(size for size in range(4) if argument < 1 << (8 << size))
        return bytes([major << 5 | 24 + size]) + argument.to_bytes(1 << size, "big")
    if isinstance(value, float):
        return shortest_float(value)
    if value is None or isinstance(value, bool):
        return cbor(value)
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(deterministic, value))
    pairs = sorted((deterministic(key), deterministic(each)) for key, each in value.items())
    return head(5, len(value)) + b"".join(key + each for key, each in pairs)


def decoded(data: bytes, at: int = 0) -> tuple[Any, int]:
    """The item of deterministic CBOR at `at`, and where it ends."""
    major, argument = data[at] >> 5, data[at] & 31
    begin, at = at, at + 1
    if argument >= 24:
        size = 1 << (argument - 24) if argument < 28 else 0
        argument, at = int.from_bytes(data[at:at + size], "big"), at + size
    if major < 2:
        return (argument if major == 0 else -1 - argument), at
    if major < 4:
        content = data[at:at + argument]
        return (content if major == 2 else content.decode()), at + argument
    if major == 7:
        if at - begin > 1:
            return struct.unpack({3: ">e", 5: ">f", 9: ">d"}[at - begin], data[begin + 1:at])[0], at
        return {20: False, 21: True, 22: None}[argument], at
    items = []
    for _ in range(argument if major == 4 else 2 * argument):
        item, at = decoded(data, at)
        items.append(item)
    return (items if major == 4 else dict(zip(items[::2], items[1::2]))), at


def content_digest(path: Path) -> str:
    """Of a file of the reference, from its manifest."""
    objects = decoded(manifest_of(path))[0]["objects"]
    for each in objects.values():
        each["parts"] = {role: {key: part[key] for key in ("dtype", "type", "digest") if key in part}
                         for role, part in each["parts"].items()}
    return "sha256:" + hashlib.sha256(deterministic(["zt.content/1", objects])).hexdigest()


# ---- comparisons --------------------------------------------------------------------------------------------


def same_value(a: Any, b: Any) -> bool:
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def check_read(path: Path, file: File) -> None:
    """The reference reads all of `file` from `path`, and its digests are right."""
    ztensor.verify(str(path), deep=True)
    with ztensor.open(str(path)) as source:
        names = sorted(each.name for each in file.objects)
        assert sorted(source.keys()) == names, f"names {sorted(source.keys())} instead of {names}"
        if file.attributes is not None:
            assert same_value(source.attributes, file.attributes), f"attributes {source.attributes}"
        for each in file.objects:
            tensor = source[each.name]
            assert tensor.layout == each.layout and tensor.shape == each.shape, f"{each.name}: {tensor.layout}"
            assert sorted(tensor.parts) == sorted(each.parts), f"{each.name}: parts {tensor.parts}"
            for role, part in each.parts.items():
                found = tensor[role]
                assert found.dtype == part.dtype and found.logical == part.logical, f"{each.name}/{role}: type"
                assert found.tobytes() == part.data, f"{each.name}/{role}: bytes"
                assert found.verify(), f"{each.name}/{role}: there is no digest"


def manifest_of(path: Path) -> bytes:
    data = path.read_bytes()
    offset, length = struct.unpack("<QQ", data[-40:-24])
    return data[offset:offset + length]


def check_same(ours: Path, theirs: Path) -> None:
    if ours.read_bytes() != theirs.read_bytes():
        raise AssertionError(f"{ours} and {theirs} differ: manifests {manifest_of(ours).hex()} and "
                             f"{manifest_of(theirs).hex()}")


class Checks:
    """Each writes its files into a folder of its own."""

    def __init__(self, command: list[str], migrate: list[str], seed: int):
        self.command, self.migrate, self.random = command, migrate, random.Random(seed)

    def check_id(self, path: Path, file: File) -> None:
        """It is that of the canonical file that the reference makes of the same tensors."""
        canonical = path.with_name("canonical.zt")
        file.objects.sort(key=lambda each: each.name.encode())
        write_theirs(file, canonical)
        result = subprocess.run([*self.command, "--id", str(path)], capture_output=True, text=True, check=False)
        expected = content_digest(canonical)
        assert result.stdout.strip() == expected, f"id {result.stdout.strip()}{result.stderr} instead of {expected}"

    def run_migrate(self, version: str, source: Path, target: Path) -> None:
        command = [*self.migrate, "--version", version, str(source), str(target)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, f"migrate to {version}: {result.stderr.strip()}"

    def canonical(self, folder: Path) -> None:
        file = random_file(self.random)
        write_ours(self.command, file, folder / "ours.zt", "create")
        write_theirs(file, folder / "theirs.zt")
        check_same(folder / "ours.zt", folder / "theirs.zt")
        self.check_id(folder / "ours.zt", file)

    def in_any_order_and_alignment(self, folder: Path) -> None:
        file = random_file(self.random)
        self.random.shuffle(file.objects)
        align = self.random.choice([4096, 8192, 65536, 131072])
        write_ours(self.command, file, folder / "ours.zt", f"create any_order align {align}")
        write_theirs(file, folder / "theirs.zt", canonical=False, align=align)
        check_same(folder / "ours.zt", folder / "theirs.zt")

    def in_pieces(self, folder: Path) -> None:
        file = random_file(self.random)
        for each in file.objects:
            each.verb = "stream" if each.verb == "dense" else each.verb
        write_ours(self.command, file, folder / "ours.zt", "create")
        check_read(folder / "ours.zt", file)

    def compressed(self, folder: Path) -> None:
        file = random_file(self.random)
        big = Part("f32", bytes(1000) + self.random.randbytes(1 << 20) + bytes(2 << 20) + bytes(24))
        file.objects.append(Model("zz", [len(big.data) // 4], {"data": big}, verb=self.random.choice(["dense", "stream"])))
        write_ours(self.command, file, folder / "ours.zt", "create any_order align 4096", "zstd")
        check_read(folder / "ours.zt", file)
        self.check_id(folder / "ours.zt", file)

    def with_sha256(self, folder: Path) -> None:
        file = random_file(self.random)
        write_ours(self.command, file, folder / "ours.zt", "create", "sha256")
        check_read(folder / "ours.zt", file)

    def appended(self, folder: Path) -> None:
        file = random_file(self.random)
        names = {each.name for each in file.objects}
        more = File([each for each in random_file(self.random).objects if each.name not in names])
        for how in ("append", "append in_place"):
            path, theirs = folder / f"ours-{how[7:] or 'beside'}.zt", folder / "theirs.zt"
            align = self.random.choice([None, 4096])
            write_theirs(file, path, canonical=align is None, align=align)
            shutil.copyfile(path, theirs)
            write_ours(self.command, more, path, how)
            check_read(path, File(file.objects + more.objects, file.attributes))
            write_theirs(more, theirs, canonical=False, append=True)
            check_same(path, theirs)

    def sharded(self, folder: Path) -> None:
        file = random_file(self.random)
        most = self.random.choice([1, 70_000, 200_000])
        word = self.random.choice(["shards", "sha256_shards"])
        write_ours(self.command, file, folder / "model.zt", f"create {word} {most}")
        check_read(folder / "model.zt", file)
        self.check_id(folder / "model.zt", file)

    def there_and_back(self, folder: Path) -> None:
        """Through 1.2, where it can say all: the reference's canonical file comes back byte for byte."""
        file = random_file(self.random)
        file.objects = [each for each in file.objects if each.layout != "zt.mx/1" and all(
            part.logical not in ("f8_e8m0", "f4_e2m1") for part in each.parts.values())]
        for each in file.objects:
            if each.verb == "coo":  # 1.2 keeps wide indices alone
                coords = each.parts["coords"].data
                each.parts["coords"] = Part("u64", pack("Q", list(struct.unpack(f"<{len(coords) // 4}I", coords))))
        write_theirs(file, folder / "theirs.zt")
        self.run_migrate("1.2.0", folder / "theirs.zt", folder / "old.zt")
        self.run_migrate("2", folder / "old.zt", folder / "back.zt")
        check_same(folder / "back.zt", folder / "theirs.zt")


def main(words: list[str] | None = None) -> int:
    """Every check so often; only problems get a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--write", nargs="+", required=True)
    parser.add_argument("--migrate", nargs="+", required=True)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(words)
    checks = Checks(arguments.write, arguments.migrate, arguments.seed)
    names = ("canonical", "in_any_order_and_alignment", "in_pieces", "compressed", "with_sha256", "appended", "sharded",
             "there_and_back")
    passed = failed = 0
    for number in range(arguments.count):
        for name in names:
            folder = arguments.out / f"{number}-{name}"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            try:
                getattr(checks, name)(folder)
                passed += 1
                shutil.rmtree(folder)
            except (AssertionError, ValueError, OSError, KeyError) as error:
                failed += 1
                print(f"FAIL {folder}: {error}")
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
