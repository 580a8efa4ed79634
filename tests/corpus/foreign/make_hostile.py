#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the files of other formats that must be refused: make_hostile.py [FORMAT...]

FORMAT/reject holds them, FORMAT/reject.tsv says of each with which code and why: file, code, rule.
"""

import json
import pathlib
import shutil
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent


def safetensors(header, data=b"", length=None):
    """A file with that header: text, or what JSON it is."""
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype="F32", shape=(1,), begin=0, end=4):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


def hostile_safetensors():
    one = b'"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    four = bytes(4)

    def with_field(text):
        return safetensors(b'{"a":{' + text + b"}}", four)

    fields = b'"dtype":"F32","shape":[1],"data_offsets":[0,4]'
    yield "length_only_half", b"\x01\0\0\0", "file_too_small", "the length takes 8 bytes"
    yield "header_beyond_file", safetensors(b"{}", length=3), "manifest_out_of_bounds", "the header lies in the file"
    yield "header_2_64", safetensors(b"{}", length=2**64 - 1), "manifest_out_of_bounds", "likewise"
    yield "header_empty", safetensors(b""), "header_malformed", "the header is a JSON object"
    yield "header_list", safetensors(b"[]"), "header_malformed", "likewise"
    yield "header_padded_in_front", safetensors(b" {}"), "header_malformed", "the header starts with the brace"
    yield "header_cut", safetensors(b'{"a":{'), "json_malformed", "the header is well-formed"
    yield "header_trailing", safetensors(b"{}x"), "json_malformed", "nothing but spaces follows the object"
    yield "header_two_objects", safetensors(b"{}{}"), "json_malformed", "likewise"
    yield "header_not_utf8", safetensors(b'{"\xff":{' + fields + b"}}", four), "json_malformed", "text is UTF-8"
    yield "header_lone_surrogate", safetensors(b'{"\\ud800":{' + fields + b"}}", four), "json_malformed", "likewise"
    yield "header_deep", safetensors(b'{"a":' + b"[" * 5000), "schema_type", "a tensor is an object"
    yield "deep_in_unknown_field", with_field(b'"x":' + b"[" * 5000), "json_malformed", "well-formed, however deep"
    yield "tensor_twice", safetensors(b"{" + one + b"," + one + b"}", four), "blob_overlap", "each byte has one tensor"
    yield "name_twice", safetensors(b"{" + one + b"," + one.replace(b"[0,4]", b"[4,8]") + b"}", bytes(8)), \
        "duplicate_key", "names are distinct"
    yield "field_twice", with_field(fields + b',"dtype":"F32"'), "duplicate_key", "a field stands once"
    yield "metadata_twice", safetensors(b'{"__metadata__":{},"__metadata__":{}}'), "duplicate_key", "likewise"
    yield "metadata_key_twice", safetensors(b'{"__metadata__":{"a":"1","a":"2"}}'), "duplicate_key", "likewise"
    yield "metadata_number", safetensors({"__metadata__": {"a": 1}}), "schema_type", "metadata are texts"
    yield "metadata_nested", safetensors({"__metadata__": {"a": {}}}), "schema_type", "likewise"
    yield "metadata_text", safetensors({"__metadata__": "a"}), "schema_type", "metadata is an object"
    yield "tensor_number", safetensors({"a": 1}), "schema_type", "a tensor is an object"
    yield "tensor_null", safetensors({"a": None}), "schema_type", "likewise"
    yield "no_dtype", with_field(b'"shape":[1],"data_offsets":[0,4]'), "schema_missing", "dtype is required"
    yield "no_shape", with_field(b'"dtype":"F32","data_offsets":[0,4]'), "schema_missing", "shape is required"
    yield "no_offsets", with_field(b'"dtype":"F32","shape":[1]'), "schema_missing", "data_offsets is required"
    yield "dtype_unknown", safetensors({"a": tensor("F128", end=16)}, bytes(16)), "unknown_dtype", "the list is closed"
    yield "dtype_small_letters", safetensors({"a": tensor("f32")}, four), "unknown_dtype", "likewise"
    yield "dtype_number", with_field(b'"dtype":1,"shape":[1],"data_offsets":[0,4]'), "schema_type", "dtype is text"
    yield "shape_negative", safetensors({"a": tensor(shape=[-1])}, four), "schema_type", "dimensions are unsigned"
    yield "shape_float", safetensors({"a": tensor(shape=[1.0])}, four), "schema_type", "dimensions are integers"
    yield "shape_2_64", with_field(fields.replace(b"[1]", b"[18446744073709551616]")), "schema_type", "of 64 bits"
    yield "shape_nested", safetensors({"a": tensor(shape=[[1]])}, four), "schema_type", "dimensions are numbers"
    yield "shape_text", with_field(fields.replace(b"[1]", b'"1"')), "schema_type", "the shape is an array"
    yield "shape_overflow", safetensors({"a": tensor(shape=[2**63, 4])}, four), "shape_overflow", "the product fits"
    yield "shape_bytes_overflow", safetensors({"a": tensor(shape=[2**62])}, four), "shape_overflow", "in bytes, too"
    yield "shape_65_dimensions", safetensors({"a": tensor(shape=[1] * 65)}, four), "limit_exceeded", "64 dimensions"
    yield "offsets_one", with_field(fields.replace(b"[0,4]", b"[0]")), "header_malformed", "there are two offsets"
    yield "offsets_three", with_field(fields.replace(b"[0,4]", b"[0,4,4]")), "header_malformed", "likewise"
    yield "offsets_swapped", safetensors({"a": tensor(begin=4, end=0)}, four), "out_of_bounds", "begin is not behind end"
    yield "offsets_beyond", safetensors({"a": tensor()}, bytes(3)), "out_of_bounds", "data lie in the file"
    yield "offsets_2_63", safetensors({"a": tensor(begin=2**63, end=2**63 + 4)}, four), "out_of_bounds", "likewise"
    yield "size_small", safetensors({"a": tensor(shape=[2])}, four), "size_mismatch", "the shape tells the size"
    yield "size_large", safetensors({"a": tensor("U8")}, four), "size_mismatch", "likewise"
    yield "size_of_half_bytes", safetensors({"a": tensor("F4", [3], 0, 2)}, bytes(2)), "size_mismatch", "whole bytes"
    yield "size_of_6_bits", safetensors({"a": tensor("F6_E2M3", [4], 0, 4)}, four), "size_mismatch", "packed"
    yield "overlap", safetensors({"a": tensor(end=4), "b": tensor(begin=2, end=6)}, bytes(6)), "blob_overlap", "none share"
    yield "same_range", safetensors({"a": tensor(), "b": tensor()}, four), "blob_overlap", "likewise"
    yield "hole", safetensors({"a": tensor(), "b": tensor(begin=8, end=12)}, bytes(12)), "unclaimed_bytes", "no holes"
    yield "hole_in_front", safetensors({"a": tensor(begin=4, end=8)}, bytes(8)), "unclaimed_bytes", "likewise"
    yield "trailing", safetensors({"a": tensor()}, bytes(5)), "unclaimed_bytes", "nothing follows the last tensor"
    yield "trailing_alone", safetensors({}, b"x"), "unclaimed_bytes", "likewise"
    yield "name_empty", safetensors({"": tensor()}, four), "name_invalid", "ours: a name is not empty"
    yield "name_with_nul", safetensors({"a\0": tensor()}, four), "name_invalid", "ours: a name holds no U+0000"
    yield "name_4097", safetensors({"a" * 4097: tensor()}, four), "name_invalid", "ours: at most 4096 bytes"


FORMATS = {"safetensors": (hostile_safetensors, ".safetensors")}


def main():
    for name in sys.argv[1:] or FORMATS:
        make, ending = FORMATS[name]
        folder = HERE / name / "reject"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        lines = []
        for stem, content, code, rule in make():
            (folder / (stem + ending)).write_bytes(content)
            lines.append(f"{stem}{ending}\t{code}\t{rule}\n")
        (HERE / name / "reject.tsv").write_text("".join(lines), encoding="utf-8")


main()
