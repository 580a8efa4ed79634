"""1.0: `tensors` with long dtype names, no magic at the end."""

from __future__ import annotations

import random

from .. import encode
from ..build import Blobs, Built, First, Part, Tensor, crc_digest, dense, elements
from ..decode import u64_bytes
from ..encode import Chunked, Indefinite, LongHeads, Wild
from ..model import WIDTHS
from . import case
from .dense import filled
from .digests import spellings
from .sparse import coo, coordinates, csr, matrix, raw_coo, raw_csr


@case("1.0-dense")
def dense_dtypes(rng: random.Random) -> Built:
    """All dtypes, raw and zstd, as matrix, scalar and empty."""
    blobs = Blobs()
    tensors = []
    for dtype in WIDTHS:
        for count, shape in ((6, [2, 3]), (1, []), (0, [3, 0])):
            plain = elements(rng, dtype, count)
            tensors.append(dense(f"{dtype}.{count}.raw", shape, Part(dtype, blobs.raw(plain))))
            tensors.append(dense(f"{dtype}.{count}.zstd", shape, Part(dtype, blobs.zstd(plain))))
    return First().build(blobs, tensors)


@case("1.0-sparse")
def sparse(rng: random.Random) -> Built:
    """CSR and COO with values of each dtype, raw and zstd; indices are u64 without saying so."""
    blobs = Blobs()
    tensors = []
    for dtype in WIDTHS:
        tensors.append(raw_csr(rng, blobs, f"csr.{dtype}", matrix(rng, 4, 5), dtype))
        tensors.append(raw_coo(rng, blobs, f"coo.{dtype}", [3, 3, 3], 4, dtype))
    pattern = matrix(rng, 9, 9)
    values = Part("f16", blobs.zstd(elements(rng, "f16", pattern.nnz)))
    indptr, indices = (Part("u64", blobs.zstd(u64_bytes(part))) for part in (pattern.indptr, pattern.indices))
    coords = Part("u64", blobs.zstd(u64_bytes(coordinates(rng, [7], 3))))
    tensors.append(csr("csr.zstd", pattern, values, indptr, indices))
    tensors.append(coo("coo.zstd", [7], Part("i8", blobs.zstd(b"\1\2\3")), coords))
    return First().build(blobs, tensors)


@case("1.0-attributes-and-digests")
def attributes_and_digests(rng: random.Random) -> Built:
    """Text attributes, digests in every spelling, "raw" said, unknown fields at every level."""
    blobs = Blobs()
    blob = blobs.raw(elements(rng, "f32", 3))
    later = [("later", encode.tag(9, encode.array([encode.NULL])))]
    tensors = [
        Tensor(name, [3], {"data": Part("f32", blob, digest=digest, explicit_raw=True, extra=later)}, extra=later)
        for name, digest in spellings(blob).items()
    ]
    packed = blobs.zstd(bytes(12))
    tensors.append(dense("zstd", [3], Part("f32", packed, digest=crc_digest(packed))))
    attributes = [("z", encode.text("last")), ("a", encode.text("first")), ("long", encode.text("x" * 300))]
    return First(attributes=attributes, extra=later).build(blobs, tensors)


@case("1.0-no-tensors-long-version")
def no_tensors(rng: random.Random) -> Built:
    """No tensors, version "1.0.2"."""
    return First(version="1.0.2").build(Blobs(), [])


@case("1.0-unknown-words")
def unknown_words(rng: random.Random) -> Built:
    """Unknown dtype, format, encoding and digest algorithm."""
    blobs = Blobs()
    tensors = [
        dense("dtype", [3], Part("float8", blobs.raw(rng.randbytes(5)))),
        Tensor("format", [3], {"data": Part("u8", blobs.raw(b"12345"))}, format="blocks"),
        dense("encoding", [3], Part("u8", blobs.opaque(b"?", "lz4"))),
        dense("digest", [3], Part("u8", blobs.raw(b"abc"), digest="xxh3:00")),
    ]
    return First().build(blobs, tensors)


@case("1.0-indefinite")
def indefinite(rng: random.Random) -> Built:
    """Every map and array without a length."""
    blobs = Blobs()
    return First(style=Indefinite()).build(blobs, [filled(rng, blobs, f"t{i}", [i], "f32") for i in range(4)])


@case("1.0-chunked-texts")
def chunked_texts(rng: random.Random) -> Built:
    """Every text in chunks, `version` and its value too."""
    blobs = Blobs()
    return First(style=Chunked()).build(blobs, [filled(rng, blobs, f"t{i}", [i], "i8") for i in range(4)])


@case("1.0-long-heads")
def long_heads(rng: random.Random) -> Built:
    """Every head in its longest form."""
    blobs = Blobs()
    return First(style=LongHeads()).build(blobs, [filled(rng, blobs, f"t{i}", [i], "bf16") for i in range(4)])


@case("1.0-wild")
def wild(rng: random.Random) -> Built:
    """Any form of CBOR at random; `tensors` may stand before `version`."""
    blobs = Blobs()
    tensors = [filled(rng, blobs, f"t.{dtype}", [2, 2], dtype) for dtype in WIDTHS]
    tensors.append(raw_csr(rng, blobs, "csr", matrix(rng, 3, 3), "f32"))
    return First(style=Wild(rng)).build(blobs, tensors)
