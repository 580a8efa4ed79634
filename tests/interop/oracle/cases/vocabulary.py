"""1.2: words that nobody knows, custom formats, quantized groups."""

from __future__ import annotations

import random

from .. import encode
from ..build import Blobs, Built, Modern, Part, Tensor, crc_digest, dense, elements, frame
from ..encode import Fields
from ..model import WIDTHS
from . import case
from .dense import filled


@case("1.2-unknown-dtypes")
def unknown_dtypes(rng: random.Random) -> Built:
    """A dtype that nobody knows fixes no size, raw or zstd."""
    blobs = Blobs()
    words = ["f128", "F32", "float32", "u4", "i128", " f32", "bool8", "", "\u00e9"]
    tensors = [dense(f"raw {i}", [3], Part(word, blobs.raw(rng.randbytes(5 + i)))) for i, word in enumerate(words)]
    tensors.append(dense("zstd", [3, 3], Part("u3", blobs.zstd(b"seven b" * 3))))
    tensors.append(filled(rng, blobs, "known", [3], "f32"))
    return Modern().build(blobs, tensors)


@case("1.2-unknown-types")
def unknown_types(rng: random.Random) -> Built:
    """A logical type that nobody knows fixes no size either, but the stored elements stay readable."""
    blobs = Blobs()
    tensors = [
        dense("packed", [32], Part("u8", blobs.raw(rng.randbytes(16)), type="f4_e2m1x2")),
        dense("wider", [4], Part("f32", blobs.raw(rng.randbytes(48)), type="vector3")),
        dense("same size", [4], Part("i16", blobs.raw(rng.randbytes(8)), type="q8.8")),
        dense("zstd", [4], Part("u64", blobs.zstd(bytes(64)), type="u128")),
        dense("case", [4], Part("u8", blobs.raw(rng.randbytes(4)), type="F8_E4M3FN")),
        dense("empty word", [4], Part("u8", blobs.raw(rng.randbytes(4)), type="")),
    ]
    return Modern().build(blobs, tensors)


@case("1.2-unknown-encodings")
def unknown_encodings(rng: random.Random) -> Built:
    """An encoding that nobody knows, with and without uncompressed_length."""
    blobs = Blobs()
    tensors = []
    for i, word in enumerate(["lz4", "ZSTD", "gzip", "zstd:3", ""]):
        part = Part("f32", blobs.opaque(rng.randbytes(9), word), size=16 if i % 2 else None)
        tensors.append(dense(f"{i}", [4], part))
    return Modern().build(blobs, tensors)


@case("1.2-unknown-formats")
def unknown_formats(rng: random.Random) -> Built:
    """Formats that nobody knows, with components of any name and size."""
    blobs = Blobs()
    words = ["block_sparse", "Dense", "sparse_csc", "", "\u7a00\u758f", "dense "]
    tensors = []
    for i, word in enumerate(words):
        parts = {
            "data": Part("f32", blobs.raw(rng.randbytes(4 * i))),
            "mask": Part("bool", blobs.raw(bytes([1, 0, 1]))),
        }
        tensors.append(Tensor(f"object {i}", [2, 2], parts, format=word))
    return Modern().build(blobs, tensors)


@case("1.2-custom-format-100-components")
def many_components(rng: random.Random) -> Built:
    """One object of 100 components of every dtype, raw and zstd, with digests and types."""
    blobs = Blobs()
    parts = {}
    dtypes = list(WIDTHS)
    for i in range(100):
        dtype = dtypes[i % len(dtypes)]
        plain = elements(rng, dtype, i % 17)
        blob = blobs.zstd(plain) if i % 3 == 0 else blobs.raw(plain)
        digest = crc_digest(blob) if i % 4 == 0 else None
        parts[f"part.{i:03}"] = Part(dtype, blob, type="custom" if i % 5 == 0 else None, digest=digest)
    return Modern().build(blobs, [Tensor("many", [100], parts, format="hundred")])


def quantization(bits: int, group_size: int, packing: str) -> Fields:
    """The attributes of a quantized object."""
    return [("bits", encode.uint(bits)), ("group_size", encode.uint(group_size)), ("packing", encode.text(packing))]


@case("1.2-quantized-groups")
def quantized_groups(rng: random.Random) -> Built:
    """4 and 8 bits, raw and zstd, zero points of several dtypes, an extra component."""
    blobs = Blobs()
    four = {
        "packed_weight": Part("i32", blobs.raw(elements(rng, "i32", 16 * 64 // 8))),
        "scales": Part("f16", blobs.raw(elements(rng, "f16", 16 * 2))),
        "zeros": Part("f16", blobs.raw(elements(rng, "f16", 16 * 2))),
    }
    eight = {
        "zeros": Part("i8", blobs.zstd(elements(rng, "i8", 8))),
        "scales": Part("f32", blobs.zstd(elements(rng, "f32", 8))),
        "packed_weight": Part("i32", blobs.zstd(bytes(8 * 32), frame(bytes(8 * 32), content_size=True))),
        "g_idx": Part("i32", blobs.raw(elements(rng, "i32", 32))),
    }
    odd = {
        "packed_weight": Part("u8", blobs.raw(rng.randbytes(20))),
        "scales": Part("bf16", blobs.raw(elements(rng, "bf16", 4))),
        "zeros": Part("u8", blobs.raw(rng.randbytes(4))),
    }
    tensors = [
        Tensor("four", [16, 64], four, "quantized_group", quantization(4, 32, "8_per_i32")),
        Tensor("eight", [8, 32], eight, "quantized_group", quantization(8, 32, "4_per_i32")),
        Tensor("five", [4, 8], odd, "quantized_group", quantization(5, 8, "vendor_5bit")),
    ]
    return Modern().build(blobs, tensors)


@case("1.2-unknown-fields")
def unknown_fields(rng: random.Random) -> Built:
    """Fields of later versions at every level, holding any kind of value that has a name."""
    return with_unknown_fields(rng, named_values())


@case("1.2-unknown-fields-of-simple-values", cbor2_reads_it=False)
def unknown_fields_of_simple_values(rng: random.Random) -> Built:
    """Fields of later versions at every level, holding simple values that nobody knows."""
    return with_unknown_fields(rng, [(f"simple {i}", encode.simple(i)) for i in (0, 16, 19, 32, 255)])


def with_unknown_fields(rng: random.Random, extra: Fields) -> Built:
    """The same unknown fields in the root, an object and a component."""
    blobs = Blobs()
    tensor = filled(rng, blobs, "tensor", [2], "f32")
    tensor.extra = tensor.parts["data"].extra = extra
    return Modern(extra=extra).build(blobs, [tensor])


def named_values() -> Fields:
    """Values that are allowed nowhere else in the schema."""
    twice = [(encode.text("k"), encode.uint(1)), (encode.text("k"), encode.uint(2))]
    return [
        ("known tag", encode.tag(1, encode.uint(1_700_000_000))),
        ("unknown_tag", encode.tag(4_000_000_000, encode.array([encode.tag(7, encode.NULL)]))),
        ("duplicates", encode.mapping(twice)),
        ("number_keys", encode.mapping([(encode.uint(1), encode.half(0x3C00))])),
        ("bytes", encode.chunked_bytes([b"\xff", b"", b"\x00"])),
        ("undefined", encode.UNDEFINED),
        ("tensors", encode.array([])),
        ("generator", encode.text("an unknown field of 1.2")),
        ("", encode.NULL),
    ]
