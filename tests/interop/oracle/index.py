"""From the scanned index to the model, one reader for each generation."""

from __future__ import annotations

import re

from .cbor import Kind, Node, expect, fields, text, uint, uint_list
from .container import Index, locate
from .model import (
    INDEX_ROLES,
    LONG_NAMES,
    TYPES_AS_DTYPE_1_1,
    Attributes,
    Component,
    FormatError,
    Object,
    ZtFile,
)

FIELDS_0_1 = {
    "name", "offset", "size", "dtype", "layout", "shape", "encoding", "data_endianness", "checksum",
}  # fmt: skip
LAYOUTS_0_1 = {"sparsecsr": "sparse_csr", "sparsecoo": "sparse_coo"}
SPARSE_FORMATS_0_1 = {"csr": "sparse_csr", "coo": "sparse_coo"}


class IndexReader:
    """Reads one index. Byte ranges of nodes count from the start of the index."""

    def __init__(self, data: bytes, index: Index) -> None:
        self.cbor = data[index.start : index.start + index.length]

    def attributes(self, node: Node | None, what: str) -> Attributes | None:
        """The entries of an attributes map, values as encoded."""
        if node is None or is_null(node):
            return None
        return [(key, self.encoded(value)) for key, value in fields(node, what).items()]

    def encoded(self, node: Node) -> bytes:
        """The bytes of an item."""
        return self.cbor[node.start : node.end]


def is_null(node: Node) -> bool:
    """CBOR null (the texts give null as the default of the optional fields)."""
    return node.kind is Kind.SIMPLE and node.number == 22


def needed(entries: dict[str, Node], key: str, what: str) -> Node:
    """A required field."""
    if key not in entries:
        raise FormatError(f"{what} has no field {key!r}")
    return entries[key]


def optional_text(entries: dict[str, Node], key: str, what: str) -> str | None:
    """A text field that may be absent."""
    if key not in entries or is_null(entries[key]):
        return None
    return text(entries[key], f"{key} of {what}")


def encoding_of(entries: dict[str, Node], what: str) -> str:
    """The encoding of a component of 1.x, raw by default."""
    word = optional_text(entries, "encoding", what)
    return "raw" if word is None else word


def optional_uint(entries: dict[str, Node], key: str, what: str) -> int | None:
    """A number field that may be absent."""
    if key not in entries or is_null(entries[key]):
        return None
    return uint(entries[key], f"{key} of {what}")


def read(data: bytes) -> ZtFile:
    """Read the index of a file of any generation."""
    index = locate(data)
    reader = IndexReader(data, index)
    if index.container == "0.1":
        return read_0_1(data, index, reader)
    if index.container == "1.0":
        return read_1_0(data, index, reader)
    return read_1_1(data, index, reader)


# ---- 0.1 ----------------------------------------------------------------------------------------------------


def read_0_1(data: bytes, index: Index, reader: IndexReader) -> ZtFile:
    """An array of maps, one per tensor."""
    file = ZtFile(data, (0, 1), index.start, index.length)
    if index.root is not None:
        maps = expect(index.root, Kind.ARRAY, "the index").items
        file.objects = [tensor_0_1(reader, node) for node in maps]
    return file


def tensor_0_1(reader: IndexReader, node: Node) -> Object:
    """One tensor's map."""
    entries = fields(node, "a tensor's map")
    name = text(needed(entries, "name", "a tensor's map"), "a tensor's name")
    layout = optional_text(entries, "layout", name)
    format_, known = format_0_1(entries, layout)
    inline = inline_parts_0_1(entries, format_) if layout == "sparse" else {}
    custom = [(key, reader.encoded(value)) for key, value in entries.items() if key not in known | inline.keys()]
    return Object(
        name=name,
        shape=uint_list(needed(entries, "shape", name), f"shape of {name}"),
        format=format_,
        components={"data": component_0_1(entries, name)},
        attributes=custom or None,
        original_layout=layout,
        inline_parts=inline,
    )


def format_0_1(entries: dict[str, Node], layout: str | None) -> tuple[str, set[str]]:
    """The canonical format, and the keys that are not custom."""
    if layout is None:
        return "dense", FIELDS_0_1
    if layout != "sparse":
        return LAYOUTS_0_1.get(layout, layout), FIELDS_0_1
    word = text(needed(entries, "sparse_format", "a sparse tensor"), "sparse_format")
    return SPARSE_FORMATS_0_1.get(word, word), FIELDS_0_1 | {"sparse_format"}


def inline_parts_0_1(entries: dict[str, Node], format_: str) -> dict[str, list[int]]:
    """The index arrays, if the map carries all of them."""
    roles = INDEX_ROLES.get(format_, ())
    if not roles or any(role not in entries for role in roles):
        return {}
    return {role: uint_list(entries[role], role) for role in roles}


def component_0_1(entries: dict[str, Node], name: str) -> Component:
    """The one blob of a tensor."""
    word = text(needed(entries, "dtype", name), f"dtype of {name}")
    dtype = LONG_NAMES.get(word, word)
    encoding = text(needed(entries, "encoding", name), f"encoding of {name}")
    order = optional_text(entries, "data_endianness", name)
    return Component(
        role="data",
        dtype=dtype,
        original_dtype=word if word != dtype else None,
        offset=uint(needed(entries, "offset", name), f"offset of {name}"),
        length=uint(needed(entries, "size", name), f"size of {name}"),
        encoding=encoding,
        digest=optional_text(entries, "checksum", name),
        big_endian=encoding == "raw" and order == "big",
    )


# ---- 1.0 ----------------------------------------------------------------------------------------------------


def read_1_0(data: bytes, index: Index, reader: IndexReader) -> ZtFile:
    """Like 1.1, but the objects are `tensors` and have one dtype each."""
    assert index.root is not None
    root = fields(index.root, "the index")
    file = ZtFile(data, (1, 0), index.start, index.length)
    file.version = text(root["version"], "version")
    file.attributes = reader.attributes(root.get("attributes"), "attributes")
    tensors = fields(root["tensors"], "tensors")
    file.objects = [tensor_1_0(name, node) for name, node in tensors.items()]
    return file


def tensor_1_0(name: str, node: Node) -> Object:
    """One entry of `tensors`."""
    entries = fields(node, name)
    format_ = text(needed(entries, "format", name), f"format of {name}")
    dtype = text(needed(entries, "dtype", name), f"dtype of {name}")
    parts = fields(needed(entries, "components", name), f"components of {name}")
    words = {role: "uint64" if role in INDEX_ROLES.get(format_, ()) else dtype for role in parts}
    return Object(
        name=name,
        shape=uint_list(needed(entries, "shape", name), f"shape of {name}"),
        format=format_,
        components={role: component_1_0(role, words[role], part) for role, part in parts.items()},
    )


def component_1_0(role: str, word: str, node: Node) -> Component:
    """A component without a dtype of its own."""
    entries = fields(node, role)
    dtype = LONG_NAMES.get(word, word)
    return Component(
        role=role,
        dtype=dtype,
        original_dtype=word if word != dtype else None,
        offset=uint(needed(entries, "offset", role), f"offset of {role}"),
        length=uint(needed(entries, "length", role), f"length of {role}"),
        encoding=encoding_of(entries, role),
        digest=optional_text(entries, "digest", role),
    )


# ---- 1.1 and later ------------------------------------------------------------------------------------------


def read_1_1(data: bytes, index: Index, reader: IndexReader) -> ZtFile:
    """The map of 1.1, 1.2 and later minor versions."""
    assert index.root is not None
    root = fields(index.root, "the index")
    version = text(needed(root, "version", "the index"), "version")
    file = ZtFile(data, generation_of(version), index.start, index.length, version)
    file.attributes = reader.attributes(root.get("attributes"), "attributes")
    objects = fields(needed(root, "objects", "the index"), "objects")
    file.objects = [object_1_1(reader, file.generation, name, node) for name, node in objects.items()]
    return file


def generation_of(version: str) -> tuple[int, int]:
    """Major and minor number of a version text."""
    match = re.fullmatch(r"(\d+)\.(\d+)(?:\..*)?", version)
    if match is None or match[1] != "1":
        raise FormatError(f"version {version!r} is not 1.x")
    return 1, int(match[2])


def object_1_1(reader: IndexReader, generation: tuple[int, int], name: str, node: Node) -> Object:
    """One entry of `objects`."""
    entries = fields(node, name)
    parts = fields(needed(entries, "components", name), f"components of {name}")
    return Object(
        name=name,
        shape=uint_list(needed(entries, "shape", name), f"shape of {name}"),
        format=text(needed(entries, "format", name), f"format of {name}"),
        components={role: component_1_1(generation, role, part) for role, part in parts.items()},
        attributes=reader.attributes(entries.get("attributes"), f"attributes of {name}"),
    )


def component_1_1(generation: tuple[int, int], role: str, node: Node) -> Component:
    """A component of 1.1, 1.2 or later."""
    entries = fields(node, role)
    word = text(needed(entries, "dtype", role), f"dtype of {role}")
    storage, logical = word, None
    if generation < (1, 2):
        storage, logical = TYPES_AS_DTYPE_1_1.get(word, (word, None))
    stated = optional_text(entries, "type", role)
    return Component(
        role=role,
        dtype=storage,
        original_dtype=word if word != storage else None,
        # A file of 1.1 that reference 1.2.3 appended to says 1.1.0 and yet has these two fields.
        type=logical if stated is None else stated,
        uncompressed_length=optional_uint(entries, "uncompressed_length", role),
        offset=uint(needed(entries, "offset", role), f"offset of {role}"),
        length=uint(needed(entries, "length", role), f"length of {role}"),
        encoding=encoding_of(entries, role),
        digest=optional_text(entries, "digest", role),
    )
