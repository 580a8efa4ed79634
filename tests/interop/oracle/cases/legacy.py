"""0.1: an array of maps, one blob for each tensor."""

from __future__ import annotations

import random
from collections.abc import Callable

from .. import encode
from ..build import Blob, Blobs, Built, Legacy, LegacyTensor, crc_digest, elements, frame, legacy_blobs, skippable
from ..decode import swapped, u64_bytes
from ..encode import Chunked, Fields, Indefinite, LongHeads, OpenMaps, Style, Wild
from ..model import WIDTHS
from . import case
from .digests import spellings
from .sparse import Matrix, coordinates, matrix

Store = Callable[[bytes], Blob]


def filled(rng: random.Random, blobs: Blobs, name: str, shape: list[int], dtype: str) -> LegacyTensor:
    """A raw tensor as the reference writes it."""
    count = 1
    for dimension in shape:
        count *= dimension
    order = "little" if WIDTHS[dtype] > 1 else None
    return LegacyTensor(name, shape, dtype, blobs.raw(elements(rng, dtype, count)), order=order)


def every_shape(rng: random.Random, blobs: Blobs) -> list[LegacyTensor]:
    """All dtypes as matrix, scalar and empty."""
    return [
        filled(rng, blobs, f"{dtype}.{name}", shape, dtype)
        for dtype in WIDTHS
        for name, shape in (("matrix", [2, 3]), ("scalar", []), ("empty", [0, 4]))
    ]


def styled(rng: random.Random, style: Style, maps: Style) -> Built:
    """The same tensors in a given style."""
    blobs = legacy_blobs()
    return Legacy(style, maps).build(blobs, every_shape(rng, blobs))


@case("0.1-dense-as-the-reference")
def as_the_reference(rng: random.Random) -> Built:
    """A definite array of indefinite maps."""
    return styled(rng, Style(), OpenMaps())


@case("0.1-dense-definite")
def definite(rng: random.Random) -> Built:
    """Definite maps."""
    return styled(rng, Style(), Style())


@case("0.1-dense-indefinite")
def indefinite(rng: random.Random) -> Built:
    """Everything indefinite."""
    return styled(rng, Indefinite(), Indefinite())


@case("0.1-dense-chunked-texts")
def chunked_texts(rng: random.Random) -> Built:
    """Every text in chunks."""
    return styled(rng, Style(), Chunked())


@case("0.1-dense-long-heads")
def long_heads(rng: random.Random) -> Built:
    """Every head in its longest form."""
    return styled(rng, LongHeads(), LongHeads())


@case("0.1-dense-wild")
def wild(rng: random.Random) -> Built:
    """Any form at random."""
    return styled(rng, Wild(rng), Wild(rng))


@case("0.1-empty-definite")
def empty_definite(rng: random.Random) -> Built:
    """No tensors, but a gap before the index."""
    blobs = legacy_blobs()
    blobs.data += bytes(100)
    return Legacy().build(blobs, [])


@case("0.1-empty-indefinite")
def empty_indefinite(rng: random.Random) -> Built:
    """An indefinite array without items."""
    return Legacy(Indefinite()).build(legacy_blobs(), [])


@case("0.1-custom-keys")
def custom_keys(rng: random.Random) -> Built:
    """Custom keys after the known ones, as the reference writes them; words of later versions are custom here."""
    blobs = legacy_blobs()
    tensor = filled(rng, blobs, "t", [3], "f32")
    tensor.extra = [
        ("author", encode.text("me")),
        ("attributes", encode.mapping([(encode.text("k"), encode.NULL)])),
        ("type", encode.text("f8_e4m3fn")),
        ("components", encode.array([])),
        ("version", encode.double(0.1)),
        ("\u9375", encode.byte_string(bytes(300))),
    ]
    return Legacy(maps=OpenMaps()).build(blobs, [tensor, filled(rng, blobs, "none", [2], "u8")])


@case("0.1-custom-keys-wild", cbor2_reads_it=False)
def custom_keys_wild(rng: random.Random) -> Built:
    """Custom keys of any value beside, before and between the known ones."""
    blobs = legacy_blobs()
    custom: Fields = [
        ("attributes", encode.mapping([(encode.uint(1), encode.NULL)])),
        ("digest", encode.text("sha256:not a digest here")),
        ("length", encode.uint(1)),
        ("tag", encode.tag(1, encode.half(0x3C00))),
        ("twice", encode.mapping([(encode.text("k"), encode.uint(1))] * 2)),
        ("simple", encode.simple(99)),
        ("\u9375", encode.chunked_text(["a", "b"])),
        ("long", encode.byte_string(bytes(400))),
    ]
    tensors = []
    for i in range(3):
        tensor = filled(rng, blobs, f"t{i}", [3], "f32")
        tensor.extra = custom
        tensors.append(tensor)
    return Legacy(maps=Wild(rng)).build(blobs, tensors)


@case("0.1-checksums")
def checksums(rng: random.Random) -> Built:
    """Checksums in every spelling, over raw and zstd blobs, and unknown ones."""
    blobs = legacy_blobs()
    plain = elements(rng, "i16", 8)
    tensors = [
        LegacyTensor(f"{i}.{name}", [8], "i16", blob, checksum=digest)
        for i, blob in enumerate((blobs.raw(plain), blobs.zstd(plain)))
        for name, digest in spellings(blob).items()
    ]
    tensors.append(LegacyTensor("unknown", [8], "i16", blobs.raw(plain), checksum="adler32:00000000"))
    return Legacy(maps=OpenMaps()).build(blobs, tensors)


@case("0.1-zstd")
def zstd(rng: random.Random) -> Built:
    """zstd of every dtype; sizes come from shape and width; several and skippable frames."""
    blobs = legacy_blobs()
    tensors = []
    for dtype in WIDTHS:
        plain = elements(rng, dtype, 10)
        frames = frame(plain[:3], content_size=True) + skippable(b"...") + frame(plain[3:])
        tensors.append(LegacyTensor(f"{dtype}.frames", [10], dtype, blobs.zstd(plain, frames)))
        tensors.append(LegacyTensor(f"{dtype}.frame", [5, 2], dtype, blobs.zstd(plain)))
    tensors.append(LegacyTensor("empty", [0], "f32", blobs.zstd(b"")))
    return Legacy(maps=OpenMaps()).build(blobs, tensors)


@case("0.1-big-endian")
def big_endian(rng: random.Random) -> Built:
    """Every multi-byte dtype in both byte orders and without a word about it."""
    blobs = legacy_blobs()
    tensors = []
    for dtype, width in WIDTHS.items():
        if width == 1:
            continue
        plain = elements(rng, dtype, 6)
        stored = {"big": swapped(plain, width), "little": plain, None: plain}
        for order, data in stored.items():
            blob = blobs.raw(data)
            tensors.append(LegacyTensor(f"{dtype}.{order}", [6], dtype, blob, order=order, checksum=crc_digest(blob)))
    tensors.append(LegacyTensor("scalar", [], "f64", blobs.raw(rng.randbytes(8)), order="big"))
    tensors.append(LegacyTensor("empty", [0], "f64", blobs.raw(b""), order="big"))
    return Legacy(maps=OpenMaps()).build(blobs, tensors)


@case("0.1-without-layout")
def without_layout(rng: random.Random) -> Built:
    """The longer text of 0.1 has no `layout`: dense."""
    blobs = legacy_blobs()
    tensors = [filled(rng, blobs, f"t{i}", [i, 2], "i32") for i in range(4)]
    for tensor in tensors:
        tensor.layout = None
    return Legacy().build(blobs, tensors)


@case("0.1-bools-of-any-byte")
def bools(rng: random.Random) -> Built:
    """0.1: any byte but zero is true (the description hashes the bytes as they stand)."""
    blobs = legacy_blobs()
    blob = blobs.raw(bytes([0, 1, 2, 127, 128, 255]))
    return Legacy(maps=OpenMaps()).build(blobs, [LegacyTensor("bools", [6], "bool", blob)])


@case("0.1-unknown-words")
def unknown_words(rng: random.Random) -> Built:
    """Unknown dtype, encoding and layout."""
    blobs = legacy_blobs()
    tensors = [
        LegacyTensor("dtype", [3], "float8", blobs.raw(rng.randbytes(5))),
        LegacyTensor("short name", [3], "u4", blobs.raw(rng.randbytes(7))),
        LegacyTensor("encoding", [3], "u8", blobs.opaque(b"?", "lz4")),
        LegacyTensor("layout", [3, 3], "u8", blobs.raw(b"12345"), layout="blocked"),
        LegacyTensor("known", [2], "u8", blobs.raw(b"12")),
    ]
    return Legacy(maps=OpenMaps()).build(blobs, tensors)


@case("0.1-places")
def places(rng: random.Random) -> Built:
    """Tied weights, dirty gaps, large alignment, an order that is not that of the blobs."""
    blobs = legacy_blobs()
    tensors = []
    for i, align in enumerate((64, 4096, 64, 256)):
        blob = blobs.raw(elements(rng, "f32", 4), align=align, fill=0x5A, gap=i * 100)
        tensors.append(LegacyTensor(f"t{i}", [4], "f32", blob))
        tensors.append(LegacyTensor(f"tied{i}", [2, 2], "f32", blob))
    blobs.data += b"\x33" * 5
    rng.shuffle(tensors)
    return Legacy(maps=OpenMaps()).build(blobs, tensors)


# ---- sparse -------------------------------------------------------------------------------------------------


def csr_blob(pattern: Matrix, values: bytes) -> bytes:
    """The reference's one blob."""
    return u64_bytes(pattern.indptr) + u64_bytes(pattern.indices) + values


def coo_blob(rank: int, coords: list[int], values: bytes, width: int) -> bytes:
    """The reference's one blob: coordinates and value of each entry."""
    nnz = len(values) // width
    entries = [
        u64_bytes([coords[axis * nnz + i] for axis in range(rank)]) + values[i * width :][:width] for i in range(nnz)
    ]
    return b"".join(entries)


def numbers(values: list[int]) -> bytes:
    """An array of integers."""
    return encode.array([encode.uint(value) for value in values])


def csr_spellings(name: str, pattern: Matrix, dtype: str, values: bytes, store: Store) -> list[LegacyTensor]:
    """The same CSR tensor in its three spellings."""
    one = store(csr_blob(pattern, values))
    arrays = [("indptr", numbers(pattern.indptr)), ("indices", numbers(pattern.indices))]
    says = [("sparse_format", encode.text("csr"))]
    return [
        LegacyTensor(f"{name}.reference", pattern.shape, dtype, one, "sparsecsr"),
        LegacyTensor(f"{name}.one blob", pattern.shape, dtype, one, "sparse", extra=says),
        LegacyTensor(f"{name}.arrays", pattern.shape, dtype, store(values), "sparse", extra=says + arrays),
    ]


def coo_spellings(
    name: str, shape: list[int], coords: list[int], dtype: str, values: bytes, store: Store
) -> list[LegacyTensor]:
    """The same COO tensor in its three spellings."""
    one = store(coo_blob(len(shape), coords, values, WIDTHS[dtype]))
    says = [("sparse_format", encode.text("coo"))]
    return [
        LegacyTensor(f"{name}.reference", shape, dtype, one, "sparsecoo"),
        LegacyTensor(f"{name}.one blob", shape, dtype, one, "sparse", extra=says),
        LegacyTensor(
            f"{name}.arrays", shape, dtype, store(values), "sparse", extra=[*says, ("coords", numbers(coords))]
        ),
    ]


@case("0.1-sparse-csr")
def sparse_csr(rng: random.Random) -> Built:
    """Every dtype in every spelling, raw and zstd; no rows, no columns, nothing stored."""
    blobs = legacy_blobs()
    tensors = []
    for i, dtype in enumerate(WIDTHS):
        pattern = matrix(rng, 4, 6)
        store: Store = blobs.zstd if i % 2 else blobs.raw
        tensors += csr_spellings(dtype, pattern, dtype, elements(rng, dtype, pattern.nnz), store)
    for name, shape in (("no rows", (0, 4)), ("no columns", (4, 0)), ("nothing", (3, 3))):
        tensors += csr_spellings(name, matrix(rng, *shape, density=0), "f32", b"", blobs.raw)
    return Legacy(maps=OpenMaps()).build(blobs, tensors)


@case("0.1-sparse-coo")
def sparse_coo(rng: random.Random) -> Built:
    """Every dtype in every spelling, raw and zstd, ranks 1 to 4; nothing stored."""
    blobs = legacy_blobs()
    tensors = []
    for i, dtype in enumerate(WIDTHS):
        shape = [5] * (1 + i % 4)
        coords, values = coordinates(rng, shape, 5), elements(rng, dtype, 5)
        store: Store = blobs.zstd if i % 2 else blobs.raw
        tensors += coo_spellings(dtype, shape, coords, dtype, values, store)
    tensors += coo_spellings("nothing", [4, 4], [], "f32", b"", blobs.raw)
    return Legacy(maps=OpenMaps()).build(blobs, tensors)


@case("0.1-sparse-wild")
def sparse_wild(rng: random.Random) -> Built:
    """Sparse spellings with custom keys and checksums, any form of CBOR."""
    blobs = legacy_blobs()
    pattern = matrix(rng, 5, 5)
    tensors = csr_spellings("csr", pattern, "f32", elements(rng, "f32", pattern.nnz), blobs.raw)
    coords = coordinates(rng, [4, 4], 6)
    tensors += coo_spellings("coo", [4, 4], coords, "i16", elements(rng, "i16", 6), blobs.zstd)
    for tensor in tensors:
        tensor.extra = [*tensor.extra, ("note", encode.tag(3, encode.byte_string(b"\1")))]
        tensor.checksum, tensor.order = crc_digest(tensor.blob), "little" if tensor.blob.encoding == "raw" else None
    return Legacy(Wild(rng), Wild(rng)).build(blobs, tensors)
