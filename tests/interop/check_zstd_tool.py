#!/usr/bin/env python3
"""Let the tool `zstd` decode what the library compressed: large components, which are many frames, are plain streams.

Usage: check_zstd_tool.py --work FOLDER --tool ZSTD --zt COMMAND...
Sizes lie around those of a frame. Of each file the blob alone is handed to the tool. Ends with 'N passed, N failed'.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from pathlib import Path

from oracle.index import read

FRAME = 1 << 20
SIZES = (1000, FRAME - 1, FRAME, FRAME + 1, 3 * FRAME, 3 * FRAME + 123)


def npy(content: bytes) -> bytes:
    """A .npy file of bytes."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({len(content)},), }}"
    header = header.ljust(-(len(header) + 11) % 64 + len(header)) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + content


def problem(work: Path, tool: str, zt: list[str], content: bytes) -> str | None:
    """What is wrong with a file of that content, or None."""
    source, target = work / "content.npy", work / "content.zt"
    source.write_bytes(npy(content))
    target.unlink(missing_ok=True)
    subprocess.run([*zt, "convert", "--zstd", source, target], check=True, capture_output=True)
    file = target.read_bytes()
    (tensor,) = read(file).objects
    (part,) = tensor.components.values()
    if part.encoding != "zstd":
        return f"the encoding is {part.encoding}"
    blob = file[part.offset : part.offset + part.length]
    decoded = subprocess.run([tool, "-d", "-c"], input=blob, capture_output=True)
    if decoded.returncode != 0:
        return decoded.stderr.decode(errors="replace")
    return None if decoded.stdout == content else "it decodes to other bytes"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--zt", nargs="+", required=True)
    options = parser.parse_args()
    dice = random.Random(1)
    failed = 0
    for size in SIZES:
        content = bytes(dice.choices(range(16), k=size))
        found = problem(options.work, options.tool, options.zt, content)
        if found is not None:
            failed += 1
            print(f"{size} bytes: {found}")
    print(f"{len(SIZES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
