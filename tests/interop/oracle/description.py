"""The JSON description of a file, as the golden files have it."""

from __future__ import annotations

import hashlib
from typing import Any

from .decode import coo_parts, csr_parts, decoded_bytes, digest_state, is_readable_sparse, swapped, u64_bytes
from .index import read
from .model import WIDTHS, Attributes, Component, Object, ZtFile
from .rules import check

Json = dict[str, Any]
LONGEST_SHOWN = 256  # bytes of CBOR; longer attribute values are given by length and SHA-256

# Keys of a golden description that don't describe the content.
NOT_CONTENT = ("file", "file_sha256", "written_by", "rewrite", "copy")

_described: dict[bytes, Json] = {}  # by the SHA-256 of the file: the scripts of suite.py look at the same files


def sha256(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def describe(data: bytes) -> Json:
    """Describe the bytes of a .zt file; FormatError if it breaks a rule. Whoever asks again gets the same, not to be changed."""
    key = hashlib.sha256(data).digest()
    if key not in _described:
        _described[key] = described_anew(data)
    return _described[key]


def described_anew(data: bytes) -> Json:
    """The description of bytes that were not described before."""
    file = read(data)
    check(file)
    out: Json = {"file_length": len(data), "generation": "{}.{}".format(*file.generation)}
    if file.version is not None:
        out["version"] = file.version
    out["index_length"] = file.index_length
    out["attributes"] = attributes_of(file.attributes)
    out["objects"] = [describe_object(file, obj) for obj in file.objects]
    return out


def attributes_of(attributes: Attributes | None) -> list[Json] | None:
    """Attributes with their values as encoded."""
    if attributes is None:
        return None
    return [{"key": key} | attribute_value(value) for key, value in attributes]


def attribute_value(value: bytes) -> Json:
    """The encoded value, or its length and hash when it is long."""
    if len(value) <= LONGEST_SHOWN:
        return {"cbor": value.hex()}
    return {"cbor_length": len(value), "cbor_sha256": sha256(value)}


def describe_object(file: ZtFile, obj: Object) -> Json:
    """One object with its components and, for sparse ones, its parts."""
    out: Json = {"name": obj.name, "shape": obj.shape, "format": obj.format}
    if obj.original_layout is not None:
        out["original_layout"] = obj.original_layout
    out["attributes"] = attributes_of(obj.attributes)
    decoded: dict[str, bytes] = {}
    out["components"] = {role: describe_component(file, obj, part, decoded) for role, part in obj.components.items()}
    if is_readable_sparse(obj, decoded):
        out |= describe_sparse(obj, decoded)
    return out


def describe_component(file: ZtFile, obj: Object, part: Component, decoded: dict[str, bytes]) -> Json:
    """One component; its decoded bytes are left in `decoded`."""
    stored = file.stored(part)
    out: Json = {
        "dtype": part.dtype,
        "original_dtype": part.original_dtype,
        "type": part.type,
        "offset": part.offset,
        "length": part.length,
        "encoding": part.encoding,
        "uncompressed_length": part.uncompressed_length,
        "digest": part.digest,
        "digest_state": digest_state(part.digest, stored),
        "stored_sha256": sha256(stored),
    }
    data = decoded_bytes(file, obj, part)
    if data is not None:
        decoded[part.role] = data
        out |= describe_decoded(part, data)
    return {key: value for key, value in out.items() if value is not None}


def describe_decoded(part: Component, data: bytes) -> Json:
    """What is said of decoded bytes; big-endian elements are also given in little-endian order."""
    out: Json = {"decoded_length": len(data), "decoded_sha256": sha256(data)}
    width = WIDTHS.get(part.dtype, 1)
    if part.big_endian and width > 1:
        out["byte_order"] = "big"
        out["decoded_little_endian_sha256"] = sha256(swapped(data, width))
    return out


def describe_sparse(obj: Object, decoded: dict[str, bytes]) -> Json:
    """The parts of a sparse object; nothing for other formats."""
    if obj.format == "sparse_csr":
        csr = csr_parts(obj, decoded)
        return {
            "csr": {
                "nnz": len(csr.indices),
                "indptr_u64_sha256": sha256(u64_bytes(csr.indptr)),
                "indices_u64_sha256": sha256(u64_bytes(csr.indices)),
                "values_sha256": sha256(csr.values),
            }
        }
    if obj.format == "sparse_coo":
        coo = coo_parts(obj, decoded)
        return {
            "coo": {
                "nnz": coo.nnz,
                "coords_u64_soa_sha256": sha256(u64_bytes(coo.coords)),
                "values_sha256": sha256(coo.values),
            }
        }
    return {}
