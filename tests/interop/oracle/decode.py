"""Stored bytes to decoded bytes, digests, and the parts of sparse objects."""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass

from .model import WIDTHS, Component, FormatError, Object, ZtFile
from .need import require
from .rules import INTEGERS, dense_size, element_width

zstandard = require("zstandard")

ZSTD_MAGIC = 0xFD2FB528
SKIPPABLE_MAGIC = 0x184D2A50  # and the 15 after it
MAX_DECODED = 1 << 31


# ---- zstd ---------------------------------------------------------------------------------------------------


def zstd_decode(blob: bytes) -> bytes:
    """All frames of a blob, skippable ones left out; every byte must belong to a frame."""
    decoded = bytearray()
    while blob:
        magic = int.from_bytes(blob[:4], "little")
        if len(blob) >= 8 and magic & ~15 == SKIPPABLE_MAGIC:
            blob = after_skippable(blob)
        elif len(blob) >= 5 and magic == ZSTD_MAGIC:
            blob = decode_frame(blob, decoded)
        else:
            raise FormatError("bytes in a zstd blob that are no frame")
    return bytes(decoded)


def after_skippable(blob: bytes) -> bytes:
    """What follows a skippable frame."""
    end = 8 + int.from_bytes(blob[4:8], "little")
    if end > len(blob):
        raise FormatError("a skippable frame that is cut off")
    return blob[end:]


def decode_frame(blob: bytes, decoded: bytearray) -> bytes:
    """Decode one frame and return what follows it."""
    decoder = zstandard.ZstdDecompressor().decompressobj()
    try:
        decoded += decoder.decompress(blob)
    except zstandard.ZstdError as error:
        raise FormatError(f"zstd: {error}") from None
    if not decoder.eof:
        raise FormatError("a zstd frame that is cut off")
    if len(decoded) > MAX_DECODED:
        raise FormatError("decoded data larger than this tool takes")
    rest: bytes = decoder.unused_data
    return rest


def decoded_bytes(file: ZtFile, obj: Object, component: Component) -> bytes | None:
    """The decoded bytes, or None when the encoding is unknown."""
    stored = file.stored(component)
    if component.encoding == "raw":
        return stored
    if component.encoding != "zstd":
        return None
    decoded = zstd_decode(stored)
    wanted = component.uncompressed_length
    if wanted is None and obj.format == "dense" and component.role == "data":
        wanted = dense_size(obj)
    if wanted is not None and len(decoded) != wanted:
        raise FormatError(f"{obj.name}/{component.role}: decodes to {len(decoded)} bytes, not {wanted}")
    return decoded


def swapped(data: bytes, width: int) -> bytes:
    """Every element with its bytes in the other order."""
    out = bytearray(len(data))
    for place in range(width):
        out[place::width] = data[width - 1 - place :: width]
    return bytes(out)


# ---- digests ------------------------------------------------------------------------------------------------


def crc32c_table() -> list[int]:
    """The table of the reflected Castagnoli polynomial."""
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


CRC_TABLE = crc32c_table()


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def digest_state(digest: str | None, stored: bytes) -> str:
    """match, absent or unsupported; a wrong or malformed digest is an error."""
    if digest is None:
        return "absent"
    algorithm, _, value = digest.partition(":")
    if algorithm == "crc32c":
        pattern, actual = r"(?:0x)?([0-9a-fA-F]{8})", f"{crc32c(stored):08x}"
    elif algorithm == "sha256":
        pattern, actual = r"([0-9a-fA-F]{64})", hashlib.sha256(stored).hexdigest()
    else:
        return "unsupported"
    match = re.fullmatch(pattern, value)
    if match is None:
        raise FormatError(f"malformed digest {digest!r}")
    if match[1].lower() != actual:
        raise FormatError(f"digest {digest!r} does not match, the blob has {actual}")
    return "match"


# ---- sparse -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Csr:
    """Compressed sparse rows."""

    indptr: list[int]
    indices: list[int]
    values: bytes


@dataclass(frozen=True)
class Coo:
    """Coordinates, all of dimension 0 first."""

    coords: list[int]
    values: bytes
    nnz: int


def integers(data: bytes, dtype: str) -> list[int]:
    """Little-endian integers of any width."""
    if dtype not in INTEGERS:
        raise FormatError(f"indices of dtype {dtype}")
    code = {1: "b", 2: "h", 4: "i", 8: "q"}[WIDTHS[dtype]]
    code = code.upper() if dtype[0] == "u" else code
    if len(data) % struct.calcsize("<" + code):
        raise FormatError(f"{len(data)} bytes are no whole number of {dtype}")
    found = [value for (value,) in struct.iter_unpack("<" + code, data)]
    if any(value < 0 for value in found):
        raise FormatError("a negative index")
    return found


def u64_bytes(numbers: list[int]) -> bytes:
    """Numbers as little-endian u64."""
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def csr_parts(obj: Object, decoded: dict[str, bytes]) -> Csr:
    """The parts of a CSR object, wherever its generation keeps them."""
    if obj.inline_parts:
        csr = Csr(obj.inline_parts["indptr"], obj.inline_parts["indices"], decoded["data"])
    elif "indptr" in obj.components:
        indptr, indices = (integers(decoded[role], obj.components[role].dtype) for role in ("indptr", "indices"))
        csr = Csr(indptr, indices, decoded["values"])
    else:
        csr = csr_from_one_blob(obj.shape[0], decoded["data"])
    check_csr(obj, csr)
    return csr


def csr_from_one_blob(rows: int, blob: bytes) -> Csr:
    """0.1: row pointers, columns and values after one another."""
    indptr = integers(blob[: 8 * (rows + 1)], "u64")
    if len(indptr) != rows + 1:
        raise FormatError("a CSR blob without all its row pointers")
    first, last = 8 * (rows + 1), 8 * (rows + 1 + indptr[-1])
    return Csr(indptr, integers(blob[first:last], "u64"), blob[last:])


def check_csr(obj: Object, csr: Csr) -> None:
    """Row pointers rise from 0 to nnz, columns are inside the shape."""
    rows, columns = obj.shape
    rising = all(a <= b for a, b in zip(csr.indptr, csr.indptr[1:], strict=False))
    if len(csr.indptr) != rows + 1 or csr.indptr[0] != 0 or csr.indptr[-1] != len(csr.indices) or not rising:
        raise FormatError(f"{obj.name}: row pointers that don't fit")
    if any(column >= columns for column in csr.indices):
        raise FormatError(f"{obj.name}: a column outside the shape")
    check_value_size(obj, csr.values, len(csr.indices))


def coo_parts(obj: Object, decoded: dict[str, bytes]) -> Coo:
    """The parts of a COO object, wherever its generation keeps them."""
    if obj.inline_parts:
        values, coords = decoded["data"], obj.inline_parts["coords"]
    elif "coords" in obj.components:
        values, coords = decoded["values"], integers(decoded["coords"], obj.components["coords"].dtype)
    else:
        width = WIDTHS[obj.components["data"].dtype]
        values, coords = coo_from_one_blob(len(obj.shape), width, decoded["data"])
    coo = Coo(coords, values, len(coords) // len(obj.shape))
    check_coo(obj, coo)
    return coo


def coo_from_one_blob(rank: int, width: int, blob: bytes) -> tuple[bytes, list[int]]:
    """0.1: entries of all coordinates and one value."""
    size = 8 * rank + width
    if len(blob) % size:
        raise FormatError("a COO blob that holds no whole number of entries")
    entries = [blob[at : at + size] for at in range(0, len(blob), size)]
    values = b"".join(entry[8 * rank :] for entry in entries)
    rows = [integers(entry[: 8 * rank], "u64") for entry in entries]
    return values, [row[dimension] for dimension in range(rank) for row in rows]


def check_coo(obj: Object, coo: Coo) -> None:
    """As many coordinates as values and dimensions ask for, all inside the shape."""
    check_value_size(obj, coo.values, coo.nnz)
    if len(coo.coords) != coo.nnz * len(obj.shape):
        raise FormatError(f"{obj.name}: the number of coordinates is no multiple of the rank")
    for dimension, size in enumerate(obj.shape):
        if any(value >= size for value in coo.coords[dimension * coo.nnz : (dimension + 1) * coo.nnz]):
            raise FormatError(f"{obj.name}: a coordinate outside the shape")


def check_value_size(obj: Object, values: bytes, nnz: int) -> None:
    """One value for each entry, as far as the size of a value is known."""
    width = element_width(obj.components.get("values") or obj.components["data"])
    if width is not None and len(values) != width * nnz:
        raise FormatError(f"{obj.name}: {len(values)} bytes of values for {nnz} entries")


def is_readable_sparse(obj: Object, decoded: dict[str, bytes]) -> bool:
    """Whether all parts have known words (an unknown word is no error until it is needed)."""
    parts = obj.components.values()
    big = any(part.big_endian and WIDTHS.get(part.dtype, 1) > 1 for part in parts)
    return not big and len(decoded) == len(obj.components) and all(part.dtype in WIDTHS for part in parts)
