"""Files about which the rulings say nothing certain. Written only on request, each with its question."""

from __future__ import annotations

import random

from .. import encode
from ..build import (
    Blob,
    Blobs,
    Built,
    Legacy,
    LegacyTensor,
    Modern,
    Part,
    Tensor,
    dense,
    elements,
    legacy_blobs,
    skippable,
)
from ..decode import swapped, u64_bytes
from . import case
from .dense import filled
from .legacy import csr_blob
from .sparse import Matrix, coo, csr


@case(
    "question-null-fields",
    question="Is null in an optional field the same as its absence? (The texts give null as default.)",
)
def null_fields(rng: random.Random) -> Built:
    blobs = Blobs()
    tensor = filled(rng, blobs, "t", [2], "f32")
    tensor.parts["data"].extra = [(key, encode.NULL) for key in ("type", "uncompressed_length", "encoding", "digest")]
    tensor.extra = [("attributes", encode.NULL)]
    return Modern(extra=[("attributes", encode.NULL)]).build(blobs, [tensor])


@case(
    "question-1.1-with-type",
    question="A 1.1.0 file to which reference 1.2.3 appended keeps version 1.1.0, yet has type and uncompressed_length."
    " Are they read (here) or ignored as unknown fields (then the complex tensor has a wrong size)?",
)
def one_one_with_type(rng: random.Random) -> Built:
    blobs = Blobs()
    tensors = [
        filled(rng, blobs, "old", [2], "f32"),
        filled(rng, blobs, "complex", [3], "f32", "complex64"),
        dense("zstd", [8], Part("u8", blobs.zstd(bytes(8)), size=8)),
    ]
    return Modern("1.1.0").build(blobs, tensors)


@case("question-no-components", question="May an object of an unknown format have no components?")
def no_components(rng: random.Random) -> Built:
    return Modern().build(Blobs(), [Tensor("t", [2], {}, format="virtual")])


@case(
    "question-zstd-without-frames",
    question="Is a zstd blob of zero bytes, or of skippable frames only, an empty tensor?",
)
def zstd_without_frames(rng: random.Random) -> Built:
    blobs = Blobs()
    tensors = [dense("no bytes", [0], Part("u8", blobs.zstd(b"", b"")))]
    tensors.append(dense("skippable only", [0], Part("u8", blobs.zstd(b"", skippable(b"abc")))))
    return Modern().build(blobs, tensors)


@case(
    "question-digest-grammar",
    question="crc32c:0X...; algorithm words in upper case; a digest without a colon: unsupported or malformed?",
)
def digest_grammar(rng: random.Random) -> Built:
    blobs = Blobs()
    words = ["SHA256:" + "0" * 64, "CRC32C:0x00000000", "nothing"]
    return Modern().build(blobs, [dense(word[:4], [1], Part("u8", blobs.raw(b"x"), digest=word)) for word in words])


@case(
    "question-1.1-dtypes-in-1.2",
    question="Are f8_e4m3 and complex64 unknown dtypes in a 1.2 file (here), or read as in 1.1?",
)
def old_dtypes_in_1_2(rng: random.Random) -> Built:
    blobs = Blobs()
    words = {"f8_e4m3": 4, "complex64": 32}
    return Modern().build(
        blobs, [dense(word, [4], Part(word, blobs.raw(rng.randbytes(size)))) for word, size in words.items()]
    )


@case("question-coo-duplicates", question="Are repeated or unsorted coordinates refused?")
def coo_duplicates(rng: random.Random) -> Built:
    blobs = Blobs()
    coords = u64_bytes([1, 0, 1, 2, 0, 2])
    values = Part("f32", blobs.raw(elements(rng, "f32", 3)))
    return Modern().build(blobs, [coo("t", [3, 3], values, Part("u64", blobs.raw(coords)))])


@case(
    "question-csr-unknown-value-type", question="CSR values of unknown logical type: is nnz that of the indices (here)?"
)
def csr_unknown_type(rng: random.Random) -> Built:
    blobs = Blobs()
    pattern = Matrix([2, 2], [0, 1, 2], [0, 1])
    values = Part("u8", blobs.raw(bytes(6)), type="three bytes each")
    indptr, indices = (Part("u64", blobs.raw(u64_bytes(part))) for part in (pattern.indptr, pattern.indices))
    return Modern().build(blobs, [csr("t", pattern, values, indptr, indices)])


@case(
    "question-0.1-big-endian-sparse",
    question="Big-endian sparse data is refused when used: is the rest of the file described like this?",
)
def big_endian_sparse(rng: random.Random) -> Built:
    blobs = legacy_blobs()
    pattern = Matrix([2, 2], [0, 1, 2], [0, 1])
    blob = blobs.raw(swapped(csr_blob(pattern, bytes(8)), 4))
    return Legacy().build(blobs, [LegacyTensor("t", [2, 2], "f32", blob, "sparsecsr", order="big")])


@case("question-0.1-byte-order-words", question="Is data_endianness ignored for zstd and for one-byte dtypes (here)?")
def byte_order_words(rng: random.Random) -> Built:
    blobs = legacy_blobs()
    tensors = [
        LegacyTensor("zstd", [2], "f32", blobs.zstd(rng.randbytes(8)), order="big"),
        LegacyTensor("bytes", [2], "u8", blobs.raw(b"ab"), order="big"),
    ]
    return Legacy().build(blobs, tensors)


@case(
    "question-0.1-sparse-words",
    question="sparse with an unknown sparse_format: is it the format (here)? sparsecsr with arrays: custom keys?",
)
def sparse_words(rng: random.Random) -> Built:
    blobs = legacy_blobs()
    pattern = Matrix([2, 2], [0, 1, 2], [0, 1])
    arrays = [(role, encode.array([encode.uint(0)])) for role in ("indptr", "indices")]
    tensors = [
        LegacyTensor("ell", [2, 2], "u8", blobs.raw(b"abc"), "sparse", extra=[("sparse_format", encode.text("ell"))]),
        LegacyTensor("both", [2, 2], "f32", blobs.raw(csr_blob(pattern, bytes(8))), "sparsecsr", extra=arrays),
        LegacyTensor("dense", [1], "u8", blobs.raw(b"a"), extra=[("sparse_format", encode.text("csr")), *arrays]),
    ]
    return Legacy().build(blobs, tensors)


@case(
    "question-depth-limit",
    question="What is nested 64 deep? Here: 64 arrays, maps or tags around an item, the root map included.",
    cbor2_reads_it=False,
)
def depth_limit(rng: random.Random) -> Built:
    value = encode.uint(0)
    for level in range(62):
        value = encode.tag(1, value) if level % 3 == 0 else encode.array([value])
    return Modern(attributes=[("deep", value)]).build(Blobs(), [])


@case("question-empty-blob-at-index", question="May an empty blob stand exactly where the index starts (here yes)?")
def empty_blob_at_index(rng: random.Random) -> Built:
    blobs = Blobs()
    blobs.place(bytes(64))
    return Modern().build(blobs, [dense("t", [0], Part("u8", Blob(len(blobs.data), b"", b"")))])


@case(
    "question-huge-sparse-shape",
    question="Must shape x width fit 64 bits for a sparse object too (here: only the product of the shape)?",
)
def huge_sparse_shape(rng: random.Random) -> Built:
    blobs = Blobs()
    values = Part("f32", blobs.raw(elements(rng, "f32", 1)))
    return Modern().build(blobs, [coo("t", [1 << 63], values, Part("u64", blobs.raw(u64_bytes([1 << 62]))))])
