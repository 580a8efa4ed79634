#!/usr/bin/env python3
"""Compare the ONNX models that Python packages ship with what `inspect --json` finds in them, value by value.

Usage: check_shipped_onnx.py OUTDIR --inspect COMMAND... [--packages NAME...]
The packages are fetched from the package index; each initializer and each value of a Constant, of all graphs and functions,
as the onnx package reads it, must be an object. Ends with 'N passed, N failed'; status 0 only if nothing failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oracle.need import require

numpy = require("numpy", "requirements-foreign.txt")
onnx = require("onnx", "requirements-foreign.txt")

PACKAGES = ["faster-whisper", "magika", "nudenet", "onnxruntime", "rapidocr-onnxruntime", "silero-vad"]
KIND = onnx.AttributeProto
Value = tuple[tuple[int, ...], str]


def value_of(content: Any) -> Value | None:
    """Shape and SHA-256 of a tensor or an array; nothing for text."""
    if isinstance(content, onnx.TensorProto):
        if content.data_type == onnx.TensorProto.STRING:
            return None
        array = onnx.numpy_helper.to_array(content)
        is_narrow = array.dtype.name.endswith(("int4", "int2", "e2m1fn"))
        data = onnx.numpy_helper.from_array(array).raw_data if is_narrow else array.tobytes()
        return tuple(content.dims), hashlib.sha256(data).hexdigest()
    return content.shape, hashlib.sha256(content.tobytes()).hexdigest()


def constant_of(attribute: Any) -> Any:
    """The value of a Constant, or nothing for text."""
    return {KIND.TENSOR: lambda: attribute.t, KIND.FLOAT: lambda: numpy.array(attribute.f, "f4"),
            KIND.INT: lambda: numpy.array(attribute.i, "i8"), KIND.FLOATS: lambda: numpy.array(attribute.floats, "f4"),
            KIND.INTS: lambda: numpy.array(attribute.ints, "i8")}.get(attribute.type, lambda: None)()  # fmt: skip


def constants(nodes: Any, initializers: Any) -> Iterator[tuple[str, Any]]:
    """Name and value of each, and of those in the graphs of the nodes."""
    yield from ((each.name, each) for each in initializers)
    for node in nodes:
        for attribute in node.attribute:
            if node.op_type == "Constant":
                yield node.output[0], constant_of(attribute)
            elif attribute.type == KIND.TENSOR:
                is_output = node.op_type == "ConstantOfShape"
                yield node.output[0] if is_output else f"{node.name or node.output[0]}.{attribute.name}", attribute.t
            for graph in [attribute.g] if attribute.type == KIND.GRAPH else attribute.graphs:
                yield from constants(graph.node, graph.initializer)


def problem_of(inspect: list[str], path: Path) -> str | None:
    """What is wrong with one model, or None."""
    model = onnx.load(path)
    wanted: Counter[tuple[str, Value]] = Counter()
    inside = [(model.graph.node, model.graph.initializer), *((each.node, []) for each in model.functions)]
    for name, content in (each for nodes, tensors in inside for each in constants(nodes, tensors)):
        value = value_of(content) if content is not None else None
        if value is not None:
            wanted[name, value] += 1
    result = subprocess.run([*inspect, "--json", str(path)], capture_output=True, check=False)
    if result.returncode != 0:
        return f"status {result.returncode}: {result.stderr.decode(errors='replace').strip()}"
    found: Counter[tuple[str, Value]] = Counter()
    names = {name for name, _ in wanted}
    for each in json.loads(result.stdout)["objects"]:
        if "data" not in each["components"]:
            continue
        name = each["name"]
        while name not in names and "/" in name:  # the path of a name that another graph has
            name = name.partition("/")[2]
        found[name, (tuple(each["shape"]), each["components"]["data"]["decoded_sha256"])] += 1
    if found == wanted:
        return None
    return f"it lacks {list((wanted - found).items())[:3]}, and has {list((found - wanted).items())[:3]} besides"


def main(words: list[str] | None = None) -> int:
    """Fetch and compare; each model gets a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--inspect", nargs="+", required=True)
    parser.add_argument("--packages", nargs="+", default=PACKAGES)
    arguments = parser.parse_args(words)
    passed = failed = 0
    for package in arguments.packages:
        folder = arguments.out / package
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                        "--dest", str(folder), package], check=True)  # fmt: skip
        for wheel in sorted(folder.glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                for name in (each for each in archive.namelist() if each.endswith(".onnx")):
                    path = Path(archive.extract(name, folder))
                    problem = problem_of(arguments.inspect, path)
                    print(f"{'ok' if problem is None else 'FAIL'} {path}{'' if problem is None else ': ' + problem}")
                    passed, failed = passed + (problem is None), failed + (problem is not None)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
