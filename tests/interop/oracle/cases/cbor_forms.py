"""1.2: the same kind of index in every encoding that CBOR allows."""

from __future__ import annotations

import random

from .. import encode
from ..build import Blobs, Built, Modern, Part, Tensor, crc_digest, dense, elements, sha_digest
from ..encode import Chunked, ChunkedNames, Indefinite, LongHeads, Style, Wild
from ..model import WIDTHS
from . import case
from .dense import filled


def everything(rng: random.Random, style: Style) -> Built:
    """Objects that use every field of 1.2."""
    blobs = Blobs()
    raw, packed = blobs.raw(elements(rng, "f32", 6)), blobs.zstd(elements(rng, "u8", 40))
    extra = [
        ("future", encode.tag(77, encode.open_array([encode.NULL]))),
        ("future_text", style.text("an unknown text")),
    ]
    parts = {
        "data": Part("f32", raw, type="f32", digest=crc_digest(raw), explicit_raw=True, size=24, extra=extra),
        "\u00fcber": Part("u8", packed, type="custom", digest=sha_digest(packed), extra=extra),
    }
    attributes = [("plain", style.text("value")), ("array", style.array([style.uint(7)])), ("\u00e4", style.fields([]))]
    tensors = [
        Tensor("everything", [3, 2], parts, attributes=attributes, extra=extra),
        Tensor("\U0001f600 custom", [1 << 33], {"p": Part("u8", packed)}, format="custom_format", attributes=[]),
        filled(rng, blobs, "scalar", [], "bool"),
        dense("c64", [300], Part("f32", blobs.zstd(bytes(2400)), type="complex64")),
    ]
    return Modern(style=style, attributes=attributes, extra=extra).build(blobs, tensors)


@case("1.2-cbor-plain")
def plain(rng: random.Random) -> Built:
    """Definite lengths, shortest heads."""
    return everything(rng, Style())


@case("1.2-cbor-long-heads")
def long_heads(rng: random.Random) -> Built:
    """Every head nine bytes long."""
    return everything(rng, LongHeads())


@case("1.2-cbor-indefinite")
def indefinite(rng: random.Random) -> Built:
    """Every map and array without a length."""
    return everything(rng, Indefinite())


@case("1.2-cbor-chunked-texts")
def chunked_texts(rng: random.Random) -> Built:
    """Every name, key and word in chunks of one character."""
    return everything(rng, Chunked())


@case("1.2-cbor-chunked-names")
def chunked_names(rng: random.Random) -> Built:
    """Names, attribute keys, version, format, type and digest in chunks (as far as the reference takes it)."""
    return everything(rng, ChunkedNames())


@case("1.2-cbor-components-first")
def components_first(rng: random.Random) -> Built:
    """The fields of every map in falling order: objects before version, components before shape."""

    class Backwards(Style):
        def fields(self, entries: encode.Fields) -> bytes:
            return super().fields(entries[::-1])

    return everything(rng, Backwards())


@case("1.2-cbor-wild-1")
def wild_1(rng: random.Random) -> Built:
    """Any form at random."""
    return everything(rng, Wild(rng))


@case("1.2-cbor-wild-2")
def wild_2(rng: random.Random) -> Built:
    """Any form at random."""
    return everything(rng, Wild(rng))


@case("1.2-cbor-wild-3")
def wild_3(rng: random.Random) -> Built:
    """Any form at random."""
    return everything(rng, Wild(rng))


@case("1.2-cbor-wild-without-chunks")
def wild_without_chunks(rng: random.Random) -> Built:
    """Any form at random, but no text in chunks."""
    return everything(rng, Wild(rng, chunks=False))


@case("1.2-cbor-wild-many-objects")
def wild_many(rng: random.Random) -> Built:
    """200 objects of any dtype, any form at random."""
    blobs = Blobs()
    dtypes = list(WIDTHS)
    tensors = [filled(rng, blobs, f"t{i}", [i % 4, i % 3], rng.choice(dtypes)) for i in range(200)]
    return Modern(style=Wild(rng)).build(blobs, tensors)
