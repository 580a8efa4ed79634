"""From the bytes of a file to the place of its index."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from .cbor import Kind, Node, scan
from .model import FormatError

MAGIC_0_1 = b"ZTEN0001"
MAGIC_1 = b"ZTEN1000"
MAGIC_2 = b"\x89ZT2\r\n\x1a\n"
MAX_INDEX = 1 << 30


@dataclass(frozen=True)
class Index:
    """Which container it is ("0.1", "1.0" or "1.1+"), and where the index stands in it."""

    container: str
    start: int
    length: int
    root: Node | None  # None: the file has no index at all (16 bytes)


@functools.lru_cache(maxsize=8)  # what looks at a file asks for its index several times
def locate(data: bytes) -> Index:
    """Find and scan the index."""
    if data.startswith(MAGIC_0_1):
        return locate_0_1(data)
    if data.startswith(MAGIC_2):
        raise FormatError("a zTensor v2 container, not a .zt file of generation 0.1 or 1.x")
    if not data.startswith(MAGIC_1):
        raise FormatError("not a zTensor file")
    if data.endswith(MAGIC_1) and len(data) > 16:
        return scanned(data, "1.1+", footer=16)
    return locate_1_0(data)


def locate_0_1(data: bytes) -> Index:
    """0.1: the last 8 bytes are the size; a size of 0 means that there are no tensors."""
    if len(data) == 16 and data[8:] == bytes(8):
        return Index("0.1", 8, 0, None)
    return scanned(data, "0.1", footer=8)


def locate_1_0(data: bytes) -> Index:
    """1.0 has no magic at the end, so it must look like 1.0 inside; otherwise the file is cut off."""
    try:
        index = scanned(data, "1.0", footer=8)
    except FormatError:
        index = None
    if index is None or index.root is None or not looks_like_1_0(index.root):
        raise FormatError("the footer is missing: the file is cut off")
    return index


def looks_like_1_0(root: Node) -> bool:
    """A map with a version 1.0 and the key `tensors`."""
    if root.kind is not Kind.MAP:
        return False
    values = {key.text: value for key, value in root.pairs if key.kind is Kind.TEXT}
    version = values["version"].text if "version" in values else ""
    return (version == "1.0" or version.startswith("1.0.")) and "tensors" in values


def scanned(data: bytes, container: str, footer: int) -> Index:
    """Read the index size that starts the footer, and the index before it."""
    end = len(data) - footer
    if end < 8:
        raise FormatError("the file is too short")
    length = int.from_bytes(data[end : end + 8], "little")
    if length == 0 or length > MAX_INDEX or length > end - 8:
        raise FormatError(f"the index size {length} does not fit the file")
    return Index(container, end - length, length, scan(data[end - length : end]))
