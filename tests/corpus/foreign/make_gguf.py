#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files of gguf/ with the gguf package (0.19 was used), and those of gguf/reject by hand: make_gguf.py

kinds.gguf      every kind of key-value and every dense type, little-endian, version 3
big_endian.gguf the same, big-endian
version_2.gguf  the same, little-endian, version 2 (which differs in the number alone)
blocks.gguf     of each block type two tensors: TYPE, random blocks, and TYPE.expected, its weights in float32 as the
                package's own dequantizer computes them, or for the types that it has none for, as ggml does
extremes.gguf   the same of blocks whose scales are infinite, no numbers, subnormal, zero, or the largest and smallest
codebooks.gguf  of each type with a codebook blocks that hold every entry once, and TYPE.expected as int8
empty.gguf      no tensor and no key-value but the architecture
aligned.gguf    general.alignment of 128
"""

import pathlib
import struct
import sys

sys.dont_write_bytecode = True
import gguf
import ml_dtypes
import numpy
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type, GGUFEndian, GGUFValueType

from make import describe
import make_hostile

FOLDER = pathlib.Path(__file__).resolve().parent / "gguf"
Q2_0 = 42  # newer than the package
SIZES = {each.name: (int(each), elements, size) for each, (elements, size) in GGML_QUANT_SIZES.items() if elements > 1}
SIZES["Q8_1"] = (9, 32, 36)  # the package takes it for 40 bytes, ggml for 36
SIZES["Q2_0"] = (Q2_0, 64, 18)
# Where a block has a half-precision number.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "Q8_1": [0], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0],
          "IQ3_XXS": [0], "IQ3_S": [0], "IQ1_S": [0], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64],
          "Q1_0": [0], "Q2_0": [0]}
EXTREMES = [0x7c00, 0xfc00, 0x7e00, 0x0001, 0x83ff, 0x8000, 0x7bff, 0x0400]
# Codebooks: how many entries, and what makes the scale of a block so that weights are integers.
CODEBOOKS = {"IQ2_XXS": (256, 8), "IQ2_XS": (512, 8), "IQ2_S": (1024, 8), "IQ3_XXS": (256, 4), "IQ3_S": (512, 1),
             "IQ1_S": (2048, 8), "IQ1_M": (2048, 8)}


def write(name, fill, **options):
    writer = gguf.GGUFWriter(FOLDER / name, "test", **options)
    fill(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def dense_arrays():
    values = numpy.arange(24).reshape(2, 3, 4)
    arrays = {"row": numpy.array([1.5, -2.5, 3.5], numpy.float32), "bf16": (values / 3 - 2).astype(ml_dtypes.bfloat16)}
    for bits in (16, 32, 64):
        arrays[f"f{bits}"] = (values / 3 - 2).astype(f"f{bits // 8}")
    for bits in (8, 16, 32, 64):
        arrays[f"i{bits}"] = (values * 5 - 60).astype(f"i{bits // 8}")
    return arrays


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
    for name, array in dense_arrays().items():
        if array.dtype == ml_dtypes.bfloat16:
            patterns = array.view(numpy.uint16)
            if writer.endianess == GGUFEndian.BIG:
                patterns = patterns.byteswap()
            writer.add_tensor(name, patterns.view(numpy.uint8), raw_dtype=Type.BF16)
        else:
            writer.add_tensor(name, array)


def halves_at(blocks, at):
    return blocks[:, at:at + 2].copy().view("<f2").astype(numpy.float32)


def set_scales(name, blocks, halves):
    """Puts one of `halves` (16-bit patterns) into each block, wherever it has a scale."""
    halves = numpy.asarray(halves, "<u2")
    for at in HALVES.get(name, []):
        blocks[:, at:at + 2] = halves.view("u1").reshape(-1, 2)
    if name == "Q8_K":
        blocks[:, 0:4] = halves.view("<f2").astype("<f4").view("u1").reshape(-1, 4)
    if name == "IQ1_M":  # four bits of it in the second byte of each pair
        for i in range(4):
            blocks[:, 49 + 2 * i] = blocks[:, 49 + 2 * i] & 15 | (halves >> 4 * i & 15).astype("u1") << 4


def weights_of(name, blocks):
    if name == "Q8_1":
        return halves_at(blocks, 0) * blocks[:, 4:].view("i1").astype(numpy.float32)
    if name == "Q8_K":
        return blocks[:, :4].copy().view("<f4") * blocks[:, 4:260].copy().view("i1").astype(numpy.float32)
    if name == "Q1_0":
        bits = numpy.unpackbits(blocks[:, 2:], axis=1, bitorder="little")
        return halves_at(blocks, 0) * (bits.astype(numpy.float32) * 2 - 1)
    if name == "Q2_0":
        codes = blocks[:, 2:, None] >> numpy.array([0, 2, 4, 6], "u1") & 3
        return halves_at(blocks, 0) * (codes.reshape(len(blocks), -1).astype(numpy.float32) - 1)
    return gguf.quants.dequantize(blocks, Type[name])


def random_blocks(random, name, count):
    blocks = random.integers(0, 256, (count, SIZES[name][2]), dtype=numpy.uint8)
    scales = (random.standard_normal(count) * 2.0 ** random.integers(-20, 6, count)).astype(numpy.float16)
    set_scales(name, blocks, scales.view(numpy.uint16))
    return blocks


def block_tensors(random, count, change=lambda name, blocks: None):
    for name, (kind, elements, size) in SIZES.items():
        blocks = random_blocks(random, name, count)
        change(name, blocks)
        with numpy.errstate(all="ignore"):
            weights = weights_of(name, blocks)
        assert weights.dtype == numpy.float32 and weights.size == count * elements
        yield name.lower(), (elements * count // 2, 2), kind, blocks.tobytes()
        yield name.lower() + ".expected", (elements * count // 2, 2), 0, weights.astype("<f4").tobytes()


def codebook_tensors():
    for name, (entries, scale) in CODEBOOKS.items():
        kind, elements, size = SIZES[name]
        per_block = 64 if name.startswith("IQ3") else 32
        blocks = numpy.zeros((entries // per_block, size), "u1")
        set_scales(name, blocks, numpy.full(len(blocks), scale, numpy.float16).view("u2"))
        for entry in range(entries):
            block, i = blocks[entry // per_block], entry % per_block
            low, high = entry & 255, entry >> 8
            if name in ("IQ2_XXS", "IQ3_XXS"):
                block[2 + (i // 4 * 8 + i % 4 if name == "IQ2_XXS" else i)] = low
            elif name == "IQ2_XS":
                block[2 + 2 * i:4 + 2 * i] = low, high
            elif name == "IQ2_S":
                block[2 + i], block[66 + i // 4] = low, block[66 + i // 4] | high << i % 4 * 2
            elif name == "IQ3_S":
                block[2 + i], block[66 + i // 8] = low, block[66 + i // 8] | high << i % 8
            elif name == "IQ1_S":
                block[2 + i] = low
                at = 34 + i // 4 * 2
                block[at:at + 2].view("<u2")[0] |= high << i % 4 * 3
            else:
                block[i], block[32 + i // 2] = low, block[32 + i // 2] | high << i % 2 * 4
        weights = weights_of(name, blocks)
        assert (weights == weights.astype("i1")).all()
        assert len(numpy.unique(weights.reshape(entries, -1), axis=0)) == entries
        yield name.lower(), (elements, len(blocks)), kind, blocks.tobytes()
        yield name.lower() + ".expected", (elements, len(blocks)), 24, weights.astype("i1").tobytes()


def write_tensors(name, tensors):
    infos, data = [], b""
    for tensor, dimensions, kind, content in tensors:
        infos.append(info(tensor, dimensions, kind, len(data)))
        data += content + bytes(-len(content) % 32)
    (FOLDER / name).write_bytes(file([pair("general.architecture", TEXT, text("test"))], infos, data))


def write_blocks():
    write_tensors("blocks.gguf", block_tensors(numpy.random.default_rng(12), 4))
    write_tensors("extremes.gguf", block_tensors(numpy.random.default_rng(13), len(EXTREMES),
                                                 lambda name, blocks: set_scales(name, blocks, EXTREMES)))
    write_tensors("codebooks.gguf", codebook_tensors())


def add_aligned(writer):
    writer.add_custom_alignment(128)
    writer.add_tensor("a", numpy.array([1, 2, 3], numpy.int8))
    writer.add_tensor("b", numpy.array([4, 5, 6], numpy.int8))


# By hand, to be as wrong as one likes.
U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, ARRAY, U64, I64, F64 = range(13)


def text(value):
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def info(name="w", dimensions=(4,), kind=0, offset=0):
    return (text(name) + struct.pack("<I", len(dimensions)) + b"".join(struct.pack("<Q", each) for each in dimensions)
            + struct.pack("<IQ", kind, offset))


def file(pairs=(), infos=(), data=b"", version=3, counts=None, alignment=32):
    tensors, key_values = counts or (len(infos), len(pairs))
    head = b"GGUF" + struct.pack("<IQQ", version, tensors, key_values) + b"".join(pairs) + b"".join(infos)
    return head + bytes(-len(head) % alignment) + data if infos else head


def hostile():
    sixteen = bytes(16)
    good = info()
    yield "magic_alone", b"GGUF", "truncated", "a version follows the magic"
    yield "counts_cut", b"GGUF" + struct.pack("<IQ", 3, 0), "truncated", "two counts follow the version"
    for version in (0, 1, 4, 0xffff):
        yield f"version_{version}", file(version=version), "unsupported_version", "versions 2 and 3 are read"
    yield "version_1_big_endian", b"GGUF" + struct.pack(">IQQ", 1, 0, 0), "unsupported_version", "likewise"
    for count in (1, 2**32, 2**63, 2**64 - 1):
        yield f"tensors_{count}", file(counts=(count, 0)), "truncated", "there are as many tensors as stated"
        yield f"key_values_{count}", file(counts=(0, count)), "truncated", "there are as many key-values as stated"
    yield "key_empty", file([pair("", U8, b"\0")]), "name_invalid", "ours: a key is not empty"
    yield "key_2_64", file([struct.pack("<Q", 2**64 - 1) + bytes(64)]), "name_invalid", "ours: at most 4096 bytes"
    yield "key_4097", file([pair(b"k" * 4097, U8, b"\0")]), "name_invalid", "likewise"
    yield "key_cut", file([struct.pack("<Q", 100) + bytes(20)]), "truncated", "a key is as long as stated"
    yield "key_not_utf8", file([pair(b"\xff", U8, b"\0")]), "cbor_utf8", "a key is UTF-8"
    yield "key_twice", file([pair("k", U8, b"\0")] * 2), "duplicate_key", "keys are distinct"
    yield "kind_13", file([pair("k", 13, sixteen)]), "header_malformed", "there are 13 kinds of values"
    yield "kind_2_32", file([pair("k", 2**32 - 1, sixteen)]), "header_malformed", "likewise"
    yield "bool_2", file([pair("k", BOOL, b"\2")]), "header_malformed", "a bool is 0 or 1"
    yield "text_2_64", file([pair("k", TEXT, struct.pack("<Q", 2**64 - 1))]), "truncated", "a text is in the file"
    yield "array_of_kind_13", file([pair("k", ARRAY, struct.pack("<IQ", 13, 1) + sixteen)]), "header_malformed", \
        "there are 13 kinds of values"
    for kind in (U8, TEXT, ARRAY, F64):
        for count in (2**32, 2**61, 2**64 - 1):
            yield f"array_{kind}_of_{count}", file([pair("k", ARRAY, struct.pack("<IQ", kind, count) + sixteen)]), \
                "truncated", "an array has as many values as stated"
    yield "array_deep", file([pair("k", ARRAY, struct.pack("<IQ", ARRAY, 1) * 17 + struct.pack("<IQ", U8, 0))]), \
        "header_malformed", "ours: at most 16 deep"
    yield "array_very_deep", file([pair("k", ARRAY, struct.pack("<IQ", ARRAY, 1) * 5000)]), "header_malformed", \
        "likewise"
    for value in (0, 3, 33, 2**32 - 1):
        yield f"alignment_{value}", file([pair("general.alignment", U32, struct.pack("<I", value))], [good], sixteen), \
            "header_malformed", "an alignment is a power of two"
    yield "alignment_u64", file([pair("general.alignment", U64, struct.pack("<Q", 32))], [good], sixteen), \
        "header_malformed", "an alignment is a u32"
    yield "name_256", file((), [info("n" * 256)], sixteen), "name_invalid", "a name has at most 255 bytes"
    yield "name_2_64", file((), [struct.pack("<Q", 2**64 - 1) + good], sixteen), "name_invalid", "likewise"
    yield "name_empty", file((), [info("")], sixteen), "name_invalid", "ours: a name is not empty"
    yield "name_with_nul", file((), [info("a\0b")], sixteen), "name_invalid", "ours: a name holds no U+0000"
    yield "name_not_utf8", file((), [info(b"\xff")], sixteen), "cbor_utf8", "a name is UTF-8"
    yield "name_twice", file((), [good, info(offset=32)], bytes(48)), "duplicate_key", "names are distinct"
    yield "dimensions_9", file((), [info(dimensions=(1,) * 8 + (4,))], sixteen), "header_malformed", "at most eight"
    yield "dimensions_2_32", file((), [text("w") + struct.pack("<I", 2**32 - 1) + bytes(99)]), "header_malformed", \
        "likewise"
    yield "shape_2_64", file((), [info(dimensions=(2**32, 2**32))], sixteen), "shape_overflow", "64 bits count elements"
    yield "shape_bytes", file((), [info(dimensions=(2**62,))], sixteen), "shape_overflow", "64 bits count bytes"
    yield "shape_of_blocks", file((), [info(dimensions=(2**63, 4), kind=2)], bytes(36)), "shape_overflow", "likewise"
    yield "half_a_block", file((), [info(dimensions=(48, 2), kind=2)], bytes(54)), "size_mismatch", "rows are blocks"
    yield "scalar_block", file((), [info(dimensions=(), kind=2)], bytes(18)), "size_mismatch", "likewise"
    yield "data_cut", file((), [good], bytes(15)), "out_of_bounds", "the data is in the file"
    yield "blocks_cut", file((), [info(dimensions=(32,), kind=2)], bytes(17)), "out_of_bounds", "likewise"
    yield "offset_beyond", file((), [info(offset=32)], sixteen), "out_of_bounds", "likewise"
    yield "offset_2_64", file((), [info(offset=2**64 - 32)], sixteen), "out_of_bounds", "likewise"
    yield "offset_odd", file((), [info(offset=8)], bytes(32)), "misaligned_offset", "data starts at the alignment"
    for number, count in ((0, 2), (0, 2**40), (1, 2), (2, 2), (1, 0), (2**64 - 1, 0)):
        parts = [pair("split.no", U64, struct.pack("<Q", number)), pair("split.count", U64, struct.pack("<Q", count))]
        code = "header_malformed" if number >= count else "shard_mismatch" if number else "shard_missing"
        yield f"part_{number}_of_{count}", file(parts, [good], sixteen), code, "the first part opens all, beside it"
    for kind, value, name in ((F32, bytes(4), "float"), (TEXT, text("1"), "text"), (I16, b"\xff\xff", "negative")):
        yield f"part_{name}", file([pair("split.no", kind, value)]), "header_malformed", "a part has a number"
        yield f"parts_{name}", file([pair("split.tensors.count", kind, value)]), "header_malformed", "likewise"
    yield "overlap", file((), [info("a", (16,)), info("b", (16,), 0, 32)], bytes(96)), "blob_overlap", "none share"
    whole = file([pair("k", ARRAY, struct.pack("<IQ", TEXT, 1) + text("t"))], [good], sixteen)
    for size in range(8, len(whole) - 16 - 31, 7):
        yield f"cut_at_{size}", whole[:size], "truncated", "the header is complete"


def main():
    write("kinds.gguf", add_kinds)
    write("big_endian.gguf", add_kinds, endianess=GGUFEndian.BIG)
    old = bytearray((FOLDER / "kinds.gguf").read_bytes())
    old[4] = 2
    (FOLDER / "version_2.gguf").write_bytes(old)
    for name in ("kinds.gguf", "big_endian.gguf", "version_2.gguf"):
        describe(FOLDER / name, dense_arrays(), {"general.architecture": "test", "kind.text": "Grüße"})
    write_blocks()
    write("empty.gguf", lambda writer: None)
    describe(FOLDER / "empty.gguf", {}, {"general.architecture": "test"})
    write("aligned.gguf", add_aligned)
    describe(FOLDER / "aligned.gguf", {"a": numpy.array([1, 2, 3], "i1"), "b": numpy.array([4, 5, 6], "i1")},
             {"general.architecture": "test"})
    make_hostile.write("gguf", hostile, ".gguf")


if __name__ == "__main__":
    main()
