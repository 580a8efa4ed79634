"""What is in a .zt file, whatever its generation, and the words the format knows."""

from __future__ import annotations

from dataclasses import dataclass, field


class FormatError(Exception):
    """The file breaks a rule; the message says which one."""


WIDTHS: dict[str, int] = {
    "f64": 8, "f32": 4, "f16": 2, "bf16": 2,
    "i64": 8, "i32": 4, "i16": 2, "i8": 1,
    "u64": 8, "u32": 4, "u16": 2, "u8": 1,
    "bool": 1,
}  # fmt: skip

LONG_NAMES: dict[str, str] = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
    "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8",
    "bool": "bool",
}  # fmt: skip

# 1.1 writes these as dtypes: storage dtype, logical type.
TYPES_AS_DTYPE_1_1: dict[str, tuple[str, str]] = {
    "f8_e4m3": ("u8", "f8_e4m3fn"),
    "f8_e5m2": ("u8", "f8_e5m2"),
    "complex64": ("f32", "complex64"),
    "complex128": ("f64", "complex128"),
}

# Storage elements per logical element.
TYPE_RATIOS: dict[str, int] = {
    "f8_e4m3fn": 1, "f8_e5m2": 1, "f8_e4m3fnuz": 1, "f8_e5m2fnuz": 1,
    "complex64": 2, "complex128": 2,
}  # fmt: skip

REQUIRED_ROLES: dict[str, tuple[str, ...]] = {
    "dense": ("data",),
    "sparse_csr": ("values", "indices", "indptr"),
    "sparse_coo": ("values", "coords"),
    "quantized_group": ("packed_weight", "scales", "zeros"),
}

INDEX_ROLES: dict[str, tuple[str, ...]] = {
    "sparse_csr": ("indices", "indptr"),
    "sparse_coo": ("coords",),
}

Attributes = list[tuple[str, bytes]]  # key, encoded value as it stands in the file


@dataclass
class Component:
    """One blob and what its bytes mean."""

    role: str
    dtype: str
    offset: int
    length: int
    encoding: str = "raw"
    original_dtype: str | None = None
    type: str | None = None
    uncompressed_length: int | None = None
    digest: str | None = None
    big_endian: bool = False


@dataclass
class Object:
    """One named tensor."""

    name: str
    shape: list[int]
    format: str
    components: dict[str, Component]
    attributes: Attributes | None = None
    original_layout: str | None = None
    inline_parts: dict[str, list[int]] = field(default_factory=dict)  # 0.1: index arrays kept in the index

    def element_count(self) -> int:
        """Product of the dimensions; a scalar has one element."""
        count = 1
        for dimension in self.shape:
            count *= dimension
        return count


@dataclass
class ZtFile:
    """A whole file: its bytes and what its index says."""

    data: bytes
    generation: tuple[int, int]
    index_start: int
    index_length: int
    version: str | None = None
    attributes: Attributes | None = None
    objects: list[Object] = field(default_factory=list)

    def stored(self, component: Component) -> bytes:
        """The bytes of a component as they stand in the file."""
        return self.data[component.offset : component.offset + component.length]
