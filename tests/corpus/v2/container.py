# SPDX-License-Identifier: MIT
"""Files of version 2 byte by byte, from the text alone: for files that no writer makes.

Needs xxhash and zstandard. Nothing here is the library's or the reference's.
"""

import struct

import xxhash
import zstandard

MAGIC = b"\x89ZT2\r\n\x1a\n"
ALIGNMENT = 4096


class Raw(bytes):
    """CBOR as it is to stand in the manifest."""


class Pairs(list):
    """A map with its pairs in this order, whatever order that is."""


def head(major, argument):
    if argument < 24:
        return bytes([major << 5 | argument])
    for info, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if argument < 1 << 8 * size:
            return bytes([major << 5 | info]) + argument.to_bytes(size, "big")
    raise ValueError(argument)


def encode_float(value):
    if value != value:
        return b"\xf9\x7e\x00"
    for code, letter in ((b"\xf9", ">e"), (b"\xfa", ">f"), (b"\xfb", ">d")):
        try:
            packed = struct.pack(letter, value)
        except OverflowError:
            continue
        if struct.unpack(letter, packed)[0] == value:
            return code + packed
    raise ValueError(value)


def encode(value):
    """Deterministic CBOR (RFC 8949, 4.2.1), but for what is Raw or Pairs."""
    if isinstance(value, Raw):
        return bytes(value)
    if value is None:
        return b"\xf6"
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, float):
        return encode_float(value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogateescape")
        return head(3, len(data)) + data
    if isinstance(value, Pairs):
        return head(5, len(value)) + b"".join(encode(k) + encode(v) for k, v in value)
    if isinstance(value, dict):
        pairs = sorted((encode(k), encode(v)) for k, v in value.items())
        return head(5, len(pairs)) + b"".join(k + v for k, v in pairs)
    return head(4, len(value)) + b"".join(encode(each) for each in value)


def padded(data, alignment=ALIGNMENT):
    return data + bytes(-len(data) % alignment)


def footer(offset, length, digest, version=2, reserved=0, magic=MAGIC):
    return struct.pack("<QQQII", offset, length, digest, version, reserved) + magic


def heap(blobs):
    """Magic and blobs; and where they lie."""
    data, places = MAGIC, []
    for blob in blobs:
        data = padded(data)
        places.append([len(data), len(blob)])
        data += blob
    return data, places


def file(root, blobs=(), **footer_fields):
    """`root` is the manifest, or its bytes, or a function of the blobs' places that gives either."""
    data, places = heap(blobs)
    if callable(root):
        root = root(places)
    manifest = root if isinstance(root, bytes) and not isinstance(root, Raw) else encode(root)
    data = padded(data)
    fields = {"offset": len(data), "length": len(manifest), "digest": xxhash.xxh3_64_intdigest(manifest)}
    fields.update(footer_fields)
    return data + manifest + footer(**fields)


def data_shard(blobs):
    data, places = heap(blobs)
    return data + footer(0, 0, 0), places


def xxh3(data):
    return "xxh3:" + xxhash.xxh3_64_hexdigest(data)


def zstd_frame(data, checksum=True, content_size=True):
    return zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=content_size).compress(data)


def seek_table(frames, checksums=False):
    """`frames` are (stored, decoded) sizes, or (stored, decoded, checksum)."""
    entries = b"".join(struct.pack("<II", *each[:2]) + (struct.pack("<I", each[2]) if checksums else b"")
                       for each in frames)
    table = entries + struct.pack("<IBI", len(frames), 0x80 if checksums else 0, 0x8F92EAB1)
    return struct.pack("<II", 0x184D2A5E, len(table)) + table


def seekable(data, frame_bytes, checksum=True):
    """zt.zstd-seekable/1."""
    pieces = [data[at:at + frame_bytes] for at in range(0, len(data), frame_bytes)]
    frames = [zstd_frame(piece, checksum) for piece in pieces]
    return b"".join(frames) + seek_table([(len(f), len(p)) for f, p in zip(frames, pieces)])
