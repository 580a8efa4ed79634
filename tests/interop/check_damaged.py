#!/usr/bin/env python3
"""Damage files, and compare who opens what is left: the library, the second implementation, the reference.

Usage: check_damaged.py DIRECTORY... --inspect COMMAND... [--count N] [--seed N]
N files are made of the .zt files of up to 16 KiB in the directories: the index changed at random, its size in the footer
right, mostly. What must hold of each:
  - the library opens exactly what the second implementation (oracle/) takes for a file without a broken rule;
  - what the reference refuses, the library refuses, unless oracle/reference_limits.py says why it need not;
  - what the library refuses and the reference opens is for a rule on the list STRICTER.
Ends with a table of all outcomes; status 0 if nothing else happened.
"""

from __future__ import annotations

import argparse
import collections
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from oracle.container import locate, scanned
from oracle.description import describe
from oracle.model import FormatError
from oracle.need import require
from oracle.reference_limits import refusals

ztensor = require("ztensor", "requirements-reference.txt")

MOST_BYTES = 16 * 1024
WORDS = [b"raw", b"zstd", b"dense", b"f32", b"u8", b"i64", b"bool", b"data", b"shape", b"offset", b"length", b"digest",
         b"values", b"indices", b"indptr", b"coords", b"format", b"dtype", b"encoding", b"type", b"size"]  # fmt: skip

# What the library refuses at open and the reference does not, by the library's sentences: rules of the specification or
# its rulings that the reference looks at only when a tensor is read, or never.
STRICTER = {
    r"needs a component": "the roles of a format are required",
    r"a zstd blob without": "the decoded size of a zstd blob is stated",
    r"a raw blob has a length of": "a raw blob is as long as it is said to be decoded",
    r"is not .* hex digits": "a digest of a known algorithm is spelled right",
    r"where the manifest starts": "blobs lie before the manifest",
    r"not a multiple of": "blobs are aligned",
    r"two blobs share bytes": "blobs are the same or apart",
    r"the data takes": "the size of the data is that of its shape",
    r"there are .* elements, but": "the parts of a sparse or quantized object fit together",
    r"no whole number of elements": "index arrays hold whole elements",
    r"the manifest is of version": "other versions may mean anything",
    r"data_endianness": "0.1 knows two byte orders",
    r"a key that is not text": "keys of the schema are texts",
    r"bytes follow the manifest's root item": "the index is one item",
    r"twice|two objects have this name": "no key, role or name stands twice",
    r"a name holds the character": "names hold no controls",
    r"where the file's magic stands": "no blob lies in the magic",
    r"must be u64": "1.2 has u64 indices only",
    r"a required field is missing: \"sparse_format\"": "a sparse tensor of 0.1 says of which kind it is",
    r"an array is required": "the index of 0.1 is an array without a tag",
    r"(a text string|a map|an unsigned integer) is required|an object has no components": "fields are of their kinds",
    r"no whole number of entries|but the pointers of": "the one blob of a sparse tensor of 0.1 holds whole entries",
    r"does not fit|too large|overflow|64 bits": "sizes fit in 64 bits",
    r"nested deeper": "nesting ends at 64",
}
# Where the library and the second implementation differ, by the sentence of the one that refuses.
ONLY_THE_SECOND_REFUSES = {
    "invalid UTF-8": "texts in attributes and unknown fields, which the library looks at when it is asked for them",
    "are no whole number of": "index arrays of a logical type that nobody knows",
}
ONLY_THE_LIBRARY_REFUSES = {
    "data_endianness is neither": "the second implementation takes any other word for little",
    "is stored as": "the second implementation doesn't look at the types of empty data",
}


def damaged(data: bytes, dice: random.Random) -> bytes:
    """One file with a changed index."""
    index = locate(data)
    start, end = index.start, index.start + index.length
    cbor = bytearray(data[start:end])
    for _ in range(dice.choice((1, 1, 1, 1, 2))):
        change(cbor, dice)
    size = len(cbor) + (dice.choice((-1, 1, 64)) if dice.random() < 0.03 else 0)
    tail = data[end + 8 :]
    if dice.random() < 0.02:
        tail = tail[: dice.randrange(len(tail) + 1)]
    return data[:start] + bytes(cbor) + max(size, 0).to_bytes(8, "little") + tail


def change(cbor: bytearray, dice: random.Random) -> None:
    """Change something in place."""
    if not cbor:
        return
    at = dice.randrange(len(cbor))
    kind = dice.randrange(6)
    if kind == 0:
        cbor[at] = dice.randrange(256)
    elif kind == 1:
        cbor[at] ^= 1 << dice.randrange(8)
    elif kind == 2:
        del cbor[at : at + dice.choice((1, 1, 2, 8))]
    elif kind == 3:
        other = dice.randrange(len(cbor))
        cbor[at:at] = cbor[other : other + dice.choice((1, 2, 8, 32))]
    elif kind == 4:
        found = [match for word in WORDS for match in re.finditer(re.escape(word), cbor)]
        if found:
            match = dice.choice(found)
            word = dice.choice(WORDS)
            if cbor[match.start() - 1] == 0x60 + len(match.group()):  # keeps the item well-formed
                cbor[match.start() - 1 : match.end()] = bytes([0x60 + len(word)]) + word
    else:
        cbor[at] = (cbor[at] & 0xE0) | dice.randrange(24)  # another argument of the same kind


def reference_opens(path: Path) -> bool:
    """Whether the reference opens it; a panic of it is no Exception."""
    try:
        ztensor.Reader(str(path))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return False
    return True


def broken_rule(data: bytes) -> str | None:
    """What the second implementation finds, contents included."""
    try:
        describe(data)
    except FormatError as error:
        return str(error)
    return None


def fault_of_1_0(data: bytes) -> str:
    """What is wrong with the CBOR of a file without magic at the end; a file cut off is no more than that to locate()."""
    try:
        scanned(data, "1.0", footer=8)
    except FormatError as error:
        return str(error)
    return ""


def why_refused(inspect: list[str], path: Path, *flags: str) -> str | None:
    """The library's sentence; None if it takes the file."""
    result = subprocess.run([*inspect, *flags, str(path)], capture_output=True, check=False)
    return result.stderr.decode(errors="replace").strip() if result.returncode else None


class Tally:
    """What happened, and what should not have."""

    def __init__(self) -> None:
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.wrong = 0

    def compare(self, inspect: list[str], path: Path, origin: str) -> None:
        """Compare the three on one file."""
        data = path.read_bytes()
        at_open, in_all = why_refused(inspect, path), why_refused(inspect, path, "--json")
        rule = broken_rule(data)
        theirs = reference_opens(path)
        known = None
        if in_all is None and rule is not None:
            sentence = rule + fault_of_1_0(data)
            known = next((why for words, why in ONLY_THE_SECOND_REFUSES.items() if words in sentence), None)
        elif in_all is not None and rule is None:
            known = next((why for words, why in ONLY_THE_LIBRARY_REFUSES.items() if words in in_all), None)
        if known is not None:
            self.outcomes["opened or refused: " + known] += 1
        elif (in_all is None) != (rule is None):
            self.report(path, origin, f"the library says {in_all!r}, the second implementation {rule!r}")
        elif at_open is None and not theirs:
            limits = refusals(data)
            if not limits:
                self.report(path, origin, "the reference refuses what the library opens")
            self.outcomes["opened; the reference refuses " + (re.sub(r"'.*", "…", limits[0]) if limits else "?")] += 1
        elif at_open is not None and theirs:
            reason = next((why for words, why in STRICTER.items() if re.search(words, at_open)), None)
            if reason is None:
                self.report(path, origin, f"only the library refuses it: {at_open}")
            self.outcomes[f"stricter, as {reason}"] += 1
        else:
            self.outcomes["both open" if theirs else "both refuse"] += 1

    def report(self, path: Path, origin: str, what: str) -> None:
        """Count and print a difference, and keep its file."""
        self.wrong += 1
        kept = Path(tempfile.gettempdir()) / f"damaged-{self.wrong}.zt"
        kept.write_bytes(path.read_bytes())
        print(f"FAIL {kept} from {origin}: {what}")


def main(words: list[str] | None = None) -> int:
    """Damage and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--inspect", nargs="+", required=True)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(words)
    paths = [path for folder in arguments.directories for path in sorted(folder.rglob("*.zt"))]
    paths = [path for path in paths if path.stat().st_size <= MOST_BYTES]
    dice = random.Random(arguments.seed)
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "damaged.zt"
        for _ in range(arguments.count):
            origin = dice.choice(paths)
            made.write_bytes(damaged(origin.read_bytes(), dice))
            tally.compare(arguments.inspect, made, origin.name)
    for outcome, times in tally.outcomes.most_common():
        print(f"{times:7}  {outcome}")
    print(f"{arguments.count} damaged files, {tally.wrong} differences")
    return 0 if paths and not tally.wrong else 1


if __name__ == "__main__":
    sys.exit(main())
