"""The structural rules that a file must keep to be opened at all (rulings, "Reading", 1 to 8)."""

from __future__ import annotations

from .model import INDEX_ROLES, REQUIRED_ROLES, TYPE_RATIOS, WIDTHS, Component, FormatError, Object, ZtFile

U64 = 1 << 64
MAX_RANK = 64
MAX_NAME = 4096
MAX_ZSTD_RATIO = 32768
INTEGERS = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}


def check(file: ZtFile) -> None:
    """Refuse a file that breaks a rule."""
    check_attribute_names(file.attributes or [], "the file")
    names = [obj.name for obj in file.objects]
    if len(set(names)) != len(names):
        raise FormatError("a tensor name stands twice")
    for obj in file.objects:
        check_object(file, obj)
    check_overlaps(file)


def check_name(name: str, what: str) -> None:
    """Not empty, no U+0000, at most 4,096 bytes."""
    if not name or "\0" in name or len(name.encode()) > MAX_NAME:
        raise FormatError(f"the {what} {name[:40]!r} is empty, too long or holds U+0000")


def check_attribute_names(attributes: list[tuple[str, bytes]], owner: str) -> None:
    """Attribute names obey the rule of all names."""
    for key, _ in attributes:
        check_name(key, f"attribute name of {owner}")


def check_object(file: ZtFile, obj: Object) -> None:
    """Everything that can be said of one object alone."""
    check_name(obj.name, "tensor name")
    check_attribute_names(obj.attributes or [], obj.name)
    check_shape(obj)
    for component in obj.components.values():
        check_name(component.role, f"component name of {obj.name}")
        check_component(file, obj, component)
    if file.generation >= (1, 0):
        check_roles(file, obj)
    check_sizes(file, obj)


def check_shape(obj: Object) -> None:
    """Rank, and the product without a zero that hides an overflow."""
    if len(obj.shape) > MAX_RANK:
        raise FormatError(f"{obj.name}: rank {len(obj.shape)}")
    product = 1
    for dimension in obj.shape:
        product *= dimension or 1
    widest = max((element_width(part) or 1 for part in obj.components.values()), default=1)
    if product >= U64 or (obj.format == "dense" and product * widest >= U64):
        raise FormatError(f"{obj.name}: the shape overflows 64 bits")


def check_component(file: ZtFile, obj: Object, component: Component) -> None:
    """Range, and the two lengths of one component."""
    place = f"{obj.name}/{component.role}"
    if component.offset < 64 or component.offset % 64:
        raise FormatError(f"{place}: offset {component.offset}")
    if component.offset + component.length > file.index_start:
        raise FormatError(f"{place}: ends after the start of the index")
    size = component.uncompressed_length
    if component.encoding == "raw" and size not in (None, component.length):
        raise FormatError(f"{place}: raw, but uncompressed_length differs from length")
    if component.encoding != "zstd":
        return
    if size is None and file.generation >= (1, 2):
        raise FormatError(f"{place}: zstd without uncompressed_length")
    if size is not None and size > MAX_ZSTD_RATIO * component.length:
        raise FormatError(f"{place}: no zstd frame can hold so much")


def check_roles(file: ZtFile, obj: Object) -> None:
    """The roles that a known format needs, and the dtypes of indices."""
    for role in REQUIRED_ROLES.get(obj.format, ()):
        if role not in obj.components:
            raise FormatError(f"{obj.name}: {obj.format} without {role!r}")
    for role in INDEX_ROLES.get(obj.format, ()):
        dtype = obj.components[role].dtype
        allowed = {"u64"} if file.generation >= (1, 2) else INTEGERS
        if dtype in WIDTHS and dtype not in allowed:
            raise FormatError(f"{obj.name}: {role} of dtype {dtype}")


def ratio(component: Component) -> int | None:
    """Storage elements per logical element; None when the logical type is unknown."""
    if component.type is None or component.type == component.dtype:
        return 1
    return TYPE_RATIOS.get(component.type)


def known_size(component: Component) -> int | None:
    """The decoded size, where it is known without decoding."""
    if component.encoding == "raw":
        return component.length
    return component.uncompressed_length if component.encoding == "zstd" else None


def element_width(component: Component) -> int | None:
    """Bytes of one logical element; None when the dtype or the logical type is unknown."""
    width, elements = WIDTHS.get(component.dtype), ratio(component)
    return None if width is None or elements is None else width * elements


def known_count(component: Component) -> int | None:
    """The number of logical elements, where it is known without decoding."""
    size, width = known_size(component), element_width(component)
    if size is None or width is None:
        return None
    if size % width:
        raise FormatError(f"{component.role}: {size} bytes are no whole number of {component.dtype}")
    return size // width


def check_sizes(file: ZtFile, obj: Object) -> None:
    """Sizes against the shape, as far as they are known without reading data."""
    if obj.format == "dense":
        check_dense_size(obj)
    if obj.format == "sparse_csr" and len(obj.shape) != 2:
        raise FormatError(f"{obj.name}: sparse_csr of rank {len(obj.shape)}")
    if obj.format == "sparse_coo" and not obj.shape:
        raise FormatError(f"{obj.name}: sparse_coo of rank 0")
    if file.generation < (1, 0):
        return
    if obj.format == "sparse_csr":
        check_csr_sizes(obj)
    elif obj.format == "sparse_coo":
        check_coo_sizes(obj)


def check_dense_size(obj: Object) -> None:
    """The size of `data` follows from the shape."""
    data = obj.components["data"]
    wanted, size = dense_size(obj), known_size(data)
    if wanted is not None and size is not None and size != wanted:
        raise FormatError(f"{obj.name}: {size} bytes where the shape asks for {wanted}")


def dense_size(obj: Object) -> int | None:
    """Bytes of the decoded `data`, if dtype and logical type are known."""
    width = element_width(obj.components["data"])
    return None if width is None else obj.element_count() * width


def check_csr_sizes(obj: Object) -> None:
    """A row pointer for each row and one more, one column for each value."""
    parts = obj.components
    demand(obj, known_count(parts["indptr"]), obj.shape[0] + 1)
    demand(obj, known_count(parts["indices"]), known_count(parts["values"]))


def check_coo_sizes(obj: Object) -> None:
    """One coordinate for each value and dimension."""
    values = known_count(obj.components["values"])
    wanted = None if values is None else values * len(obj.shape)
    demand(obj, known_count(obj.components["coords"]), wanted)


def demand(obj: Object, found: int | None, wanted: int | None) -> None:
    """Two counts that must be equal, if both are known."""
    if found is not None and wanted is not None and found != wanted:
        raise FormatError(f"{obj.name}: {found} elements where {wanted} belong")


def check_overlaps(file: ZtFile) -> None:
    """Blobs are identical ranges or disjoint; empty blobs overlap nothing."""
    ranges = {
        (part.offset, part.offset + part.length)
        for obj in file.objects
        for part in obj.components.values()
        if part.length
    }
    end = 0
    for start, stop in sorted(ranges):
        if start < end:
            raise FormatError(f"the blob at {start} overlaps the one before it")
        end = stop
