"""The files that reference.py writes with the reference implementation, one function each."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .build import Blobs, Modern, Part, Tensor, dense
from .cases import CASES
from .need import require

REQUIREMENTS = "requirements-reference.txt"
ztensor = require("ztensor", REQUIREMENTS)
numpy = require("numpy", REQUIREMENTS)
ml_dtypes = require("ml_dtypes", REQUIREMENTS)

Rng = Any  # numpy.random.Generator; NumPy is not installed where types are checked
Maker = Callable[[Path, Rng], None]
FILES: dict[str, Maker] = {}
QUESTIONS: dict[str, Maker] = {}

DTYPES = (
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8",
    "uint64", "uint32", "uint16", "uint8", "bool",
)  # fmt: skip
CHECKSUMS = ("none", "crc32c", "sha256")
STORAGE_OF_TYPE = {
    "f8_e4m3fn": "uint8", "f8_e5m2": "uint8", "f8_e4m3fnuz": "uint8", "f8_e5m2fnuz": "uint8",
    "complex64": "float32", "complex128": "float64", "q8.8_fixed": "int16", "f4_e2m1x2": "uint8",
}  # fmt: skip


def file(name: str) -> Callable[[Maker], Maker]:
    """Register the maker of a valid file."""

    def register(make: Maker) -> Maker:
        FILES[name] = make
        return make

    return register


def question(name: str) -> Callable[[Maker], Maker]:
    """Register the maker of a file on an open point."""

    def register(make: Maker) -> Maker:
        QUESTIONS[name] = make
        return make

    return register


def array(rng: Rng, dtype: str, shape: list[int]) -> Any:
    """Random elements of a dtype."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if "float" in dtype:
        return rng.standard_normal(shape).astype(dtype if dtype != "bfloat16" else ml_dtypes.bfloat16)
    limits = numpy.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def tensor(components: dict[str, Any], shape: list[int], form: str = "dense", **more: Any) -> Any:
    """A ztensor.Tensor; its dtype argument is never written."""
    return ztensor.Tensor(components, shape=shape, dtype="unused", format=form, **more)


# ---- dense --------------------------------------------------------------------------------------------------


@file("ref-dense")
def dense_dtypes(path: Path, rng: Rng) -> None:
    """All dtypes, raw and zstd, with each checksum."""
    with ztensor.Writer(str(path)) as writer:
        for dtype in DTYPES:
            for compress in (False, True):
                for checksum in CHECKSUMS:
                    name = f"{dtype}.{compress}.{checksum}"
                    writer.write_numpy(name, array(rng, dtype, [5, 3]), compress=compress, checksum=checksum)


@file("ref-shapes")
def shapes(path: Path, rng: Rng) -> None:
    """Scalars (only Tensor objects can be), empty dimensions, high rank, transposed arrays."""
    with ztensor.Writer(str(path)) as writer:
        for dtype in DTYPES:
            writer.write(f"scalar.{dtype}", tensor({"data": array(rng, dtype, [])}, []))
        for shape in ([0], [0, 4], [4, 0, 2], [1] * 32, [2] * 10):
            for compress in (False, True):
                name = f"shape.{len(shape)}.{shape[0]}.{compress}"
                writer.write_numpy(name, array(rng, "int16", shape), compress=compress)
        writer.write_numpy("transposed", array(rng, "float32", [4, 7]).T)


@file("ref-types")
def types(path: Path, rng: Rng) -> None:
    """Logical types, known and not."""
    with ztensor.Writer(str(path)) as writer:
        for word, dtype in STORAGE_OF_TYPE.items():
            count = 12 if word.startswith("complex") else 6
            for compress in (False, True):
                data = {"data": array(rng, dtype, [count])}
                writer.write(f"{word}.{compress}", tensor(data, [2, 3], type=word), compress=compress)


@file("ref-zstd-levels")
def zstd_levels(path: Path, rng: Rng) -> None:
    """Levels, of data that does and does not compress, small and of several blocks."""
    with ztensor.Writer(str(path)) as writer:
        for level in (1, 3, 10, 19, 22, 99):
            writer.write_numpy(f"smooth.{level}", numpy.arange(3000, dtype="float32"), compress=level)
            writer.write_numpy(f"noise.{level}", array(rng, "uint8", [1000]), compress=level)
        writer.write_numpy("zeros", numpy.zeros(1 << 20, "uint8"), compress=True, checksum="sha256")
        writer.write_numpy("blocks", rng.integers(0, 9, 600_000).astype("uint8"), compress=True)


@file("ref-names")
def names(path: Path, rng: Rng) -> None:
    """Names in any script, and names that sort in a special way."""
    words = ["b", "a", "Z", "aa", "\u00e9", "\uffff", "\U00010000", " ", "a.b", "a/b", "\n", "\u540d\u524d", "n" * 4096]
    with ztensor.Writer(str(path)) as writer:
        for word in words:
            writer.write_numpy(word, array(rng, "uint8", [2]))


@file("ref-many-objects")
def many_objects(path: Path, rng: Rng) -> None:
    """A thousand objects in no order."""
    with ztensor.Writer(str(path)) as writer:
        for i in rng.permutation(1000):
            writer.write_numpy(f"t{i}", array(rng, "int32", [int(i) % 7]))


@file("ref-no-objects")
def no_objects(path: Path, rng: Rng) -> None:
    """Nothing but an index."""
    ztensor.Writer(str(path)).finish()


# ---- attributes ---------------------------------------------------------------------------------------------


ATTRIBUTES: dict[str, Any] = {
    "true": True, "none": None, "zero": 0, "23": 23, "24": 24, "-24": -24, "-25": -25,
    "i64 max": 2**63 - 1, "i64 min": -(2**63), "2^63 turns into a float": 2**63,
    "half": 1.5, "single": 100000.0, "double": 0.1, "inf": float("inf"), "nan": float("nan"), "-0": -0.0,
    "text": "\u00fc", "": "empty key", "bytes": b"\x00\xff", "no bytes": b"", "long": "x" * 300,
    "list": [1, [2, [None]], "a"], "map": {"z": 1, "a": {"b": b"c"}, 3: "three", None: 0}, "empty": [[], {}],
    "\u00e9": 1, "Z": 2, "aa": 3, "b": 4,
}  # fmt: skip


@file("ref-attributes")
def attributes(path: Path, rng: Rng) -> None:
    """Every kind of value that the package writes, and an empty map."""
    usable = {key: value for key, value in ATTRIBUTES.items() if key}  # an empty name is not allowed
    with ztensor.Writer(str(path)) as writer:
        writer.write("all", tensor({"data": array(rng, "uint8", [2])}, [2], attributes=usable))
        writer.write("empty", tensor({"data": array(rng, "uint8", [2])}, [2], attributes={}))
        writer.write("absent", tensor({"data": array(rng, "uint8", [2])}, [2]))


@file("ref-file-attributes")
def file_attributes(path: Path, rng: Rng) -> None:
    """Attributes of the file: the package can only copy them, which writes them anew."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.zt"
        source.write_bytes(CASES["1.2-attributes-tags"].make(random.Random(1)).data)
        ztensor.remove_tensors(str(source), str(path), [])


# ---- several components -------------------------------------------------------------------------------------


@file("ref-sparse")
def sparse(path: Path, rng: Rng) -> None:
    """CSR and COO of every dtype, raw and zstd, with digests; nothing stored; complex values."""
    indptr, indices = numpy.array([0, 2, 2, 4], "uint64"), numpy.array([0, 3, 1, 2], "uint64")
    coords = numpy.array([0, 0, 1, 2, 0, 3, 3, 1], "uint64")
    nothing = numpy.array([], "uint64")
    with ztensor.Writer(str(path)) as writer:
        for i, dtype in enumerate(DTYPES):
            options = {"compress": bool(i % 2), "checksum": CHECKSUMS[i % 3]}
            parts = {"values": array(rng, dtype, [4]), "indices": indices, "indptr": indptr}
            writer.write(f"csr.{dtype}", tensor(parts, [3, 4], "sparse_csr"), **options)
            parts = {"coords": coords, "values": array(rng, dtype, [4])}
            writer.write(f"coo.{dtype}", tensor(parts, [3, 4], "sparse_coo"), **options)
        empty = {"values": array(rng, "float32", [0]), "indices": nothing, "indptr": numpy.zeros(4, "uint64")}
        writer.write("csr.nothing", tensor(empty, [3, 4], "sparse_csr"))
        empty = {"values": array(rng, "float32", [0]), "coords": nothing}
        writer.write("coo.nothing", tensor(empty, [3, 4], "sparse_coo"), compress=True)
        parts = {"values": array(rng, "float32", [8]), "indices": indices, "indptr": indptr}
        writer.write("csr.complex", tensor(parts, [3, 4], "sparse_csr", type="complex64"))


@file("ref-composite")
def composite(path: Path, rng: Rng) -> None:
    """A quantized group and custom formats; the components stand in the order in which they were given."""
    quantization = {"bits": 4, "group_size": 32, "packing": "8_per_i32"}
    group = {
        "zeros": array(rng, "float16", [16, 2]),
        "scales": array(rng, "float16", [16, 2]),
        "packed_weight": array(rng, "int32", [16, 8]),
    }
    custom = {"values": array(rng, "uint8", [5]), "b": array(rng, "bool", [3]), "a": array(rng, "float64", [0])}
    many = {f"part {i}": array(rng, DTYPES[i % len(DTYPES)], [i]) for i in range(60)}
    with ztensor.Writer(str(path)) as writer:
        writer.write("group", tensor(group, [16, 64], "quantized_group", attributes=quantization), checksum="crc32c")
        writer.write("group.zstd", tensor(group, [16, 64], "quantized_group", attributes=quantization), compress=True)
        writer.write("custom", tensor(custom, [5], "ragged", type="utf8"))
        writer.write("many", tensor(many, [60], "sixty"), compress=1, checksum="sha256")


# ---- changed files ------------------------------------------------------------------------------------------


def three(path: Path, rng: Rng) -> None:
    """A file to be changed."""
    with ztensor.Writer(str(path)) as writer:
        for name in ("b", "d", "f"):
            writer.write_numpy(name, array(rng, "float32", [9]), checksum="crc32c")


@file("ref-appended")
def appended(path: Path, rng: Rng) -> None:
    """Two appends; the new blobs start where the old index stood, aligned."""
    three(path, rng)
    for name in ("c", "a"):
        with ztensor.Writer.append(str(path)) as writer:
            writer.write_numpy(name, array(rng, "int16", [7]), compress=name == "a")


@file("ref-replaced")
def replaced(path: Path, rng: Rng) -> None:
    """Data written over in place, with a new digest."""
    three(path, rng)
    ztensor.replace_tensor(str(path), "d", array(rng, "float32", [9]))


@file("ref-removed")
def removed(path: Path, rng: Rng) -> None:
    """A copy without one object."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.zt"
        three(source, rng)
        ztensor.remove_tensors(str(source), str(path), ["d"])


@file("ref-save-file")
def save_file(path: Path, rng: Rng) -> None:
    """The convenience function of the package, which drops its metadata argument."""
    package = require("ztensor.numpy", REQUIREMENTS)
    package.save_file(
        {"w": array(rng, "float32", [3, 2]), "b": array(rng, "int8", [4])}, str(path), metadata={"dropped": "yes"}
    )


# ---- open points --------------------------------------------------------------------------------------------


@question("refq-appended-to-1.1")
def appended_to_1_1(path: Path, rng: Rng) -> None:
    """Append to a 1.1 file: the version stays 1.1.0, the new components have type and uncompressed_length."""
    blobs = Blobs()
    old: Tensor = dense("old", [2], Part("u8", blobs.raw(b"ab")))
    path.write_bytes(Modern("1.1.0").build(blobs, [old]).data)
    with ztensor.Writer.append(str(path)) as writer:
        writer.write("complex", tensor({"data": array(rng, "float32", [6])}, [3], type="complex64"))
        writer.write_numpy("zstd", array(rng, "int32", [8]), compress=True)


@question("refq-size-mismatch")
def size_mismatch(path: Path, rng: Rng) -> None:
    """The Tensor path checks no size against the shape: 3 elements under the shape [7]."""
    with ztensor.Writer(str(path)) as writer:
        writer.write("t", tensor({"data": array(rng, "float32", [3])}, [7]))


@question("refq-i32-indices")
def i32_indices(path: Path, rng: Rng) -> None:
    """Sparse indices of dtype i32 in a 1.2 file, which the text forbids and the package writes (and reads)."""
    parts = {"values": array(rng, "float32", [2]), "indices": numpy.array([0, 1], "int32")}
    parts["indptr"] = numpy.array([0, 1, 2], "int32")
    with ztensor.Writer(str(path)) as writer:
        writer.write("t", tensor(parts, [2, 2], "sparse_csr"))


@question("refq-empty-names")
def empty_names(path: Path, rng: Rng) -> None:
    """The package writes empty names."""
    with ztensor.Writer(str(path)) as writer:
        writer.write("", tensor({"data": array(rng, "uint8", [1])}, [1], attributes={"": 1}))


@question("refq-no-components")
def no_components(path: Path, rng: Rng) -> None:
    """The package writes objects without components."""
    with ztensor.Writer(str(path)) as writer:
        writer.write("t", tensor({}, [2], "custom"))


@question("refq-type-and-dtype")
def type_and_dtype(path: Path, rng: Rng) -> None:
    """The package takes any type with any dtype: complex64 over u8 and f8_e4m3fn over f32."""
    with ztensor.Writer(str(path)) as writer:
        writer.write("a", tensor({"data": array(rng, "uint8", [4])}, [2], type="complex64"))
        writer.write("b", tensor({"data": array(rng, "float32", [2])}, [2], type="f8_e4m3fn"))


@question("refq-bad-bools")
def bad_bools(path: Path, rng: Rng) -> None:
    """NumPy bools made of other bytes than 0 and 1 are written as they are."""
    with ztensor.Writer(str(path)) as writer:
        writer.write_numpy("t", numpy.array([0, 1, 2, 255], "uint8").view(bool))
