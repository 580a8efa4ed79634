#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files of version 2 in this folder: valid/ and reject/, with rules.tsv, which says what each is for; and
sharded/, a model in three files.

usage: make.py [FOLDER]

A line of rules.tsv is a path, what is to be made of the file, and the rule: "ok", the code with which it is refused when
it is opened, or "verify " and the code with which reader::verify() answers. valid/ has a description of each file in the
schema of tests/corpus/golden, made by this script's own decoder. Files that start with "reference-" are written by the
package ztensor 2.1.2. Needs xxhash, zstandard, cbor2 and ztensor==2.1.2.
"""

import hashlib
import json
import pathlib
import struct
import sys
import tempfile

import cbor2
import zstandard

from container import *

LINES = []
ZEROS = bytes(8)


def u32(*numbers):
    return struct.pack(f"<{len(numbers)}I", *numbers)


def u64(*numbers):
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def f32(*numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def dense(place, dtype="f32", shape=(2,), **more):
    return {"shape": list(shape), "layout": "dense", "parts": {"data": {"dtype": dtype, "blob": place, **more}}}


def one(make, blob=ZEROS):
    """A file with one object "w", which `make` gives of the place of one blob."""
    return file(lambda places: {"objects": {"w": make(places[0])}}, [blob])


def part(blob=ZEROS, **more):
    return one(lambda place: dense(place, **more), blob)


def object_of(layout, shape, parts, attributes=None):
    """`parts`: name → (dtype, logical type or None, bytes[, further fields])."""
    def root(places):
        made = {"shape": list(shape), "layout": layout, "parts": {}}
        for (name, (dtype, logical, _, *more)), place in zip(parts.items(), places):
            made["parts"][name] = {"dtype": dtype, "blob": place, **(more[0] if more else {})}
            if logical is not None:
                made["parts"][name]["type"] = logical
        if attributes is not None:
            made["attributes"] = attributes
        return {"objects": {"w": made}}
    return file(root, [each[2] for each in parts.values()])


def attribute(value):
    return file({"objects": {}, "attributes": {"a": value}})


def unknown(value):
    return file({"objects": {}, "x": value})


# -- the container, 2 and 3.6.1


def containers():
    good = file({"objects": {}})
    manifest = encode({"objects": {}})
    yield "ok", "an empty model", good
    yield "ok", "reserved is ignored", file({"objects": {}}, reserved=7)
    yield "ok", "a data shard", data_shard([b"12345678"])[0]
    yield "ok", "a data shard without blobs", MAGIC + footer(0, 0, 0)
    yield "ok", "zeros between manifest and footer", good[:-40] + ZEROS + good[-40:]
    yield "truncated", "47 bytes", (MAGIC + footer(0, 0, 0))[:47]
    yield "bad_magic", "another magic in front", b"X" + good[1:]
    yield "bad_magic", "a line end was translated", good.replace(b"\r\n", b"\n", 1) + b"\0"
    yield "truncated", "another magic behind", good[:-1] + b"\r"
    yield "truncated", "a byte behind the footer", good + b"\0"
    yield "unsupported_version", "version 1", file({"objects": {}}, version=1)
    yield "unsupported_version", "version 3", file({"objects": {}}, version=3)
    yield "manifest_damaged", "another hash", file({"objects": {}}, digest=5)
    damaged = bytearray(good)
    damaged[4097] ^= 1
    yield "manifest_damaged", "a damaged manifest", bytes(damaged)
    yield "manifest_empty", "a data shard with a hash", MAGIC + footer(0, 0, 5)
    yield "manifest_empty", "a data shard with an offset", padded(MAGIC) + footer(4096, 0, 0)
    yield "misaligned_offset", "a manifest at byte 8", \
        MAGIC + bytes(4088) + bytes(8) + manifest + footer(4104, len(manifest), xxhash.xxh3_64_intdigest(manifest))
    yield "manifest_out_of_bounds", "a manifest at byte 0", \
        MAGIC + bytes(5000) + footer(0, 40, 5)
    yield "manifest_out_of_bounds", "a manifest that reaches into the footer", file({"objects": {}}, length=20)
    yield "manifest_out_of_bounds", "a manifest behind the file", file({"objects": {}}, offset=1 << 40)
    yield "manifest_out_of_bounds", "an offset and a length that wrap", file({"objects": {}}, length=(1 << 64) - 4096)


# -- the manifest's encoding, 3.1


def encodings():
    yield "ok", "unknown keys of every kind", file({"objects": {}, "": 1, "k" * 2000: 2, 5: Raw(b"\xf5"), b"x": None})
    yield "ok", "the least half", unknown(Raw(b"\xf9\x00\x01"))
    yield "ok", "the one NaN", unknown(float("nan"))
    yield "ok", "floats of every width", attribute([1.5, 65536.5, 1e300, 2.0**-24, 2.0**-149, -0.0, float("inf")])
    yield "ok", "attributes nested 30 deep", attribute(Raw(b"\x81" * 30 + b"\x00"))
    yield "ok", "an empty array in attributes nested 30 deep", attribute(Raw(b"\x81" * 30 + b"\x80"))
    yield "cbor_depth", "an empty array in attributes nested 31 deep", attribute(Raw(b"\x81" * 31 + b"\x80"))
    yield "ok", "an unknown field nested 31 deep", unknown(Raw(b"\x81" * 31 + b"\x00"))
    yield "ok", "numbers as keys in a value", attribute({1: 2, "": 3})
    yield "cbor_depth", "attributes nested 31 deep", attribute(Raw(b"\x81" * 31 + b"\x00"))
    yield "cbor_depth", "an unknown field nested 32 deep", unknown(Raw(b"\x81" * 32 + b"\x00"))
    yield "cbor_depth", "maps nested 100 deep", unknown(Raw(b"\xa1\x01" * 100 + b"\x00"))
    for name, value in {"a number in one byte too many": b"\x18\x01", "a number in two bytes too many": b"\x19\x00\xff",
                        "a number in eight bytes": b"\x1b\x00\x00\x00\x00\xff\xff\xff\xff", "a long head of text": b"\x78\x01a",
                        "an indefinite array": b"\x9f\xff", "an indefinite map": b"\xbf\xff", "indefinite text": b"\x7f\x61a\xff",
                        "a double that fits a half": b"\xfb" + struct.pack(">d", 1.5), "a float that fits a half": b"\xfa" + struct.pack(">f", 1.5),
                        "a double that fits a float": b"\xfb" + struct.pack(">d", 65536.5),
                        "a float that fits the least half": b"\xfa" + struct.pack(">f", 2.0**-24), "zero as a float": b"\xfa" + bytes(4),
                        "a NaN with a payload": b"\xf9\x7e\x01", "a negative NaN": b"\xf9\xfe\x00", "a NaN as a float": b"\xfa\x7f\xc0\x00\x00",
                        "infinity as a float": b"\xfa\x7f\x80\x00\x00", "unsorted keys in a value": b"\xa2\x02\x00\x01\x00"}.items():
        yield "cbor_not_deterministic", name, unknown(Raw(value))
        yield "cbor_not_deterministic", name + ", in an attribute", attribute(Raw(value))
    yield "cbor_not_deterministic", "unsorted keys of the root", file(Pairs([("objects", {}), ("aa", 1)]))
    yield "cbor_not_deterministic", "unsorted objects", file(
        lambda p: {"objects": Pairs([("b", dense(p[0])), ("a", dense(p[0]))])}, [ZEROS])
    yield "cbor_not_deterministic", "objects sorted as text", file(
        lambda p: {"objects": Pairs([("aa", dense(p[0])), ("b", dense(p[0]))])}, [ZEROS])
    yield "cbor_not_deterministic", "a long offset among many objects", file(
        lambda p: {"objects": {f"w{i:03}": dense(Raw(b"\x82\x1b" + struct.pack(">Q", 4096) + b"\x08") if i == 90 else p[0])
                               for i in range(100)}}, [ZEROS])
    yield "duplicate_key", "a field twice", file(Pairs([("objects", {}), ("objects", {})]))
    yield "duplicate_key", "an object twice", file(
        lambda p: {"objects": Pairs([("a", dense(p[0])), ("a", dense(p[0]))])}, [ZEROS])
    yield "duplicate_key", "a key twice in a value", attribute(Pairs([("x", 1), ("x", 1)]))
    for name, value in {"a tag": b"\xc1\x00", "undefined": b"\xf7", "simple value 16": b"\xf0", "simple value 255": b"\xf8\xff",
                        "a reserved head": b"\x1c"}.items():
        yield "cbor_malformed", name, attribute(Raw(value))
        yield "cbor_malformed", name + ", in an unknown field", unknown(Raw(value))
    yield "cbor_utf8", "text that is not UTF-8", attribute("\udcff")
    yield "cbor_utf8", "a name that is not UTF-8", file(lambda p: {"objects": {"a\udcff": dense(p[0])}}, [ZEROS])
    yield "cbor_truncated", "an array of more than there is", unknown(Raw(b"\x98\xff"))
    yield "cbor_trailing", "a byte behind the root", file(encode({"objects": {}}) + b"\0")
    yield "schema_type", "a root that is no map", file([])


# -- names and fields, 3.2 to 3.5


def fields():
    for length in (1, 1024):
        yield "ok", f"a name of {length} bytes", file(lambda p: {"objects": {"n" * length: dense(p[0])}}, [ZEROS])
    yield "name_invalid", "a name of 1,025 bytes", file(lambda p: {"objects": {"n" * 1025: dense(p[0])}}, [ZEROS])
    yield "name_invalid", "an empty name", file(lambda p: {"objects": {"": dense(p[0])}}, [ZEROS])
    yield "name_invalid", "U+0000 in a name", file(lambda p: {"objects": {"a\0": dense(p[0])}}, [ZEROS])
    for name in ("", "a\0", "n" * 1025):
        code = "name_invalid"
        yield code, f"an attribute named {name[:2]!r}", file({"objects": {}, "attributes": {name: 1}})
        yield code, f"a part named {name[:2]!r}", one(
            lambda p: {"shape": [2], "layout": "x.y/1", "parts": {name: {"dtype": "f32", "blob": p}}})
    yield "schema_missing", "no objects", file({})
    yield "schema_key", "a number as an attribute's name", file({"objects": {}, "attributes": Raw(b"\xa1\x01\x02")})
    yield "schema_key", "a number as an object's name", file({"objects": Raw(b"\xa1\x01\xa0")})
    for value in ([], None):
        yield "schema_type", f"attributes are {value}", file({"objects": {}, "attributes": value})
        yield "schema_type", f"an object's attributes are {value}", one(lambda p: {**dense(p), "attributes": value})
    for field in ("shape", "layout", "parts"):
        yield "schema_missing", f"an object without {field}", one(
            lambda p: {k: v for k, v in dense(p).items() if k != field})
    for layout in ("dense", "x.y/1"):
        yield "schema_missing", f"no parts in {layout}", file({"objects": {"w": {"shape": [2], "layout": layout, "parts": {}}}})
    yield "schema_missing", "a part without a dtype", one(
        lambda p: {"shape": [2], "layout": "dense", "parts": {"data": {"blob": p}}})
    yield "schema_missing", "a part without a blob", one(
        lambda p: {"shape": [2], "layout": "dense", "parts": {"data": {"dtype": "f32"}}})
    for field in ("type", "digest", "encoding", "shard", "decoded_length"):
        yield "schema_type", f"{field} is null", part(**{field: None})
    yield "schema_type", "decoded_length without encoding", part(decoded_length=8)
    yield "schema_missing", "encoding without decoded_length", part(encoding="x.y/1")
    for items in ([4096], [4096, 8, 0], []):
        yield "schema_type", f"a blob of {len(items)} numbers", one(lambda p: dense(items))
    yield "schema_range", "a negative dimension", part(shape=[-1])
    yield "schema_type", "a dimension that is a float", part(shape=[2.0])
    yield "ok", "64 dimensions", part(shape=[1] * 63 + [2])
    yield "limit_exceeded", "65 dimensions", part(shape=[1] * 64 + [2])
    yield "limit_exceeded", "65 dimensions of an unknown layout", one(
        lambda p: {**dense(p, shape=[1] * 64 + [2]), "layout": "x.y/1"})
    yield "shape_overflow", "2^64 elements", one(lambda p: {**dense(p, shape=[2**63, 2]), "layout": "x.y/1"})
    yield "shape_overflow", "2^64 elements and a zero behind", one(lambda p: dense([p[0], 0], shape=[2**63, 2, 0]))
    yield "ok", "a zero before what would overflow", one(lambda p: dense([p[0], 0], shape=[0, 2**63, 2]))
    yield "shape_overflow", "2^64 bytes", one(lambda p: dense([p[0], 0], shape=[2**62]))
    for text in ("nocolon", "", ":", "md5:", "md5:AB", "md5:xy", "xxh3:" + "A" * 16, "XXH3:" + "0" * 16, "sha-256:00", "crc32c:0x00000000"):
        yield "digest_format", f"the digest {text[:12]!r}", part(digest=text)
    yield "ok", "a digest that matches", part(digest=xxh3(ZEROS))
    yield "ok", "a SHA-256 that matches", part(digest="sha256:" + hashlib.sha256(ZEROS).hexdigest())
    yield "ok", "a digest of an unknown algorithm", part(digest="md5:00")
    for text in ("xxh3:" + "0" * 16, "sha256:" + "0" * 64, "xxh3:12", "sha256:00"):
        yield "verify mismatch", f"the digest {text[:9]!r}", part(digest=text)


# -- types, 4


def types():
    yield "unknown_dtype", "bool as a storage type", part(dtype="bool", shape=[8])
    yield "unknown_dtype", "an unknown storage type", part(dtype="f7")
    for name, dtype, logical, shape in (("bool", "u8", "bool", [8]), ("f8_e4m3fn", "u8", "f8_e4m3fn", [8]), ("f8_e8m0", "u8", "f8_e8m0", [8]),
                                        ("15 f4", "u8", "f4_e2m1", [15]), ("16 f4", "u8", "f4_e2m1", [16]),
                                        ("complex64", "f32", "complex64", [1]), ("an unknown type", "f32", "x", [2]),
                                        ("an unknown type of another size", "f32", "x", [77]), ("the storage type's name", "f32", "f32", [2]),
                                        ("an empty type", "f32", "", [2])):
        yield "ok", name, part(dtype=dtype, type=logical, shape=shape)
    yield "type_mismatch", "f8 over f32", part(type="f8_e5m2")
    yield "type_mismatch", "f8 over i8", part(dtype="i8", type="f8_e5m2", shape=[8])
    yield "size_mismatch", "too few bytes", part(shape=[3])
    yield "size_mismatch", "17 f4 in 8 bytes", part(dtype="u8", type="f4_e2m1", shape=[17])
    yield "verify bad_padding", "a nibble behind the last f4", part(ZEROS[1:] + b"\x10", dtype="u8", type="f4_e2m1", shape=[15])
    yield "verify bad_bool", "a bool of 2", part(ZEROS[1:] + b"\2", dtype="u8", type="bool", shape=[8])


# -- blobs, 2.4


def blobs():
    yield "misaligned_offset", "an offset of 4,160", one(lambda p: dense([p[0] + 64, 8]))
    yield "misaligned_offset", "an empty blob at 4,160", one(lambda p: dense([p[0] + 64, 0], shape=[0]))
    yield "out_of_bounds", "a blob at 0", one(lambda p: dense([0, 8]))
    yield "out_of_bounds", "an empty blob at 0", one(lambda p: dense([0, 0], shape=[0]))
    yield "out_of_bounds", "a blob behind the file", one(lambda p: dense([1 << 40, 8]))
    yield "out_of_bounds", "an empty blob behind the file", one(lambda p: dense([1 << 40, 0], shape=[0]))
    yield "out_of_bounds", "a blob that wraps", one(lambda p: dense([p[0], 2**64 - 4096], dtype="u8", shape=[2**64 - 4096]))
    two = lambda a, b: file(lambda p: {"objects": {"a": a, "b": b}}, [bytes(8200)])
    yield "ok", "one blob of two objects", two(dense([4096, 8]), dense([4096, 8]))
    yield "ok", "an empty blob inside another", two(dense([4096, 8192], shape=[2048]), dense([8192, 0], shape=[0]))
    yield "blob_overlap", "a blob into the next", two(dense([4096, 8192], shape=[2048]), dense([8192, 8]))
    yield "blob_overlap", "one offset, two lengths", two(dense([4096, 8]), dense([4096, 4], shape=[1]))
    yield "blob_overlap", "a blob in the manifest", one(lambda p: dense([8192, 8]))
    for length in range(60, 200):
        root = {"objects": {"w": dense([4096, length], dtype="u8", shape=[length])}}
        if len(encode(root)) == length:
            yield "ok", "a blob that is the manifest", file(root)


# -- shards, 7


def shards():
    entry = {"size": 8192, "digest": "xxh3:" + "0" * 16}
    table = lambda name, of=entry, place=(4096, 8), **more: file(
        {"shards": {name: of}, "objects": {"w": dense(list(place), shard=name, **more)}})
    yield "ok", "an empty table", file(lambda p: {"shards": {}, "objects": {"w": dense(p[0])}}, [ZEROS])
    yield "shard_missing", "a shard that is not there", table("a-1._B")
    yield "shard_missing", "a shard of a digest that nobody knows", table("a", {"size": 8192, "digest": "md5:00"})
    yield "shard_missing", "a shard that no part is in", file(lambda p: {"shards": {"a": entry}, "objects": {"w": dense(p[0])}}, [ZEROS])
    yield "shard_table", "a part in a shard without a table", part(shard="a")
    yield "shard_table", "a part in a shard that is not in the table", file({"shards": {"a": entry}, "objects": {"w": dense([4096, 8], shard="b")}})
    for name in (".a", "..", "a/b", "", "a" * 65, "ä", "a b", "../../etc/passwd"):
        yield "shard_table", f"the shard name {name[:8]!r}", table(name)
    yield "schema_key", "a number as a shard's name", file({"shards": Raw(b"\xa1\x01" + encode(entry)), "objects": {}})
    yield "schema_missing", "a shard without a size", table("a", {"digest": entry["digest"]})
    yield "schema_missing", "a shard without a digest", table("a", {"size": 8192})
    yield "digest_format", "a shard with a digest that is none", table("a", {"size": 8192, "digest": "zz"})
    yield "shard_table", "a shard of 47 bytes", table("a", {**entry, "size": 47}, (4096, 0), shape=[0])
    yield "out_of_bounds", "a blob behind its shard", table("a", place=(8192, 8))
    yield "out_of_bounds", "a blob in its shard's footer", table("a", place=(4096, 4096), shape=[1024])
    yield "misaligned_offset", "a misaligned blob in a shard", table("a", place=(4100, 8))
    yield "blob_overlap", "blobs of one shard that overlap", file({"shards": {"a": {**entry, "size": 1 << 20}}, "objects": {
        "v": dense([4096, 8192], shape=[2048], shard="a"), "w": dense([8192, 8], shard="a")}})
    yield "limit_exceeded", "shards of 2^64 bytes together", file({"shards": {k: {**entry, "size": 2**63} for k in "ab"}, "objects": {}})


# -- layouts, 5 and the profiles


def layouts():
    yield "ok", "an unknown layout", one(lambda p: {**dense(p), "layout": "x.y/1"})
    yield "ok", "another version of a known layout", one(lambda p: {**dense(p), "layout": "zt.sparse_csr/2"})
    two = lambda p: {"data": {"dtype": "f32", "blob": p}, "x": {"dtype": "f32", "blob": p}}
    yield "layout_components", "dense of two parts", one(lambda p: {"shape": [2], "layout": "dense", "parts": two(p)})
    yield "layout_components", "dense of another part", one(lambda p: {"shape": [2], "layout": "dense", "parts": {"date": {"dtype": "f32", "blob": p}}})


def csr(shape=(2, 3), attributes=None, **parts):
    usual = {"values": ("f32", None, f32(1, 2)), "indices": ("u32", None, u32(0, 2)), "indptr": ("u32", None, u32(0, 1, 2))}
    return object_of("zt.sparse_csr/1", shape, {k: v for k, v in {**usual, **parts}.items() if v}, attributes)


def coo(shape=(2, 3), **parts):
    usual = {"values": ("f32", None, f32(1, 2)), "coords": ("u32", None, u32(0, 1, 0, 2))}
    return object_of("zt.sparse_coo/1", shape, {k: v for k, v in {**usual, **parts}.items() if v})


def sparse():
    yield "ok", "csr", csr()
    yield "ok", "csr with attributes", csr(attributes={"a": 1})
    yield "ok", "csr of u64", csr(indices=("u64", None, u64(0, 2)), indptr=("u64", None, u64(0, 1, 2)))
    yield "ok", "csr of nothing", csr((0, 0), values=("f32", None, b""), indices=("u32", None, b""), indptr=("u32", None, u32(0)))
    yield "ok", "csr of f4", csr(values=("u8", "f4_e2m1", b"\x12"))
    yield "ok", "csr of an unknown type", csr(values=("f32", "x", f32(1)))
    yield "sparse_shape", "csr of one dimension", csr((6,))
    yield "layout_components", "csr with a fourth part", csr(x=("u8", None, b"1"))
    yield "layout_components", "csr without indptr", csr(indptr=None)
    yield "sparse_dtype", "csr with i32", csr(indices=("i32", None, u32(0, 2)), indptr=("i32", None, u32(0, 1, 2)))
    yield "sparse_dtype", "csr with another indptr", csr(indptr=("u64", None, u64(0, 1, 2)))
    yield "sparse_dtype", "csr with indices of a type", csr(indices=("u32", "x", u32(0, 2)))
    yield "sparse_dtype", "csr with indptr of a type", csr(indptr=("u32", "x", u32(0, 1, 2)))
    yield "sparse_size", "csr with two pointers", csr(indptr=("u32", None, u32(0, 2)))
    yield "sparse_size", "csr with one value", csr(values=("f32", None, f32(1)))
    yield "sparse_size", "csr with half an index", csr(indices=("u32", None, u32(0, 2)[:7]))
    yield "shape_overflow", "csr of 2^64 rows", csr((2**64 - 1, 1))
    yield "verify sparse_indptr", "csr from 1 on", csr(indptr=("u32", None, u32(1, 1, 2)))
    yield "verify sparse_indptr", "csr that falls", csr(indptr=("u32", None, u32(0, 2, 1)))
    yield "verify sparse_indptr", "csr that ends early", csr(indptr=("u32", None, u32(0, 1, 1)))
    yield "verify sparse_index", "csr with a column outside", csr(indices=("u32", None, u32(0, 3)))
    yield "verify sparse_order", "csr with columns that fall", csr(indptr=("u32", None, u32(0, 2, 2)), indices=("u32", None, u32(2, 0)))
    yield "verify sparse_order", "csr with a column twice", csr(indptr=("u32", None, u32(0, 2, 2)), indices=("u32", None, u32(1, 1)))
    yield "verify bad_bool", "csr with a bool of 2", csr(values=("u8", "bool", b"\1\2"))
    yield "verify bad_padding", "csr with a nibble too many", csr(
        values=("u8", "f4_e2m1", b"\x12\x10"), indices=("u32", None, u32(0, 1, 2)), indptr=("u32", None, u32(0, 1, 3)))
    yield "ok", "coo", coo()
    yield "ok", "coo in any order", coo(coords=("u32", None, u32(1, 0, 2, 0)))
    yield "ok", "coo of one dimension", coo((7,), coords=("u64", None, u64(6, 0)))
    yield "sparse_shape", "coo of no dimension", coo(())
    yield "sparse_size", "coo with three coordinates", coo(coords=("u32", None, u32(0, 1, 0)))
    yield "sparse_size", "coo with one value", coo(values=("f32", None, f32(1)))
    yield "sparse_dtype", "coo with i64", coo(coords=("i64", None, u64(0, 1, 0, 2)))
    yield "layout_components", "coo with a third part", coo(x=("u8", None, b"1"))
    yield "verify sparse_index", "coo outside", coo(coords=("u32", None, u32(0, 2, 0, 2)))
    yield "verify sparse_order", "coo with a cell twice", coo(coords=("u32", None, u32(1, 1, 2, 2)))
    yield "verify sparse_order", "coo with a cell twice, not in a row", coo(
        values=("f32", None, f32(1, 2, 3)), coords=("u32", None, u32(1, 0, 1, 2, 0, 2)))


MX = {"block_size": 32, "scale_form": "e8m0_exponent"}


def mx(shape=(2, 32), attributes=MX, **parts):
    usual = {"data": ("u8", "f4_e2m1", bytes(range(32))), "scales": ("u8", "f8_e8m0", b"\x7f\x80")}
    return object_of("zt.mx/1", shape, {k: v for k, v in {**usual, **parts}.items() if v}, attributes)


def microscaling():
    yield "ok", "mx", mx()
    yield "ok", "mx along the first axis", mx((32, 2), {**MX, "axis": 0})
    yield "ok", "mx of blocks of 16", mx(attributes={**MX, "block_size": 16}, scales=("u8", "f8_e8m0", bytes(4)))
    yield "ok", "mx of f8", mx(data=("u8", "f8_e4m3fn", bytes(64)))
    yield "ok", "mx of i8", mx(data=("i8", None, bytes(range(64))))
    yield "ok", "mx of an unknown element", mx(data=("u8", "f6_e2m3", bytes(48)))
    yield "ok", "mx of nothing", mx((0, 32), data=("u8", "f4_e2m1", b""), scales=("u8", "f8_e8m0", b""))
    yield "ok", "mx with a NaN scale", mx(scales=("u8", "f8_e8m0", b"\xff\x00"))
    for name in MX:
        yield "layout_attributes", f"mx without {name}", mx(attributes={k: v for k, v in MX.items() if k != name})
    yield "layout_attributes", "mx without attributes", mx(attributes=None)
    yield "layout_attributes", "mx of another scale form", mx(attributes={**MX, "scale_form": "f32_factors"})
    yield "layout_attributes", "mx along axis 2 of 2", mx(attributes={**MX, "axis": 2})
    yield "layout_attributes", "mx along a word", mx(attributes={**MX, "axis": "1"})
    yield "layout_attributes", "mx of a scalar", mx((), data=("u8", "f4_e2m1", b"\0"), scales=("u8", "f8_e8m0", b""))
    for size in (0, 1, 3, 64):
        yield "quant_group", f"mx of blocks of {size}", mx(attributes={**MX, "block_size": size})
    yield "layout_components", "mx with a third part", mx(x=("u8", None, b"1"))
    yield "layout_components", "mx without scales", mx(scales=None)
    yield "type_mismatch", "mx with plain scales", mx(scales=("u8", None, bytes(2)))
    yield "type_mismatch", "mx of f32", mx(data=("f32", None, bytes(256)))
    yield "type_mismatch", "mx of plain u8", mx(data=("u8", None, bytes(64)))
    yield "type_mismatch", "mx of another f8", mx(data=("u8", "f8_e4m3fnuz", bytes(64)))
    yield "size_mismatch", "mx with one scale", mx(scales=("u8", "f8_e8m0", b"\x7f"))
    yield "size_mismatch", "mx with 31 bytes", mx(data=("u8", "f4_e2m1", bytes(31)))


PACKING = {"word": "u32", "order": "lsb_first", "per_word": 8}
GROUP = {"bits": 4, "group_size": 32, "axis": 0, "packing": PACKING, "scale_form": "f32_factors",
         "zero_point": {"form": "implied", "value": 8}}


def group(shape=(64, 2), attributes=GROUP, **parts):
    usual = {"data": ("u32", None, bytes(range(64))), "scales": ("f32", None, f32(1, 2, 3, 4))}
    return object_of("zt.quant_group/1", shape, {k: v for k, v in {**usual, **parts}.items() if v}, attributes)


def quantized():
    tensor = {**GROUP, "zero_point": {"form": "tensor", "packing": "plain"}}
    same = {**GROUP, "zero_point": {"form": "tensor", "packing": "same_as_data"}}
    none = {**GROUP, "zero_point": {"form": "none"}}
    yield "ok", "implied zero", group()
    yield "ok", "signed words", group(data=("i32", None, bytes(range(64))))
    yield "ok", "no zero", group(attributes=none)
    yield "ok", "most significant first", group(attributes={**GROUP, "packing": {**PACKING, "order": "msb_first"}})
    yield "ok", "plain zeros", group(attributes=tensor, zeros=("u8", None, bytes(range(4))))
    yield "ok", "plain zeros of f16", group(attributes=tensor, zeros=("f16", None, bytes(8)))
    yield "ok", "packed zeros", group((64, 4), same, data=("u32", None, bytes(range(128))), scales=("f32", None, f32(*range(8))),
                                     zeros=("u32", None, b"\x12\x34\x56\x78"))
    yield "ok", "a scale for each code", group(attributes={**GROUP, "group_size": 0}, scales=("f32", None, f32(*range(128))))
    yield "ok", "exponents", group(attributes={**GROUP, "scale_form": "e8m0_exponent"}, scales=("u8", "f8_e8m0", b"\x7f\x80\x81\x82"))
    yield "ok", "scales of bf16", group(attributes={**GROUP, "scale_form": "f16_factors"}, scales=("bf16", None, bytes(8)))
    yield "ok", "bytes", group(attributes={**GROUP, "bits": 8, "packing": {"word": "u8", "order": "lsb_first", "per_word": 1}},
                              data=("i8", None, bytes(range(128))))
    yield "ok", "along the last axis", group((2, 64), {**GROUP, "axis": 1})
    yield "ok", "groups of nothing", group((0, 2), data=("u32", None, b""), scales=("f32", None, b""))
    yield "layout_attributes", "a group without attributes", group(attributes=None)
    for name in GROUP:
        yield "layout_attributes", f"a group without {name}", group(attributes={k: v for k, v in GROUP.items() if k != name})
    for name in PACKING:
        yield "layout_attributes", f"a packing without {name}", group(
            attributes={**GROUP, "packing": {k: v for k, v in PACKING.items() if k != name}})
    yield "layout_attributes", "a packing that is a word", group(attributes={**GROUP, "packing": "8_per_u32"})
    yield "layout_attributes", "an unknown scale form", group(attributes={**GROUP, "scale_form": "x"})
    yield "layout_attributes", "an unknown zero point", group(attributes={**GROUP, "zero_point": {"form": "x"}})
    yield "layout_attributes", "a zero point that is a word", group(attributes={**GROUP, "zero_point": "none"})
    yield "layout_attributes", "an implied zero without a value", group(attributes={**GROUP, "zero_point": {"form": "implied"}})
    yield "layout_attributes", "zeros without a packing", group(attributes={**GROUP, "zero_point": {"form": "tensor"}}, zeros=("u8", None, bytes(4)))
    yield "layout_attributes", "zeros of an unknown packing", group(
        attributes={**GROUP, "zero_point": {"form": "tensor", "packing": "x"}}, zeros=("u8", None, bytes(4)))
    yield "layout_attributes", "axis 2 of 2", group(attributes={**GROUP, "axis": 2})
    yield "layout_attributes", "a scalar in groups", group((), data=("u32", None, b""), scales=("f32", None, b""))
    for bits in (0, 1, 7, 16):
        yield "quant_bits", f"codes of {bits} bits", group(attributes={**GROUP, "bits": bits})
    for bits in (3, 5, 6):
        yield "quant_bits", f"codes of {bits} bits leave bits unused", group(attributes={**GROUP, "bits": bits})
    yield "quant_packing", "7 codes to a word", group(attributes={**GROUP, "packing": {**PACKING, "per_word": 7}})
    yield "quant_packing", "an unknown order", group(attributes={**GROUP, "packing": {**PACKING, "order": "x"}})
    for word in ("x", "i32", "f32"):
        yield "quant_packing", f"words of {word}", group(attributes={**GROUP, "packing": {**PACKING, "word": word}})
    yield "quant_packing", "data of another word", group(data=("u64", None, bytes(64)))
    yield "quant_packing", "data that is no integer", group(data=("f32", None, bytes(64)))
    yield "quant_packing", "codes that fill no word", group((33, 1), {**GROUP, "group_size": 33}, data=("u32", None, bytes(20)), scales=("f32", None, f32(1)))
    yield "quant_packing", "zeros that fill no word", group(attributes=same, zeros=("u32", None, bytes(4)))
    yield "quant_group", "groups of 48 in 64", group(attributes={**GROUP, "group_size": 48})
    yield "type_mismatch", "scales of u8", group(scales=("u8", None, bytes(4)))
    yield "type_mismatch", "exponents without their type", group(attributes={**GROUP, "scale_form": "e8m0_exponent"}, scales=("u8", None, bytes(4)))
    yield "size_mismatch", "too few codes", group(data=("u32", None, bytes(60)))
    yield "size_mismatch", "too few scales", group(scales=("f32", None, f32(1)))
    yield "size_mismatch", "too many zeros", group(attributes=tensor, zeros=("u8", None, bytes(5)))
    yield "layout_components", "a tensor of zeros that is not there", group(attributes=tensor)
    yield "layout_components", "zeros that nobody wants", group(attributes=none, zeros=("u8", None, bytes(4)))


BLOCKS = {"elems_per_block": 32, "block_bytes": 18}


def gguf():
    make = lambda shape=(2, 32), attributes=BLOCKS, layout="gguf.q4_0/1", **parts: object_of(
        layout, shape, {"data": ("u8", None, bytes(range(36))), **parts}, attributes)
    yield "ok", "gguf", make()
    yield "ok", "an unknown type of gguf", make(attributes=None, layout="gguf.foo/1")
    yield "ok", "gguf of another version", make(attributes=None, layout="gguf.q4_0/2")
    yield "layout_attributes", "gguf without attributes", make(attributes=None)
    yield "layout_attributes", "gguf in blocks of 0 bytes", make(attributes={**BLOCKS, "block_bytes": 0}, data=("u8", None, b""))
    yield "layout_attributes", "gguf in blocks of 0 elements", make(attributes={**BLOCKS, "elems_per_block": 0})
    yield "quant_group", "gguf in blocks of 7 elements", make(attributes={**BLOCKS, "elems_per_block": 7})
    yield "size_mismatch", "gguf of 35 bytes", make(data=("u8", None, bytes(35)))
    yield "type_mismatch", "gguf of i8", make(data=("i8", None, bytes(36)))
    yield "type_mismatch", "gguf of a type", make(data=("u8", "x", bytes(36)))
    yield "layout_components", "gguf of two parts", make(x=("u8", None, bytes(36)))


# -- encodings


def compressed():
    content = u32(*range(2000))
    pieces = [content[at:at + 3000] for at in range(0, len(content), 3000)]
    frames = [zstd_frame(each) for each in pieces]
    sizes = [(len(f), len(p)) for f, p in zip(frames, pieces)]
    good = b"".join(frames) + seek_table(sizes)

    def make(stored, decoded=len(content), digest=None):
        more = {"encoding": "zt.zstd-seekable/1", "decoded_length": decoded, **({"digest": digest} if digest else {})}
        return object_of("dense", [decoded // 4], {"data": ("u32", None, stored, more)})

    yield "ok", "seekable zstd", make(good, digest=xxh3(content))
    yield "ok", "seekable zstd of one frame", make(seekable(content, 1 << 20))
    yield "ok", "a table with checksums", make(b"".join(frames) + seek_table(
        [(*size, xxhash.xxh64_intdigest(piece) & 0xffffffff) for size, piece in zip(sizes, pieces)], True))
    plain = [zstd_frame(each, True, False) for each in pieces]
    yield "ok", "frames that don't state their size", make(b"".join(plain) + seek_table([(len(f), len(p)) for f, p in zip(plain, pieces)]))
    yield "ok", "no frames", make(seek_table([]), 0)
    yield "ok", "an unknown encoding", part(encoding="x.y/1", decoded_length=8)
    yield "ok", "an encoding that is called raw", part(encoding="raw", decoded_length=8)
    yield "size_mismatch", "a decoded length that contradicts the shape", object_of(
        "dense", [3], {"data": ("u32", None, good, {"encoding": "zt.zstd-seekable/1", "decoded_length": len(content)})})
    yield "size_mismatch", "the same of an unknown encoding", part(encoding="x.y/1", decoded_length=9)
    yield "verify decode_failed", "no bytes", make(b"", 0)
    yield "decode_limit", "more than zstd can hold", make(b"\0" * 40, 1 << 30)
    yield "verify decode_size", "a byte too few", make(good, len(content) - 4)
    yield "verify decode_size", "a byte too many", make(good, len(content) + 4)
    yield "verify mismatch", "another digest", make(good, digest="xxh3:" + "0" * 16)
    bare = [zstd_frame(each, False) for each in pieces]
    yield "verify decode_failed", "no checksums", make(b"".join(bare) + seek_table([(len(f), len(p)) for f, p in zip(bare, pieces)]))
    yield "verify decode_failed", "no seek table", make(b"".join(frames))
    cut = [content[:3000], content[3000:4000], content[4000:]]
    uneven = [zstd_frame(each) for each in cut]
    yield "verify decode_failed", "frames of two sizes", make(b"".join(uneven) + seek_table([(len(f), len(p)) for f, p in zip(uneven, cut)]))
    yield "verify decode_failed", "something between the frames", make(
        frames[0] + struct.pack("<II", 0x184D2A50, 4) + b"abcd" + b"".join(frames[1:]) + seek_table(sizes))
    yield "verify decode_failed", "something behind the table", make(good + bytes(5))
    for at, code, what in ((30, "decode_failed", "a frame"), (-9, "decode_failed", "the count"), (-13, "decode_size", "a size"), (-1, "decode_failed", "the magic")):
        damaged = bytearray(good)
        damaged[at] ^= 1
        yield f"verify {code}", f"{what} is damaged", make(bytes(damaged))
    yield "verify decode_failed", "a frame of 17 MiB", make(seekable(bytes(17 << 20), 17 << 20), 17 << 20)


# -- files of the reference


def reference():
    import ztensor

    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "x.zt")

        def written(write, **options):
            pathlib.Path(path).unlink(missing_ok=True)
            with ztensor.Writer(path, **options) as writer:
                write(writer)
            return pathlib.Path(path).read_bytes()

        def canonical(writer):
            writer.add("b", f32(1, -2, 3.5, 0, 5, 6), [2, 3], "f32")
            writer.add("bb", f32(1, -2, 3.5, 0, 5, 6), [3, 2], "f32")
            writer.add("mask", bytes([0, 1, 1]), [3], "u8", logical="bool")

        def many(writer):
            for dtype, width in (("f64", 8), ("f32", 4), ("f16", 2), ("bf16", 2), ("i64", 8), ("i32", 4), ("i16", 2), ("i8", 1),
                                 ("u64", 8), ("u32", 4), ("u16", 2), ("u8", 1)):
                writer.add(f"plain/{dtype}", bytes(range(3 * width)), [3], dtype)
            for logical, dtype, size in (("f8_e4m3fn", "u8", 3), ("f8_e5m2", "u8", 3), ("f8_e4m3fnuz", "u8", 3), ("f8_e5m2fnuz", "u8", 3),
                                         ("f8_e8m0", "u8", 3), ("f4_e2m1", "u8", 2), ("complex64", "f32", 24), ("complex128", "f64", 48)):
                writer.add(f"typed/{logical}", bytes([0x21, 0x03] + [1] * 46)[:size], [3], dtype, logical=logical)
            writer.add("scalar", f32(3), [], "f32")
            writer.add("nothing", b"", [0, 4], "f32")
            writer.add("compressed", u32(*range(3000)), [30, 100], "u32", encoding="zt.zstd-seekable/1")
            writer.add_object("csr", [2, 3], {"values": {"data": f32(1, 2), "dtype": "f32"}, "indices": {"data": u32(0, 2), "dtype": "u32"},
                                              "indptr": {"data": u32(0, 1, 2), "dtype": "u32"}}, layout="zt.sparse_csr/1")
            writer.add_object("coo", [2, 3], {"values": {"data": f32(1, 2), "dtype": "f32"}, "coords": {"data": u32(0, 1, 0, 2), "dtype": "u32"}},
                              layout="zt.sparse_coo/1", attributes={"note": "any order", "list": [1, -2, 2.5, None, True, "x"]})
            writer.add_object("groups", [64, 2], {"data": {"data": bytes(range(64)), "dtype": "u32"}, "scales": {"data": f32(1, 2, 3, 4), "dtype": "f32"}},
                              layout="zt.quant_group/1", attributes=GROUP)
            writer.add_object("mx", [2, 32], {"data": {"data": bytes(range(32)), "dtype": "u8", "logical": "f4_e2m1"},
                                              "scales": {"data": b"\x7f\x80", "dtype": "u8", "logical": "f8_e8m0"}}, layout="zt.mx/1", attributes=MX)
            writer.set_attributes({"name": "many", "nested": {"a": [1.5, 1e300]}})

        yield "ok", "reference-canonical", written(canonical)
        yield "ok", "reference-many", written(many, canonical=False, align=4096)
        yield "ok", "reference-empty", written(lambda writer: None)
        written(canonical, canonical=False, align=4096)
        with ztensor.Writer(path, canonical=False, align=4096, append=True) as writer:
            writer.add("later", u32(7), [1], "u32")
        yield "ok", "reference-appended", pathlib.Path(path).read_bytes()


def sharded():
    """A model in three files, one of which has a manifest of its own."""
    first, second = bytes(range(200)) * 30, b"x" * 5000
    data, (place,) = data_shard([first])
    whole = file(lambda p: {"objects": {"own": dense(p[0], dtype="u8", shape=[5000])}}, [second])
    root = file(lambda p: {
        "shards": {"00001": {"size": len(data), "digest": xxh3(data)},
                   "b-2": {"size": len(whole), "digest": "sha256:" + hashlib.sha256(whole).hexdigest()}},
        "objects": {"a": dense(place, dtype="u8", shape=[60, 100], shard="00001", digest=xxh3(first)),
                    "b": dense([4096, 5000], dtype="u8", shape=[5000], shard="b-2", digest=xxh3(second)),
                    "c": dense(p[0], dtype="u8", shape=[8], digest=xxh3(b"12345678"))}}, [b"12345678"])
    return {"model.zt": root, "model-00001.zt": data, "model-b-2.zt": whole}


# -- descriptions, in the schema of tests/corpus/golden


def digest_state(text, decoded):
    if text is None:
        return "absent"
    algorithm, digits = text.split(":", 1)
    if decoded is None or algorithm not in ("xxh3", "sha256"):
        return "unsupported"
    found = xxh3(decoded) if algorithm == "xxh3" else "sha256:" + hashlib.sha256(decoded).hexdigest()
    return "match" if found.split(":")[1] == digits else "mismatch"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def decode(part, stored):
    if "encoding" not in part:
        return stored
    if part["encoding"] != "zt.zstd-seekable/1":
        return None
    return b"".join(zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True).read(part["decoded_length"]) for _ in [0])


def as_u64(data, dtype):
    count = len(data) // (4 if dtype == "u32" else 8)
    return u64(*struct.unpack(f"<{count}{'I' if dtype == 'u32' else 'Q'}", data))


def describe_attributes(value):
    if value is None:
        return None
    pairs = sorted((encode(key), key, encode(each)) for key, each in value.items())
    return [{"key": key, "cbor": cbor.hex()} if len(cbor) <= 256 else
            {"key": key, "cbor_length": len(cbor), "cbor_sha256": sha256(cbor)} for _, key, cbor in pairs]


def describe(data):
    offset, length = struct.unpack("<QQ", data[-40:-24])
    out = {"file_length": len(data), "generation": "2"}
    if length == 0:
        return {**out, "data_shard": True, "index_length": 0, "attributes": None, "objects": []}
    root = cbor2.loads(data[offset:offset + length])
    out.update(index_length=length, attributes=describe_attributes(root.get("attributes")), objects=[])
    for name, each in sorted(root["objects"].items(), key=lambda pair: encode(pair[0])):
        parts, decoded = {}, {}
        for role, of in each["parts"].items():
            stored = data[of["blob"][0]:of["blob"][0] + of["blob"][1]]
            decoded[role] = decode(of, stored)
            parts[role] = {"dtype": of["dtype"], **({"type": of["type"]} if "type" in of else {}),
                           "offset": of["blob"][0], "length": of["blob"][1], "encoding": of.get("encoding", "raw"),
                           **({"uncompressed_length": of["decoded_length"]} if "encoding" in of else {}),
                           **({"digest": of["digest"]} if "digest" in of else {}),
                           "digest_state": digest_state(of.get("digest"), decoded[role]), "stored_sha256": sha256(stored)}
            if decoded[role] is not None:
                parts[role].update(decoded_length=len(decoded[role]), decoded_sha256=sha256(decoded[role]))
        made = {"name": name, "shape": each["shape"], "format": each["layout"],
                "attributes": describe_attributes(each.get("attributes")), "components": parts}
        values = each["parts"].get("values", {})
        if each["layout"] == "zt.sparse_csr/1" and values.get("type") != "f4_e2m1":
            kind = each["parts"]["indices"]["dtype"]
            indices = as_u64(decoded["indices"], kind)
            made["csr"] = {"nnz": len(indices) // 8, "indptr_u64_sha256": sha256(as_u64(decoded["indptr"], kind)),
                           "indices_u64_sha256": sha256(indices), "values_sha256": sha256(decoded["values"])}
        if each["layout"] == "zt.sparse_coo/1":
            coords = as_u64(decoded["coords"], each["parts"]["coords"]["dtype"])
            made["coo"] = {"nnz": len(coords) // 8 // len(each["shape"]), "coords_u64_soa_sha256": sha256(coords),
                           "values_sha256": sha256(decoded["values"])}
        out["objects"].append(made)
    return out


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for each in ("valid", "reject"):
        (folder / each).mkdir(exist_ok=True)
        for old in (folder / each).iterdir():
            old.unlink()
    kinds = {"container": containers, "cbor": encodings, "field": fields, "type": types, "blob": blobs, "shard": shards, "layout": layouts,
             "sparse": sparse, "mx": microscaling, "group": quantized, "gguf": gguf, "zstd": compressed, "": reference}
    lines = []
    for kind, make in kinds.items():
        for code, rule, data in make():
            word = "".join(c if c.isascii() and c.isalnum() else "-" for c in rule).strip("-")
            place = f"{'valid' if code == 'ok' else 'reject'}/{kind + '-' if kind else ''}{word}.zt"
            if (folder / place).exists():
                place = place[:-3] + f"-{len(lines)}.zt"
            (folder / place).write_bytes(data)
            lines.append(f"{place}\t{code}\t{kind}: {rule}\n" if kind else f"{place}\t{code}\t{rule}\n")
            if code == "ok":
                (folder / place).with_suffix(".json").write_text(json.dumps(describe(data), indent=1) + "\n", encoding="utf-8")
    (folder / "sharded").mkdir(exist_ok=True)
    for name, data in sharded().items():
        (folder / "sharded" / name).write_bytes(data)
    (folder / "rules.tsv").write_text("".join(lines), encoding="utf-8")
    print(len(lines), "files")


if __name__ == "__main__":
    main()
