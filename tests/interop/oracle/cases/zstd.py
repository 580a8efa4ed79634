"""1.2: zstd blobs of every make, and raw blobs that say their size."""

from __future__ import annotations

import random

from ..build import Blobs, Built, Modern, Part, Tensor, dense, elements, frame, skippable
from . import case


def plain_text(rng: random.Random, size: int) -> bytes:
    """Bytes that compress somewhat."""
    return bytes(rng.choice(b"aaaabbc\0") for _ in range(size))


def u8(name: str, blobs: Blobs, plain: bytes, stored: bytes) -> Tensor:
    """A zstd object of bytes."""
    return dense(name, [len(plain)], Part("u8", blobs.zstd(plain, stored)))


@case("1.2-zstd-frame-headers")
def frame_headers(rng: random.Random) -> Built:
    """With and without content size and checksum, at content sizes where the header changes."""
    blobs = Blobs()
    tensors = []
    for size in (0, 1, 255, 256, 257, 65791, 65792):
        plain = plain_text(rng, size)
        for content_size in (False, True):
            for checksum in (False, True):
                stored = frame(plain, content_size=content_size, checksum=checksum)
                tensors.append(u8(f"{size}.{content_size}.{checksum}", blobs, plain, stored))
    return Modern().build(blobs, tensors)


@case("1.2-zstd-levels")
def levels(rng: random.Random) -> Built:
    """Fast and slow levels, data that does and does not compress."""
    blobs = Blobs()
    tensors = []
    for level in (-5, 1, 3, 9, 19, 22):
        tensors.append(u8(f"text.{level}", blobs, plain := plain_text(rng, 5000), frame(plain, level)))
        tensors.append(u8(f"noise.{level}", blobs, plain := rng.randbytes(700), frame(plain, level)))
    return Modern().build(blobs, tensors)


@case("1.2-zstd-several-frames")
def several_frames(rng: random.Random) -> Built:
    """Frames after one another, some empty, some with a content size."""
    blobs = Blobs()
    pieces = [plain_text(rng, size) for size in (0, 100, 1, 0, 4000, 7)]
    mixed = b"".join(frame(piece, content_size=bool(i % 2)) for i, piece in enumerate(pieces))
    many = b"".join(frame(bytes([i])) for i in range(256))
    tensors = [u8("mixed", blobs, b"".join(pieces), mixed), u8("256 frames", blobs, bytes(range(256)), many)]
    nothing = frame(b"") * 3
    tensors.append(u8("empty frames", blobs, b"", nothing))
    split = elements(rng, "f64", 9)
    part = Part("f64", blobs.zstd(split, frame(split[:13]) + frame(split[13:], content_size=True)))
    return Modern().build(blobs, [*tensors, dense("split in an element", [9], part)])


@case("1.2-zstd-skippable-frames")
def skippable_frames(rng: random.Random) -> Built:
    """Skippable frames before, between and after, with every magic, empty and not."""
    blobs = Blobs()
    plain = plain_text(rng, 300)
    body = frame(plain)
    around = b"".join(skippable(rng.randbytes(i), i) for i in range(16))
    tensors = [
        u8("before", blobs, plain, skippable(b"x" * 10) + body),
        u8("after", blobs, plain, body + skippable(b"", 15)),
        u8("all magics around", blobs, plain, around + body + around),
        u8("between", blobs, plain + plain, body + skippable(b"\x28\xb5\x2f\xfd", 7) + body),
        u8("with an empty frame", blobs, b"", skippable(b"abc") + frame(b"")),
    ]
    return Modern().build(blobs, tensors)


@case("1.2-zstd-high-ratio")
def high_ratio(rng: random.Random) -> Built:
    """As dense as zstd gets: long runs of one byte."""
    blobs = Blobs()
    size = 4 << 20
    tensors = [
        u8(f"level {level}", blobs, bytes([level]) * size, frame(bytes([level]) * size, level)) for level in (1, 19)
    ]
    return Modern().build(blobs, tensors)


@case("1.2-zstd-dtypes")
def dtypes(rng: random.Random) -> Built:
    """Every dtype, and a scalar and an empty shape."""
    blobs = Blobs()
    tensors = [
        dense(f"{dtype}.{count}", shape, Part(dtype, blobs.zstd(elements(rng, dtype, count))))
        for dtype in ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool")
        for count, shape in ((6, [2, 3]), (1, []), (0, [0, 3]))
    ]
    return Modern().build(blobs, tensors)


@case("1.2-raw-says-its-size")
def raw_says_its_size(rng: random.Random) -> Built:
    """Raw components with uncompressed_length, with the word "raw", with both, and empty ones."""
    blobs = Blobs()
    tensors = []
    for count in (0, 4):
        for says_size in (False, True):
            for says_raw in (False, True):
                size = 4 * count if says_size else None
                part = Part("f32", blobs.raw(elements(rng, "f32", count)), size=size, explicit_raw=says_raw)
                tensors.append(dense(f"{count}.{says_size}.{says_raw}", [count], part))
    return Modern().build(blobs, tensors)
