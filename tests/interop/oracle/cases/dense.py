"""1.2: dense objects of every dtype, shape and logical type."""

from __future__ import annotations

import random
import struct

from ..build import Blobs, Built, Modern, Part, Tensor, dense, elements
from ..model import TYPE_RATIOS, WIDTHS
from . import case

STORAGE_OF_TYPE = {"complex64": "f32", "complex128": "f64"}


def filled(
    rng: random.Random, blobs: Blobs, name: str, shape: list[int], dtype: str, type_: str | None = None
) -> Tensor:
    """A dense object of random elements, stored raw."""
    count = TYPE_RATIOS.get(type_, 1) if type_ else 1
    for dimension in shape:
        count *= dimension
    return dense(name, shape, Part(dtype, blobs.raw(elements(rng, dtype, count)), type=type_))


@case("1.2-dense-dtypes")
def dtypes(rng: random.Random) -> Built:
    """Each of the 13 dtypes in four shapes."""
    blobs = Blobs()
    shapes = {"matrix": [3, 5], "vector": [7], "cube": [2, 3, 4], "one": [1]}
    tensors = [
        filled(rng, blobs, f"{dtype}.{name}", shape, dtype) for dtype in WIDTHS for name, shape in shapes.items()
    ]
    return Modern().build(blobs, tensors)


@case("1.2-dense-scalars")
def scalars(rng: random.Random) -> Built:
    """Shape [] holds one element."""
    blobs = Blobs()
    return Modern().build(blobs, [filled(rng, blobs, f"scalar.{dtype}", [], dtype) for dtype in WIDTHS])


@case("1.2-dense-extreme-values")
def extreme_values(rng: random.Random) -> Built:
    """NaNs with payloads, infinities, subnormals, largest and smallest integers."""
    blobs = Blobs()
    patterns = {
        "f64": [0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000001, 0xFFFFFFFFFFFFFFFF, 1, 1 << 63],
        "f32": [0x7F800000, 0xFF800000, 0x7FC00001, 0xFFFFFFFF, 0x7F800001, 1, 1 << 31],
        "f16": [0x7C00, 0xFC00, 0x7E01, 0x7C01, 1, 0x8000],
        "bf16": [0x7F80, 0xFF80, 0x7FC1, 0x7F81, 1, 0x8000],
        "i64": [0, (1 << 63) - 1, 1 << 63, (1 << 64) - 1],
        "u64": [0, (1 << 64) - 1, 1 << 53, (1 << 53) + 1],
        "i8": [0, 127, 128, 255],
    }
    code = {8: "Q", 4: "I", 2: "H", 1: "B"}
    tensors = []
    for dtype, bits in patterns.items():
        plain = struct.pack(f"<{len(bits)}{code[WIDTHS[dtype]]}", *bits)
        tensors.append(dense(dtype, [len(bits)], Part(dtype, blobs.raw(plain))))
    return Modern().build(blobs, tensors)


@case("1.2-dense-zero-dimensions")
def zero_dimensions(rng: random.Random) -> Built:
    """A zero dimension means no elements, wherever it stands."""
    blobs = Blobs()
    shapes = [[0], [0, 5], [5, 0], [2, 0, 3], [0, 0], [0, 1 << 40], [1 << 60, 0], [1 << 30, 0, 1 << 30]]
    tensors = [
        filled(rng, blobs, f"{i}.{dtype}", shape, dtype) for i, shape in enumerate(shapes) for dtype in ("f32", "u8")
    ]
    return Modern().build(blobs, tensors)


@case("1.2-dense-rank-64")
def rank_64(rng: random.Random) -> Built:
    """The largest rank."""
    blobs = Blobs()
    shapes = {
        "ones": [1] * 64,
        "mixed": [1] * 30 + [2, 3] + [1] * 30 + [2, 1],
        "zero": [2] * 40 + [0] + [1] * 23,
        "63": [1] * 63,
    }
    return Modern().build(blobs, [filled(rng, blobs, name, shape, "i16") for name, shape in shapes.items()])


@case("1.2-dense-shape-heads")
def shape_heads(rng: random.Random) -> Built:
    """Dimensions and lengths at every boundary of CBOR heads."""
    blobs = Blobs()
    sizes = [23, 24, 255, 256, 65535, 65536]
    return Modern().build(blobs, [filled(rng, blobs, f"n{size}", [size], "u8") for size in sizes])


@case("1.2-logical-types")
def logical_types(rng: random.Random) -> Built:
    """Each logical type as matrix, scalar and empty."""
    blobs = Blobs()
    shapes = {"matrix": [3, 4], "scalar": [], "empty": [0, 2]}
    tensors = [
        filled(rng, blobs, f"{type_}.{name}", shape, STORAGE_OF_TYPE.get(type_, "u8"), type_)
        for type_ in TYPE_RATIOS
        for name, shape in shapes.items()
    ]
    return Modern().build(blobs, tensors)


@case("1.2-logical-types-zstd")
def logical_types_zstd(rng: random.Random) -> Built:
    """Compound types count their ratio in uncompressed_length too."""
    blobs = Blobs()
    tensors = []
    for type_, ratio in TYPE_RATIOS.items():
        dtype = STORAGE_OF_TYPE.get(type_, "u8")
        part = Part(dtype, blobs.zstd(elements(rng, dtype, 10 * ratio)), type=type_)
        tensors.append(dense(type_, [5, 2], part))
    return Modern().build(blobs, tensors)


@case("1.2-type-same-as-dtype")
def type_same_as_dtype(rng: random.Random) -> Built:
    """`type` may repeat the dtype."""
    blobs = Blobs()
    return Modern().build(blobs, [filled(rng, blobs, dtype, [4], dtype, dtype) for dtype in WIDTHS])


@case("1.2-no-objects")
def no_objects(rng: random.Random) -> Built:
    """Nothing but an index."""
    return Modern().build(Blobs(), [])


@case("1.2-extra-roles")
def extra_roles(rng: random.Random) -> Built:
    """More components than a known format requires, of any size."""
    blobs = Blobs()
    plain = filled(rng, blobs, "dense", [2, 2], "f32")
    plain.parts |= {
        "bias": Part("f16", blobs.raw(elements(rng, "f16", 3))),
        "an extra": Part("u8", blobs.zstd(b"compressed" * 9)),
        "empty": Part("f64", blobs.raw(b"")),
        "scales": Part("f32", blobs.raw(elements(rng, "f32", 1)), type="complex-ish"),
    }
    return Modern().build(blobs, [plain])
