"""1.2: names and versions."""

from __future__ import annotations

import random

from .. import encode
from ..build import Blobs, Built, Modern, Part, Tensor, elements
from . import case
from .dense import filled

UNICODE = [
    "\u00fcbergr\u00f6\u00dfe", "u\u0308bergro\u0308\u00dfe",  # composed and decomposed are two names
    "\u5c42.\u6743\u91cd", "\u0648\u0632\u0646", "\U0001f9e0.\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\ufeffbom", "\uffff", "\U0010ffff", "\u2028\u2029", "\u202egnirts", "\ue000", "\U00010000", "\uff5e",
]  # fmt: skip
AWKWARD = [
    " ", ".", "..", "../../etc/passwd", "C:\\x", "a/b", "a//b", "\n", "\x01", "\x7f", "\"quoted\"", "'", "\\",
    "\\u0041", "%s%n", "<b>", "{}", "a b", "a\tb", "A", "a", "a.", "a.b", "a0", "a\x01", "null", "true", "0", "-1",
    "__proto__", "constructor",
]  # fmt: skip


@case("1.2-unicode-names")
def unicode_names(rng: random.Random) -> Built:
    """Names of objects, components and attributes in every corner of Unicode."""
    blobs = Blobs()
    tensors = []
    for name in UNICODE:
        parts = {name + role: Part("u8", blobs.raw(rng.randbytes(2))) for role in ("", "2")}
        tensors.append(Tensor(name, [2], parts, format=name, attributes=[(name, encode.text(name))]))
    return Modern(attributes=[(name, encode.TRUE) for name in UNICODE]).build(blobs, tensors)


@case("1.2-awkward-names")
def awkward_names(rng: random.Random) -> Built:
    """Names that are dangerous to print, to escape, to sort or to use as paths."""
    blobs = Blobs()
    return Modern().build(blobs, [filled(rng, blobs, name, [1], "u8") for name in AWKWARD])


@case("1.2-sorted-bytewise")
def sorted_bytewise(rng: random.Random) -> Built:
    """Names whose order by bytes is not that by UTF-16 units or by length."""
    blobs = Blobs()
    names = ["a", "aa", "aaa", "ab", "b", "z", "\u00e9", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"]
    return Modern().build(blobs, [filled(rng, blobs, name, [1], "u8") for name in names])


@case("1.2-longest-names")
def longest_names(rng: random.Random) -> Built:
    """4,096 bytes, the most that a name may have, in one-byte and four-byte characters."""
    blobs = Blobs()
    one, four, mixed = "n" * 4096, "\U0001f600" * 1024, "a" * 4093 + "\u20ac"
    tensors = [
        Tensor(name, [1], {name: Part("u8", blobs.raw(elements(rng, "u8", 1)))}, "custom", [(name, encode.NULL)])
        for name in (one, four, mixed, "n" * 4095, "n" * 256, "n" * 255, "n" * 24, "n" * 23)
    ]
    return Modern(attributes=[(one, encode.NULL), (four, encode.NULL)]).build(blobs, tensors)


@case("1.2-unsorted")
def unsorted_names(rng: random.Random) -> Built:
    """Objects, components and attributes in falling order."""
    blobs = Blobs()
    tensors = []
    for name in ("zeta", "mu", "beta", "alpha"):
        parts = {role: Part("u8", blobs.raw(rng.randbytes(3))) for role in ("z", "m", "a")}
        tensors.append(Tensor(name, [3], parts, "custom", [(key, encode.uint(1)) for key in ("z", "y", "b", "a")]))
    return Modern(attributes=[("z", encode.uint(1)), ("a", encode.uint(2))]).build(blobs, tensors)


def with_version(rng: random.Random, version: str) -> Built:
    """A file of a later minor version, with a field and a type of it."""
    blobs = Blobs()
    tensor = filled(rng, blobs, "t", [2, 2], "f32")
    packed = Tensor("z", [6], {"data": Part("u8", blobs.zstd(b"abcdef"))})
    extra = [("new_in_this_version", encode.mapping([]))]
    return Modern(version=version, extra=extra).build(blobs, [tensor, packed])


@case("1.3-version")
def version_1_3(rng: random.Random) -> Built:
    """The next minor version."""
    return with_version(rng, "1.3.0")


@case("1.10-version")
def version_1_10(rng: random.Random) -> Built:
    """A minor version of two digits is not 1.1."""
    return with_version(rng, "1.10.27")


@case("1.2-version-of-two-parts")
def version_two_parts(rng: random.Random) -> Built:
    """Version "1.2", without a patch number."""
    return with_version(rng, "1.2")
