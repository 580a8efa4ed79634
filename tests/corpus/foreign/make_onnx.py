#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files of onnx/ with the onnx package (1.23 was used), and those of onnx/reject by hand: make_onnx.py

raw.onnx       initializers of every type, in raw_data
typed.onnx     the same, in the typed fields (float_data, int32_data, …)
unpacked.onnx  the same, each number with a tag of its own, as proto2 writers may
external.onnx  the same as raw.onnx, in external.data/weights.bin and, one tensor, beside the file
sparse.onnx    sparse initializers with indices of both kinds, and their dense twins
graphs.onnx    constants of every kind, in graphs that are in nodes, in a function and in training information
"""

import hashlib
import pathlib
import struct
import sys

sys.dont_write_bytecode = True
import ml_dtypes
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from make import describe
import make_hostile

FOLDER = pathlib.Path(__file__).resolve().parent / "onnx"
BY_BITS = {"uint4": 4, "int4": 4, "float4_e2m1fn": 4, "uint2": 2, "int2": 2}
WORDS = {"complex64": "f32", "complex128": "f64"}


def arrays():
    counted = numpy.arange(24).reshape(2, 3, 4)
    found = {name: (counted / 3 - 2).astype(name) for name in ("float16", "float32", "float64")}
    found.update({name: (counted * 5 - 60).astype(name) for name in ("int8", "int16", "int32", "int64")})
    found.update({name: (counted * 5).astype(name) for name in ("uint8", "uint16", "uint32", "uint64")})
    found["bool"] = counted % 3 == 0
    found["complex64"] = (counted + 1j).astype("complex64")
    found["complex128"] = (counted - 1j).astype("complex128")
    for name in ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"):
        found[name] = (counted / 3 - 2).astype(getattr(ml_dtypes, name))
    found["scalar"] = numpy.array(2.5, "float32")
    found["empty"] = numpy.zeros((0, 3), "int64")
    found["large"] = numpy.array([2**63 - 1, -2**63, 0, -1], "int64")
    found["odd_uint4"] = numpy.array([1, 15, 7], ml_dtypes.uint4)
    found["int4"] = numpy.arange(-8, 8).reshape(2, 8).astype(ml_dtypes.int4)
    found["float4_e2m1fn"] = numpy.array([0.5, -6, 3, 1], ml_dtypes.float4_e2m1fn)
    return found


def packed(array):
    """The bytes of an element type narrower than a byte, as ONNX packs it."""
    return numpy_helper.from_array(array).raw_data


def described(found):
    rows = {}
    for name, array in found.items():
        word = array.dtype.name
        if word in BY_BITS:
            rows[name] = ("u8", array.shape, packed(array))
        elif word.startswith("float8"):
            rows[name] = ("u8", array.shape, array.tobytes())
        elif word in WORDS:
            rows[name] = (WORDS[word], array.shape, array.tobytes())
        else:
            rows[name] = array
    return rows


def typed(name, array):
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    tensor = TensorProto(name=name, data_type=kind, dims=array.shape)
    field = helper.tensor_dtype_to_field(kind)
    flat = array.ravel()
    word = array.dtype.name
    if word in BY_BITS:
        values = list(packed(array))
    elif word.startswith("complex"):
        values = flat.view("float32" if word == "complex64" else "float64").tolist()
    elif word in ("float16", "bfloat16"):
        values = flat.view("uint16").tolist()
    elif word.startswith("float8"):
        values = flat.view("uint8").tolist()
    else:
        values = flat.astype("uint8").tolist() if word == "bool" else flat.tolist()
    getattr(tensor, field).extend(values)
    return tensor


def model(initializers, sparse=(), properties=None):
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])], list(initializers),
                              sparse_initializer=list(sparse))
    made = helper.make_model(graph, producer_name="tests")
    helper.set_model_props(made, properties or {"author": "Grüße", "empty": ""})
    return made


TEXTS = {"author": "Grüße", "empty": ""}

# By hand, to be as wrong as one likes.


def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def tensor(name="w", dims=(4,), kind=1, raw=bytes(16), more=b""):
    packed_dims = field(1, b"".join(map(varint, dims))) if dims else b""
    return packed_dims + field(2, kind) + (field(8, name) if name is not None else b"") \
        + (field(9, raw) if raw is not None else b"") + more


def file(*tensors, graph=None):
    content = graph if graph is not None else b"".join(field(5, each) for each in tensors)
    return field(1, 10) + field(2, "tests") + field(7, content)


def entry(key, value):
    return field(13, field(1, key) + field(2, value))


def external(location="raw.onnx", **more):
    rest = b"".join(entry(key, str(value)) for key, value in more.items())
    return tensor(raw=None, more=entry("location", location) + rest + field(14, 1))


def sparse(values=None, indices=None, dims=(3, 4)):
    values = tensor(dims=(2,), raw=bytes(8)) if values is None else values
    indices = tensor("i", (2,), 7, struct.pack("<2q", 1, 5)) if indices is None else indices
    return field(15, field(1, values) + field(2, indices) + b"".join(field(3, each) for each in dims))


def unpacked(number, values):
    return b"".join(field(number, each) for each in values)


def unpacked_typed(array, name):
    """With a tag for each number."""
    from_package = typed(name, array)
    content = b"".join(field(1, each) for each in array.shape) + field(2, from_package.data_type) + field(8, name)
    for each in from_package.float_data:
        content += varint(4 << 3 | 5) + struct.pack("<f", each)
    for each in from_package.double_data:
        content += varint(10 << 3 | 1) + struct.pack("<d", each)
    for number, values in ((5, from_package.int32_data), (7, from_package.int64_data), (11, from_package.uint64_data)):
        content += unpacked(number, values)
    return content


def in_node(graph):
    """A node that has that graph, whose fields they are."""
    return field(1, field(2, "y") + field(3, "n") + field(5, field(1, "body") + field(6, graph)))


def nested(levels):
    """A tensor in so many graphs, one in the other."""
    graph = field(5, tensor())
    for _ in range(levels):
        graph = in_node(graph)
    return graph


def hostile():
    good = tensor()
    yield "no_graph", field(1, 10) + field(2, "tests"), "schema_missing", "a model has a graph"
    yield "cut_in_graph", file(good)[:-1], "header_malformed", "the graph is in the file"
    yield "graph_2_64", field(1, 10) + b"\x3a" + varint(2**64 - 1), "header_malformed", "likewise"
    yield "graph_number", field(1, 10) + field(2, "t") + field(7, 1), "header_malformed", "the graph is a message"
    yield "varint_of_11_bytes", b"\x08\x0a\x12" + b"\xff" * 10 + b"\x01", "header_malformed", "a number has 64 bits"
    yield "varint_of_65_bits", b"\x08\x0a\x12" + b"\xff" * 9 + b"\x02", "header_malformed", "likewise"
    yield "field_0", b"\x08\x0a\x12\x01t\x02\x00", "header_malformed", "fields count from 1"
    yield "field_2_29", b"\x08\x0a\x12\x01t" + varint(2**29 << 3) + b"\0", "header_malformed", "and to 2^29 - 1"
    for kind in (3, 4, 6, 7):
        yield f"wire_type_{kind}", b"\x08\x0a\x12\x01t" + varint(9 << 3 | kind) + b"\0" * 9, "header_malformed", \
            "wire types are known, and no groups"
    yield "tensor_number", file(graph=field(5, 1)), "header_malformed", "an initializer is a message"
    yield "tensor_beyond_graph", file(graph=b"\x2a" + varint(100) + good), "header_malformed", "and in its graph"
    yield "name_number", file(tensor(None, more=field(8, 1))), "header_malformed", "a name is text"
    yield "raw_number", file(tensor(raw=None, more=field(9, 1))), "header_malformed", "raw data is bytes"
    yield "name_missing", file(tensor(None)), "name_invalid", "ours: a name is not empty"
    yield "name_empty", file(tensor("")), "name_invalid", "likewise"
    yield "name_with_nul", file(tensor("a\0")), "name_invalid", "ours: a name holds no U+0000"
    yield "name_not_utf8", file(tensor(b"\xff")), "cbor_utf8", "a name is UTF-8"
    yield "name_twice", file(good, good), "duplicate_key", "names are distinct"
    yield "raw_too_small", file(tensor(raw=bytes(15))), "size_mismatch", "raw data has the size of the shape"
    yield "raw_too_large", file(tensor(raw=bytes(17))), "size_mismatch", "likewise"
    yield "raw_of_nibbles", file(tensor(dims=(3,), kind=22, raw=bytes(1))), "size_mismatch", "two elements a byte"
    yield "no_data", file(tensor(raw=None)), "size_mismatch", "there are elements"
    yield "dimension_negative", file(tensor(dims=(-1,))), "header_malformed", "a dimension is not negative"
    yield "dimensions_65", file(tensor(dims=(1,) * 65, raw=bytes(4))), "header_malformed", "ours: 64 dimensions"
    yield "shape_2_64", file(tensor(dims=(2**32, 2**32))), "shape_overflow", "64 bits count elements"
    yield "shape_bits", file(tensor(dims=(2**61,))), "shape_overflow", "64 bits count bits"
    yield "two_places", file(tensor(more=field(4, bytes(16)))), "header_malformed", "elements are in one place"
    yield "two_fields", file(tensor(raw=None, more=field(4, bytes(16)) + field(5, b"\1"))), "header_malformed", "likewise"
    yield "wrong_field", file(tensor(raw=None, more=field(7, bytes(4)))), "header_malformed", "floats are float_data"
    yield "floats_too_few", file(tensor(raw=None, more=field(4, bytes(12)))), "size_mismatch", "there are as many"
    yield "floats_half", file(tensor(raw=None, more=field(4, bytes(15)))), "size_mismatch", "numbers are whole"
    yield "float_as_varint", file(tensor(raw=None, more=field(4, 1))), "header_malformed", "a float has 32 bits"
    yield "ints_too_few", file(tensor(kind=6, raw=None, more=field(5, bytes(3)))), "size_mismatch", "there are as many"
    for name, location in (("absolute", "/etc/passwd"), ("up", "../pt/state_dict.pt"), ("up_later", "a/../../x"),
                           ("backslash", "..\\x"), ("drive", "C:x"), ("empty", ""), ("nul", "raw.onnx\0")):
        yield f"external_{name}", file(external(location)), "name_invalid", "data lies below the model's folder"
    yield "external_no_location", file(tensor(raw=None, more=field(14, 1))), "name_invalid", "likewise"
    yield "external_missing", file(external("missing.bin")), "file_not_found", "the file is there"
    yield "external_folder", file(external(".")), "not_regular_file", "it is a file"
    yield "external_beyond", file(external("name_empty.onnx", offset=2**40)), "out_of_bounds", "data is in the file"
    yield "external_offset_2_64", file(external("name_empty.onnx", offset=2**64)), "header_malformed", "64 bits"
    yield "external_offset_text", file(external("name_empty.onnx", offset="x")), "header_malformed", "a number"
    yield "external_offset_negative", file(external("name_empty.onnx", offset=-1)), "header_malformed", "likewise"
    yield "external_length", file(external("name_empty.onnx", length=8)), "size_mismatch", "the length fits the shape"
    yield "sparse_rank", file(graph=sparse(values=tensor(dims=(2, 1), raw=bytes(8)))), "sparse_size", "values are a list"
    yield "sparse_count", file(graph=sparse(indices=tensor("i", (3,), 7, bytes(24)))), "sparse_size", \
        "as many indices as values"
    yield "sparse_indices_rank", file(graph=sparse(indices=tensor("i", (2, 3), 7, bytes(48)))), "sparse_size", "of the rank"
    yield "sparse_indices_i32", file(graph=sparse(indices=tensor("i", (2,), 6, bytes(8)))), "sparse_size", "indices are i64"
    yield "sparse_dimension", file(graph=sparse(dims=(-1,))), "header_malformed", "a dimension is not negative"
    constant = field(2, "w") + field(4, "Constant")
    yield "node_number", file(graph=field(1, 1)), "header_malformed", "a node is a message"
    yield "node_output_number", file(graph=field(1, field(2, 1))), "header_malformed", "its names are text"
    yield "attribute_number", file(graph=field(1, field(5, 1))), "header_malformed", "an attribute is a message"
    yield "attribute_beyond_node", file(graph=field(1, constant + b"\x2a" + varint(100)) + bytes(200)), "header_malformed", \
        "and in its node"
    yield "constant_number", file(graph=field(1, constant + field(5, field(5, 1)))), "header_malformed", \
        "a tensor is a message"
    yield "constant_cut", file(graph=field(1, constant + field(5, field(5, tensor(raw=bytes(15)))))), "size_mismatch", \
        "raw data has the size of the shape"
    yield "constant_twice", file(good, graph=field(5, good) + field(1, constant + field(5, field(5, good)))), \
        "duplicate_key", "names of a graph are distinct"
    yield "constant_ints_cut", file(graph=field(1, constant + field(5, field(8, b"\x81")))), "header_malformed", \
        "numbers are whole"
    yield "constant_floats_cut", file(graph=field(1, constant + field(5, field(7, bytes(7))))), "header_malformed", \
        "likewise"
    yield "graph_in_node_number", file(graph=field(1, field(5, field(6, 1)))), "header_malformed", "a graph is a message"
    yield "graph_in_node_twice", file(graph=in_node(field(5, good) * 2)), "duplicate_key", "names of a graph are distinct"
    yield "graph_in_node_cut", file(graph=in_node(b"\x2a" + varint(100) + good)), "header_malformed", \
        "a tensor is in its graph"
    yield "graphs_65", file(graph=nested(65)), "limit_exceeded", "ours: 64 levels"
    yield "graphs_5000", file(graph=nested(5000)), "limit_exceeded", "likewise"
    yield "function_number", file(good) + field(25, 1), "header_malformed", "a function is a message"
    yield "function_cut", file(good) + field(25, field(7, field(5, b"\x0a\x7f"))), "header_malformed", "likewise"
    yield "training_number", file(good) + field(20, field(1, 1)), "header_malformed", "a graph is a message"
    yield "property_twice", file(good) + field(14, field(1, "k")) * 2, "duplicate_key", "keys are distinct"


def graphs():
    """The model, what objects there are, and the names of what is skipped."""
    found, skipped = {}, []

    def constant(name, array=None, key="value", value=None):
        node = onnx.NodeProto(op_type="Constant", output=[name])
        attribute = numpy_helper.from_array(array, "inside") if value is None else value
        node.attribute.append(helper.make_attribute(key, attribute))
        return node

    def graph(name, nodes=(), initializers=()):
        return onnx.GraphProto(name=name, node=nodes,
                               initializer=[numpy_helper.from_array(array, key) for key, array in initializers])

    def holder(op, name, **graphs):
        node = onnx.NodeProto(op_type=op, name=name, output=[name + "_out"])
        node.attribute.extend(helper.make_attribute(key, value) for key, value in graphs.items())
        return node

    count = iter(range(100))

    def array():
        return numpy.array([next(count), 0.5], "float32")

    def put(name):
        found[name] = array()
        return found[name]

    found.update({"value": numpy.array([[1, 2], [3, 4]], "int64"), "value_float": numpy.array(1.5, "float32"),
                  "value_floats": numpy.array([1, -2.5], "float32"), "value_int": numpy.array(-7, "int64"),
                  "value_ints": numpy.array([3, -1, 2**40], "int64"), "filled": numpy.array([2], "int32"),
                  "custom.weights": numpy.array([5, 6], "uint8"), "nibbles": numpy.array([-8, 7, 3], ml_dtypes.int4)})
    nodes = [constant(key, key=key, value=found[key].tolist())
             for key in ("value_float", "value_floats", "value_int", "value_ints")]
    nodes += [constant("value", found["value"]), constant("nibbles", found["nibbles"]),
              constant("text", key="value_string", value="t"), constant("texts", key="value_strings", value=["a", "b"]),
              constant("text_tensor", value=helper.make_tensor("", TensorProto.STRING, [1], [b"x"]))]
    filled = onnx.NodeProto(op_type="ConstantOfShape", input=["value_ints"], output=["filled"])
    filled.attribute.append(helper.make_attribute("value", numpy_helper.from_array(found["filled"], "")))
    custom = onnx.NodeProto(op_type="Custom", domain="tests", name="custom", output=["c"])
    custom.attribute.append(helper.make_attribute("weights", numpy_helper.from_array(found["custom.weights"], "")))
    custom.attribute.append(helper.make_attribute("coefficients", [1.5, 2.5]))
    skipped += ["text", "texts", "text_tensor", "custom.coefficients"]
    main_weight, shared, first = put("w"), put("shared"), put("in_then")
    inner = graph("inner", [constant("deep", put("deep"))], [("shared", put("If_0.else_branch/Loop_1.body/shared"))])
    nodes += [filled, custom,
              holder("If", "If_0",
                     then_branch=graph("then", [constant("shared", shared)], [("in_then", first)]),
                     else_branch=graph("else", [holder("Loop", "Loop_1", body=inner)],
                                       [("w", put("If_0.else_branch/w")),
                                        ("in_then", put("If_0.else_branch/in_then"))])),
              holder("Scan", "Scan_2", bodies=[graph("a", (), [("in_scan", put("in_scan"))]),
                                               graph("b", (), [("in_scan", put("Scan_2.bodies#1/in_scan"))])])]
    made = helper.make_model(graph("main", nodes, [("w", main_weight)]), producer_name="tests")
    for name in ("gelu", "relu"):
        taken = name == "relu"
        made.functions.append(onnx.FunctionProto(name=name, domain="tests", node=[
            constant("half", put("relu/half" if taken else "half")),
            holder("If", "If_0", then_branch=graph("then", (), [
                ("in_function", put("relu/If_0.then_branch/in_function" if taken else "in_function"))]))]))
    training = made.training_info.add()
    training.initialization.CopyFrom(graph("initial", (), [("momentum", put("momentum"))]))
    training.algorithm.CopyFrom(graph("algorithm", (), [("w", put("training_info.algorithm/w"))]))
    return made, found, skipped


def main():
    FOLDER.mkdir(exist_ok=True)
    found = arrays()
    onnx.save(model(numpy_helper.from_array(array, name) for name, array in found.items()), FOLDER / "raw.onnx")
    onnx.save(model(typed(name, array) for name, array in found.items()), FOLDER / "typed.onnx")
    content = b"".join(field(5, unpacked_typed(array, name)) for name, array in found.items())
    properties = b"".join(field(14, field(1, key) + field(2, value)) for key, value in TEXTS.items())
    (FOLDER / "unpacked.onnx").write_bytes(file(graph=content) + properties)
    (FOLDER / "external.data").mkdir(exist_ok=True)
    outside = [numpy_helper.from_array(array, name) for name, array in found.items()]
    weights = b""
    for each in outside:
        if each.name == "float64":
            (FOLDER / "float64.bin").write_bytes(each.raw_data)
            onnx.external_data_helper.set_external_data(each, "float64.bin")
        else:
            weights += bytes(-len(weights) % 64)
            onnx.external_data_helper.set_external_data(each, "external.data/weights.bin", len(weights),
                                                        len(each.raw_data))
            weights += each.raw_data
        each.ClearField("raw_data")
    (FOLDER / "external.data" / "weights.bin").write_bytes(weights)
    onnx.save(model(outside), FOLDER / "external.onnx")
    for name in ("raw", "typed", "unpacked", "external"):
        path = FOLDER / f"{name}.onnx"
        checked = onnx.load(path)
        for each in checked.graph.initializer:
            array = numpy_helper.to_array(each, str(FOLDER))
            assert array.tobytes() == found[each.name].tobytes() and array.shape == found[each.name].shape, each.name
        describe(path, described(found), TEXTS)

    dense = numpy.zeros((3, 4), "float32")
    dense[0, 1], dense[1, 1], dense[2, 3] = 1.5, -2.5, 3.5
    values = numpy.array([1.5, -2.5, 3.5], "float32")
    linear = numpy_helper.from_array(numpy.array([1, 5, 11]), "i")
    listed = typed("i", numpy.array([[0, 1], [1, 1], [2, 3]]))
    onnx.save(model([numpy_helper.from_array(dense, "dense")], [
        helper.make_sparse_tensor(numpy_helper.from_array(values, "linear"), linear, [3, 4]),
        helper.make_sparse_tensor(typed("listed", values), listed, [3, 4]),
    ]), FOLDER / "sparse.onnx")
    texts = TensorProto(name="texts", data_type=TensorProto.STRING, dims=[2], string_data=[b"a", b"b"])
    onnx.save(model([texts, numpy_helper.from_array(values, "values")]), FOLDER / "texts.onnx")
    nested_graphs, inside, skipped = graphs()
    onnx.save(nested_graphs, FOLDER / "graphs.onnx")
    describe(FOLDER / "graphs.onnx", described(inside), skipped=sorted(skipped))
    make_hostile.write("onnx", hostile, ".onnx")


if __name__ == "__main__":
    main()
