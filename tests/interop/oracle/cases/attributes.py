"""1.2: attribute values of every kind of CBOR, at the file and at objects."""

from __future__ import annotations

import random

from .. import encode as e
from ..build import Blobs, Built, Modern, Part, dense
from ..encode import Fields
from . import case

BOUNDARIES = [0, 1, 23, 24, 255, 256, 65535, 65536, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


def at_both_levels(attributes: Fields) -> Built:
    """A file whose attributes, and those of its one object, are these."""
    blobs = Blobs()
    part = Part("u8", blobs.raw(b"\x01\x02"))
    return Modern(attributes=attributes).build(blobs, [dense("t", [2], part, attributes)])


@case("1.2-attributes-ordinary")
def ordinary(rng: random.Random) -> Built:
    """What people write: texts, numbers, flags, lists, maps."""
    nested = e.mapping([(e.text("epochs"), e.uint(3)), (e.text("loss"), e.double(0.1))])
    return at_both_levels(
        [
            ("framework", e.text("PyTorch")),
            ("license", e.text("Apache-2.0")),
            ("steps", e.uint(120_000)),
            ("offset", e.integer(-5)),
            ("lr", e.double(3e-4)),
            ("half", e.half(0x3800)),
            ("tied", e.TRUE),
            ("frozen", e.FALSE),
            ("parent", e.NULL),
            ("classes", e.array([e.text("cat"), e.text("dog")])),
            ("training", nested),
            ("\u8a00\u8a9e", e.text("\u65e5\u672c\u8a9e")),
        ]
    )


@case("1.2-attributes-integers")
def integers(rng: random.Random) -> Built:
    """Both signs at every boundary, in every width of head that can hold them."""
    entries: Fields = []
    for number in BOUNDARIES:
        for width in e.WIDTHS_OF_HEADS:
            if width >= e.shortest_width(number):
                entries.append((f"uint.{number}.{width}", e.head(0, number, width)))
                entries.append((f"negative.{number}.{width}", e.head(1, number, width)))
    return at_both_levels(entries)


@case("1.2-attributes-floats")
def floats(rng: random.Random) -> Built:
    """Half, single and double: zeros, infinities, NaNs with payloads, subnormals, rounding cases."""
    halves = [0x0000, 0x8000, 0x3C00, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFFFF, 0x0001, 0x7BFF]
    singles = [0, 0x80000000, 0x7F800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF, 1, 0x7F7FFFFF, 0x3DCCCCCD]
    doubles = [0.0, -0.0, 1e308, 5e-324, 0.1, float("inf"), float("nan"), 65504.0, 16777217.0]
    entries = [(f"half.{bits:04x}", e.half(bits)) for bits in halves]
    entries += [(f"single.{bits:08x}", e.single(bits)) for bits in singles]
    entries += [(f"double.{i}", e.double(value)) for i, value in enumerate(doubles)]
    return at_both_levels(entries)


@case("1.2-attributes-simple-values", cbor2_reads_it=False)
def simple_values(rng: random.Random) -> Built:
    """Undefined, and simple values that have no name."""
    numbers = [*range(24), *range(32, 256, 16), 255]
    return at_both_levels([(f"simple.{number}", e.simple(number)) for number in numbers])


@case("1.2-attributes-tags", cbor2_reads_it=False)
def tags(rng: random.Random) -> Built:
    """Dates, big numbers, encoded CBOR, nested and unknown tags, long heads of tags."""
    return at_both_levels(
        [
            ("date text", e.tag(0, e.text("2024-05-01T12:00:00Z"))),
            ("date number", e.tag(1, e.double(1.5e9))),
            ("big", e.tag(2, e.byte_string(b"\x01" + bytes(8)))),
            ("big negative", e.tag(3, e.byte_string(b"\xff" * 20))),
            ("fraction", e.tag(4, e.array([e.integer(-2), e.uint(27315)]))),
            ("cbor in bytes", e.tag(24, e.byte_string(e.mapping([(e.uint(1), e.uint(2))])))),
            ("uri", e.tag(32, e.text("https://example.org"))),
            ("uuid", e.tag(37, e.byte_string(bytes(range(16))))),
            ("typed array", e.tag(85, e.byte_string(bytes(8)))),
            ("self described", e.tag(55799, e.array([]))),
            ("tag 18446744073709551615", e.tag((1 << 64) - 1, e.NULL)),
            ("tag in tag", e.tag(1000, e.tag(1001, e.tag(1002, e.text("in"))))),
            ("tagged key", e.mapping([(e.tag(999, e.text("k")), e.tag(998, e.text("v")))])),
            ("wrong use", e.tag(0, e.uint(7))),
            ("long head", e.tag(5, e.uint(1, 8), 8)),
        ]
    )


@case("1.2-attributes-strings")
def strings(rng: random.Random) -> Built:
    """Byte strings and texts: empty, with any byte, in chunks, with long heads."""
    return at_both_levels(
        [
            ("no bytes", e.byte_string(b"")),
            ("all bytes", e.byte_string(bytes(range(200)))),
            ("chunked bytes", e.chunked_bytes([b"", b"\x00\xff", b"", b"abc"])),
            ("no chunks of bytes", e.chunked_bytes([])),
            ("no text", e.text("")),
            ("text with NUL", e.text("a\0b")),
            ("chunked text", e.chunked_text(["ein", "", "\u20ac", "\U0001f600"])),
            ("no chunks of text", e.chunked_text([])),
            ("long head", e.text("abc", 8)),
            ("long head bytes", e.byte_string(b"abc", 4)),
        ]
    )


@case("1.2-attributes-nested", cbor2_reads_it=False)
def nested(rng: random.Random) -> Built:
    """Maps with keys of any kind and keys that stand twice; empty and indefinite containers; deep nesting."""
    keys = [
        e.uint(1), e.integer(-1), e.TRUE, e.NULL, e.half(0x3C00), e.byte_string(b"k"), e.text("k"),
        e.array([e.uint(1)]), e.mapping([]), e.tag(1, e.uint(1)), e.UNDEFINED, e.text(""),
    ]  # fmt: skip
    twice = [(e.text("k"), e.uint(1)), (e.text("k"), e.uint(2)), (e.text("k"), e.uint(2))]
    deep = e.uint(0)
    for level in range(40):
        deep = e.mapping([(e.text("k"), deep)]) if level % 2 else e.array([deep])
    return at_both_levels(
        [
            ("keys", e.mapping([(key, e.uint(i)) for i, key in enumerate(keys)])),
            ("twice", e.mapping(twice)),
            ("twice inside", e.array([e.open_mapping(twice)])),
            ("empty", e.array([e.array([]), e.mapping([]), e.open_array([]), e.open_mapping([])])),
            ("long heads", e.array([e.uint(1, 8)], 8)),
            ("long map", e.mapping([(e.uint(1), e.uint(1))], 4)),
            ("wide", e.array([e.uint(i % 24) for i in range(200)])),
            ("deep", deep),
        ]
    )


@case("1.2-attributes-lengths")
def lengths(rng: random.Random) -> Built:
    """Values around the length from which descriptions give a hash, and a large one."""
    sizes = [254, 255, 256, 257, 258, 70_000]
    return at_both_levels([(f"{size} bytes", sized(size)) for size in sizes])


def sized(size: int) -> bytes:
    """A byte string whose encoding has exactly `size` bytes."""
    for payload in range(size - 9, size):
        value = e.byte_string(bytes(payload))
        if len(value) == size:
            return value
    return e.byte_string(bytes(size - 3), 2)


@case("1.2-attributes-empty")
def empty(rng: random.Random) -> Built:
    """An empty map of attributes is not the same as none."""
    return at_both_levels([])


@case("1.2-attributes-many")
def many(rng: random.Random) -> Built:
    """A thousand attributes in no order."""
    entries = [(f"key.{i}", e.uint(i)) for i in range(1000)]
    rng.shuffle(entries)
    return at_both_levels(entries)


@case("1.2-attributes-without-objects")
def without_objects(rng: random.Random) -> Built:
    """A file that has attributes and nothing else."""
    return Modern(attributes=[("only", e.text("attributes"))]).build(Blobs(), [])
