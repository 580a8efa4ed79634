"""A small CBOR scanner that keeps the byte range of every item (RFC 8949, all well-formed encodings)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum

from .model import FormatError

MAX_DEPTH = 64
UNDEFINED_LENGTH = -1


class Kind(Enum):
    """The kinds of CBOR items."""

    UINT = "unsigned integer"
    NEGATIVE = "negative integer"
    BYTES = "byte string"
    TEXT = "text"
    ARRAY = "array"
    MAP = "map"
    TAG = "tag"
    SIMPLE = "simple value"
    FLOAT = "float"


@dataclass(frozen=True)
class Node:
    """One item: what it is and where it stands. Only the field that belongs to `kind` is filled."""

    kind: Kind
    start: int
    end: int
    number: int = 0  # UINT, NEGATIVE, TAG, SIMPLE
    real: float = 0.0  # FLOAT
    text: str = ""
    raw: bytes = b""  # BYTES
    items: tuple[Node, ...] = ()  # ARRAY, TAG (one item)
    pairs: tuple[tuple[Node, Node], ...] = ()  # MAP


KIND_OF_MAJOR = (Kind.UINT, Kind.NEGATIVE, Kind.BYTES, Kind.TEXT, Kind.ARRAY, Kind.MAP, Kind.TAG, Kind.SIMPLE)


class Scanner:
    """Reads one item after the other from a byte string."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def fail(self, problem: str) -> FormatError:
        """An error that says where in the index the problem is."""
        return FormatError(f"CBOR byte {self.position}: {problem}")

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        if count > len(self.data) - self.position:
            raise self.fail("item ends after the data")
        piece = self.data[self.position : self.position + count]
        self.position += count
        return piece

    def at_break(self) -> bool:
        """Consume the end of an indefinite item, if it is next."""
        if self.data[self.position : self.position + 1] != b"\xff":
            return False
        self.position += 1
        return True

    def argument(self, info: int) -> int:
        """The number that belongs to a head; UNDEFINED_LENGTH for info 31."""
        if info < 24:
            return info
        if info == 31:
            return UNDEFINED_LENGTH
        if info > 27:
            raise self.fail(f"reserved additional information {info}")
        return int.from_bytes(self.take(1 << (info - 24)), "big")

    def item(self, depth: int = 0) -> Node:
        """Read one item, with everything in it."""
        start = self.position
        major, info = divmod(self.take(1)[0], 32)
        if major == 7:
            return self.simple(start, info)
        number = self.argument(info)
        if number == UNDEFINED_LENGTH and major in (0, 1, 6):
            raise self.fail("indefinite length where there is none")
        if major < 2:
            return self.integer(start, major, number)
        if major in (2, 3):
            return self.string(start, major, number)
        if depth >= MAX_DEPTH:
            raise self.fail(f"nested deeper than {MAX_DEPTH}")
        return self.container(start, major, number, depth + 1)

    def integer(self, start: int, major: int, number: int) -> Node:
        """Majors 0 and 1."""
        return Node(KIND_OF_MAJOR[major], start, self.position, number=number if major == 0 else -1 - number)

    def simple(self, start: int, info: int) -> Node:
        """Major 7: floats and simple values."""
        if info in (25, 26, 27):
            layout = {25: ">e", 26: ">f", 27: ">d"}[info]
            (value,) = struct.unpack(layout, self.take(1 << (info - 24)))
            return Node(Kind.FLOAT, start, self.position, real=value)
        if info == 31:
            raise self.fail("break outside an indefinite item")
        number = self.argument(info)
        if info == 24 and number < 32:
            raise self.fail("simple value below 32 in two bytes")
        return Node(Kind.SIMPLE, start, self.position, number=number)

    def string(self, start: int, major: int, length: int) -> Node:
        """Majors 2 and 3, definite or in chunks."""
        chunks = [self.take(length)] if length != UNDEFINED_LENGTH else self.chunks(major)
        if major == 2:
            return Node(Kind.BYTES, start, self.position, raw=b"".join(chunks))
        try:
            text = "".join(chunk.decode("utf-8") for chunk in chunks)
        except UnicodeDecodeError as error:
            raise self.fail(f"invalid UTF-8 ({error.reason})") from None
        return Node(Kind.TEXT, start, self.position, text=text)

    def chunks(self, major: int) -> list[bytes]:
        """The chunks of an indefinite string: definite strings of the same major type."""
        found: list[bytes] = []
        while not self.at_break():
            chunk_major, info = divmod(self.take(1)[0], 32)
            length = self.argument(info)
            if chunk_major != major or length == UNDEFINED_LENGTH:
                raise self.fail("chunk that is not a definite string of the same kind")
            found.append(self.take(length))
        return found

    def container(self, start: int, major: int, count: int, depth: int) -> Node:
        """Majors 4, 5 and 6."""
        if major == 6:
            inner = self.item(depth)
            return Node(Kind.TAG, start, self.position, number=count, items=(inner,))
        per_entry = major - 3
        flat = self.entries(per_entry, count, depth)
        if major == 4:
            return Node(Kind.ARRAY, start, self.position, items=tuple(flat))
        pairs = tuple(zip(flat[0::2], flat[1::2], strict=True))
        return Node(Kind.MAP, start, self.position, pairs=pairs)

    def entries(self, per_entry: int, count: int, depth: int) -> list[Node]:
        """The items of an array (one per entry) or of a map (two per entry)."""
        flat: list[Node] = []
        if count == UNDEFINED_LENGTH:
            while not self.at_break():
                flat.extend(self.item(depth) for _ in range(per_entry))
            return flat
        if count * per_entry > len(self.data) - self.position:
            raise self.fail("more items than bytes")
        flat.extend(self.item(depth) for _ in range(count * per_entry))
        return flat


def scan(data: bytes) -> Node:
    """Read exactly one item that fills `data`."""
    scanner = Scanner(data)
    root = scanner.item()
    if scanner.position != len(data):
        raise scanner.fail("bytes after the root item")
    return root


def expect(node: Node, kind: Kind, what: str) -> Node:
    """`node`, which must be of `kind`."""
    if node.kind is not kind:
        raise FormatError(f"{what} is a {node.kind.value}, not a {kind.value}")
    return node


def fields(node: Node, what: str) -> dict[str, Node]:
    """The entries of a schema map: text keys, no key twice."""
    found: dict[str, Node] = {}
    for key, value in expect(node, Kind.MAP, what).pairs:
        name = expect(key, Kind.TEXT, f"a key of {what}").text
        if name in found:
            raise FormatError(f"{what} has the key {name!r} twice")
        found[name] = value
    return found


def text(node: Node, what: str) -> str:
    """The text of a text item."""
    return expect(node, Kind.TEXT, what).text


def uint(node: Node, what: str) -> int:
    """The value of an unsigned integer."""
    return expect(node, Kind.UINT, what).number


def uint_list(node: Node, what: str) -> list[int]:
    """The values of an array of unsigned integers."""
    return [uint(item, f"an item of {what}") for item in expect(node, Kind.ARRAY, what).items]
