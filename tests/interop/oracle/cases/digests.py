"""1.2: digests in every spelling."""

from __future__ import annotations

import hashlib
import random

from ..build import Blob, Blobs, Built, Modern, Part, Tensor, crc_digest, dense, elements, sha_digest
from ..decode import crc32c
from . import case


def spellings(blob: Blob) -> dict[str, str]:
    """The same digests in every spelling that a reader must know."""
    crc, sha = f"{crc32c(blob.stored):08x}", hashlib.sha256(blob.stored).hexdigest()
    mixed = "".join(c.upper() if i % 2 else c for i, c in enumerate(sha))
    return {
        "crc 0x upper": f"crc32c:0x{crc.upper()}",
        "crc 0x lower": f"crc32c:0x{crc}",
        "crc 0x mixed": f"crc32c:0x{crc[:4].upper()}{crc[4:]}",
        "crc upper": f"crc32c:{crc.upper()}",
        "crc lower": f"crc32c:{crc}",
        "sha lower": f"sha256:{sha}",
        "sha upper": f"sha256:{sha.upper()}",
        "sha mixed": f"sha256:{mixed}",
    }


@case("1.2-digest-spellings")
def digest_spellings(rng: random.Random) -> Built:
    """Both algorithms over raw, zstd and empty blobs."""
    blobs = Blobs()
    plain = elements(rng, "f32", 20)
    stored = {"raw": (blobs.raw(plain), 20), "zstd": (blobs.zstd(plain), 20), "empty": (blobs.raw(b""), 0)}
    tensors = [
        dense(f"{kind} {name}", [count], Part("f32", blob, digest=digest))
        for kind, (blob, count) in stored.items()
        for name, digest in spellings(blob).items()
    ]
    return Modern().build(blobs, tensors)


@case("1.2-digest-small-crcs")
def small_crcs(rng: random.Random) -> Built:
    """CRCs with leading zeros keep their eight digits."""
    blobs = Blobs()
    tensors: list[Tensor] = []
    while len(tensors) < 4:
        plain = rng.randbytes(6)
        if crc32c(plain) < 1 << 24:
            blob = blobs.raw(plain)
            tensors.append(dense(f"t{len(tensors)}", [6], Part("u8", blob, digest=crc_digest(blob))))
    return Modern().build(blobs, tensors)


@case("1.2-digest-unknown-algorithms")
def unknown_algorithms(rng: random.Random) -> Built:
    """Algorithms that nobody knows never count as verified and stop nothing."""
    blobs = Blobs()
    words = [
        "blake3:" + "ab" * 32,
        "md5:d41d8cd98f00b204e9800998ecf8427e",
        "xxh64:0",
        "sha512:" + "0" * 128,
        "crc32:0x00000000",
    ]
    tensors = [dense(word[:6], [3], Part("u8", blobs.raw(rng.randbytes(3)), digest=word)) for word in words]
    return Modern().build(blobs, tensors)


@case("1.2-digest-everywhere")
def everywhere(rng: random.Random) -> Built:
    """A digest at each component of objects of several components."""
    blobs = Blobs()
    parts = {}
    for i in range(12):
        blob = blobs.zstd(rng.randbytes(i)) if i % 2 else blobs.raw(rng.randbytes(i))
        parts[f"p{i}"] = Part("u8", blob, digest=crc_digest(blob) if i % 3 else sha_digest(blob))
    return Modern().build(blobs, [Tensor("t", [1], parts, format="custom")])
