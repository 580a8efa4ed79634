# SPDX-License-Identifier: MIT
"""Writes HDF5 files by h5py, as h5py and Keras write them, and beside each NAME a NAME.json of what h5py reads in it.

usage: hdf5_corpus.py FOLDER

Needs h5py, NumPy and ml_dtypes. tests/corpus/hdf5 was made by it.
"""

import hashlib
import io
import json
import pathlib
import sys
import zipfile

import h5py
import ml_dtypes
import numpy as np

WORDS = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "bool": "bool",
         "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
         "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8"}
LOGICAL = {"complex64": ("f32", "complex64"), "complex128": ("f64", "complex128"),
           "float8_e4m3fn": ("u8", "f8_e4m3fn"), "float8_e5m2": ("u8", "f8_e5m2")}


def numbers(count, dtype, seed):
    return np.random.default_rng(seed).normal(0, 100, count).astype(dtype)


def types(file):
    """Every type that becomes one of ours, in both orders of bytes, contiguous and in chunks."""
    kinds = "<f8 >f8 <f4 >f4 <f2 >f2 <i8 >i8 <i4 >i4 <i2 >i2 i1 <u8 >u8 <u4 >u4 <u2 >u2 u1 <c8 >c8 <c16 >c16".split()
    for place, kind in enumerate(kinds):
        order = "big" if kind[0] == ">" else "little"
        name = f"{order}/{kind.lstrip('<>')}"
        array = numbers(35, "f8", place).astype(kind).reshape(5, 7)
        file[name] = array
        file.create_dataset(name + "_chunked", data=array, chunks=(2, 3))
    file["bool"] = np.array([[True, False, True], [False, False, True]])
    file["enumeration"] = np.array([0, 7, 7, 1], h5py.enum_dtype({"none": 0, "few": 1, "many": 7}, "i2"))
    file["scalar"] = np.float32(0.5)
    file["scalar_int"] = 7
    file["empty"] = np.zeros((3, 0, 2), "f4")
    file["arrays"] = np.arange(24, dtype="<i4").reshape(2, 12).view([("x", "<i4", (3, 4))])["x"]
    inner = h5py.h5t.array_create(h5py.h5t.IEEE_F32BE, (2, 3))
    made = h5py.h5d.create(file.id, b"arrays_of_elements", inner, h5py.h5s.create_simple((4,)))
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(24, dtype=">f4").reshape(4, 2, 3), mtype=inner)
    for name, size, precision in (("bits12", 2, 12), ("bits24", 3, 24)):
        odd = h5py.h5t.STD_I16LE.copy() if size == 2 else h5py.h5t.STD_I32BE.copy()
        odd.set_precision(precision)
        odd.set_size(size)
        made = h5py.h5d.create(file.id, name.encode(), odd, h5py.h5s.create_simple((4,)))
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, -1, 2047, -2048], "i4"))
        AS_READ["/" + name] = np.array([1, -1, 2047, -2048], "<i2" if size == 2 else "<i4")
    floats = {"bfloat16": (2, 15, 7, 8, 7, 127, "u2"), "float8_e4m3fn": (1, 7, 3, 4, 3, 7, "u1"),
              "float8_e5m2": (1, 7, 2, 5, 2, 15, "u1")}
    for name, (size, sign, at, bits, mantissa, bias, raw) in floats.items():
        form = h5py.h5t.IEEE_F32LE.copy()
        form.set_fields(sign, at, bits, 0, mantissa)
        form.set_precision(8 * size)
        form.set_size(size)
        form.set_ebias(bias)
        made = h5py.h5d.create(file.id, b"float/" + name.encode(), form, h5py.h5s.create_simple((3, 2)),
                               lcpl=link_properties())
        array = numbers(6, "f4", 99).astype(getattr(ml_dtypes, name)).reshape(3, 2)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, array.view(raw), mtype=form)
        AS_READ["/float/" + name] = array


AS_READ = {}  # of types that h5py reads as something else


def link_properties():
    made = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    made.set_create_intermediate_group(True)
    return made


def storage(file):
    """Every way in which elements lie in a file."""
    rows = numbers((40, 30), "<f4", 1)
    file.create_dataset("gzip", data=rows, chunks=(7, 11), compression="gzip", shuffle=True)
    file.create_dataset("lzf", data=rows, chunks=(40, 1), compression="lzf", fletcher32=True)
    file.create_dataset("big_chunked", data=rows.astype(">f4"), chunks=(9, 30))
    file.create_dataset("deep", data=numbers((3, 4, 5, 6), "<f8", 2), chunks=(2, 1, 3, 6), compression="gzip")
    file.create_dataset("resized", data=rows[:10], maxshape=(None, 30), chunks=(3, 30))
    file["resized"].resize((25, 30))
    file.create_dataset("filled", (5, 5), "<i2", fillvalue=-3)
    file.create_dataset("filled_chunked", (50, 5), "<i2", fillvalue=-3, chunks=(10, 5))
    file["filled_chunked"][12] = 4
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    made = h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((6,)), compact)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(6, dtype="<i4"))


def links(file):
    """Names of one dataset, and groups that contain themselves."""
    file["a/weight"] = numbers(10, "<f4", 3)
    file["b/tied"] = file["a/weight"]
    file["chunked"] = h5py.SoftLink("/packed/rows")
    file.create_dataset("packed/rows", data=numbers((6, 2), "<f4", 4), chunks=(2, 2))
    file["packed/same"] = file["packed/rows"]
    file["a/up"] = file["/"]
    file["b/a"] = file["a"]
    file["soft_group"] = h5py.SoftLink("/a")
    file["dangling"] = h5py.SoftLink("/nowhere/at/all")
    file["to_itself"] = h5py.SoftLink("/to_itself")
    file["other_file"] = h5py.ExternalLink("types.h5", "/scalar")
    file["through_another"] = h5py.SoftLink("/other_file")


def skipped(file):
    """What has no place here, beside what has."""
    file["kept"] = np.arange(3, dtype="<i4")
    file["text"] = "words"
    file["texts"] = np.array(["a", "b"], h5py.string_dtype())
    file["fixed_texts"] = np.array([b"abc", b"d"])
    file["records"] = np.array([(1, 2.0)], [("n", "<i4"), ("x", "<f8")])
    file["references"] = np.array([file["kept"].ref], h5py.ref_dtype)
    file["ragged"] = np.array([np.arange(2), np.arange(3)], dtype=h5py.vlen_dtype("<i4"))
    file["nothing"] = h5py.Empty("f4")
    file["times"] = np.array(["2020-01-01"], "M8[s]").astype(h5py.opaque_dtype(np.dtype("M8[s]")))
    file["kind"] = np.dtype("<f4")
    if hasattr(np, "float128") and np.dtype(np.longdouble).itemsize == 16:
        file["long_double"] = np.array([1.5], np.longdouble)
    layout = h5py.VirtualLayout((3,), "<i4")
    layout[:] = h5py.VirtualSource("types.h5", "scalar_int", (3,))
    file.create_virtual_dataset("virtual", layout)
    file["kept"].attrs["reference"] = file["kept"].ref


def empty(file):
    """Groups, and nothing in them."""
    file.create_group("group/inner")


def attributes(file):
    file["w"] = np.arange(4, dtype="<f4")
    for of in (file, file.create_group("group/inner"), file["w"]):
        of.attrs["text"] = "words \u00e9"
        of.attrs["fixed"] = np.bytes_(b"bytes")
        of.attrs["texts"] = ["a", "bc", ""]
        of.attrs["fixed_texts"] = np.array([b"dense_1/kernel", b"b"])
        of.attrs["number"] = 0.1
        of.attrs["single"] = np.float32(0.1)
        of.attrs["half"] = np.float16(0.5)
        of.attrs["integer"] = -7
        of.attrs["large"] = np.uint64(2**64 - 1)
        of.attrs["low"] = np.int64(-2**63)
        of.attrs["big_endian"] = np.array([1, -2], ">i2")
        of.attrs["bool"] = True
        of.attrs["bools"] = np.array([True, False])
        of.attrs["matrix"] = np.arange(6, dtype="<i4").reshape(2, 3)
        of.attrs["none"] = np.zeros(0, "<f4")


def keras_2(file):
    """As Keras 2 saves a model of two layers."""
    file.attrs["keras_version"] = "2.15.0"
    file.attrs["backend"] = "tensorflow"
    file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": {"name": "sequential"}})
    weights = file.create_group("model_weights")
    weights.attrs["layer_names"] = [b"dense", b"dense_1"]
    for place, layer in enumerate(("dense", "dense_1")):
        of_layer = weights.create_group(layer)
        of_layer.attrs["weight_names"] = [f"{layer}/kernel:0".encode(), f"{layer}/bias:0".encode()]
        of_layer.create_dataset(f"{layer}/kernel:0", data=numbers((4, 3), "<f4", 10 + place))
        of_layer.create_dataset(f"{layer}/bias:0", data=np.zeros(3, "<f4"))
    weights["dense_1/dense_1/half:0"] = numbers(4, "f4", 12).astype(ml_dtypes.bfloat16)  # as Keras 3 writes such files
    file.create_group("optimizer_weights").attrs["weight_names"] = [b"iteration:0"]
    file["optimizer_weights"].create_dataset("iteration:0", data=np.int64(12))


def keras_3(file):
    """As Keras 3 saves weights; those of bfloat16 are opaque."""
    for place, layer in enumerate(("dense", "dense_1")):
        of_layer = file.create_group(f"layers/{layer}/vars")
        of_layer["0"] = numbers((4, 3), "<f4", 20 + place)
        half = of_layer.create_dataset("1", data=numbers(3, "f4", 30 + place).astype(ml_dtypes.bfloat16))
        half.attrs["dtype"] = "bfloat16"
    file.create_group("optimizer/vars")["0"] = np.int64(3)
    file.create_group("vars")
    file["untold"] = numbers(3, "f4", 40).astype(ml_dtypes.bfloat16)


def described(dataset):
    """[dtype, type, shape, SHA-256 of the elements in little-endian order] or None."""
    if dataset.name in AS_READ:
        array = AS_READ[dataset.name]
    elif dataset.shape is None:
        return None
    else:
        try:
            array = dataset[()]
        except Exception:
            return None
    if dataset.attrs.get("dtype") == "bfloat16" or "keras_version" in dataset.file.attrs and dataset.dtype.kind == "V":
        array = np.asarray(array).view(ml_dtypes.bfloat16)
    if not isinstance(array, (np.ndarray, np.generic)):
        return None
    array = np.asarray(array)
    if array.dtype.kind == "V" and array.dtype.names is None and array.dtype.name.startswith("void") and \
            h5py.check_opaque_dtype(dataset.dtype) is False:
        array = array.view("u1").reshape(*array.shape, array.dtype.itemsize)
    word = array.dtype.name
    if word in WORDS:
        dtype, kind = WORDS[word], ""
    elif word in LOGICAL:
        dtype, kind = LOGICAL[word]
    else:
        return None
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return [dtype, kind, list(array.shape), hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()]


def value_of(value):
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (np.ndarray, np.generic)):
        return value_of(value.tolist())
    return [value_of(each) for each in value] if isinstance(value, list) else value


def attributes_of(of):
    return {key: value_of(value) for key, value in of.attrs.items() if not isinstance(value, h5py.Reference)}


def description(file):
    """Every dataset under every name but those of groups that were seen before, and what else there is."""
    objects, left_out, of_file = [], [], dict(attributes_of(file))
    seen, pending, soft = {file["/"]}, [file["/"]], []

    def take(name, dataset):
        entry = described(dataset)
        if entry is None:
            left_out.append(name)
        else:
            objects.append([name, *entry, attributes_of(dataset)])

    while pending:
        group = pending.pop()
        for key in group:
            link, name = group.get(key, getlink=True), (group.name.rstrip("/") + "/" + key)[1:]
            if isinstance(link, h5py.SoftLink):
                soft.append(name)
                continue
            item = group.get(key) if isinstance(link, h5py.HardLink) else None
            if isinstance(item, h5py.Group):
                if not any(item == each for each in seen):
                    seen.add(item)
                    pending.append(item)
                    of_file.update({f"{name}/{word}": value for word, value in attributes_of(item).items()})
            elif isinstance(item, h5py.Dataset):
                take(name, item)
            else:
                left_out.append(name)
    for name in soft:
        try:
            item = None if name == "through_another" else file.get(name)
        except RuntimeError:  # it leads to itself
            item = None
        if isinstance(item, h5py.Dataset):
            take(name, item)
        elif item is None:
            left_out.append(name)
    return {"objects": sorted(objects), "skipped": sorted(left_out), "attributes": of_file}


FILES = {"types": types, "storage": storage, "links": links, "skipped": skipped, "empty": empty,
         "attributes": attributes, "keras_2": keras_2, "keras_3.weights": keras_3}


def write_description(path, content):
    pathlib.Path(f"{path}.json").write_text(json.dumps(content, indent=None, sort_keys=True, separators=(",", ":"))
                                            .replace('],["', '],\n["') + "\n", encoding="utf-8")


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, fill in FILES.items():
        path = folder / f"{name}.h5"
        for suffix, options in (("", {}), (".1_10", {"libver": ("v110", "v110"), "userblock_size": 1024, "track_order": True})):
            if suffix and name not in ("storage", "keras_2"):
                continue
            to = folder / f"{name}{suffix}.h5"
            with h5py.File(to, "w", **options) as file:
                fill(file)
            with h5py.File(to, "r") as file:
                write_description(to, description(file))
    content = (folder / "keras_3.weights.h5").read_bytes()
    for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", method) as archive:
            for entry, text in (("metadata.json", b'{"keras_version": "3.5.0"}'), ("config.json", b"{}"),
                                ("model.weights.h5", content), ("assets/words.txt", b"a b")):
                archive.writestr(zipfile.ZipInfo(entry), text, method)
        path = folder / f"{name}.keras"
        path.write_bytes(made.getvalue())
        expected = json.loads((folder / "keras_3.weights.h5.json").read_text(encoding="utf-8"))
        expected["skipped"].append("assets/words.txt")
        write_description(path, expected)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
