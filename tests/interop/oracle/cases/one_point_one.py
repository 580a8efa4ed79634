"""1.1: no `type`, no `uncompressed_length`, logical types as dtypes, indices of any integer dtype."""

from __future__ import annotations

import random
import struct

from .. import encode
from ..build import Blobs, Built, Modern, Part, Tensor, dense, elements, frame, sha_digest
from ..encode import Wild
from ..model import TYPE_RATIOS, TYPES_AS_DTYPE_1_1, WIDTHS
from . import case
from .dense import filled
from .digests import spellings
from .sparse import coo, coordinates, csr, matrix

VERSION = "1.1.0"
CODES = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q"}


def packed(numbers: list[int], dtype: str) -> bytes:
    """Integers of any width."""
    return struct.pack(f"<{len(numbers)}{CODES[dtype]}", *numbers)


def stored_as(word: str) -> tuple[str, int]:
    """Storage dtype of a 1.1 dtype, and stored elements for each logical one."""
    storage, logical = TYPES_AS_DTYPE_1_1.get(word, (word, ""))
    return storage, TYPE_RATIOS.get(logical, 1)


@case("1.1-dense")
def dense_dtypes(rng: random.Random) -> Built:
    """The 13 storage dtypes."""
    return dense_of(rng, [*WIDTHS])


@case("1.1-dense-types")
def dense_types(rng: random.Random) -> Built:
    """The dtypes that 1.2 turned into logical types."""
    return dense_of(rng, [*TYPES_AS_DTYPE_1_1])


def dense_of(rng: random.Random, words: list[str]) -> Built:
    """Dense objects of some dtypes as matrix, scalar and empty."""
    blobs = Blobs()
    tensors = []
    for word in words:
        storage, ratio = stored_as(word)
        for count, shape in ((6, [2, 3]), (1, []), (0, [0])):
            tensors.append(
                dense(f"{word}.{count}", shape, Part(word, blobs.raw(elements(rng, storage, count * ratio))))
            )
    return Modern(VERSION).build(blobs, tensors)


@case("1.1-zstd")
def zstd(rng: random.Random) -> Built:
    """The 13 storage dtypes."""
    return zstd_of(rng, [*WIDTHS])


@case("1.1-zstd-types")
def zstd_types(rng: random.Random) -> Built:
    """The dtypes that 1.2 turned into logical types."""
    return zstd_of(rng, [*TYPES_AS_DTYPE_1_1])


def zstd_of(rng: random.Random, words: list[str]) -> Built:
    """Sizes come from shape and width, with or without a content size in the frames."""
    blobs = Blobs()
    tensors = []
    for word in words:
        storage, ratio = stored_as(word)
        plain = elements(rng, storage, 12 * ratio)
        for content_size in (False, True):
            blob = blobs.zstd(plain, frame(plain[:9], content_size=content_size) + frame(plain[9:]))
            tensors.append(dense(f"{word}.{content_size}", [3, 4], Part(word, blob)))
    parts = {"a": Part("f32", blobs.zstd(bytes(400))), "b": Part("u8", blobs.zstd(b""))}
    return Modern(VERSION).build(blobs, [*tensors, Tensor("custom", [2], parts, format="custom")])


@case("1.1-csr-index-dtypes")
def csr_index_dtypes(rng: random.Random) -> Built:
    """Every pair of integer dtypes for indptr and indices, signed ones too, raw and zstd in turn."""
    blobs = Blobs()
    tensors = []
    for i, first in enumerate(CODES):
        for j, second in enumerate(CODES):
            pattern = matrix(rng, 5, 6)
            store = blobs.zstd if (i + j) % 2 else blobs.raw
            indptr = Part(first, store(packed(pattern.indptr, first)))
            indices = Part(second, store(packed(pattern.indices, second)))
            values = Part("f32", store(elements(rng, "f32", pattern.nnz)))
            tensors.append(csr(f"{first}.{second}", pattern, values, indptr, indices))
    return Modern(VERSION).build(blobs, tensors)


@case("1.1-coo-index-dtypes")
def coo_index_dtypes(rng: random.Random) -> Built:
    """Values of storage dtypes."""
    return coo_of(rng, ["i16", "f64"])


@case("1.1-coo-types")
def coo_types(rng: random.Random) -> Built:
    """Values of the dtypes that 1.2 turned into logical types."""
    return coo_of(rng, [*TYPES_AS_DTYPE_1_1])


def coo_of(rng: random.Random, words: list[str]) -> Built:
    """Every integer dtype for coords with values of some dtypes, raw and zstd in turn."""
    blobs = Blobs()
    tensors = []
    for dtype in CODES:
        for i, word in enumerate(words):
            storage, ratio = stored_as(word)
            shape, store = [6, 5, 4], blobs.zstd if i % 2 else blobs.raw
            coords = packed(coordinates(rng, shape, 9), dtype)
            values = Part(word, store(elements(rng, storage, 9 * ratio)))
            tensors.append(coo(f"{dtype}.{word}", shape, values, Part(dtype, store(coords))))
    return Modern(VERSION).build(blobs, tensors)


@case("1.1-csr-complex")
def csr_complex(rng: random.Random) -> Built:
    """Complex and 8-bit values: the number of entries counts the ratio."""
    blobs = Blobs()
    tensors = []
    for word in TYPES_AS_DTYPE_1_1:
        storage, ratio = stored_as(word)
        pattern = matrix(rng, 4, 4)
        values = Part(word, blobs.raw(elements(rng, storage, pattern.nnz * ratio)))
        indptr, indices = (
            Part("u8", blobs.raw(packed(pattern.indptr, "u8"))),
            Part("i16", blobs.raw(packed(pattern.indices, "i16"))),
        )
        tensors.append(csr(word, pattern, values, indptr, indices))
    return Modern(VERSION).build(blobs, tensors)


@case("1.1-everything-else")
def everything_else(rng: random.Random) -> Built:
    """Attributes, digests, quantized groups, unknown fields."""
    blobs = Blobs()
    blob = blobs.raw(elements(rng, "f32", 4))
    tensors = [dense(name, [4], Part("f32", blob, digest=digest)) for name, digest in spellings(blob).items()]
    group = {
        "packed_weight": Part("u8", blobs.raw(rng.randbytes(8))),
        "scales": Part("f16", blobs.raw(rng.randbytes(4))),
        "zeros": Part("i8", blobs.raw(rng.randbytes(2))),
    }
    attributes = [("bits", encode.uint(4)), ("note", encode.tag(0, encode.text("2020-01-01T00:00:00Z")))]
    packed_blob = blobs.zstd(bytes(16))
    tensors += [
        Tensor("group", [2, 8], group, "quantized_group", attributes),
        dense("digest of zstd", [4], Part("f32", packed_blob, digest=sha_digest(packed_blob))),
        Tensor("custom", [1], {"a": Part("u8", blobs.raw(b"a"))}, "ragged", extra=[("later", encode.NULL)]),
    ]
    return Modern(VERSION, attributes=attributes, extra=[("later", encode.TRUE)]).build(blobs, tensors)


@case("1.1-unknown-words")
def unknown_words(rng: random.Random) -> Built:
    """Unknown dtypes (among them types of 1.2), encoding and digest algorithm."""
    blobs = Blobs()
    words = ["f8_e4m3fnuz", "f8_e4m3fn", "float32", "complex32"]
    tensors = [dense(word, [4], Part(word, blobs.raw(rng.randbytes(3 + i)))) for i, word in enumerate(words)]
    tensors += [
        dense("encoding", [4], Part("f32", blobs.opaque(b"??", "lz4"))),
        dense("digest", [4], Part("u8", blobs.raw(b"abcd"), digest="blake3:00")),
    ]
    return Modern(VERSION).build(blobs, tensors)


@case("1.1-wild")
def wild(rng: random.Random) -> Built:
    """Any form of CBOR at random."""
    blobs = Blobs()
    tensors = [filled(rng, blobs, f"t.{dtype}", [3, 3], dtype) for dtype in WIDTHS]
    return Modern(VERSION, style=Wild(rng), attributes=[]).build(blobs, tensors)
