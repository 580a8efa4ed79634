"""What the packages of each format find in a file, in the words of `inspect --json`."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from check_foreign import TYPES
from foreign_models import NARROW_TYPES
from oracle.need import require

cbor2 = require("cbor2", "requirements-shipped.txt")
gguf = require("gguf", "requirements-shipped.txt")
h5py = require("h5py", "requirements-shipped.txt")
numpy = require("numpy", "requirements-shipped.txt")
onnx = require("onnx", "requirements-shipped.txt")
safetensors = require("safetensors", "requirements-shipped.txt")


class RefusedError(Exception):
    """The package refuses the file, or there is nothing in it that an object could be made of."""


Tensor = tuple[tuple[int, ...], str, str, str]  # shape, storage type, logical type, SHA-256 of the little-endian elements


@dataclass
class Content:
    """What must be found, and what must be said to be skipped."""

    tensors: Counter[tuple[str, Tensor]] = field(default_factory=Counter)
    skipped: set[str] = field(default_factory=set)
    attributes: dict[str, str] | None = None  # SHA-256 of the CBOR by key, where they are compared
    says_skipped_exactly: bool = True  # else more may be skipped than is known here to be no tensor


def sha256(content: bytes) -> str:
    """In hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def tensor_of(array: Any) -> Tensor | None:
    """Nothing for what has no type of ours."""
    if array.dtype.name not in TYPES:
        return None
    little = array.astype(array.dtype.newbyteorder("<"))
    return (array.shape, *TYPES[array.dtype.name], sha256(little.tobytes()))


def bytes_of(array: Any) -> Tensor:
    """Elements of which nothing is known but their size: one dimension more."""
    return (*array.shape, array.dtype.itemsize), "u8", "", sha256(array.tobytes())


def is_plain_bytes(dtype: Any) -> bool:
    """Elements of which nothing is known but their size."""
    return dtype.kind == "V" and dtype.names is None and dtype.subdtype is None and dtype.itemsize != 0


# -- npy, npz


def add_array(content: Content, name: str, array: Any) -> None:
    """One array of NumPy's."""
    tensor = bytes_of(array) if is_plain_bytes(array.dtype) else tensor_of(array)
    if tensor is None:
        content.skipped.add(name)
    else:
        content.tensors[name, tensor] += 1


def read_npy(path: Path) -> Content:
    """Its only array is called as the file is; what is no number is refused."""
    content = Content()
    try:
        add_array(content, path.stem, numpy.load(path, allow_pickle=False))
    except ValueError as error:  # objects
        raise RefusedError(str(error)) from None
    if content.skipped:
        raise RefusedError("its elements are no numbers")
    return content


def read_npz(path: Path) -> Content:
    """Objects are known by the error."""
    content = Content()
    with numpy.load(path, allow_pickle=False) as archive:
        for name in archive.files:
            try:
                array = archive[name]
            except ValueError:
                content.skipped.add(name)
                continue
            add_array(content, name, array)
    return content


# -- safetensors


SAFETENSORS_TYPES = {"F64": ("f64", ""), "F32": ("f32", ""), "F16": ("f16", ""), "BF16": ("bf16", ""), "BOOL": ("bool", ""),
                     "F8_E4M3": ("u8", "f8_e4m3fn"), "F8_E5M2": ("u8", "f8_e5m2"),
                     **{f"{sign}{bits}": (f"{sign.lower()}{bits}", "") for sign in "IU" for bits in (8, 16, 32, 64)}}  # fmt: skip


def read_safetensors(path: Path) -> Content:
    """The bytes of each tensor as they stand."""
    content = Content()
    for name, tensor in safetensors.deserialize(path.read_bytes()):
        words = SAFETENSORS_TYPES[tensor["dtype"]]
        content.tensors[name, (tuple(tensor["shape"]), *words, sha256(bytes(tensor["data"])))] += 1
    return content


# -- GGUF


GGUF_TYPES = {"F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "I8": "i8", "I16": "i16", "I32": "i32", "I64": "i64"}


def cbor_of(value: Any, kind: Any) -> bytes:
    """Of a value of GGUF's, floats as short as they can be."""
    return cbor2.dumps(bool(value) if kind == gguf.GGUFValueType.BOOL else value, canonical=True)


def cbor_of_field(of: Any) -> bytes:
    """Arrays within arrays are not met in what is compared."""
    value = of.contents()
    return cbor_of([bool(each) for each in value] if of.types[1:] == [gguf.GGUFValueType.BOOL] else value, of.types[0])


def read_gguf(path: Path) -> Content:
    """Tensors as they are stored, in blocks or not, and all key-values."""
    reader = gguf.GGUFReader(path)
    content = Content()
    for tensor in reader.tensors:
        shape = tuple(int(each) for each in reversed(tensor.shape))
        word = GGUF_TYPES.get(tensor.tensor_type.name, "u8")
        content.tensors[tensor.name, (shape, word, "", sha256(tensor.data.tobytes()))] += 1
    own = (each for each in reader.fields.values() if not each.name.startswith("GGUF."))
    content.attributes = {each.name: sha256(cbor_of_field(each)) for each in own}
    return content


# -- HDF5


def hdf5_tensor(dataset: Any) -> Tensor | None:
    """Nothing for what is no number. OSError for what can't be read."""
    try:
        dtype = dataset.dtype
    except (TypeError, ValueError):  # NumPy has no such type
        return None
    if dataset.shape is None or dataset.is_virtual:
        return None
    inner = dtype
    while inner.subdtype is not None:
        inner = inner.subdtype[0]
    if inner.hasobject or not (inner.name in TYPES or is_plain_bytes(inner)):
        return None
    array = numpy.asarray(dataset[()])
    return bytes_of(array) if is_plain_bytes(array.dtype) else tensor_of(array)


def hdf5_links(group: Any, path: str) -> list[tuple[str, Any]]:
    """Paths and links of a group, in the order that h5py gives."""
    return [(f"{path}{name}", group.get(name, getlink=True)) for name in group]


def read_hdf5(path: Path) -> Content:
    """Datasets under the names of all hard and soft links to them; a group counts under its first name."""
    content = Content()
    with h5py.File(path, "r") as file:
        seen = {h5py.h5o.get_info(file.id).addr}
        pending, soft = hdf5_links(file, ""), []
        while pending or soft:
            is_hard = bool(pending)
            name, link = pending.pop(0) if is_hard else soft.pop(0)
            if is_hard and isinstance(link, h5py.SoftLink):
                soft.append((name, link))
                continue
            target = None if isinstance(link, h5py.ExternalLink) else file.get(name)
            if isinstance(target, h5py.Group):
                address = h5py.h5o.get_info(target.id).addr
                if address not in seen:
                    seen.add(address)
                    pending = hdf5_links(target, f"{name}/") + pending
                continue
            tensor = hdf5_tensor(target) if isinstance(target, h5py.Dataset) else None
            if tensor is None:
                content.skipped.add(name.rpartition("/")[2])
            else:
                content.tensors[name, tensor] += 1
    return content


# -- ONNX


KIND = onnx.AttributeProto
ONNX_NARROW = {getattr(onnx.TensorProto, name): ("u8", words[0]) for name, words in NARROW_TYPES.items()
               if hasattr(onnx.TensorProto, name)}  # fmt: skip


def onnx_tensor(content: Any) -> Tensor | None:
    """Of a tensor or an array; nothing for text."""
    if not isinstance(content, onnx.TensorProto):
        return tensor_of(content)
    if content.data_type == onnx.TensorProto.STRING:
        return None
    array = onnx.numpy_helper.to_array(content)
    shape = tuple(content.dims)
    if content.data_type in ONNX_NARROW:
        return (shape, *ONNX_NARROW[content.data_type], sha256(onnx.numpy_helper.from_array(array).raw_data))
    if content.data_type == onnx.TensorProto.FLOAT8E8M0:
        return shape, "u8", "f8_e8m0", sha256(array.tobytes())
    tensor = tensor_of(array)
    assert tensor is not None
    return (shape, *tensor[1:])


def onnx_constant(attribute: Any) -> Any:
    """The value of a Constant, or nothing for text."""
    return {KIND.TENSOR: lambda: attribute.t, KIND.FLOAT: lambda: numpy.array(attribute.f, "f4"),
            KIND.INT: lambda: numpy.array(attribute.i, "i8"), KIND.FLOATS: lambda: numpy.array(attribute.floats, "f4"),
            KIND.INTS: lambda: numpy.array(attribute.ints, "i8")}.get(attribute.type, lambda: None)()  # fmt: skip


def onnx_constants(nodes: Any, initializers: Any) -> Iterator[tuple[str, Any]]:
    """Name and value of each, and of those in the graphs of the nodes."""
    yield from ((each.name, each) for each in initializers)
    for node in nodes:
        for attribute in node.attribute:
            if node.op_type == "Constant":
                yield node.output[0], onnx_constant(attribute)
            elif attribute.type == KIND.TENSOR:
                is_output = node.op_type == "ConstantOfShape"
                yield node.output[0] if is_output else f"{node.name or node.output[0]}.{attribute.name}", attribute.t
            for graph in [attribute.g] if attribute.type == KIND.GRAPH else attribute.graphs:
                yield from onnx_constants(graph.node, graph.initializer)


def read_onnx(path: Path) -> Content:
    """Each initializer and each value of a Constant, of all graphs and functions."""
    model = onnx.load(path)
    content = Content(says_skipped_exactly=False)  # values in attributes of nodes that are not ONNX's own are, too
    inside = [(model.graph.node, model.graph.initializer), *((each.node, []) for each in model.functions)]
    for name, value in (each for nodes, tensors in inside for each in onnx_constants(nodes, tensors)):
        tensor = onnx_tensor(value) if value is not None else None
        if tensor is None:
            content.skipped.add(name)
        else:
            content.tensors[name, tensor] += 1
    return content
