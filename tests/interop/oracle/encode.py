"""CBOR written by hand: the same content in any of the encodings that CBOR allows."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable, Sequence

from .model import WIDTHS

WIDTHS_OF_HEADS = (0, 1, 2, 4, 8)
BREAK = b"\xff"
NULL, TRUE, FALSE, UNDEFINED = b"\xf6", b"\xf5", b"\xf4", b"\xf7"


def shortest_width(number: int) -> int:
    """Bytes that a number needs after the first byte of its head."""
    return 0 if number < 24 else next(width for width in (1, 2, 4, 8) if number < 1 << 8 * width)


def head(major: int, number: int, width: int | None = None) -> bytes:
    """The head of an item; `width` (0, 1, 2, 4 or 8) may be larger than needed."""
    size = shortest_width(number) if width is None else width
    if size == 0:
        return bytes([major << 5 | number])
    return bytes([major << 5 | 23 + size.bit_length()]) + number.to_bytes(size, "big")


def uint(number: int, width: int | None = None) -> bytes:
    """An unsigned integer."""
    return head(0, number, width)


def integer(number: int) -> bytes:
    """An integer of either sign, shortest form."""
    return head(0, number) if number >= 0 else head(1, -1 - number)


def byte_string(data: bytes, width: int | None = None) -> bytes:
    """A definite byte string."""
    return head(2, len(data), width) + data


def text(words: str, width: int | None = None) -> bytes:
    """A definite text."""
    data = words.encode()
    return head(3, len(data), width) + data


def chunked_text(chunks: Iterable[str]) -> bytes:
    """An indefinite text of definite chunks."""
    return b"\x7f" + b"".join(text(chunk) for chunk in chunks) + BREAK


def chunked_bytes(chunks: Iterable[bytes]) -> bytes:
    """An indefinite byte string of definite chunks."""
    return b"\x5f" + b"".join(byte_string(chunk) for chunk in chunks) + BREAK


def array(items: Sequence[bytes], width: int | None = None) -> bytes:
    """A definite array."""
    return head(4, len(items), width) + b"".join(items)


def open_array(items: Sequence[bytes]) -> bytes:
    """An indefinite array."""
    return b"\x9f" + b"".join(items) + BREAK


def mapping(pairs: Sequence[tuple[bytes, bytes]], width: int | None = None) -> bytes:
    """A definite map; the keys are encoded items too."""
    return head(5, len(pairs), width) + b"".join(key + value for key, value in pairs)


def open_mapping(pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
    """An indefinite map."""
    return b"\xbf" + b"".join(key + value for key, value in pairs) + BREAK


def tag(number: int, item: bytes, width: int | None = None) -> bytes:
    """A tagged item."""
    return head(6, number, width) + item


def half(bits: int) -> bytes:
    """A 16-bit float, by its bits."""
    return b"\xf9" + bits.to_bytes(2, "big")


def single(bits: int) -> bytes:
    """A 32-bit float, by its bits."""
    return b"\xfa" + bits.to_bytes(4, "big")


def double(value: float) -> bytes:
    """A 64-bit float."""
    return b"\xfb" + struct.pack(">d", value)


def simple(number: int) -> bytes:
    """A simple value."""
    return bytes([0xE0 | number]) if number < 24 else bytes([0xF8, number])


Fields = list[tuple[str, bytes]]


class Style:
    """How an index is encoded: this one definite and shortest, as writers usually do."""

    def uint(self, number: int) -> bytes:
        """A number of the index."""
        return uint(number)

    def text(self, words: str) -> bytes:
        """A text or key of the index."""
        return text(words)

    def array(self, items: Sequence[bytes]) -> bytes:
        """An array of the index."""
        return array(items)

    def fields(self, entries: Fields) -> bytes:
        """A map of the index with text keys."""
        return mapping([(self.text(key), value) for key, value in entries])


class LongHeads(Style):
    """Every head in its longest form, nine bytes."""

    def uint(self, number: int) -> bytes:
        return uint(number, 8)

    def text(self, words: str) -> bytes:
        return text(words, 8)

    def array(self, items: Sequence[bytes]) -> bytes:
        return array(items, 8)

    def fields(self, entries: Fields) -> bytes:
        return mapping([(self.text(key), value) for key, value in entries], 8)


class Indefinite(Style):
    """Every map and array without a length."""

    def array(self, items: Sequence[bytes]) -> bytes:
        return open_array(items)

    def fields(self, entries: Fields) -> bytes:
        return open_mapping([(self.text(key), value) for key, value in entries])


class OpenMaps(Style):
    """Maps without a length, arrays with one (as reference 0.1.0 wrote its tensor maps)."""

    def fields(self, entries: Fields) -> bytes:
        return open_mapping([(self.text(key), value) for key, value in entries])


class Chunked(Style):
    """Every text in chunks of one character, with empty chunks at both ends."""

    def text(self, words: str) -> bytes:
        return chunked_text(["", *words, ""])


class ChunkedNames(Style):
    """Only the names and words that are no field names, dtypes or encodings stand in chunks."""

    UNTOUCHED = frozenset(
        [
            "version",
            "attributes",
            "objects",
            "shape",
            "format",
            "components",
            "dtype",
            "type",
            "offset",
            "length",
            "uncompressed_length",
            "encoding",
            "digest",
            "raw",
            "zstd",
            "future",
            "future_text",
            *WIDTHS,
        ]
    )

    def text(self, words: str) -> bytes:
        return text(words) if words in self.UNTOUCHED else chunked_text([words[:2], "", words[2:]])


class Wild(Style):
    """Any of these at random, fields of maps in random order."""

    def __init__(self, rng: random.Random, chunks: bool = True) -> None:
        self.rng = rng
        self.chunks = chunks

    def width(self, number: int) -> int:
        """A width of a head that can hold `number`."""
        return self.rng.choice([width for width in WIDTHS_OF_HEADS if width >= shortest_width(number)])

    def uint(self, number: int) -> bytes:
        return uint(number, self.width(number))

    def text(self, words: str) -> bytes:
        if not self.chunks or self.rng.random() < 0.5:
            return text(words, self.width(len(words.encode())))
        cuts = sorted(self.rng.randrange(len(words) + 1) for _ in range(self.rng.randrange(4)))
        ends = [*cuts, len(words)]
        return chunked_text(words[a:b] for a, b in zip([0, *cuts], ends, strict=True))

    def array(self, items: Sequence[bytes]) -> bytes:
        return open_array(items) if self.rng.random() < 0.5 else array(items, self.width(len(items)))

    def fields(self, entries: Fields) -> bytes:
        pairs = [(self.text(key), value) for key, value in entries]
        self.rng.shuffle(pairs)
        return open_mapping(pairs) if self.rng.random() < 0.5 else mapping(pairs, self.width(len(pairs)))
