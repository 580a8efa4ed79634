"""Random model files written by the gguf, onnx and torch packages, for check_foreign.py.

Each `write_…(chance, folder, number)` gives the file, its kind, what the package was given by name (arrays, or Blocks of
elements that numpy has no type for), and the texts that it carries.
"""

from __future__ import annotations

import collections
import importlib.util
import random
from pathlib import Path
from typing import Any, NamedTuple

from oracle.need import require

numpy = require("numpy", "requirements-foreign.txt")
ml_dtypes = require("ml_dtypes", "requirements-foreign.txt")
gguf = require("gguf", "requirements-foreign.txt")
onnx = require("onnx", "requirements-foreign.txt")

Written = tuple[Path, str, dict[str, Any], dict[str, str]]


class Blocks(NamedTuple):
    """Elements as their bytes."""

    shape: list[int]
    storage: str
    logical: str
    content: bytes


def random_bits(chance: random.Random, dtype: Any, shape: list[int]) -> Any:
    """An array of any bits."""
    dtype = numpy.dtype(dtype)
    count = int(numpy.prod(shape, dtype="u8"))
    if dtype == numpy.bool_:
        return (numpy.frombuffer(chance.randbytes(count), "u1") % 2 == 1).reshape(shape)
    return numpy.frombuffer(chance.randbytes(count * dtype.itemsize), dtype).reshape(shape)


def random_texts(chance: random.Random) -> dict[str, str]:
    """Few texts by distinct keys."""
    alphabet = "abc.DEF äß漢字🦀"
    return {f"key.{i}": "".join(chance.choice(alphabet) for _ in range(chance.randrange(60)))
            for i in range(chance.randrange(4))}  # fmt: skip


def write_gguf(chance: random.Random, folder: Path, number: int) -> Written:
    """Any types, dense ones in either byte order, with values of many kinds beside the texts."""
    is_big = chance.randrange(4) == 0
    path = folder / f"{number}.gguf"
    writer = gguf.GGUFWriter(path, "test", endianess=gguf.GGUFEndian.BIG if is_big else gguf.GGUFEndian.LITTLE)
    texts = random_texts(chance)
    texts = {key: text for key, text in texts.items() if text}  # the package leaves out what is empty
    for key, text in texts.items():
        writer.add_string(key, text)
    for i in range(chance.randrange(5)):
        add = chance.choice([writer.add_uint8, writer.add_int32, writer.add_float64, writer.add_bool])
        add(f"number.{i}", chance.randrange(2))
        writer.add_array(f"array.{i}", chance.choice([["a", "ß"], [1, 2, 3], [0.5], [True], [[1, 2], [3]], [[["a"], ["ß"]]]]))
    if chance.randrange(3) == 0:
        writer.add_custom_alignment(chance.choice([8, 16, 64, 256]))
    arrays: dict[str, Any] = {}
    blocks = [each for each, (elements, _) in gguf.GGML_QUANT_SIZES.items() if elements > 1 and each.name != "Q8_1"]
    for i in range(chance.randrange(12)):
        outer = [chance.choice([1, 2, 3, 5]) for _ in range(chance.randrange(4))]
        if is_big or chance.randrange(2):
            name = chance.choice(["float32", "float16", "float64", "int8", "int16", "int32", "int64"])
            array = random_bits(chance, name, [*outer, chance.choice([1, 3, 7])])
            arrays[f"t{i}"] = array
            writer.add_tensor(f"t{i}", array.copy())
            continue
        kind = chance.choice(blocks)
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        count = chance.choice([1, 2, 5])
        content = random_bits(chance, "uint8", [*outer, count * size])
        arrays[f"t{i}"] = Blocks([*outer, count * elements], "u8", "", content.tobytes())
        writer.add_tensor(f"t{i}", content.copy(), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if chance.randrange(3) == 0:
        content = bytearray(path.read_bytes())
        content[4:8] = (2).to_bytes(4, "big" if is_big else "little")  # whose layout is that of version 3
        path.write_bytes(content)
    return path, "gguf", arrays, texts


ONNX_TYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8",
              "bool", "complex64", "complex128", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2,
              ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz]  # fmt: skip


# Types narrower than a byte, which the packages keep one to a byte: by name, our logical type and the bits.
NARROW_TYPES = {"UINT4": ("u4", 4), "INT4": ("i4", 4), "FLOAT4E2M1": ("f4", 4), "UINT2": ("u2", 2), "INT2": ("i2", 2),
                "FLOAT6E2M3": ("f6_e2m3", 6), "FLOAT6E3M2": ("f6_e3m2", 6)}  # fmt: skip


def narrow_tensor(chance: random.Random, name: str, shape: list[int]) -> tuple[Any, Blocks]:
    """A tensor of elements that share bytes, and what is to be found of it."""
    word = chance.choice([each for each in NARROW_TYPES if hasattr(onnx.TensorProto, each)])
    logical, bits = NARROW_TYPES[word]
    kind = getattr(onnx.TensorProto, word)
    elements = [chance.randrange(1 << bits) for _ in range(int(numpy.prod(shape, dtype="u8")))]
    number = sum(each << bits * i for i, each in enumerate(elements))  # from the lowest bit on
    content = number.to_bytes((len(elements) * bits + 7) // 8, "little")
    tensor = onnx.TensorProto(name=name, data_type=kind, dims=shape)
    if chance.randrange(2):
        tensor.raw_data = content
    else:
        tensor.int32_data.extend(elements if bits == 6 else content)
    return tensor, Blocks(shape, "u8", logical, content)


def typed_tensor(name: str, array: Any) -> Any:
    """With its elements in the field for their type."""
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    tensor = onnx.TensorProto(name=name, data_type=kind, dims=array.shape)
    flat = array.ravel()
    if array.dtype.name.startswith("complex"):
        flat = flat.view(f"f{array.dtype.itemsize // 2}")
    elif array.dtype.itemsize <= 2 and array.dtype.kind in "fbV" or array.dtype.name.startswith(("bfloat", "float8")):
        flat = flat.view(f"u{array.dtype.itemsize}")
    getattr(tensor, onnx.helper.tensor_dtype_to_field(kind)).extend(flat.tolist())
    return tensor


def constant_node(tensor: Any) -> Any:
    """A node that gives the tensor, whose name is that of its output."""
    node = onnx.NodeProto(op_type="Constant", output=[tensor.name])
    node.attribute.append(onnx.AttributeProto(name="value", type=onnx.AttributeProto.TENSOR, t=tensor))
    node.attribute[0].t.name = "inside"
    return node


def random_graph(chance: random.Random, tensors: list[Any]) -> Any:
    """Each tensor as an initializer, as a constant, or in a graph that is in a node of the graph."""
    graph = onnx.GraphProto(name="g")
    inside = [each for each in tensors if chance.randrange(3) == 0]
    for each in tensors:
        if each in inside:
            continue
        if chance.randrange(2):
            graph.initializer.append(each)
        else:
            graph.node.append(constant_node(each))
    while inside:
        taken, inside = inside[:3], inside[3:]
        body = onnx.AttributeProto(name="body", type=onnx.AttributeProto.GRAPH, g=random_graph(chance, taken))
        graph.node.append(onnx.NodeProto(op_type="Loop", attribute=[body]))
    return graph


def write_onnx(chance: random.Random, folder: Path, number: int) -> Written:
    """Raw, typed and external elements, mixed."""
    arrays: dict[str, Any] = {}
    tensors = []
    weights = b""
    for i in range(chance.randrange(15)):
        name = chance.choice(["layer/", "ü ", ""]) + str(i)
        shape = [chance.choice([0, 1, 2, 7]) for _ in range(chance.randrange(4))]
        if chance.randrange(4) == 0:
            tensor, arrays[name] = narrow_tensor(chance, name, shape)
            tensors.append(tensor)
            continue
        array = random_bits(chance, chance.choice(ONNX_TYPES), shape)
        if array.dtype.kind in "fc" and array.dtype.itemsize > 2:
            array = numpy.nan_to_num(array)  # what passes through Python's floats changes the bits of NaN
        arrays[name] = array
        way = chance.randrange(3)
        tensor = typed_tensor(name, array) if way == 0 else onnx.numpy_helper.from_array(array, name)
        if way == 2:
            onnx.external_data_helper.set_external_data(tensor, f"{number}.bin", len(weights), len(tensor.raw_data))
            weights += tensor.raw_data
            tensor.ClearField("raw_data")
        tensors.append(tensor)
    (folder / f"{number}.bin").write_bytes(weights)
    model = onnx.helper.make_model(random_graph(chance, tensors))
    while model.graph.initializer and chance.randrange(3) == 0:
        constant = constant_node(model.graph.initializer.pop())
        model.functions.append(onnx.FunctionProto(name=f"f{len(model.functions)}", domain="tests", node=[constant]))
    texts = random_texts(chance)
    onnx.helper.set_model_props(model, texts)
    path = folder / f"{number}.onnx"
    path.write_bytes(model.SerializeToString())
    return path, "onnx", arrays, texts


def write_pt(chance: random.Random, folder: Path, number: int) -> Written:
    """Nested, with slices, transposed and shared tensors, in protocols 2 to 5."""
    import torch

    arrays: dict[str, Any] = {}
    checkpoint: dict[str, Any] = {}
    kinds = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint64", "uint32",
             "uint16", "uint8", "bool", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2"]  # fmt: skip
    words = {"bfloat16": ("bf16", ""), "bool": ("bool", ""), "complex64": ("f32", "complex64"),
             "complex128": ("f64", "complex128"), "float8_e4m3fn": ("u8", "f8_e4m3fn"),
             "float8_e5m2": ("u8", "f8_e5m2")}  # fmt: skip
    for i in range(chance.randrange(12)):
        shape = [chance.choice([0, 1, 2, 3, 6]) for _ in range(chance.randrange(4))]
        kind = chance.choice(kinds)
        dtype = getattr(torch, kind)
        size = torch.empty(0, dtype=dtype).element_size()
        raw = random_bits(chance, "uint8", [int(numpy.prod(shape, dtype="u8")) * size])
        if dtype == torch.bool:
            raw = raw % 2
        tensor = torch.from_numpy(raw.copy()).view(dtype).reshape(shape) if raw.size else torch.empty(shape, dtype=dtype)
        if chance.randrange(3) == 0 and shape:
            tensor = tensor.permute(*chance.sample(range(len(shape)), len(shape)))
        if chance.randrange(3) == 0 and shape:
            tensor = tensor[chance.randrange(tensor.shape[0] + 1) :]
        if chance.randrange(4) == 0:
            tensor = tensor.expand(2, *tensor.shape)
        if chance.randrange(4) == 0:
            tensor = torch.nn.Parameter(tensor, requires_grad=False)
        group = checkpoint.setdefault(chance.choice(["model", "optimizer"]), collections.OrderedDict())
        group[f"w.{i}"] = tensor
        prefix = next(key for key, value in checkpoint.items() if value is group)
        plain = torch.empty(tensor.shape, dtype=dtype).copy_(tensor.detach()).reshape(-1)
        content = plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b""
        word, logical = words.get(kind, (kind[0] + str(8 * size), ""))
        arrays[f"{prefix}.w.{i}"] = Blocks(list(tensor.shape), word, logical, content)
        if chance.randrange(3) == 0:
            group[f"tied.{i}"] = tensor
            arrays[f"{prefix}.tied.{i}"] = arrays[f"{prefix}.w.{i}"]
    texts = random_texts(chance)
    checkpoint.update(texts)
    checkpoint["epoch"] = number
    path = folder / f"{number}.pt"
    torch.save(checkpoint, path, pickle_protocol=chance.choice([2, 3, 4, 5]))
    return path, "pt", arrays, texts


WRITERS = {"gguf": write_gguf, "onnx": write_onnx}
if importlib.util.find_spec("torch") is not None:
    WRITERS["pt"] = write_pt
else:
    print("PyTorch is not installed: no checkpoints are written and compared")
