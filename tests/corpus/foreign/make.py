#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the small files of other formats with the packages that the formats come from: make.py [FORMAT...]

Needs numpy, ml_dtypes, safetensors, and mlx for what that writes. Beside each file stands what is in it: FILE.json, a list of [name, dtype, shape, the
SHA-256 of the elements in C order and little-endian], the attributes that are text, and the names that are skipped.
"""

import hashlib
import io
import json
import pathlib
import string
import struct
import sys
import warnings
import zipfile
import zlib

import ml_dtypes
import numpy

HERE = pathlib.Path(__file__).resolve().parent


def samples():
    """Arrays of every kind that numpy has, by name."""
    counted = numpy.arange(24).reshape(2, 3, 4)
    return {
        "f64": counted.astype("f8") / 3,
        "f32": counted.astype("f4") / 3,
        "f16": counted.astype("f2") / 3,
        "i64": counted.astype("i8") - 12,
        "i32": counted.astype("i4") - 12,
        "i16": counted.astype("i2") - 12,
        "i8": counted.astype("i1") - 12,
        "u64": counted.astype("u8") << numpy.uint64(58),
        "u32": counted.astype("u4") << 20,
        "u16": counted.astype("u2") << 8,
        "u8": counted.astype("u1") * 10,
        "bool": counted % 3 == 0,
        "scalar": numpy.array(2.5, "f4"),
        "empty": numpy.zeros((0, 3), "i4"),
        "one": numpy.array([7], "u1"),
    }


def short_name(dtype):
    """As .zt spells it."""
    if dtype == numpy.bool_:
        return "bool"
    if dtype.kind == "c":
        return "f%d" % (dtype.itemsize * 4)
    if dtype.name in ("bfloat16",):
        return "bf16"
    return "u8" if dtype.kind == "V" else dtype.kind + str(dtype.itemsize * 8)


def describe(path, arrays, attributes=None, skipped=None):
    """Writes the .json beside a file."""
    rows = []
    for name, array in sorted(arrays.items()):
        if isinstance(array, tuple): # of a type that numpy does not have: how .zt spells it, shape, bytes
            rows.append([name, array[0], list(array[1]), hashlib.sha256(array[2]).hexdigest()])
            continue
        little = array.astype(array.dtype.newbyteorder("<")) if array.dtype.kind in "fiuc" else array
        rows.append([name, short_name(array.dtype), list(array.shape),
                     hashlib.sha256(numpy.ascontiguousarray(little).tobytes()).hexdigest()])
    content = {"objects": rows, "attributes": attributes or {}, **({"skipped": skipped} if skipped else {})}
    text = json.dumps(content, indent=1) + "\n"
    path.with_name(path.name + ".json").write_text(text, encoding="utf-8")


def write_safetensors(folder):
    import safetensors.numpy

    arrays = samples()
    arrays["bf16"] = numpy.arange(6).astype(ml_dtypes.bfloat16)
    arrays["a name with \"quotes\", ü and \n"] = numpy.arange(3, dtype="f4")
    metadata = {"format": "pt", "ü": "text with \"quotes\" and \u2028", "empty": ""}
    path = folder / "every_dtype.safetensors"
    safetensors.numpy.save_file(arrays, path, metadata)
    describe(path, arrays, metadata)
    path = folder / "no_tensors.safetensors"
    safetensors.numpy.save_file({}, path)
    describe(path, {})
    for name, tensor in (("one.safetensors", "w"), ("empty_name.safetensors", "")):
        path = folder / name
        arrays = {tensor: numpy.arange(12, dtype="f4").reshape(3, 4)}
        safetensors.numpy.save_file(arrays, path)
        describe(path, arrays)


def write_npy(folder):
    counted = numpy.arange(24).reshape(2, 3, 4)
    arrays = {
        "f32": counted.astype("f4"),
        "f64_fortran": numpy.asfortranarray(counted.astype("f8")),
        "i16_fortran_matrix": numpy.asfortranarray(numpy.arange(70 * 45, dtype="i2").reshape(70, 45)),
        "i32_big_endian": counted.astype(">i4"),
        "u16_big_endian_fortran": numpy.asfortranarray(counted.astype(">u2")),
        "f16": counted.astype("f2") / 3,
        "bool": counted % 2 == 0,
        "complex64": (counted + 1j).astype("c8"),
        "complex128_fortran": numpy.asfortranarray(counted - 2j),
        "complex64_big_endian": (counted + 1j).astype(">c8"),
        "scalar": numpy.array(2.5),
        "empty": numpy.zeros((0, 3), "f4"),
        "empty_fortran": numpy.zeros((3, 0), "f4", order="F"),
        "one_dimension": numpy.arange(5, dtype="u1"),
        "a name with spaces, ü and a.dot": numpy.arange(3, dtype="i8"),
    }
    for name, array in arrays.items():
        path = folder / (name + ".npy")
        numpy.save(path, array)
        describe(path, {name: array})
    for version in ((2, 0), (3, 0)):
        path = folder / f"version_{version[0]}.npy"
        with path.open("wb") as file:
            numpy.lib.format.write_array(file, arrays["f32"], version)
        describe(path, {path.stem: arrays["f32"]})


def write_npz(folder):
    arrays = samples()
    arrays.update({
        "fortran": numpy.asfortranarray(numpy.arange(24, dtype="f4").reshape(2, 3, 4)),
        "big_endian": numpy.arange(6, dtype=">i4"),
        "complex64": numpy.arange(6, dtype="c8"),
        "folder/ü": numpy.arange(3, dtype="f4"),
        "large": (numpy.arange(40000) % 7).astype("i2"),
    })
    for name, save in (("compressed", numpy.savez_compressed), ("stored", numpy.savez)):
        path = folder / (name + ".npz")
        kept = arrays if name == "compressed" else {key: value for key, value in arrays.items() if key != "large"}
        save(path, **kept)
        describe(path, kept)
    path = folder / "streamed.npz"  # sizes behind the entries' bytes
    with path.open("wb") as file:
        numpy.savez(Unseekable(file), a=arrays["f32"], b=arrays["u8"])
    describe(path, {"a": arrays["f32"], "b": arrays["u8"]})
    path = folder / "empty.npz"
    numpy.savez(path)
    describe(path, {})
    path = folder / "zip64.npz"  # every number of 64 bits, as in archives of more than 4 GiB
    path.write_bytes(zip64({"a.npy": arrays["f32"], "b.npy": arrays["u8"]}))
    describe(path, {"a": arrays["f32"], "b": arrays["u8"]})
    path = folder / "with_text.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("notes.txt"), b"these are bytes", zipfile.ZIP_DEFLATED)
        archive.writestr(zipfile.ZipInfo("folder/"), b"")
        for entry in ("a.npy", "array"):  # which numpy knows by its first bytes
            archive.writestr(zipfile.ZipInfo(entry), npy_bytes("'<f4'", arrays["one"].astype("f4")))
    one = arrays["one"].astype("f4")
    describe(path, {"notes.txt": numpy.frombuffer(b"these are bytes", "u1"), "a": one, "array": one})
    write_spellings(folder)
    write_no_numbers(folder)
    write_types_of_others(folder)


def npy_bytes(descr, array, order="False", version=1):
    """An .npy file whose header is not laid out as numpy does it, but says what numpy reads."""
    text = ("{'shape':%s,'fortran_order':%s,'descr':%s}" % (array.shape, order, descr)).encode()
    content = b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text
    return content + array.tobytes("F" if order == "True" else "C")


def spellings():
    """Every name of a type of numbers that numpy.dtype() knows by itself, but those of more than 64 bits each."""
    names = {str(key) for key in numpy.sctypeDict if isinstance(key, str)}
    names |= {"int", "float", "complex", "bool"} | {letter for letter in string.ascii_letters + "?"}
    names |= {kind + str(size) for kind in "biufc" for size in (1, 2, 4, 8, 16)}
    for order in ("", "<", ">", "=", "|"):
        for name in sorted(names):
            try:
                dtype = numpy.dtype(order + name)
            except TypeError:
                continue
            if dtype.kind in "biufc" and 0 <= dtype.num < 24 and dtype.itemsize <= (16 if dtype.kind == "c" else 8):
                yield order + name, dtype


def write_spellings(folder):
    path = folder / "spellings.npz"
    arrays = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (descr, dtype) in enumerate(spellings()):
            array = numpy.arange(3 + number % 5).astype(dtype)
            content = npy_bytes(repr(descr), array)
            read = numpy.load(io.BytesIO(content))
            assert read.dtype == dtype and (read == array).all()
            arrays[str(number)] = read
            archive.writestr(zipfile.ZipInfo(f"{number}.npy"), content, zipfile.ZIP_DEFLATED)
    describe(path, arrays)


def write_no_numbers(folder):
    """What numpy saves beside numbers, and what .zt has of it: bytes without a meaning alone."""
    path = folder / "no_numbers.npz"
    kept = {
        "weight": numpy.arange(6, dtype="f4").reshape(2, 3),
        "void": numpy.arange(24, dtype="u1").view("V4").reshape(2, 3),
        "void_fortran": numpy.asfortranarray(numpy.arange(36, dtype="u1").view("V3").reshape(3, 4)),
        "void_of_1": numpy.arange(4, dtype="u1").view("V1"),
        "void_of_2": numpy.arange(4, dtype="u2").view("V2"),
    }
    skipped = {
        "objects": numpy.array([{"a": 1}, None], object),
        "text": numpy.array(["one", "three"]),
        "bytes": numpy.array([b"one", b"three"]),
        "strings": numpy.array(["one"], numpy.dtypes.StringDType()),
        "times": numpy.array(["2020-01-01"], "M8[ns]"),
        "durations": numpy.array([1, 2], "m8[s]"),
        "records": numpy.zeros(2, [("it's", "<f4"), ("xyz", ">i2", (3, 2)), ("of", [("a", "?"), ("\u00fc", "S3")])]),
        "one_field": numpy.zeros(2, [("a", "<f4")]),
        "many_fields": numpy.zeros(1, [(f"a_field_of_a_long_name_{i}", "<f4") for i in range(3000)]),
        "aligned": numpy.zeros(2, numpy.dtype([("a", "u1"), ("b", "<f8")], align=True)),
        "long_double": numpy.zeros(2, numpy.longdouble),
        "long_complex": numpy.zeros(2, numpy.clongdouble),
        "no_bytes": numpy.zeros(2, "V0"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numpy.savez_compressed(path, **kept, **skipped)
    rows = {name: ("u8", (*array.shape, *([array.itemsize] if array.itemsize > 1 else [])), array.tobytes())
            if array.dtype.kind == "V" else array for name, array in kept.items()}
    describe(path, rows, skipped=sorted(skipped))


def write_types_of_others(folder):
    """The types of ml_dtypes and onnx, as numpy saves them, and as their names spell them."""
    numbers = numpy.arange(6).reshape(2, 3)
    arrays = {
        "bfloat16": numbers.astype(ml_dtypes.bfloat16),
        "bfloat16_fortran": numpy.asfortranarray(numbers.astype(ml_dtypes.bfloat16)),
        "of_bf16": numbers.astype(ml_dtypes.bfloat16).view("V2"),
        "float8_e5m2": numbers.astype(ml_dtypes.float8_e5m2),
        "float8_e4m3fn": numbers.astype(ml_dtypes.float8_e4m3fn),
        "int4": numbers.astype(ml_dtypes.int4),
    }
    spelled = ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
    onnx = {"bfloat16": numpy.dtype((numpy.uint16, {"bfloat16": (numpy.uint16, 0)})),
            "e4m3fn": numpy.dtype((numpy.uint8, {"e4m3fn": (numpy.uint8, 0)}))}
    path = folder / "ml_dtypes.npz"
    numpy.savez(path, **arrays)
    rows = {name: ("bf16" if array.itemsize == 2 else "u8", array.shape, array.tobytes()) for name, array in arrays.items()}
    with zipfile.ZipFile(path, "a") as archive:
        for name in spelled:
            array = numbers.astype(getattr(ml_dtypes, name)) if name != "float8_e8m0fnu" else numbers.astype("u1")
            rows["spelled_" + name] = ("bf16" if name == "bfloat16" else "u8", array.shape, array.tobytes())
            archive.writestr(zipfile.ZipInfo(f"spelled_{name}.npy"), npy_bytes(repr(name), array))
        for name, dtype in onnx.items():
            content = io.BytesIO()
            numpy.save(content, numpy.arange(6, dtype=f"u{dtype.itemsize}").view(dtype))
            raw = numpy.arange(6, dtype=f"<u{dtype.itemsize}")
            rows["onnx_" + name] = ("bf16" if name == "bfloat16" else "u8", raw.shape, raw.tobytes())
            archive.writestr(zipfile.ZipInfo(f"onnx_{name}.npy"), content.getvalue())
    describe(path, rows)


def write_mlx(folder):
    """What mlx saves: bfloat16 as bytes of an order."""
    import mlx.core

    path = folder / "mlx.npz"
    numbers = numpy.arange(6, dtype="f4").reshape(2, 3)
    arrays = {name: numbers.astype(dtype) for name, dtype in
              {"f32": "f4", "f16": "f2", "u8": "u1", "i64": "i8", "bool": "?", "complex64": "c8"}.items()}
    given = {name: mlx.core.array(array) for name, array in arrays.items()}
    given["bfloat16"] = mlx.core.array(numbers).astype(mlx.core.bfloat16)
    mlx.core.savez(str(path), **given)
    arrays["bfloat16"] = ("bf16", (2, 3), numbers.astype(ml_dtypes.bfloat16).tobytes())
    describe(path, arrays)


def zip64(arrays):
    """No package writes such a small one."""
    unknown = 0xFFFFFFFF
    body, central = b"", b""
    for name, array in arrays.items():
        content = io.BytesIO()
        numpy.save(content, array)
        content = content.getvalue()
        fixed = struct.pack("<5HI2I", 45, 0, 0, 0, 33, zlib.crc32(content), unknown, unknown)
        extra = struct.pack("<2H2Q", 1, 16, len(content), len(content))
        here = len(body)
        body += b"PK\3\4" + fixed + struct.pack("<2H", len(name), len(extra)) + name.encode() + extra + content
        extra = struct.pack("<2HH", 0x5A5A, 2, 7) + struct.pack("<2H3Q", 1, 24, len(content), len(content), here)
        central += (b"PK\1\2" + struct.pack("<H", 45) + fixed +
                    struct.pack("<5H2I", len(name), len(extra), 0, 0, 0, 0, unknown) + name.encode() + extra)
    end = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, len(arrays), len(arrays), len(central), len(body))
    end += struct.pack("<4sIQI", b"PK\6\7", 0, len(body) + len(central), 1)
    end += struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, unknown, unknown, 0)
    return body + central + end


class Unseekable(io.RawIOBase):
    """A pipe."""

    def __init__(self, file):
        self._file = file

    def writable(self):
        return True

    def write(self, content):
        return self._file.write(content)


def main():
    formats = {"safetensors": write_safetensors, "npy": write_npy, "npz": write_npz, "mlx": write_mlx}
    for name in sys.argv[1:] or formats:
        folder = HERE / ("npz" if name == "mlx" else name)
        folder.mkdir(exist_ok=True)
        formats[name](folder)


if __name__ == "__main__":
    main()
