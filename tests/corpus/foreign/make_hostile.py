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
import zlib

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
    yield "header_padded_with_nul", safetensors(b"{}\0\0\0"), "json_malformed", "likewise"
    yield "header_behind_nul", safetensors(b'{"__metadata__":{"a":"1"}}\0{}'), "json_malformed", "likewise"
    yield "header_byte_order_mark", safetensors(b"\xef\xbb\xbf{}"), "header_malformed", "likewise"
    yield "header_not_utf8", safetensors(b'{"\xff":{' + fields + b"}}", four), "json_malformed", "text is UTF-8"
    yield "header_lone_surrogate", safetensors(b'{"\\ud800":{' + fields + b"}}", four), "json_malformed", "likewise"
    yield "header_deep", safetensors(b'{"a":' + b"[" * 5000), "schema_type", "a tensor is an object"
    yield "deep_in_unknown_field", with_field(b'"x":' + b"[" * 5000), "json_malformed", "well-formed, however deep"
    yield "tensor_twice", safetensors(b"{" + one + b"," + one + b"}", four), "blob_overlap", "each byte has one tensor"
    yield "name_twice", safetensors(b"{" + one + b"," + one.replace(b"[0,4]", b"[4,8]") + b"}", bytes(8)), \
        "duplicate_key", "names are distinct"
    yield "field_twice", with_field(fields + b',"dtype":"F32"'), "duplicate_key", "a field stands once"
    yield "name_twice_escaped", safetensors(b"{" + one + b"," + one.replace(b'"a"', b'"\\u0061"').replace(b"[0,4]", b"[4,8]") + b"}",
                                            bytes(8)), "duplicate_key", "names are distinct"
    yield "field_twice_escaped", with_field(fields + b',"dt\\u0079pe":"F32"'), "duplicate_key", "a field stands once"
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
    yield "name_with_nul", safetensors({"a\0": tensor()}, four), "name_invalid", "ours: a name holds no U+0000"
    yield "name_4097", safetensors({"a" * 4097: tensor()}, four), "name_invalid", "ours: at most 4096 bytes"


def npy(header, data=b"", version=1, length=None, magic=b"\x93NUMPY"):
    """An .npy file with that header."""
    text = header.encode()
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return magic + bytes([version, 0]) + size + text + data


def array(descr="'<f4'", order="False", shape="(2,)"):
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n" % (descr, order, shape)


def hostile_npy():
    eight = bytes(8)
    yield "magic_only", b"\x93NUMPY", "file_too_small", "the version and the length follow the magic"
    yield "length_cut", b"\x93NUMPY\x01\0v", "file_too_small", "likewise"
    yield "version_0", npy(array(), eight, 0), "unsupported_version", "versions 1 to 3"
    yield "version_4", npy(array(), eight, 4), "unsupported_version", "likewise"
    yield "version_1_1", npy(array(), eight).replace(b"\x01\0", b"\x01\x01", 1), "unsupported_version", "likewise"
    yield "header_beyond_file", npy(array(), length=1000), "truncated", "the header lies in the file"
    yield "header_2_32", npy(array(), eight, 2, 2**32 - 1), "limit_exceeded", "headers are small"
    yield "header_empty", npy("", eight), "header_malformed", "a dictionary"
    yield "header_list", npy("[]", eight), "header_malformed", "likewise"
    yield "header_call", npy("__import__('os').system('true')", eight), "header_malformed", "nothing is evaluated"
    yield "header_open", npy(array()[:-3], eight), "header_malformed", "the dictionary ends"
    yield "header_trailing", npy(array() + "x", eight), "header_malformed", "nothing follows it"
    yield "key_unknown", npy(array()[:-2] + "'x': 1}", eight), "header_malformed", "three keys"
    yield "key_twice", npy(array()[:-2] + "'shape': (2,)}", eight), "duplicate_key", "a key stands once"
    yield "key_missing", npy("{'descr': '<f4', 'shape': (2,)}", eight), "schema_missing", "all three"
    yield "key_without_colon", npy("{'descr' '<f4'}", eight), "header_malformed", "key, colon, value"
    yield "comma_missing", npy(array().replace(", 'shape'", " 'shape'"), eight), "header_malformed", "pairs end with commas"
    yield "text_open", npy("{'descr': '<f4", eight), "header_malformed", "text ends"
    yield "text_with_escape", npy(array("'<f\\x34'"), eight), "header_malformed", "text has no escapes"
    for stem, descr in {"objects": "'|O'", "text": "'<U4'", "bytes": "'|S4'", "date": "'<M8[ns]'", "duration": "'<m8'",
                        "long_double": "'<f16'", "long_complex": "'<c32'", "long_by_letter": "'>g'",
                        "long_by_name": "'longdouble'", "text_by_name": "'str'", "structured": "[('a', '<f4')]",
                        "structured_with_escapes": "[('it\\'s', '<f4'), (\"]\", '|S4', (2, 3L))]",
                        "structured_bfloat16_of_4_bytes": "[('bfloat16', '<u4')]", "of_arrays": "('<f4', (2,))",
                        "record_in_text": "'f4,i4'", "array_in_text": "'(2,)f4'", "void_of_no_bytes": "'|V0'",
                        "void_of_no_size": "'V'", "void_of_2_40_bytes": "'V1099511627776'", "void_of_no_number": "'V-1'",
                        "of_no_text": "''", "of_an_order_alone": "'<'", "of_two_orders": "'<<f4'",
                        "of_17_bytes": "'<i17'", "of_3_bytes": "'f3'", "word_of_an_order": "'<ubyte'",
                        "complex32": "'<W4'", "int4": "'int4'", "unknown": "'float8'"}.items():
        yield "dtype_" + stem, npy(array(descr), eight), "unknown_dtype", "types of tensors, refused by name"
    for stem, descr in {"number": "4", "open": "[('a', '<f4'", "crossed": "[('a', '<f4'])", "call": "[print('a')]",
                        "text_open": "[('a", "none": "None", "dictionary": "{'names': ['a'], 'formats': ['<f4']}"}.items():
        yield "dtype_" + stem, npy(array(descr), eight), "header_malformed", "the type is text, or that of records"
    yield "dtype_deep", npy(array("[" * 3000), eight, 2), "header_malformed", "likewise, however deep"
    yield "void_cut", npy(array("'|V4'"), bytes(7)), "truncated", "bytes without a meaning are all there"
    yield "void_trailing", npy(array("'|V3'"), eight), "unclaimed_bytes", "and nothing else"
    yield "void_overflow", npy(array("'V999999999'", shape="(99999999999,)"), eight), "shape_overflow", "they have 64 bits"
    yield "void_of_65_dimensions", npy(array("'V2'", shape="(%s)" % ("1," * 64)), bytes(2)), "limit_exceeded", "64 dimensions"
    yield "order_number", npy(array(order="1"), eight), "header_malformed", "True or False"
    yield "shape_number", npy(array(shape="2"), eight), "header_malformed", "a tuple"
    yield "shape_in_brackets", npy(array(shape="(2)"), eight), "header_malformed", "(2) is none"
    yield "shape_list", npy(array(shape="[2]"), eight), "header_malformed", "likewise"
    yield "shape_negative", npy(array(shape="(-1,)"), eight), "header_malformed", "dimensions are unsigned"
    yield "shape_float", npy(array(shape="(2.0,)"), eight), "header_malformed", "dimensions are integers"
    yield "shape_hexadecimal", npy(array(shape="(0x2,)"), eight), "header_malformed", "of decimal digits"
    yield "shape_of_zeros", npy(array(shape="(02,)"), eight), "header_malformed", "without zeros in front"
    yield "shape_2_64", npy(array(shape="(18446744073709551616,)"), eight), "shape_overflow", "of 64 bits"
    yield "shape_product", npy(array(shape="(4294967296, 4294967296)"), eight), "shape_overflow", "the product, too"
    yield "shape_bytes", npy(array(shape="(4611686018427387904,)"), eight), "shape_overflow", "and in bytes"
    yield "shape_65_dimensions", npy(array(shape="(%s)" % ("1," * 65)), eight), "limit_exceeded", "64 dimensions"
    yield "header_of_no_bytes", b"\x93NUMPY\1\0\0\0", "header_malformed", "a header says something"
    yield "header_length_cut", b"\x93NUMPY\1\0\0", "file_too_small", "and how long it is"
    yield "data_cut", npy(array(), bytes(7)), "truncated", "all elements are there"
    yield "data_missing", npy(array(shape="(1152921504606846976,)")), "truncated", "likewise"
    yield "data_trailing", npy(array(), bytes(9)), "unclaimed_bytes", "and nothing else"


class Zip:
    """An archive whose every field can be a lie."""

    def __init__(self):
        self.body, self.central, self.count = b"", b"", 0

    def add(self, name, content, method=0, at=None, **lies):
        packed = zlib.compressobj(9, zlib.DEFLATED, -15) if method == 8 else None
        stored = lies.get("stored", packed.compress(content) + packed.flush() if packed else content)
        name = name if isinstance(name, bytes) else name.encode()
        flags = lies.get("flags", 0x800)
        numbers = (lies.get("crc", zlib.crc32(content)), lies.get("stored_size", len(stored)), lies.get("size", len(content)))
        local = lies.get("local", numbers)
        at = len(self.body) if at is None else at
        self.body += struct.pack("<4s5H3I2H", b"PK\3\4", 20, lies.get("local_flags", flags), lies.get("local_method", method),
                                 0, 33, *local, len(name), len(lies.get("local_extra", b""))) + lies.get("local_name", name) \
            + lies.get("local_extra", b"") + stored + lies.get("behind", b"")
        extra = lies.get("extra", b"")
        self.central += struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, flags, method, 0, 33, *numbers, len(name), len(extra), 0,
                                    lies.get("disk", 0), 0, 0, lies.get("offset", at)) + name + extra
        self.count += 1
        return self

    def end(self, **lies):
        count = lies.get("count", self.count)
        return self.body + self.central + struct.pack(
            "<4s4H2IH", b"PK\5\6", lies.get("disk", 0), 0, count, lies.get("total", count),
            lies.get("size", len(self.central)), lies.get("offset", len(self.body)), lies.get("comment", 0))


def hostile_npz():
    good = npy(array(), bytes(8))
    whole = Zip().add("a.npy", good).end()
    yield "cut_off", whole[:-1], "zip_malformed", "the archive ends with its end record"
    yield "bytes_appended", whole + b"x", "zip_malformed", "likewise"
    yield "first_bytes_only", whole[:30], "zip_malformed", "likewise"
    yield "bytes_in_front", b"PK\3\4" + whole, "zip_malformed", "the directory is where the end says"
    yield "directory_outside", Zip().add("a.npy", good).end(offset=2**31), "zip_malformed", "likewise"
    yield "directory_too_small", Zip().add("a.npy", good).end(count=7), "zip_malformed", "it has as many entries as it says"
    yield "directory_too_large", Zip().add("a.npy", good).add("b.npy", good).end(count=1), "zip_malformed", "and no more"
    yield "needs_zip64", Zip().add("a.npy", good).end(count=0xffff), "zip_malformed", "ZIP64 numbers stand in a record"
    yield "locator_outside", Zip().add("a.npy", good).end()[:-22] + struct.pack("<4sIQI", b"PK\6\7", 0, 2**63, 1) + whole[-22:], \
        "zip_malformed", "the ZIP64 record lies in the archive"
    yield "entry_lacks_zip64", Zip().add("a.npy", good, size=2**32 - 1).end(), "zip_malformed", "likewise"
    yield "several_disks", Zip().add("a.npy", good).end(disk=1), "unsupported_container", "one disk"
    yield "entry_on_other_disk", Zip().add("a.npy", good, disk=1).end(), "unsupported_container", "likewise"
    yield "encrypted", Zip().add("a.npy", good, flags=0x801).end(), "unsupported_encoding", "nothing is encrypted"
    yield "bzip2", Zip().add("a.npy", good, method=12).end(), "unsupported_encoding", "stored or deflated"
    yield "name_twice", Zip().add("a.npy", good).add("a.npy", good).end(), "duplicate_key", "names are distinct"
    yield "name_and_array_twice", Zip().add("a", b"x").add("a.npy", good).end(), "duplicate_key", "so are arrays"
    yield "name_leads_up", Zip().add("../a.npy", good).end(), "name_invalid", "no name leads out"
    yield "name_leads_up_inside", Zip().add("a/../../a.npy", good).end(), "name_invalid", "likewise"
    yield "name_absolute", Zip().add("/a.npy", good).end(), "name_invalid", "likewise"
    yield "name_with_backslash", Zip().add("..\\a.npy", good).end(), "name_invalid", "likewise"
    yield "name_empty", Zip().add("", good).end(), "name_invalid", "names say something"
    yield "name_with_nul", Zip().add("a\0.npy", good).end(), "name_invalid", "and hold no U+0000"
    yield "name_not_utf8", Zip().add(b"\xff.npy", good).end(), "name_invalid", "and are UTF-8"
    yield "local_elsewhere", Zip().add("a.npy", good, offset=4).end(), "zip_malformed", "an entry has its own header"
    yield "local_outside", Zip().add("a.npy", good, offset=2**31).end(), "zip_malformed", "within the archive"
    yield "local_other_name", Zip().add("a.npy", good, local_name=b"b.npy").end(), "zip_malformed", "which says the same"
    yield "local_other_method", Zip().add("a.npy", good, local_method=8).end(), "zip_malformed", "likewise"
    yield "local_other_flags", Zip().add("a.npy", good, local_flags=0).end(), "zip_malformed", "likewise"
    yield "local_other_crc", Zip().add("a.npy", good, local=(1, len(good), len(good))).end(), "zip_malformed", "likewise"
    yield "local_other_size", Zip().add("a.npy", good, local=(zlib.crc32(good), 1, 1)).end(), "zip_malformed", "likewise"
    yield "overlap", Zip().add("a.npy", good).add("b.npy", good, offset=0).end(), "zip_malformed", "entries share no bytes"
    yield "overlap_inside", Zip().add("a.npy", good + Zip().add("b.npy", good).body).add("b.npy", good, offset=35 + len(good)).end(), \
        "zip_malformed", "likewise"
    yield "size_beyond", Zip().add("a.npy", good, stored_size=2**31, size=2**31).end(), "zip_malformed", "bytes lie before the directory"
    yield "stored_of_two_sizes", Zip().add("a.npy", good, size=7).end(), "zip_malformed", "stored is stored"
    yield "deflate_bomb", Zip().add("a.npy", good, 8, size=2**31).end(), "decode_limit", "deflate has a limit"
    yield "descriptor_cut", Zip().add("a.npy", good, flags=0x808, local=(0, 0, 0)).end(), "zip_malformed", "sizes behind the bytes"
    yield "descriptor_wrong", Zip().add("a.npy", good, flags=0x808, local=(0, 0, 0), behind=b"PK\7\x08" + bytes(12)).end(), \
        "zip_malformed", "say the same"
    crc, size = zlib.crc32(good), len(good)
    for name, behind in {"magic": struct.pack("<4s3I", b"PK\7\x08", crc, 1, 1), "size": struct.pack("<3I", crc, size, 1),
                         "64": struct.pack("<4sIQQ", b"PK\7\x08", crc, size, size + 2**32)}.items():
        yield f"descriptor_wrong_{name}", Zip().add("a.npy", good, flags=0x808, local=(0, 0, 0), behind=behind).end(), \
            "zip_malformed", "say the same"
    end = Zip().add("b.npy", good).end()
    yield "two_ends", end[:-2] + struct.pack("<H", len(whole)) + whole, "zip_malformed", "an archive has one end"
    for number in (2**63, 2**64 - 10):
        yield f"zip64_size_{number}", \
            Zip().add("a.npy", good, size=2**32 - 1, stored_size=2**32 - 1, local=(crc, size, size),
                      extra=struct.pack("<2H2Q", 1, 16, number, number)).end(), "zip_malformed", "bytes lie before the directory"
    yield "zip64_offset", Zip().add("a.npy", good, offset=2**32 - 1, extra=struct.pack("<2HQ", 1, 8, 2**64 - 1)).end(), \
        "zip_malformed", "an entry has its own header"
    yield "local_other_zip64_size", \
        Zip().add("a.npy", good, local=(crc, 2**32 - 1, 2**32 - 1), local_extra=struct.pack("<2H2Q", 1, 16, size + 1, size)).end(), \
        "zip_malformed", "its own header says the same"
    yield "local_lacks_zip64", Zip().add("a.npy", good, local=(crc, 2**32 - 1, 2**32 - 1)).end(), "zip_malformed", "likewise"
    yield "not_deflated", Zip().add("a.npy", good, 8, stored=b"\xff" * 60).end(), "decode_failed", "deflated data inflate"
    yield "header_malformed", Zip().add("a.npy", npy("{", bytes(8))).end(), "header_malformed", "an array has its header"
    yield "objects_malformed", Zip().add("a.npy", npy(array("'|O'", shape="2"), bytes(8))).end(), "header_malformed", \
        "be it none of numbers"
    yield "array_by_its_bytes_cut", Zip().add("a.npy", good).add("b", good[:-1]).end(), "truncated", "whatever it is called"
    for kind, entries in {"keras": ["metadata.json", "config.json", "model.weights.h5"], "word": ["[Content_Types].xml", "word/document.xml"],
                          "wheel": ["a/tests/x.npy", "a-1.0.dist-info/WHEEL"], "export": ["linear/archive_format", "linear/data/weights/weight_0"],
                          "jar": ["META-INF/MANIFEST.MF", "a.class"], "epub": ["mimetype", "content.opf"], "text": ["notes.txt"],
                          "safetensors": ["model.safetensors", "config.json", "a.txt", "b.txt"], "zarr": [".zgroup", "w/.zarray", "w/0.0"],
                          "upper_case": ["A.NPY"]}.items():
        archive = Zip()
        for entry in entries:
            archive.add(entry, good if entry.endswith(".npy") else b"{}")
        yield "of_another_kind_" + kind, archive.end(), "foreign_file", "an archive holds arrays, and says of no other kind that it is"
    yield "array_cut", Zip().add("a.npy", good[:-1]).end(), "truncated", "that is all there"
    yield "array_trailing", Zip().add("a.npy", good + b"x").end(), "unclaimed_bytes", "and nothing else"


FORMATS = {
    "safetensors": (hostile_safetensors, ".safetensors"),
    "npy": (hostile_npy, ".npy"),
    "npz": (hostile_npz, ".npz"),
}


def write(name, make, ending):
    """FORMAT/reject and FORMAT/reject.tsv, from what `make` yields: stem, content, code, rule."""
    folder = HERE / name / "reject"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = []
    for stem, content, code, rule in make():
        (folder / (stem + ending)).write_bytes(content)
        lines.append(f"{stem}{ending}\t{code}\t{rule}\n")
    (HERE / name / "reject.tsv").write_text("".join(lines), encoding="utf-8")


def main():
    for name in sys.argv[1:] or FORMATS:
        make, ending = FORMATS[name]
        write(name, make, ending)


if __name__ == "__main__":
    main()
