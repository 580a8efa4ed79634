#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the small files of other formats with the packages that the formats come from: make.py [FORMAT...]

Needs numpy, ml_dtypes, safetensors. Beside each file stands what is in it: FILE.json, a list of [name, dtype, shape, the
SHA-256 of the elements in C order and little-endian], and the attributes that are text.
"""

import hashlib
import io
import json
import pathlib
import struct
import sys
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


def describe(path, arrays, attributes=None):
    """Writes the .json beside a file."""
    rows = []
    for name, array in sorted(arrays.items()):
        if isinstance(array, tuple): # of a type that numpy does not have: how .zt spells it, shape, bytes
            rows.append([name, array[0], list(array[1]), hashlib.sha256(array[2]).hexdigest()])
            continue
        little = array.astype(array.dtype.newbyteorder("<")) if array.dtype.kind in "fiuc" else array
        rows.append([name, short_name(array.dtype), list(array.shape),
                     hashlib.sha256(numpy.ascontiguousarray(little).tobytes()).hexdigest()])
    text = json.dumps({"objects": rows, "attributes": attributes or {}}, indent=1) + "\n"
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
    path = folder / "one.safetensors"
    arrays = {"w": numpy.arange(12, dtype="f4").reshape(3, 4)}
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
    describe(path, {"notes.txt": numpy.frombuffer(b"these are bytes", "u1")})


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
    formats = {"safetensors": write_safetensors, "npy": write_npy, "npz": write_npz}
    for name in sys.argv[1:] or formats:
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        formats[name](folder)


if __name__ == "__main__":
    main()
