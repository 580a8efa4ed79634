#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the GGUF files of this folder with the gguf package (0.19 was used): python3 make.py

kinds.gguf      every kind of key-value and every dense type, little-endian, version 3
big_endian.gguf the same, big-endian
version_2.gguf  the same, little-endian, version 2 (which differs in the number alone)
blocks.gguf     of each documented block type two tensors: TYPE, random blocks, and TYPE.expected, its weights in
                float32 as the package's own dequantizer computes them
listed.gguf     of each other block type a tensor
empty.gguf      no tensor and no key-value but the architecture
aligned.gguf    general.alignment of 128
"""

import pathlib

import gguf
import ml_dtypes
import numpy
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type, GGUFEndian, GGUFValueType

FOLDER = pathlib.Path(__file__).resolve().parent
DOCUMENTED = [Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0,
              Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K]
DENSE = [Type.F32, Type.F16, Type.BF16, Type.F64, Type.I8, Type.I16, Type.I32, Type.I64]
Q8_1 = Type.Q8_1  # the package takes it for 40 bytes, ggml for 36; nobody stores it
# Where a block has a half-precision number: those must be finite for the comparison to be one of values.
HALVES = {Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0], Type.Q2_K: [80, 82],
          Type.Q3_K: [108], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208]}


def write(name, fill, **options):
    writer = gguf.GGUFWriter(FOLDER / name, "test", **options)
    fill(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_kinds(writer):
    writer.add_uint8("kind.u8", 255)
    writer.add_int8("kind.i8", -128)
    writer.add_uint16("kind.u16", 65535)
    writer.add_int16("kind.i16", -32768)
    writer.add_uint32("kind.u32", 4294967295)
    writer.add_int32("kind.i32", -2147483648)
    writer.add_float32("kind.f32", 0.1)
    writer.add_uint64("kind.u64", 2**64 - 1)
    writer.add_int64("kind.i64", -2**63)
    writer.add_float64("kind.f64", 0.1)
    writer.add_bool("kind.bool", True)
    writer.add_string("kind.text", "Grüße")
    writer.add_array("kind.numbers", [1, -2, 3])
    writer.add_array("kind.texts", ["a", "", "ß"])
    writer.add_array("kind.bools", [True, False])
    writer.add_array("kind.nested", [[1, 2], [3], [4, 5, 6]])
    for each in DENSE:
        values = numpy.arange(24).reshape(2, 3, 4)
        if each == Type.BF16:
            patterns = (values / 3 - 2).astype(ml_dtypes.bfloat16)
            writer.add_tensor(each.name.lower(), patterns.view(numpy.uint16).view(numpy.uint8).reshape(2, 3, 8)
                              if writer.endianess == GGUFEndian.LITTLE else
                              patterns.view(numpy.uint16).byteswap().view(numpy.uint8).reshape(2, 3, 8),
                              raw_dtype=Type.BF16)
        elif each.name.startswith("F"):
            writer.add_tensor(each.name.lower(), (values / 3 - 2).astype("float" + each.name[1:]))
        else:
            writer.add_tensor(each.name.lower(), (values * 5 - 60).astype("int" + each.name[1:]))
    writer.add_tensor("row", numpy.array([1.5, -2.5, 3.5], numpy.float32))


def add_blocks(writer):
    random = numpy.random.default_rng(12)
    for each in DOCUMENTED:
        elements, size = GGML_QUANT_SIZES[each]
        blocks = random.integers(0, 256, (2, 2, size), dtype=numpy.uint8)
        for at in HALVES[each]:
            halves = (random.standard_normal((2, 2)) * 2.0 ** random.integers(-20, 6, (2, 2))).astype(numpy.float16)
            blocks[..., at:at + 2] = halves.view(numpy.uint8).reshape(2, 2, 2)
        blocks = blocks.reshape(2, 2 * size)
        weights = gguf.quants.dequantize(blocks, each)
        assert weights.dtype == numpy.float32 and weights.shape == (2, 2 * elements)
        writer.add_tensor(each.name.lower(), blocks, raw_dtype=each)
        writer.add_tensor(each.name.lower() + ".expected", weights)


def add_listed(writer):
    random = numpy.random.default_rng(13)
    for each, (elements, size) in GGML_QUANT_SIZES.items():
        if elements > 1 and each not in DOCUMENTED and each != Q8_1:
            writer.add_tensor(each.name.lower(), random.integers(0, 256, (2, size), dtype=numpy.uint8), raw_dtype=each)


def add_aligned(writer):
    writer.add_custom_alignment(128)
    writer.add_tensor("a", numpy.array([1, 2, 3], numpy.int8))
    writer.add_tensor("b", numpy.array([4, 5, 6], numpy.int8))


def main():
    write("kinds.gguf", add_kinds)
    write("big_endian.gguf", add_kinds, endianess=GGUFEndian.BIG)
    old = bytearray((FOLDER / "kinds.gguf").read_bytes())
    old[4] = 2
    (FOLDER / "version_2.gguf").write_bytes(old)
    write("blocks.gguf", add_blocks)
    write("listed.gguf", add_listed)
    write("empty.gguf", lambda writer: None)
    write("aligned.gguf", add_aligned)


if __name__ == "__main__":
    main()
