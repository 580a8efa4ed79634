"""Puts .zt files of every generation together, byte by byte."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from .container import MAGIC_0_1, MAGIC_1
from .decode import crc32c
from .encode import Fields, Style
from .model import LONG_NAMES, WIDTHS
from .need import require

zstandard = require("zstandard")

LONG_NAME_OF = {short: word for word, short in LONG_NAMES.items()}
PLAIN = Style()


@dataclass(frozen=True)
class Blob:
    """Bytes that stand in the file, and what they decode to (None: nothing we know)."""

    offset: int
    stored: bytes
    plain: bytes | None
    encoding: str = "raw"


class Blobs:
    """The part of a file before its index."""

    def __init__(self, magic: bytes = MAGIC_1) -> None:
        self.data = bytearray(magic)

    def place(self, stored: bytes, align: int = 64, fill: int = 0, gap: int = 0) -> int:
        """Put bytes at the next aligned offset, `gap` bytes later at least."""
        self.data += bytes([fill]) * gap
        self.data += bytes([fill]) * (-len(self.data) % align)
        offset = len(self.data)
        self.data += stored
        return offset

    def raw(self, plain: bytes, align: int = 64, fill: int = 0, gap: int = 0) -> Blob:
        """Bytes stored as they are."""
        return Blob(self.place(plain, align, fill, gap), plain, plain)

    def zstd(self, plain: bytes, stored: bytes | None = None) -> Blob:
        """Bytes stored as zstd frames (by default one frame without a content size)."""
        frames = frame(plain) if stored is None else stored
        return Blob(self.place(frames), frames, plain, "zstd")

    def opaque(self, stored: bytes, encoding: str) -> Blob:
        """Bytes in an encoding that nobody knows."""
        return Blob(self.place(stored), stored, None, encoding)


def frame(plain: bytes, level: int = 3, content_size: bool = False, checksum: bool = False) -> bytes:
    """One zstd frame."""
    parameters = zstandard.ZstdCompressionParameters.from_level(
        level, write_content_size=content_size, write_checksum=checksum
    )
    out: bytes = zstandard.ZstdCompressor(compression_params=parameters).compress(plain)
    return out


def skippable(payload: bytes, number: int = 0) -> bytes:
    """One skippable frame (`number` 0 to 15 picks the magic)."""
    return (0x184D2A50 + number).to_bytes(4, "little") + len(payload).to_bytes(4, "little") + payload


# ---- digests ------------------------------------------------------------------------------------------------


def crc_digest(blob: Blob) -> str:
    """As the reference writes it."""
    return f"crc32c:0x{crc32c(blob.stored):08X}"


def sha_digest(blob: Blob) -> str:
    """As the reference writes it."""
    return f"sha256:{hashlib.sha256(blob.stored).hexdigest()}"


# ---- what was put into a file -------------------------------------------------------------------------------


@dataclass
class Part:
    """A component to be written. `size` None: 1.2's uncompressed_length is written when the blob is zstd."""

    dtype: str
    blob: Blob
    type: str | None = None
    digest: str | None = None
    size: int | None = None
    explicit_raw: bool = False
    extra: Fields = field(default_factory=list)


@dataclass
class Tensor:
    """An object to be written."""

    name: str
    shape: Sequence[int]
    parts: dict[str, Part]
    format: str = "dense"
    attributes: Fields | None = None
    extra: Fields = field(default_factory=list)


def dense(name: str, shape: Sequence[int], part: Part, attributes: Fields | None = None) -> Tensor:
    """A dense object."""
    return Tensor(name, shape, {"data": part}, attributes=attributes)


@dataclass
class Built:
    """A finished file, and what must come out of it: (object, component) to decoded bytes."""

    data: bytes
    plain: dict[tuple[str, str], bytes]
    names: list[str]


def plain_parts(tensors: Sequence[Tensor]) -> dict[tuple[str, str], bytes]:
    """What the components decode to, as far as that is known."""
    return {
        (tensor.name, role): part.blob.plain
        for tensor in tensors
        for role, part in tensor.parts.items()
        if part.blob.plain is not None
    }


def finish(blobs: Blobs, index: bytes, tensors: Sequence[Tensor], magic: bytes = MAGIC_1) -> Built:
    """Blobs, index, size of the index, magic (none before 1.1)."""
    data = bytes(blobs.data) + index + len(index).to_bytes(8, "little") + magic
    return Built(data, plain_parts(tensors), [tensor.name for tensor in tensors])


# ---- 1.1 and later ------------------------------------------------------------------------------------------


@dataclass
class Modern:
    """How a file of 1.1 or later is written."""

    version: str = "1.2.0"
    style: Style = PLAIN
    attributes: Fields | None = None
    extra: Fields = field(default_factory=list)

    @property
    def sizes(self) -> bool:
        """Whether zstd components carry uncompressed_length."""
        return not self.version.startswith("1.1.")

    def build(self, blobs: Blobs, tensors: Sequence[Tensor]) -> Built:
        """The whole file."""
        style = self.style
        objects = style.fields([(tensor.name, self.object(tensor)) for tensor in tensors])
        root: Fields = [("version", style.text(self.version))]
        if self.attributes is not None:
            root.append(("attributes", style.fields(self.attributes)))
        root += [("objects", objects), *self.extra]
        return finish(blobs, style.fields(root), tensors)

    def object(self, tensor: Tensor) -> bytes:
        """One object's map."""
        style = self.style
        entries: Fields = [
            ("shape", style.array([style.uint(dimension) for dimension in tensor.shape])),
            ("format", style.text(tensor.format)),
        ]
        if tensor.attributes is not None:
            entries.append(("attributes", style.fields(tensor.attributes)))
        parts = style.fields([(role, self.component(part)) for role, part in tensor.parts.items()])
        return style.fields([*entries, ("components", parts), *tensor.extra])

    def component(self, part: Part) -> bytes:
        """One component's map."""
        style = self.style
        entries: Fields = [("dtype", style.text(part.dtype))]
        if part.type is not None:
            entries.append(("type", style.text(part.type)))
        entries += [
            ("offset", style.uint(part.blob.offset)),
            ("length", style.uint(len(part.blob.stored))),
        ]
        size = part.size
        if size is None and self.sizes and part.blob.encoding == "zstd" and part.blob.plain is not None:
            size = len(part.blob.plain)
        if size is not None:
            entries.append(("uncompressed_length", style.uint(size)))
        entries += tail_fields(style, part, "digest")
        return style.fields(entries)


def tail_fields(style: Style, part: Part, digest_key: str) -> Fields:
    """Encoding, digest and unknown fields."""
    entries: Fields = []
    if part.blob.encoding != "raw" or part.explicit_raw:
        entries.append(("encoding", style.text(part.blob.encoding)))
    if part.digest is not None:
        entries.append((digest_key, style.text(part.digest)))
    return entries + part.extra


# ---- 1.0 ----------------------------------------------------------------------------------------------------


@dataclass
class First:
    """How a file of 1.0 is written. Index components get no dtype; the others share the tensor's."""

    version: str = "1.0"
    style: Style = PLAIN
    attributes: Fields = field(default_factory=list)
    extra: Fields = field(default_factory=list)

    def build(self, blobs: Blobs, tensors: Sequence[Tensor]) -> Built:
        """The whole file, which has no magic at its end."""
        style = self.style
        root: Fields = [
            ("version", style.text(self.version)),
            ("generator", style.text("generate.py")),
            ("attributes", style.fields(self.attributes)),
            ("tensors", style.fields([(tensor.name, self.tensor(tensor)) for tensor in tensors])),
        ]
        return finish(blobs, style.fields(root + self.extra), tensors, magic=b"")

    def tensor(self, tensor: Tensor) -> bytes:
        """One entry of `tensors`."""
        style = self.style
        first = tensor.parts.get("values") or tensor.parts["data"]
        entries: Fields = [
            ("dtype", style.text(LONG_NAME_OF.get(first.dtype, first.dtype))),
            ("shape", style.array([style.uint(dimension) for dimension in tensor.shape])),
            ("format", style.text(tensor.format)),
            ("components", style.fields([(role, self.component(part)) for role, part in tensor.parts.items()])),
        ]
        return style.fields(entries + tensor.extra)

    def component(self, part: Part) -> bytes:
        """One component's map."""
        style = self.style
        entries: Fields = [
            ("offset", style.uint(part.blob.offset)),
            ("length", style.uint(len(part.blob.stored))),
        ]
        return style.fields(entries + tail_fields(style, part, "digest"))


# ---- 0.1 ----------------------------------------------------------------------------------------------------


@dataclass
class Legacy:
    """How a file of 0.1 is written: `maps` for the tensors' maps, `style` for the rest."""

    style: Style = PLAIN
    maps: Style = field(default_factory=Style)

    def build(self, blobs: Blobs, tensors: Sequence[LegacyTensor]) -> Built:
        """The whole file, which has no magic at its end."""
        index = self.style.array([self.tensor(tensor) for tensor in tensors])
        data = bytes(blobs.data) + index + len(index).to_bytes(8, "little")
        plain = {(t.name, "data"): t.blob.plain for t in tensors if t.blob.plain is not None}
        return Built(data, plain, [tensor.name for tensor in tensors])

    def tensor(self, tensor: LegacyTensor) -> bytes:
        """One tensor's map, in the reference's order of keys."""
        style = self.maps
        entries: Fields = [
            ("name", style.text(tensor.name)),
            ("offset", style.uint(tensor.blob.offset)),
            ("size", style.uint(len(tensor.blob.stored))),
            ("dtype", style.text(LONG_NAME_OF.get(tensor.dtype, tensor.dtype))),
        ]
        if tensor.layout is not None:
            entries.append(("layout", style.text(tensor.layout)))
        entries += [
            ("shape", style.array([style.uint(dimension) for dimension in tensor.shape])),
            ("encoding", style.text(tensor.blob.encoding)),
        ]
        if tensor.order is not None:
            entries.append(("data_endianness", style.text(tensor.order)))
        if tensor.checksum is not None:
            entries.append(("checksum", style.text(tensor.checksum)))
        return style.fields(entries + tensor.extra)


@dataclass
class LegacyTensor:
    """A 0.1 tensor to be written; `extra` holds custom keys and those of sparse layouts."""

    name: str
    shape: Sequence[int]
    dtype: str
    blob: Blob
    layout: str | None = "dense"
    order: str | None = None
    checksum: str | None = None
    extra: Fields = field(default_factory=list)


def legacy_blobs() -> Blobs:
    """The blobs of a 0.1 file."""
    return Blobs(MAGIC_0_1)


# ---- data ---------------------------------------------------------------------------------------------------


def elements(rng: random.Random, dtype: str, count: int) -> bytes:
    """Random elements; bools are 0 or 1."""
    if dtype == "bool":
        return bytes(rng.randrange(2) for _ in range(count))
    return rng.randbytes(WIDTHS[dtype] * count)
