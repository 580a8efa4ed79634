"""What the reference reader 1.2.3 is known not to read, so that a refusal can be told from a mistake of ours.

Found by experiment and by reading its source (reader.rs, models.rs) and that of its CBOR decoder, ciborium.
"""

from __future__ import annotations

from collections.abc import Iterator

from .cbor import Kind, Node
from .container import Index, locate
from .index import is_null, read
from .model import LONG_NAMES, WIDTHS, ZtFile

ENCODINGS = {"raw", "zstd"}
NAMED_SIMPLE_VALUES = range(20, 24)
KEY_BUFFER = 4096  # ciborium's scratch buffer for the keys of structs
CHUNKED = 0x7F


def refusals(data: bytes) -> list[str]:
    """Why the reference refuses to open a file that we accept; empty if it should open."""
    index = locate(data)
    if index.container == "1.0":
        return ["generation 1.0: there is no magic at the end"]
    if index.root is None:
        return ["an index of 0 bytes"]
    cbor = data[index.start : index.start + index.length]
    return [*unknown_words(read(data)), *cbor_forms(index, cbor)]


def unknown_words(file: ZtFile) -> Iterator[str]:
    """Unknown dtypes and encodings stop the whole file (unknown formats, types and digests do not)."""
    for obj in file.objects:
        for part in obj.components.values():
            if file.generation == (0, 1):
                if obj.format == "dense" and (part.original_dtype or part.dtype) not in LONG_NAMES:
                    yield f"dtype {part.dtype!r}"
                continue
            word = part.original_dtype or part.dtype
            if word not in WIDTHS:
                yield f"dtype {word!r}"
            if part.encoding not in ENCODINGS:
                yield f"encoding {part.encoding!r}"


def cbor_forms(index: Index, cbor: bytes) -> Iterator[str]:
    """Forms of CBOR that ciborium doesn't take."""
    assert index.root is not None
    for node in everything(index.root):
        if node.kind is Kind.SIMPLE and node.number not in NAMED_SIMPLE_VALUES:
            yield f"simple value {node.number}"
    for struct in structs(index):
        for key, value in struct.pairs:
            if cbor[key.start] == CHUNKED or len(key.text.encode()) > KEY_BUFFER:
                yield f"the field name {key.text[:40]!r} in chunks or over 4,096 bytes"
            if index.container != "0.1" and key.text in ("dtype", "encoding"):
                if cbor[value.start] == CHUNKED:
                    yield f"the word {value.text!r} of {key.text} in chunks"
                if is_null(value):
                    yield f"null as {key.text}"


def everything(node: Node) -> Iterator[Node]:
    """An item and all in it."""
    yield node
    for item in node.items:
        yield from everything(item)
    for pair in node.pairs:
        for item in pair:
            yield from everything(item)


def structs(index: Index) -> Iterator[Node]:
    """The maps whose keys are field names: root, objects, components, or 0.1's tensor maps."""
    root = index.root
    assert root is not None
    if index.container == "0.1":
        yield from root.items
        return
    yield root
    for obj in values_of(root, "objects"):
        yield obj
        yield from values_of(obj, "components")


def values_of(node: Node, field: str) -> list[Node]:
    """The values of the map that stands in one field."""
    return [value for key, inner in node.pairs if key.text == field for _, value in inner.pairs]


def has_container_keys(data: bytes) -> bool:
    """Whether a map has an array or a map as key: the Python package then fails to give any metadata."""
    root = locate(data).root
    kinds = (Kind.ARRAY, Kind.MAP)
    return root is not None and any(key.kind in kinds for node in everything(root) for key, _ in node.pairs)
