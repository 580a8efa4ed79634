# SPDX-License-Identifier: MIT
"""Compiles headers without making object code, to see that each includes what it needs, and may be included twice.

usage: headers_alone.py public|wings|chains PART INCLUDE_FOLDER SKIPPED INCLUDE_FOLDERS WARNINGS COMPILER FLAG...

public: each public header alone. wings: each header of detail/ alone. chains: all headers, for compiled mode, where no
header includes another in a circle; in chains, each of which is one file. In a chain every header includes the one
before it, directly or not. So it sees nothing but what it would see alone, and if each of the headers that it includes
compiles in its own chain, then it would also compile alone.

PART is K/N: every N-th file from the K-th on. SKIPPED are the names of headers that are not for this system or mode. All
SKIPPED, INCLUDE_FOLDERS and WARNINGS are one word each, separated by semicolons.
"""

import pathlib
import subprocess
import sys
import tempfile

import house


def chains_of(graph):
    """Lists of headers that hold every header once; in each, every header reaches the one before it. As few as can be:
    a largest matching of headers with headers that come behind them (Dilworth)."""
    reached = {name: house.reachable(graph, name) & set(graph) for name in graph}
    before = {}  # header → the one in front of it in its chain

    def match(name, tried):
        for other in sorted(reached[name], key=lambda each: -len(reached[each])):
            if other not in tried:
                tried.add(other)
                if other not in behind or match(behind[other], tried):
                    behind[other] = name
                    before[name] = other
                    return True
        return False

    behind = {}  # header → the one behind it
    for name in sorted(graph, key=lambda each: len(reached[each])):
        match(name, set())
    chains = []
    for name in sorted(set(graph) - set(behind)):
        chain = [name]
        while chain[-1] in before:
            chain.append(before[chain[-1]])
        chains.append(chain[::-1])
    return chains


def files_to_compile(kind, root, skipped):
    """Lists of headers; each list makes a file."""
    headers = {header: text for header, text in house.read_headers(root.parent).items()
               if pathlib.PurePosixPath(header).name not in skipped}
    if kind == "chains":
        return chains_of(house.include_graph(headers))
    return [[header[:-len(".hpp")]] for header in headers if house.is_public(header[:-len(".hpp")]) == (kind == "public")]


def compile_file(names, scratch, compiler):
    source = pathlib.Path(scratch) / "alone.cpp"
    source.write_text("".join(f"#include <ztensor/{name}.hpp>\n" for name in [*names, *names]), encoding="utf-8")
    done = subprocess.run([*compiler, str(source)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True)
    if done.stdout:
        print(f"{', '.join(names)}:\n{done.stdout}")
    return done.returncode == 0


def main():
    kind, (part, parts), root = sys.argv[1], map(int, sys.argv[2].split("/")), pathlib.Path(sys.argv[3])
    skipped, includes, warnings = ([part for part in word.split(";") if part] for word in sys.argv[4:7])
    compiler = [*sys.argv[7:], *warnings, *(f"-I{include}" for include in includes)]
    files = files_to_compile(kind, root, skipped)[part - 1::parts]
    with tempfile.TemporaryDirectory() as scratch:
        failed = [names for names in files if not compile_file(names, scratch, compiler)]
    print(f"{sum(map(len, files))} headers compiled in {len(files)} files, {len(failed)} of them in vain")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
