#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opening files of many objects beside the reference 1.2.3 and safetensors, each a process of its own.

usage: peers.py BUILD_FOLDER FOLDER ROUNDS [SVG]

FOLDER holds what `operations` wrote. Processes alternate; each tells the median of its rounds, and what counts is the
median of five processes. Safetensors gets an index of as many tensors with the same names, and only parses it; it takes
none of more than 100 MB, which a million tensors need. GGUF has no peer but itself: what one tensor takes must not grow
with their number. With SVG, draws how the times grow.
"""

import json
import pathlib
import statistics
import struct
import subprocess
import sys

COUNTS = (300, 10_000, 100_000, 1_000_000)
GOALS = {300: 12, 100_000: 20, 1_000_000: 10}
MOST_OF_SAFETENSORS = 100_000
PROCESSES = 5


def write_safetensors(path, count):
    header = {f"model.layers.{i:07}.self_attn.q_proj.weight":
              {"dtype": "F32", "shape": [2, 2], "data_offsets": [16 * i, 16 * i + 16]} for i in range(count)}
    text = json.dumps(header, separators=(",", ":")).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + bytes(16 * count))


def run(command):
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(build, folder, rounds):
    peers, ours = build / "peers" / "release" / "peers", build / "tests" / "bench" / "open_bench"
    rows = {}
    for count in COUNTS:
        zt, safe = folder / f"objects-{count}.zt", folder / f"objects-{count}.safetensors"
        has_safetensors = count <= MOST_OF_SAFETENSORS
        if has_safetensors:
            write_safetensors(safe, count)
        each = str(max(3, min(int(rounds) * 10, 3_000_000 // count)))
        times = {"ours": [], "reference": [], "safetensors": [], "open_any": []}
        for _ in range(PROCESSES):
            times["ours"].append(run([ours, "open", zt, each]))
            times["reference"].append(run([peers, "ztensor-open", zt, each]))
            if has_safetensors:
                times["safetensors"].append(run([peers, "safetensors-open", safe, each]))
                times["open_any"].append(run([ours, "open-any", safe, each]))
        rows[count] = {name: statistics.median(values) for name, values in times.items() if values}
        if has_safetensors:
            safe.unlink()
    return rows


def print_table(rows):
    print("| objects | ours | reference 1.2.3 | ratio | goal | | safetensors (Rust, parsing only) | ratio "
          "| open_any of that file | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for count, row in rows.items():
        ratio, goal = row["reference"] / row["ours"], GOALS.get(count)
        verdict = "" if goal is None else "met" if ratio >= goal else "missed"
        print(f"| {count:,} | {row['ours']:,.0f} us | {row['reference']:,.0f} us | {ratio:.1f} | {goal or ''} | {verdict} "
              + (f"| {row['safetensors']:,.0f} us | {row['safetensors'] / row['ours']:.1f} "
                 f"| {row['open_any']:,.0f} us | {row['safetensors'] / row['open_any']:.1f} |" if "safetensors" in row
                 else "| | | | |"))


def write_model(path):
    """256 MiB in 64 tensors."""
    size = 4 << 20
    header = {f"layers.{i:02}.weight": {"dtype": "F32", "shape": [1024, 1024], "data_offsets": [size * i, size * i + size]}
              for i in range(64)}
    text = json.dumps(header, separators=(",", ":")).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for i in range(64):
            file.write(bytes([i]) * size)


def compare_loading(build, folder):
    """All elements of a safetensors file into memory of their own: ours on all processors, theirs from a mapping."""
    path = folder / "model.safetensors"
    write_model(path)
    peers, ours = build / "peers" / "release" / "peers", build / "tests" / "bench" / "open_bench"
    times = {"ours": [], "theirs": []}
    for _ in range(PROCESSES):
        times["ours"].append(run([ours, "load-any", path, "5"]))
        times["theirs"].append(run([peers, "safetensors-load", path, "5"]))
    path.unlink()
    mine, other = statistics.median(times["ours"]), statistics.median(times["theirs"])
    print("\n| loading 256 MiB of safetensors | open_any, read_all | safetensors (Rust), a copy of each | ratio |")
    print("| --- | --- | --- | --- |")
    print(f"| 64 tensors | {mine / 1000:,.1f} ms | {other / 1000:,.1f} ms | {other / mine:.1f} |")


def write_gguf(path, count):
    """Tensors of f32 [2, 2], with a vocabulary of as many tokens in front of them."""
    def text(value):
        return struct.pack("<Q", len(value)) + value

    parts = [b"GGUF", struct.pack("<IQQ", 3, count, 1), text(b"tokenizer.ggml.tokens"), struct.pack("<IIQ", 9, 8, count)]
    parts += [text(b"token %d" % i) for i in range(count)]
    parts += [text(b"model.layers.%07d.self_attn.q_proj.weight" % i) + struct.pack("<IQQIQ", 2, 2, 2, 0, 32 * i)
              for i in range(count)]
    head = b"".join(parts)
    path.write_bytes(head + bytes(-len(head) % 32 + 32 * count))


def compare_gguf(build, folder):
    """The time for one tensor, in files of 10,000 and of ten times as many."""
    ours, nanoseconds = build / "tests" / "bench" / "open_bench", {}
    for count in (10_000, 100_000):
        path = folder / f"objects-{count}.gguf"
        write_gguf(path, count)
        times = [run([ours, "open-any", path, "15"]) for _ in range(PROCESSES)]
        nanoseconds[count] = statistics.median(times) * 1000 / count
        path.unlink()
    few, many = nanoseconds.values()
    print("\n| opening GGUF | 10,000 tensors and tokens | 100,000 | ratio | goal | |")
    print("| --- | --- | --- | --- | --- | --- |")
    print(f"| time for one of each | {few:,.0f} ns | {many:,.0f} ns | {many / few:.2f} | 1.5 "
          f"| {'met' if many <= 1.5 * few else 'missed'} |")


def draw(rows, path):
    """Both axes are logarithmic: a straight line of slope 1 is a time that grows with the number of objects."""
    import math
    width, height, left, bottom = 640, 400, 70, 50
    lowest, highest = 1, 7  # powers of ten of microseconds
    x = lambda count: left + (math.log10(count) - 2) / 4.2 * (width - left - 130)
    y = lambda micros: height - bottom - (math.log10(micros) - lowest) / (highest - lowest) * (height - bottom - 20)
    colours = {"ours": "#0a7d32", "reference": "#b3261e", "safetensors": "#5b5bd6"}
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           'font-size="12"><title>Time to open a file by its number of objects</title>'
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for power in range(lowest, highest + 1):
        label = ("10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s", "10 s")[power - 1]
        out.append(f'<path d="M{left} {y(10 ** power):.0f}H{width - 130}" stroke="#ddd"/>'
                   f'<text x="{left - 8}" y="{y(10 ** power) + 4:.0f}" text-anchor="end">{label}</text>')
    for count in rows:
        out.append(f'<text x="{x(count):.0f}" y="{height - bottom + 20}" text-anchor="middle">{count:,}</text>')
    out.append(f'<text x="{(left + width - 130) / 2:.0f}" y="{height - 10}" text-anchor="middle">objects</text>')
    for name, colour in colours.items():
        points = [(x(count), y(row[name])) for count, row in rows.items() if name in row]
        out.append(f'<path d="M{" L".join(f"{a:.1f} {b:.1f}" for a, b in points)}" fill="none" stroke="{colour}" '
                   'stroke-width="2"/>')
        out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in points]
        out.append(f'<text x="{points[-1][0] + 8:.0f}" y="{points[-1][1] + 4:.0f}" fill="{colour}">{name}</text>')
    pathlib.Path(path).write_text("\n".join(out) + "\n</svg>\n", encoding="utf-8")


def main():
    rows = measure(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3])
    print_table(rows)
    compare_loading(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    compare_gguf(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    if len(sys.argv) > 4:
        draw(rows, sys.argv[4])


if __name__ == "__main__":
    main()
