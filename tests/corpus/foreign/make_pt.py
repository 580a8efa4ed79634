#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files of pt/ with PyTorch (2.15 was used), and those of pt/reject by hand: make_pt.py

Needs torch, numpy, ml_dtypes.

state_dict.pt  what a state_dict of many dtypes is saved as
checkpoint.pt  nested: model, optimizer, numbers and texts; tied, sliced, transposed, permuted and expanded tensors
protocol_5.pt  the same with pickle protocol 5
deflated.pt    the same, its entries deflated by zipfile
tensor.pt      one tensor alone
old_layout.pt  an archive as PyTorch 1.6 wrote it: no byteorder, no alignment to 64 (by hand)
big_endian.pt  an archive of a big-endian machine (by hand)

make_pt.py arrays makes only these (PyTorch 2.14.1 and NumPy 2.4.6 were used):

arrays.pt      arrays and scalars of NumPy, arrays_1.pt by the names that NumPy 1 gives its parts, arrays_5.pt with
               protocol 5, and arrays.pth as before PyTorch 1.6
keys.pt        keys that are no texts

make_pt.py kinds makes only these (PyTorch 2.5.1 was used):

legacy.pt      a checkpoint as before PyTorch 1.6, and legacy_1.pt with pickle protocol 1
tar.pt         a file as before PyTorch 0.2 (by hand)
module.pt      a pickled module, and script.pt one of TorchScript
signs.pt       conjugated and negated views
others.pt      what is no tensor: a namespace, an enum, a set, a Counter, an object that holds itself
sparse.pt      sparse tensors of all layouts
quantized.pt   quantized tensors
no_crc.pt      an archive whose CRC-32s are all 0 (by hand)

make_pt.py programs makes only these (PyTorch 2.14.1 was used):

traced.pt      a module of TorchScript that was traced, and frozen.pt one that was frozen: what they keep as constants
exported.pt2   a program of torch.export, packed anew without what pads it and its code; exported_2_8.pt2 and exported_2_4.pt2 the
               same as PyTorch 2.8 and 2.4 lay it out (by hand: their state is an archive in the archive)
programs.pt2   two programs in one archive of a big-endian machine, with tensors of classes of their own (by hand)

make_pt.py reject makes the files of pt/reject alone.
"""

import argparse
import collections
import datetime
import io
import json
import pathlib
import pickle
import struct
import sys
import tarfile
import zipfile

sys.dont_write_bytecode = True
import ml_dtypes
import numpy
import torch

from make import describe
import make_hostile

FOLDER = pathlib.Path(__file__).resolve().parent / "pt"
STAMP = (1980, 1, 1, 0, 0, 0)


def as_array(tensor):
    tensor = tensor.detach().contiguous()
    special = {torch.bfloat16: ml_dtypes.bfloat16}
    if tensor.dtype in special:
        return tensor.view(torch.uint16).numpy().view(special[tensor.dtype])
    if tensor.dtype.itemsize == 1 and tensor.dtype.is_floating_point:
        return tensor.view(torch.uint8).numpy()
    return tensor.numpy()


def flat(value, name=""):
    """Tensors by their name with dots."""
    if isinstance(value, torch.Tensor):
        return {name: as_array(value)}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    found = {}
    for key, each in items:
        found.update(flat(each, f"{name}.{key}" if name else str(key)))
    return found


def texts(value, name=""):
    if isinstance(value, (str, torch.dtype)):
        return {name: str(value)}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    found = {}
    for key, each in items:
        found.update(texts(each, f"{name}.{key}" if name else str(key)))
    return found


def state_dict():
    counted = torch.arange(24).reshape(2, 3, 4)
    found = collections.OrderedDict()
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
                  torch.int8, torch.uint8, torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32,
                  torch.uint64):
        found["layer." + str(dtype).split(".")[1]] = (counted / 3 if dtype.is_floating_point else counted).to(dtype)
    found["layer.bool"] = counted % 3 == 0
    found["scalar"] = torch.tensor(2.5)
    found["empty"] = torch.zeros(0, 3)
    found["parameter"] = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
    found._metadata = collections.OrderedDict([("", {"version": 1}), ("layer", {"version": 2})])
    return found


def checkpoint():
    weight = torch.arange(48.0).reshape(6, 8)
    cube = torch.arange(60, dtype=torch.int16).reshape(3, 4, 5)
    model = collections.OrderedDict(weight=weight, tied=weight, row=weight[2], columns=weight[:, 2:5],
                                    transposed=weight.t(), every_other=weight[::2, 1::3],
                                    permuted=cube.permute(2, 0, 1), inner=cube[1:, 1:3, ::2],
                                    expanded=torch.tensor([1.5, 2.5]).expand(3, 2),
                                    one_wide=weight[:, :1], no_rows=weight[3:3].t())
    state = {0: {"step": torch.tensor(7.0), "exp_avg": weight / 2}, 1: {"step": 7}}
    groups = [{"lr": 1e-3, "betas": (0.9, 0.999), "amsgrad": False, "params": [0, 1]}]
    return {"model": model, "optimizer": {"state": state, "param_groups": groups}, "epoch": 3, "best": None,
            "name": "Grüße", "dtype": torch.float16, "size": torch.Size([2, 3]), "negative": -5, "large": 2**40,
            "larger": 2**63, "scale": 0.5, "blob": "x" * 300}


def save(name, value, **options):
    torch.save(value, FOLDER / name, **options)
    describe(FOLDER / name, flat(value), texts(value))


def archive(entries, folder="archive", deflated=()):
    """A ZIP as torch lays it out, from content by name."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as out:
        for name, each in entries.items():
            entry = zipfile.ZipInfo(f"{folder}/{name}" if folder else name, STAMP)
            entry.compress_type = zipfile.ZIP_DEFLATED if name in deflated or deflated == "all" else zipfile.ZIP_STORED
            out.writestr(entry, each)
    return content.getvalue()


class Pickle:
    """A pickle by hand; each method appends an opcode."""

    def __init__(self, protocol=2):
        self.bytes = b"\x80" + bytes([protocol])

    def raw(self, content):
        self.bytes += content
        return self

    def text(self, value):
        encoded = value.encode()
        return self.raw(b"X" + struct.pack("<I", len(encoded)) + encoded)

    def integer(self, value):
        if 0 <= value < 256:
            return self.raw(b"K" + bytes([value]))
        size = value.bit_length() // 8 + 1
        return self.raw(b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True))

    def name(self, module, name):
        return self.raw(f"c{module}\n{name}\n".encode())

    def integers(self, values):
        self.raw(b"(")
        for each in values:
            self.integer(each)
        return self.raw(b"t")

    def storage(self, key="0", count=4, kind="FloatStorage", module="torch"):
        self.raw(b"(").text("storage").name(module, kind).text(key).text("cpu").integer(count)
        return self.raw(b"tQ")

    def tensor(self, size=(4,), stride=(1,), offset=0, more=b"", **storage):
        self.name("torch._utils", "_rebuild_tensor_v2").raw(b"(").storage(**storage)
        self.integer(offset).integers(size).integers(stride)
        return self.raw(b"\x89").name("collections", "OrderedDict").raw(b")R" + more + b"tR")

    def dictionary(self, fill):
        self.raw(b"}(")
        fill(self)
        return self.raw(b"u.")


def with_pickle(content, **more):
    entries = {"data.pkl": content, "byteorder": b"little", "data/0": struct.pack("<4f", 1, 2, 3, 4), "version": b"3\n"}
    entries.update(more)
    return archive(entries)


def with_tensor(**options):
    return with_pickle(Pickle().dictionary(lambda out: out.text("w").tensor(**options)).bytes)


def with_value(write):
    return with_pickle(Pickle().dictionary(lambda out: write(out.text("w"))).bytes)


def payload(path="weight_0", pickled=False, meta=True, **changes):
    """What a program says of one tensor."""
    symbols = lambda values: [{"as_int": each} if isinstance(each, int) else each for each in values]
    tensor = {"dtype": 7, "sizes": symbols(changes.pop("sizes", (4,))), "requires_grad": True,
              "device": {"type": "cpu", "index": None}, "strides": symbols(changes.pop("strides", (1,))),
              "storage_offset": {"as_int": changes.pop("offset", 0)}, "layout": 7, **changes}
    tensor = {key: each for key, each in tensor.items() if each is not None}
    return {"path_name": path, "is_param": True, "use_pickle": pickled, "tensor_meta": tensor if meta else None}


def program(payloads, more=(), deflated=()):
    """A program of torch.export, from what it says of each name, or the text of that."""
    config = payloads if isinstance(payloads, bytes) else json.dumps({"config": payloads}).encode()
    entries = {"data/weights/weight_0": struct.pack("<4f", 1, 2, 3, 4), "data/weights/model_weights_config.json": config,
               "models/model.json": b"{}", "archive_format": b"pt2", "byteorder": b"little", **dict(more)}
    return archive(entries, "program", deflated)


def hostile_programs(good):
    inner = "data/weights/model.pt"
    checkpoint = with_pickle(good)

    def of(**changes):
        return program({"w": payload(**changes)})

    yield "program_path_outside", of(path="../../models/model.json"), "schema_missing", "an entry is in the folder"
    yield "program_path_of_root", of(path="/etc/passwd"), "schema_missing", "likewise"
    yield "program_path_missing", of(path="weight_1"), "schema_missing", "each tensor has an entry"
    yield "program_path_empty", of(path=""), "schema_missing", "likewise"
    yield "program_pickle_missing", of(path="weight_1", pickled=True), "schema_missing", "likewise"
    yield "program_size_beyond", of(sizes=(5,)), "out_of_bounds", "a tensor lies in its storage"
    yield "program_offset_beyond", of(offset=1), "out_of_bounds", "likewise"
    yield "program_offset_2_63", of(offset=2**63), "out_of_bounds", "likewise"
    yield "program_stride_beyond", of(sizes=(3,), strides=(2,)), "out_of_bounds", "likewise"
    yield "program_stride_2_63", of(strides=(2**63,)), "out_of_bounds", "likewise"
    yield "program_size_2_63", of(sizes=(2**63,), strides=(0,)), "shape_overflow", "64 bits count bytes"
    yield "program_size_2_64", of(sizes=(2**64,)), "schema_type", "a size has 64 bits"
    yield "program_size_negative", of(sizes=(-1,)), "schema_type", "sizes are not negative"
    yield "program_size_of_half", of(sizes=({"as_int": 0.5},)), "schema_type", "sizes are whole"
    yield "program_size_of_symbol", of(sizes=({"as_expr": {"expr_str": "s0"}},)), "schema_missing", "sizes are numbers"
    yield "program_size_bare", of(sizes=([4],)), "schema_type", "a size is in an object"
    yield "program_size_twice", program(json.dumps({"config": {"w": payload()}}).replace(
        '{"as_int": 4}', '{"as_int": 4, "as_int": 4}').encode()), "duplicate_key", "a field stands once"
    yield "program_offset_negative", of(offset=-1), "schema_type", "offsets are not negative"
    yield "program_rank_of_strides", of(sizes=(2, 2)), "header_malformed", "as many strides as sizes"
    yield "program_sixty_five_dimensions", of(sizes=(1,) * 65, strides=(1,) * 65), "limit_exceeded", "ours: 64 dimensions"
    for number in (0, 14, 36, 2**32 + 7):
        yield f"program_dtype_{number}", of(dtype=number), "unknown_dtype", "dtypes have known numbers"
    yield "program_dtype_text", of(dtype="float32"), "schema_type", "likewise"
    yield "program_dtype_missing", of(dtype=None), "schema_missing", "a tensor has a dtype"
    yield "program_strides_missing", program(json.dumps({"config": {"w": payload()}}).replace(
        '"strides"', '"steps"').encode()), "schema_missing", "a tensor has strides"
    yield "program_layout_sparse", of(layout=1), "pickle_refused", "raw bytes are strided"
    yield "program_object_alone", program({"o": payload("custom_obj_0", True, False)}), "pickle_refused", \
        "an object is no tensor"
    yield "program_name_twice", program(b'{"config":{"w":%b,"w":%b}}' % ((json.dumps(payload()).encode(),) * 2)), \
        "duplicate_key", "names are distinct"
    yield "program_name_long", program({"w" * 5000: payload()}), "name_invalid", "ours: at most 4096 bytes"
    yield "program_without_config", program(b"{}"), "schema_missing", "there is a config"
    yield "program_of_list", program(b"[]"), "schema_type", "the config is an object"
    yield "program_of_number", program(b"7"), "schema_type", "likewise"
    yield "program_config_of_list", program(b'{"config":[]}'), "schema_type", "likewise"
    yield "program_payload_of_text", program(b'{"config":{"w":"weight_0"}}'), "schema_type", "likewise"
    yield "program_cut", program(b'{"config":{"w":{'), "json_malformed", "JSON is whole"
    yield "program_empty_text", program(b""), "json_malformed", "likewise"
    yield "program_behind_nul", program(b'{"config":{}}\0'), "json_malformed", "likewise"
    yield "program_deep", program(b'{"config":{"w":{"x":' + b"[" * 5000 + b"}}}"), "json_malformed", "well-formed, however deep"
    yield "program_inner_deflated", archive({inner: checkpoint}, "program", "all"), "unsupported_encoding", \
        "ours: an archive in the archive lies as it is"
    yield "program_inner_cut", archive({inner: checkpoint[:-1]}, "program"), "zip_malformed", "an archive is whole"
    yield "program_inner_of_text", archive({inner: b"no archive"}, "program"), "zip_malformed", "likewise"
    yield "program_inner_of_other", archive({inner: archive({"x": b""})}, "program"), "schema_missing", \
        "a checkpoint is in the archive"
    yield "program_inner_evil", archive({inner: with_pickle(pickle.dumps({"w": Evil(eval, ("1",))}, protocol=2))}, "program"), \
        "pickle_refused", "nothing of others is called"
    yield "program_old_cut", archive({"serialized_exported_program.json": b"{}", "serialized_state_dict.pt": b"PK\3\4"}, ""), \
        "zip_malformed", "an archive is whole"


class Evil:
    def __init__(self, call, arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


def hostile():
    import os
    import subprocess

    good = Pickle().dictionary(lambda out: out.text("w").tensor()).bytes
    for protocol in (2, 3, 4, 5):
        for call, arguments in ((os.system, ("true",)), (eval, ("1",)), (exec, ("1",)), (subprocess.Popen, (["true"],)),
                                (getattr, ("a", "b"))):
            content = pickle.dumps({"w": Evil(call, arguments)}, protocol=protocol)
            yield f"{call.__name__}_{protocol}", with_pickle(content), "pickle_refused", "nothing of others is called"
    for module, name in (("torch", "load"), ("torch.hub", "load"), ("torch._utils", "_rebuild_sparse_tensor"),
                         ("torch.storage", "_load_from_bytes"), ("torch", "QInt8Storage"), ("collections", "Counter"),
                         ("collections", ""), ("", "OrderedDict"), ("numpy.core.multiarray", "scalar"),
                         ("torch", "FloatStorage.__init__"), ("torch.Tensor", "__setattr__")):
        yield f"name_{module}_{name}".replace(".", "_"), with_value(lambda out: out.name(module, name)), \
            "pickle_refused", "names are on the list"
    yield "name_by_texts", with_pickle(Pickle(4).text("os").text("system").raw(b"\x93.").bytes), "pickle_refused", \
        "likewise"
    yield "instance", with_pickle(b"\x80\x02(S'true'\nios\nsystem\n."), "pickle_refused", "no opcode of protocol 0"
    yield "instance_alone", with_pickle(b"\x80\x02(ios\nsystem\n."), "pickle_refused", "no instances"
    yield "object", with_pickle(b"\x80\x02(ctorch\nSize\no."), "pickle_refused", "likewise"
    yield "new_object", with_pickle(b"\x80\x02ctorch\nSize\n)\x81."), "pickle_refused", "likewise"
    yield "extension", with_pickle(b"\x80\x02\x82\x01."), "pickle_refused", "no registry of extensions"
    yield "persistent_id_of_text", with_pickle(b"\x80\x02Pid\n."), "pickle_refused", "ids are tuples"
    yield "buffer", with_pickle(b"\x80\x05\x97."), "pickle_refused", "no buffers from outside"
    yield "call_of_dtype", with_value(lambda out: out.name("torch", "float32").raw(b")R")), "pickle_refused", \
        "a constant is not called"
    yield "call_of_text", with_value(lambda out: out.text("eval").raw(b")R")), "pickle_malformed", "a name is called"
    yield "state_of_list", with_value(lambda out: out.raw(b"]}b")), "pickle_refused", "a list has no state"
    yield "value_is_class", with_value(lambda out: out.name("torch", "FloatStorage")), "pickle_refused", "likewise"

    for size in (0, 1, 2, 5, 20, 60, len(good) - 1):
        yield f"cut_at_{size}", with_pickle(good[:size]), "pickle_malformed", "a pickle ends with STOP"
    yield "bytes_behind", with_pickle(good + b"x"), "pickle_malformed", "nothing follows STOP"
    yield "protocol_1", with_pickle(b"\x80\x01}."), "unsupported_version", "protocols 2 to 5"
    yield "protocol_6", with_pickle(b"\x80\x06}."), "unsupported_version", "likewise"
    yield "stop_alone", with_pickle(b"\x80\x02."), "pickle_malformed", "one value is left"
    yield "two_values", with_pickle(b"\x80\x02}}."), "pickle_malformed", "likewise"
    yield "mark_left", with_pickle(b"\x80\x02}(."), "pickle_malformed", "likewise"
    yield "number_alone", with_pickle(b"\x80\x02K\x01."), "pickle_malformed", "a checkpoint is tensors"
    yield "text_of_2_64", with_pickle(b"\x80\x04\x8d" + b"\xff" * 8 + b"."), "pickle_malformed", "a text is in the pickle"
    yield "text_of_2_32", with_pickle(b"\x80\x02X" + b"\xff" * 4 + b"."), "pickle_malformed", "likewise"
    yield "frame_of_2_64", with_pickle(b"\x80\x04\x95" + b"\xff" * 8), "pickle_malformed", "a frame has an end"
    yield "long_of_2_32", with_pickle(b"\x80\x02\x8b" + b"\xff" * 4 + b"."), "pickle_malformed", "an int is in the pickle"
    for name, code in (("tuple_1", b"\x85."), ("tuple_3", b"}}\x87."), ("tuple_unmarked", b"t."), ("append", b"]a."),
                       ("appends", b"]e."), ("setitem", b"}K\1s."), ("setitems_odd", b"}(K\1u."), ("put", b"q\0."),
                       ("reduce", b"}R."), ("build", b"}b."), ("persistent", b"Q."), ("global_texts", b"}\x93."),
                       ("below_mark", b"]}(a."), ("below_mark_tuple", b"}(\x85.")):
        yield f"underflow_{name}", with_pickle(b"\x80\x04" + code), "pickle_malformed", "opcodes find what they need"
    yield "append_to_dict", with_pickle(b"\x80\x02}K\1a."), "pickle_malformed", "a list is appended to"
    yield "item_of_list", with_pickle(b"\x80\x02]K\1K\1s."), "pickle_malformed", "a dict has items"
    yield "get_of_nothing", with_pickle(b"\x80\x02h\0."), "pickle_malformed", "what is recalled was remembered"
    yield "put_at_2_32", with_pickle(b"\x80\x02}r\xff\xff\xff\xff."), "pickle_malformed", "the memo has no gaps"
    yield "list_in_itself", with_pickle(b"\x80\x02]q\0h\0a."), "pickle_refused", "no tensor in what holds itself"
    yield "deep", with_pickle(b"\x80\x02" + b"]" * 5000 + b"a" * 4999 + b"."), "pickle_malformed", "ours: at most 1024 deep"
    laughs = b"\x80\x02](" + b"K\1" * 10 + b"eq\0"
    for level in range(1, 12):
        laughs += b"](" + b"h" + bytes([level - 1]) + (b"h" + bytes([level - 1])) * 9 + b"eq" + bytes([level])
    laughs += b"\x86" * 11 + b"."
    yield "billion_laughs", with_pickle(laughs), "pickle_refused", \
        "no tensor in what is gone through once"
    for name, opcode in (("stacked", b"N"), ("marks", b"(")):
        yield name, archive({"data.pkl": b"\x80\x02" + opcode * (2**20 + 1)}, deflated="all"), "limit_exceeded", \
            "ours: the stack is bounded"

    yield "id_of_4", with_value(lambda out: out.raw(b"(").text("storage").name("torch", "FloatStorage").text("0")
                                .text("cpu").raw(b"tQ")), "pickle_malformed", "an id has five parts"
    yield "id_of_module", with_value(lambda out: out.raw(b"(").text("module").name("torch", "FloatStorage").text("0")
                                     .text("cpu").integer(4).raw(b"tQ")), "pickle_malformed", "an id is a storage's"
    yield "id_of_size", with_value(lambda out: out.storage(kind="Size")), "pickle_malformed", "its class is a storage"
    yield "storage_of_2_63", with_tensor(count=2**62), "shape_overflow", "64 bits count a storage's bytes"
    yield "storage_negative", with_tensor(count=-1), "pickle_malformed", "a count is not negative"
    yield "storage_missing", with_tensor(key="7"), "schema_missing", "a storage has an entry"
    yield "storage_outside", with_tensor(key="../data.pkl"), "schema_missing", "likewise"
    yield "storage_larger", with_tensor(count=5), "size_mismatch", "its entry has its size"
    yield "storage_smaller", with_tensor(count=3), "size_mismatch", "likewise"
    yield "rank_of_strides", with_tensor(size=(2, 2), stride=(1,)), "pickle_malformed", "as many strides as sizes"
    yield "size_negative", with_tensor(size=(-1,)), "pickle_malformed", "sizes are not negative"
    yield "stride_negative", with_tensor(stride=(-1,), offset=3), "pickle_malformed", "strides are not negative"
    yield "size_beyond", with_tensor(size=(5,)), "out_of_bounds", "a tensor lies in its storage"
    yield "offset_beyond", with_tensor(offset=1), "out_of_bounds", "likewise"
    yield "offset_2_62", with_tensor(offset=2**62), "out_of_bounds", "likewise"
    yield "stride_beyond", with_tensor(size=(3,), stride=(2,)), "out_of_bounds", "likewise"
    yield "stride_2_62", with_tensor(size=(5,), stride=(2**62,)), "out_of_bounds", "likewise"
    yield "size_2_64", with_tensor(size=(2**32, 2**32), stride=(0, 0)), "shape_overflow", "64 bits count elements"
    yield "bytes_2_64", with_tensor(size=(2**62,), stride=(0,)), "shape_overflow", "64 bits count bytes"
    yield "sixty_five_dimensions", with_tensor(size=(1,) * 65, stride=(1,) * 65), "limit_exceeded", "ours: 64 dimensions"
    key = b"X" + struct.pack("<I", 1000) + b"k" * 1000
    yield "name_of_many_keys", with_pickle(b"\x80\x02}" + key + b"q\0" + b"}h\0" * 4 + b"K\1" + b"s" * 5 + b"."), \
        "name_invalid", "ours: at most 4096 bytes"
    yield "name_twice", with_pickle(Pickle().dictionary(lambda out: out.text("w").tensor().text("w").tensor()).bytes), \
        "duplicate_key", "names are distinct"
    yield "byte_order_middle", with_pickle(good, byteorder=b"middle"), "header_malformed", "little or big"
    yield "byte_order_long", with_pickle(good, byteorder=b"little" * 9), "limit_exceeded", "likewise"
    for name, size in (("larger", 5), ("smaller", 3), ("of_2_64_bytes", 2**62)):
        yield f"array_{name}", with_value(lambda out: out.name("numpy._core.numeric", "_frombuffer").raw(
            b"(C\x10" + bytes(16)).name("numpy", "dtype").raw(b"(").text("u4").raw(b"tR").integers([size]).text("C").raw(
            b"tR")), "size_mismatch", "an array has the bytes of its shape"
    old = (FOLDER / "legacy.pt").read_bytes()
    yield "legacy_cut", old[:-1], "truncated", "a storage is all there"
    yield "legacy_without_storages", old[:200], "truncated", "a pickle ends with STOP"
    yield "legacy_of_1002", old.replace(b"M\xe9\x03", b"M\xea\x03"), "unsupported_version", "the version is 1001"
    oldest = tar()
    yield "tar_cut", oldest[:530], "truncated", "a member is in the archive"
    yield "tar_without_pickle", oldest.replace(b"pickle\0", b"pickl_\0"), "schema_missing", "all members are there"
    yield "tar_of_other_tensor", oldest.replace(b"K\4Q", b"K\5Q"), "pickle_malformed", "an id is a tensor's"
    yield "tar_of_many_dimensions", oldest.replace(struct.pack("<3q", 2, 2, 3), struct.pack("<3q", 1 << 31, 2, 3)), \
        "truncated", "all sizes of a tensor are there, on hosts of 32 bits, too"
    yield "program", archive({"archive_format": b"pt2", "models/model.json": b"{}"}), "foreign_file", \
        "no program of torch.export"
    yield from hostile_programs(good)
    damaged = bytearray(with_pickle(good))
    damaged[damaged.index(b"collections")] ^= 1
    yield "pickle_damaged", bytes(damaged), "digest_mismatch", "an entry has its CRC-32"


def tar():
    """A checkpoint of two tensors on one storage, the second of a view of it."""
    def stream(*parts):
        return b"".join(each if isinstance(each, bytes) else pickle.dumps(each, 2) for each in parts)

    def of_class(first, second, name):
        return Pickle().raw(b"(").integer(first).raw(second).name("torch", name).raw(b"t.").bytes

    location = b"X\3\0\0\0cpu"
    sizes = lambda *values: struct.pack(f"<{len(values)}q", *values)
    members = {
        "sys_info": pickle.dumps({"protocol_version": 1000, "little_endian": True}, 2),
        "pickle": b"\x80\x02}(" + b"X\1\0\0\0wU\x013Q" + b"X\1\0\0\0vK\4Q" + b"u.",
        "tensors": stream(2, of_class(3, b"K\1", "FloatTensor"), struct.pack("<q", 2), sizes(2, 3), sizes(3, 1), sizes(0),
                          of_class(4, b"K\2", "FloatTensor"), struct.pack("<q", 1), sizes(2), sizes(1), sizes(1)),
        "storages": stream(1, of_class(1, location, "FloatStorage"), sizes(6), struct.pack("<6f", *range(6)),
                           [(2, 1, 2, 3)]),
    }
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:", format=tarfile.USTAR_FORMAT) as out:
        for name, each in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(each)
            out.addfile(entry, io.BytesIO(each))
    return content.getvalue().rstrip(b"\0") + bytes(1024)


def without_crc(content):
    """The archive with 0 for each CRC-32, here and in its directory."""
    content = bytearray(content)
    for magic, at in ((b"PK\3\4", 14), (b"PK\1\2", 16)):
        place = content.find(magic)
        while place >= 0:
            content[place + at:place + at + 4] = bytes(4)
            place = content.find(magic, place + 4)
    return bytes(content)


def kinds():
    def write(name, value, expected=None, attributes=None, skipped=None, **options):
        torch.save(value, FOLDER / name, **options)
        describe(FOLDER / name, flat(value if expected is None else expected), attributes or {}, skipped)

    weight = torch.arange(6.0).reshape(2, 3)
    tied = collections.OrderedDict(w=weight, row=weight[1], t=weight.t(), n=torch.tensor(7), none=None)
    old = {"_use_new_zipfile_serialization": False}
    write("legacy.pt", {"model": tied, "epoch": 3}, **old)
    write("legacy_1.pt", {"model": tied, "epoch": 3}, pickle_protocol=1, **old)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.Sequential(torch.nn.Linear(2, 1)))
    modules = ["0", "1", "2", "2.0"]
    write("module.pt", module.eval(), module.state_dict(), skipped=[*modules, "module"])
    torch.jit.save(torch.jit.script(module), FOLDER / "script.pt")
    describe(FOLDER / "script.pt", flat(module.state_dict()))
    pair, numbers = torch.tensor([1 + 2j, 3 - 4j]), torch.arange(6.0).reshape(2, 3)
    signs = {"conj": pair.conj(), "neg": torch._neg_view(numbers), "columns": torch._neg_view(numbers.t()),
             "scaled": pair.conj() * 2}
    write("signs.pt", signs, {name: each.resolve_conj().resolve_neg() for name, each in signs.items()})
    holder = argparse.Namespace(weight=weight + 1, lr=0.5)
    holder.itself = holder
    write("others.pt", {"w": weight, "args": holder, "at": datetime.date(2020, 1, 1), "tags": {"a"},
                        "count": collections.Counter({"x": 2}), "blob": b"\xff\0", "meta": torch.empty(2, device="meta")},
          {"w": weight, "args.weight": weight + 1}, {"tags.0": "a"}, ["args", "at", "meta"])
    eye = torch.eye(4)
    torch.save({"coo": eye.to_sparse(), "csr": eye.to_sparse_csr(), "csc": eye.to_sparse_csc(),
                "bsr": eye.to_sparse_bsr((2, 2))}, FOLDER / "sparse.pt")
    scales, zeros = torch.tensor([0.5, 0.25], dtype=torch.double), torch.tensor([0, 1])
    torch.save({"tensor": torch.quantize_per_tensor(weight, 0.5, 3, torch.quint8),
                "channel": torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)}, FOLDER / "quantized.pt")
    (FOLDER / "tar.pt").write_bytes(tar())
    describe(FOLDER / "tar.pt", {"w": numpy.arange(6, dtype="f4").reshape(2, 3), "v": numpy.array([3, 4], "f4")})
    good = Pickle().dictionary(lambda out: out.text("w").tensor()).bytes
    (FOLDER / "no_crc.pt").write_bytes(without_crc(with_pickle(good)))
    describe(FOLDER / "no_crc.pt", {"w": numpy.array([1, 2, 3, 4], "f4")})


def numpy_arrays():
    values = {"f8": numpy.arange(4.0) / 3, "big": numpy.arange(4, dtype=">i4"), "slice": numpy.arange(10, dtype="i2")[::3],
              "fortran": numpy.asfortranarray(numpy.arange(6, dtype="f4").reshape(2, 3)), "no_rows": numpy.zeros((0, 3)),
              "complex": numpy.arange(3) * 1j, "all_bytes": numpy.arange(256, dtype="u1"), "scalar": numpy.float64(0.75),
              "integer": numpy.int64(-5), "truth": numpy.bool_(True), "zero_d": numpy.array(3.5, "f2"),
              "brain": numpy.arange(3).astype(ml_dtypes.bfloat16)}
    others = {"text": numpy.array(["a"]), "objects": numpy.array([1, "x"], dtype=object), "type": numpy.dtype("f4"),
              "time": numpy.array(["2020-01-01"], "M8[D]"), "record": numpy.zeros(2, [("a", "i4"), ("b", "f8")])}
    saved = {"w": torch.arange(6.0), **values, "again": values["f8"], **others}
    expected = {"w": saved["w"].numpy(), **{name: numpy.asarray(each) for name, each in values.items()}}
    expected["again"] = values["f8"]
    for name, options in (("arrays.pt", {}), ("arrays_5.pt", {"pickle_protocol": 5}),
                          ("arrays.pth", {"_use_new_zipfile_serialization": False})):
        torch.save(saved, FOLDER / name, **options)
        describe(FOLDER / name, expected, {}, sorted(others))
    with zipfile.ZipFile(FOLDER / "arrays.pt") as source:
        entries = {each.split("/", 1)[1]: source.read(each) for each in source.namelist()}
    entries["data.pkl"] = entries["data.pkl"].replace(b"numpy._core", b"numpy.core")
    (FOLDER / "arrays_1.pt").write_bytes(archive(entries, "arrays", "all"))
    describe(FOLDER / "arrays_1.pt", expected, {}, sorted(others))

    weight = torch.arange(6.0)
    names = {"w": "w", 0.5: "0.5", 1e-7: "1e-07", 0.0001: "0.0001", 1e22: "1e+22", 1e16: "1e+16", -12345.5: "-12345.5",
             123456789012345.6: "123456789012345.6", 5e-324: "5e-324", 0.1 + 0.2: "0.30000000000000004",
             float("inf"): "inf", None: "None", False: "False", 3: "3", (): "()", ("a",): "('a',)",
             (1, "a", 2.5, None, True): "(1, 'a', 2.5, None, True)", (1, (2, (3,))): "(1, (2, (3,)))"}
    torch.save({**{key: weight for key in names}, b"bytes": 1}, FOLDER / "keys.pt")
    describe(FOLDER / "keys.pt", {name: weight.numpy() for name in names.values()}, {}, ["?"])


class Doubled(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) * torch.tensor([2.0, 3.0])


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 2)
        self.tied = self.inner.weight
        self.brain = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
        self.register_buffer("turned", torch.arange(6.0).reshape(3, 2).t())
        self.register_buffer("unsaved", torch.tensor([3, 4]), persistent=False)
        self.scale = torch.tensor([1.0, 2.0])

    def forward(self, x):
        more = torch.nn.functional.linear(x, self.tied) * self.turned.sum() + self.unsaved
        return self.inner(x) * self.scale + self.brain + more


def saved(value):
    content = io.BytesIO()
    torch.save(value, content)
    return content.getvalue()


def unpacked(content):
    with zipfile.ZipFile(content) as source:
        return {each.split("/", 1)[1]: source.read(each) for each in source.namelist()}


def script(module, folder):
    """As torch.jit.save writes it, but for what says where the code stands."""
    content = io.BytesIO()
    torch.jit.save(module, content)
    entries = {name: each for name, each in unpacked(content).items() if not name.endswith(".debug_pkl")}
    packed = archive(entries, folder, [name for name in entries if name.startswith("code/")])
    again = torch.jit.load(io.BytesIO(packed)).state_dict()
    assert all(torch.equal(each, again[name]) for name, each in module.state_dict().items())
    return packed


def programs():
    torch.manual_seed(2)
    inputs = (torch.ones(2, 3),)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).eval()
    traced = torch.jit.trace(Doubled(module[0]), inputs)
    (FOLDER / "traced.pt").write_bytes(script(traced, "traced"))
    describe(FOLDER / "traced.pt", {**flat(traced.state_dict()), "CONSTANTS.0": numpy.array([2, 3], "f4")})
    frozen = torch.jit.freeze(torch.jit.script(module))
    (FOLDER / "frozen.pt").write_bytes(script(frozen, "frozen"))
    assert not frozen.state_dict()
    constants = frozen.code_with_constants[1].const_mapping
    assert len(constants) == 2
    describe(FOLDER / "frozen.pt", {f"CONSTANTS.{name[1:]}": as_array(each) for name, each in constants.items()})

    program = torch.export.export(Scaled(), inputs)
    content = io.BytesIO()
    torch.export.save(program, content)
    entries = {**unpacked(content), "models/model.json": b"{}"} # which says where the code stands
    arrays = flat({**program.state_dict, **program.constants})
    (FOLDER / "exported.pt2").write_bytes(archive(entries, "exported"))
    describe(FOLDER / "exported.pt2", arrays)
    state, constants = saved(dict(program.state_dict)), saved(dict(program.constants))
    of_2_8 = {"data/weights/model.pt": state, "data/constants/model.pt": constants,
              "models/model.json": b"{}", "archive_format": b"pt2", "archive_version": b"0"}
    (FOLDER / "exported_2_8.pt2").write_bytes(archive(of_2_8, "exported_2_8"))
    describe(FOLDER / "exported_2_8.pt2", arrays)
    of_2_4 = {"serialized_exported_program.json": b"{}", "serialized_state_dict.pt": state,
              "serialized_constants.pt": constants, "serialized_example_inputs.pt": b"", "version": b"5.3"}
    (FOLDER / "exported_2_4.pt2").write_bytes(archive(of_2_4, ""))
    describe(FOLDER / "exported_2_4.pt2", arrays)

    numbers = numpy.arange(1, 5, dtype="f4")
    pickled = with_pickle(Pickle().tensor().raw(b".").bytes)
    weights = {"w": payload(), "row": payload(sizes=(2,), offset=2), "own": payload("weight_1", True),
               "again": payload("weight_1", True), "fake": payload("weight_2"), "sparse": payload(layout=1),
               "none": payload("weight_2", sizes=(0,))}
    others = {"object": payload("custom_obj_0", True, False), "opaque": payload("opaque_obj_0", True, False)}
    entries = {"data/weights/weight_0": numbers.astype(">f4").tobytes(), "data/weights/weight_1": pickled,
               "data/weights/weight_2": b"", "data/weights/one_weights_config.json": json.dumps({"config": weights}).encode(),
               "data/weights/two_weights_config.json": json.dumps({"config": {"w": payload()}, "x": [{}]}).encode(),
               "data/constants/one_constants_config.json": json.dumps({"config": others}).encode(), "byteorder": b"big",
               "archive_format": b"pt2"}
    (FOLDER / "programs.pt2").write_bytes(archive(entries, "data", ("data/weights/weight_0",)))
    describe(FOLDER / "programs.pt2",
             {"one.w": numbers, "one.row": numbers[2:], "one.own": numbers, "one.none": numbers[:0], "two.w": numbers}, {},
             ["one.again", "one.fake", "one.object", "one.opaque", "one.sparse"])


def main():
    FOLDER.mkdir(exist_ok=True)
    if sys.argv[1:] == ["reject"]:
        return make_hostile.write("pt", hostile, ".pt")
    if sys.argv[1:] == ["programs"]:
        return programs()
    if sys.argv[1:] == ["arrays"]:
        return numpy_arrays()
    if sys.argv[1:] == ["kinds"]:
        return kinds()
    torch.manual_seed(1)
    save("state_dict.pt", state_dict())
    save("checkpoint.pt", checkpoint())
    save("protocol_5.pt", checkpoint(), pickle_protocol=5)
    save("tensor.pt", torch.arange(6.0).reshape(2, 3)[:, 1])
    save("empty_slices.pt", {"rows": torch.empty(3, 2, 0)[2:], "columns": torch.ones(2, 3)[:, 3:], "none": torch.ones(4)[4:]})
    arrays = flat(torch.arange(6.0).reshape(2, 3)[:, 1], "tensor")
    describe(FOLDER / "tensor.pt", arrays)

    with zipfile.ZipFile(FOLDER / "checkpoint.pt") as source:
        entries = {each.split("/", 1)[1]: source.read(each) for each in source.namelist()}
    (FOLDER / "deflated.pt").write_bytes(archive(entries, "checkpoint", "all"))
    describe(FOLDER / "deflated.pt", flat(checkpoint()), texts(checkpoint()))
    numbers = numpy.arange(4, dtype="f4")
    content = Pickle().dictionary(lambda out: out.text("w").tensor()).bytes
    (FOLDER / "old_layout.pt").write_bytes(
        archive({"data.pkl": content, "data/0": numbers.astype("<f4").tobytes(), "version": b"3\n"}))
    describe(FOLDER / "old_layout.pt", {"w": numbers})
    (FOLDER / "empty_name.pt").write_bytes(with_pickle(Pickle().raw(b"}").text("").tensor().raw(b"s.").bytes))
    describe(FOLDER / "empty_name.pt", {"": numbers})
    (FOLDER / "big_endian.pt").write_bytes(archive({"data.pkl": content, "byteorder": b"big",
                                                    "data/0": numbers.astype(">f4").tobytes(), "version": b"3\n"}))
    describe(FOLDER / "big_endian.pt", {"w": numbers})
    kinds()
    numpy_arrays()
    make_hostile.write("pt", hostile, ".pt")


if __name__ == "__main__":
    main()
