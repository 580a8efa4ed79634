#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Floats in planes beside raw ones, zstd and ZipNN, as a table. Needs the packages zipnn and numpy; PyTorch, which zipnn
imports, but does not use for bytes, may be missing.

usage: planes.py PROGRAM FOLDER [ROUNDS [MODEL...]]     PROGRAM is planes.cpp, built; FOLDER gets 2 GB

Shares are of the raw bytes, speeds are GB/s of raw elements. Encoding, and reading from memory to memory, are by one thread
and in its CPU time, the others in time that went by; least of all rounds. "Cold" is a file that the cache has lost.
"""

import pathlib
import subprocess
import sys
import time
import unittest.mock

WIDTHS = {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}


def zipnn_of():
    try:
        import torch  # noqa: F401
    except ImportError:
        for name in ("torch", "torch.nn", "torch.jit"):
            sys.modules[name] = unittest.mock.MagicMock()
        sys.modules["torch"].nn.Module = sys.modules["torch"].nn.Parameter = object
    from zipnn import ZipNN
    return ZipNN


def measure_zipnn(zipnn, data, dtype, rounds):
    codec = zipnn(bytearray_dtype=WIDTHS[dtype], input_format="byte", threads=1)
    writing = reading = 1e9
    for _ in range(rounds):
        copy = bytearray(data)  # which it changes
        begin = time.process_time()
        stored = codec.compress(copy)
        writing = min(writing, time.process_time() - begin)
        copy = bytes(stored)
        begin = time.process_time()
        back = codec.decompress(copy)
        reading = min(reading, time.process_time() - begin)
    if bytes(back) != data:
        sys.exit("ZipNN gave other bytes back")
    return len(stored) / len(data), writing, reading


def row(name, dtype, way, share, size, times):
    speeds = [f"{size / each / 1e9:.2f}" if each else "" for each in times]
    print(f"| {name} | {dtype} | {way} | {share:.3f} | " + " | ".join(speeds) + " |", flush=True)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    rounds, models = sys.argv[3] if len(sys.argv) > 3 else "5", sys.argv[4:]
    try:
        zipnn = zipnn_of()
    except ImportError as why:
        zipnn = None
        print(f"without ZipNN: {why}", file=sys.stderr)
    print("| elements | type | stored | share | encode | read, memory | read, 1 thread | 2 threads | cold |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    process = subprocess.Popen([program, str(folder), rounds, *models], stdout=subprocess.PIPE, text=True)
    number = 0
    for line in process.stdout:
        name, dtype, size, way, share, *times = line.strip().split("|")
        row(name, dtype, way, float(share), int(size), [float(each) for each in times])
        if way != "planes":
            continue
        path = folder / f"planes_{number}.bin"
        number += 1
        if zipnn:
            share, *of_zipnn = measure_zipnn(zipnn, path.read_bytes(), dtype, int(rounds))
            row(name, dtype, "ZipNN", share, int(size), of_zipnn + [0, 0, 0])
        path.unlink()
    (folder / "planes.zt").unlink(missing_ok=True)
    sys.exit(process.wait())


if __name__ == "__main__":
    main()
