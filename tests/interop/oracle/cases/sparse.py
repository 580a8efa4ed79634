"""1.2: sparse objects."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ..build import Blobs, Built, Modern, Part, Tensor, crc_digest, elements
from ..decode import u64_bytes
from ..model import TYPE_RATIOS, WIDTHS
from . import case


@dataclass(frozen=True)
class Matrix:
    """A random sparsity pattern."""

    shape: list[int]
    indptr: list[int]
    indices: list[int]

    @property
    def nnz(self) -> int:
        """Number of stored values."""
        return len(self.indices)


def matrix(rng: random.Random, rows: int, columns: int, density: float = 0.3) -> Matrix:
    """A pattern with sorted columns."""
    indptr, indices = [0], []
    for _ in range(rows):
        indices += [column for column in range(columns) if rng.random() < density]
        indptr.append(len(indices))
    return Matrix([rows, columns], indptr, indices)


def csr(name: str, pattern: Matrix, values: Part, indptr: Part, indices: Part) -> Tensor:
    """A CSR object."""
    return Tensor(name, pattern.shape, {"values": values, "indices": indices, "indptr": indptr}, format="sparse_csr")


def raw_csr(
    rng: random.Random, blobs: Blobs, name: str, pattern: Matrix, dtype: str, type_: str | None = None
) -> Tensor:
    """A CSR object stored raw, with u64 indices."""
    count = pattern.nnz * (TYPE_RATIOS.get(type_, 1) if type_ else 1)
    values = Part(dtype, blobs.raw(elements(rng, dtype, count)), type=type_)
    indices, indptr = (Part("u64", blobs.raw(u64_bytes(part))) for part in (pattern.indices, pattern.indptr))
    return csr(name, pattern, values, indptr, indices)


def coordinates(rng: random.Random, shape: list[int], nnz: int) -> list[int]:
    """Different random coordinates in rising order, all of dimension 0 first."""
    points: set[tuple[int, ...]] = set()
    while len(points) < nnz:
        points.add(tuple(rng.randrange(dimension) for dimension in shape))
    ordered = sorted(points)
    return [point[axis] for axis in range(len(shape)) for point in ordered]


def coo(name: str, shape: list[int], values: Part, coords: Part) -> Tensor:
    """A COO object."""
    return Tensor(name, shape, {"values": values, "coords": coords}, format="sparse_coo")


def raw_coo(rng: random.Random, blobs: Blobs, name: str, shape: list[int], nnz: int, dtype: str) -> Tensor:
    """A COO object stored raw, with u64 coordinates."""
    coords = coordinates(rng, shape, nnz)
    values = Part(dtype, blobs.raw(elements(rng, dtype, nnz)))
    return coo(name, shape, values, Part("u64", blobs.raw(u64_bytes(coords))))


@case("1.2-csr-dtypes")
def csr_dtypes(rng: random.Random) -> Built:
    """Values of each dtype."""
    blobs = Blobs()
    return Modern().build(blobs, [raw_csr(rng, blobs, dtype, matrix(rng, 6, 9), dtype) for dtype in WIDTHS])


@case("1.2-csr-types")
def csr_types(rng: random.Random) -> Built:
    """Values of each logical type; compound ones have two stored elements for each entry."""
    blobs = Blobs()
    storage = {"complex64": "f32", "complex128": "f64"}
    tensors = [raw_csr(rng, blobs, word, matrix(rng, 4, 4), storage.get(word, "u8"), word) for word in TYPE_RATIOS]
    return Modern().build(blobs, tensors)


@case("1.2-csr-edges")
def csr_edges(rng: random.Random) -> Built:
    """No rows, no columns, nothing stored, everything stored, one row, one column, empty rows, a very wide matrix."""
    blobs = Blobs()
    shapes = {"no rows": (0, 5, 0.0), "no columns": (5, 0, 0.0), "no anything": (0, 0, 0.0), "nothing": (4, 4, 0.0)}
    shapes |= {"full": (3, 3, 1.0), "row": (1, 50, 0.5), "column": (50, 1, 0.5), "thin": (60, 60, 0.005)}
    tensors = [raw_csr(rng, blobs, name, matrix(rng, *shape), "f32") for name, shape in shapes.items()]
    wide = Matrix([2, 1 << 62], [0, 1, 2], [(1 << 62) - 1, 0])
    return Modern().build(blobs, [*tensors, raw_csr(rng, blobs, "wide", wide, "i8")])


@case("1.2-csr-unsorted-columns")
def csr_unsorted_columns(rng: random.Random) -> Built:
    """Nothing asks for rising columns within a row."""
    blobs = Blobs()
    pattern = Matrix([2, 4], [0, 3, 5], [2, 0, 3, 1, 0])
    return Modern().build(blobs, [raw_csr(rng, blobs, "m", pattern, "f64")])


@case("1.2-csr-zstd")
def csr_zstd(rng: random.Random) -> Built:
    """Components compressed each for itself, with digests, in every combination with raw ones."""
    blobs = Blobs()
    tensors = []
    for choice in range(8):
        pattern = matrix(rng, 8, 8)
        plain = [elements(rng, "bf16", pattern.nnz), u64_bytes(pattern.indptr), u64_bytes(pattern.indices)]
        stored = [blobs.zstd(data) if choice >> i & 1 else blobs.raw(data) for i, data in enumerate(plain)]
        dtypes = ("bf16", "u64", "u64")
        parts = [Part(dtype, blob, digest=crc_digest(blob)) for dtype, blob in zip(dtypes, stored, strict=True)]
        tensors.append(csr(f"choice {choice}", pattern, *parts))
    return Modern().build(blobs, tensors)


@case("1.2-coo-ranks")
def coo_ranks(rng: random.Random) -> Built:
    """Rank 1 to 6 and 64, and very long dimensions."""
    blobs = Blobs()
    shapes = [[40], [6, 7], [3, 4, 5], [2, 3, 2, 3], [2] * 5, [3] * 6]
    shapes += [[2] * 58 + [3] + [1] * 5, [1 << 60], [1 << 40, 1 << 20]]
    tensors = [raw_coo(rng, blobs, f"shape {i}", shape, 5, "i32") for i, shape in enumerate(shapes)]
    return Modern().build(blobs, tensors)


@case("1.2-coo-dtypes")
def coo_dtypes(rng: random.Random) -> Built:
    """Values of each dtype."""
    blobs = Blobs()
    return Modern().build(blobs, [raw_coo(rng, blobs, dtype, [9, 9], 7, dtype) for dtype in WIDTHS])


@case("1.2-coo-edges")
def coo_edges(rng: random.Random) -> Built:
    """Nothing stored, an empty dimension, zstd, more components than needed, complex values."""
    blobs = Blobs()
    coords = u64_bytes(coordinates(rng, [5, 5], 4))
    packed = coo("zstd", [5, 5], Part("f16", blobs.zstd(bytes(8))), Part("u64", blobs.zstd(coords)))
    more = raw_coo(rng, blobs, "more", [4, 4], 3, "u8")
    more.parts["mask"] = Part("bool", blobs.raw(bytes([1, 0, 1])))
    complex_values = Part("f32", blobs.raw(elements(rng, "f32", 8)), type="complex64")
    tensors = [
        raw_coo(rng, blobs, "nothing", [3, 3], 0, "f32"),
        raw_coo(rng, blobs, "empty dimension", [3, 0], 0, "f32"),
        packed,
        more,
        coo("complex", [5, 5], complex_values, Part("u64", blobs.raw(coords))),
    ]
    return Modern().build(blobs, tensors)
