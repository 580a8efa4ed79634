"""1.2: where blobs stand in the file."""

from __future__ import annotations

import random

from ..build import Blob, Blobs, Built, Modern, Part, Tensor, dense, elements
from . import case
from .dense import filled


@case("1.2-three-thousand-objects")
def three_thousand(rng: random.Random) -> Built:
    """Many small objects, in the index in no order."""
    blobs = Blobs()
    tensors = [filled(rng, blobs, f"layer.{i}.w{i % 7}", [1 + i % 5], "u8") for i in range(3000)]
    rng.shuffle(tensors)
    return Modern().build(blobs, tensors)


@case("1.2-tied-weights")
def tied_weights(rng: random.Random) -> Built:
    """Several components that are the same range, of one or several objects, with different meanings."""
    blobs = Blobs()
    shared, packed = blobs.raw(elements(rng, "f32", 12)), blobs.zstd(bytes(range(48)))
    tensors = [
        dense("embed", [3, 4], Part("f32", shared)),
        dense("head", [4, 3], Part("f32", shared)),
        dense("as bytes", [48], Part("u8", shared)),
        dense("zstd a", [48], Part("u8", packed)),
        dense("zstd b", [12], Part("i32", packed)),
        dense("frames as bytes", [len(packed.stored)], Part("u8", Blob(packed.offset, packed.stored, packed.stored))),
        Tensor("twice in one", [1], {"a": Part("f32", shared), "b": Part("u16", shared)}, format="pair"),
    ]
    return Modern().build(blobs, tensors)


@case("1.2-dirty-gaps")
def dirty_gaps(rng: random.Random) -> Built:
    """Gaps larger than needed, filled with other bytes than zero, before, between and after the blobs."""
    blobs = Blobs()
    tensors = []
    for i in range(6):
        blob = blobs.raw(elements(rng, "i16", 10), fill=0xA0 + i, gap=rng.randrange(300))
        tensors.append(dense(f"t{i}", [10], Part("i16", blob)))
    blobs.data += b"\xee" * 77
    return Modern().build(blobs, tensors)


@case("1.2-large-alignment")
def large_alignment(rng: random.Random) -> Built:
    """Offsets that are multiples of more than 64."""
    blobs = Blobs()
    places = [128, 4096, 65536, 512, 4096]
    tensors = [
        dense(f"t{i}", [5], Part("f64", blobs.raw(elements(rng, "f64", 5), align=align)))
        for i, align in enumerate(places)
    ]
    return Modern().build(blobs, tensors)


@case("1.2-blobs-in-reverse")
def blobs_in_reverse(rng: random.Random) -> Built:
    """The order of the blobs is not that of the index, nor are the components of one object together."""
    blobs = Blobs()
    stored = [blobs.raw(elements(rng, "u32", 4)) for _ in range(9)]
    tensors = [
        Tensor(
            f"{chr(97 + i)}", [4], {role: Part("u32", stored[8 - i - 3 * j]) for j, role in enumerate("xyz")}, "triple"
        )
        for i in range(3)
    ]
    return Modern().build(blobs, tensors)


@case("1.2-empty-blobs")
def empty_blobs(rng: random.Random) -> Built:
    """Empty blobs at one place, inside another blob, and right before the index."""
    blobs = Blobs()
    big = blobs.raw(elements(rng, "u8", 256))
    tensors = [dense("big", [256], Part("u8", big))]
    for i, offset in enumerate([64, 128, 256, 64, 320]):
        tensors.append(dense(f"empty {i}", [0], Part("f32", Blob(offset, b"", b""))))
    return Modern().build(blobs, tensors)


@case("1.2-index-far-behind")
def index_far_behind(rng: random.Random) -> Built:
    """A long gap before the index, which starts at an odd place."""
    blobs = Blobs()
    tensor = filled(rng, blobs, "t", [3], "u8")
    blobs.data += bytes(10_001)
    return Modern().build(blobs, [tensor])


@case("1.2-index-like-blob")
def index_like_blob(rng: random.Random) -> Built:
    """A blob that is itself a whole .zt file."""
    inner = Modern().build(Blobs(), []).data
    blobs = Blobs()
    blob = blobs.raw(inner)
    return Modern().build(blobs, [dense("file", [len(inner)], Part("u8", blob))])
