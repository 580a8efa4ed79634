# SPDX-License-Identifier: MIT
"""Compiles headers without making object code, to see that each includes what it needs, and may be included twice.

usage: headers_alone.py public|all PART INCLUDE_FOLDER SKIPPED INCLUDE_FOLDERS WARNINGS COMPILER FLAG...

The public headers, or all of them, in chains, each of which is one file. In a chain every header includes the one before
it, directly or not, and is not included by it. So it sees nothing but what it would see alone, and if each of the headers
that it includes compiles in its own chain, then it would also compile alone. In header-only mode headers include one
another in circles; those of one circle stand in different chains.

PART is K/N: every N-th file from the K-th on. SKIPPED are the ends of the paths of headers that are not for this system or mode.
SKIPPED, INCLUDE_FOLDERS and WARNINGS are one word each, separated by semicolons. The mode is that of the FLAGs.
"""

import pathlib
import subprocess
import sys
import tempfile

import house


def chains_of(graph, wanted=None):
    """Lists of headers that hold every `wanted` header once (all, unless given); in each, every header reaches the one
    before it, which does not reach it. As few as can be: a largest matching of headers with headers that come behind
    them (Dilworth)."""
    wanted = set(graph if wanted is None else wanted)
    reached = {name: house.reachable(graph, name) for name in graph}
    reached = {name: {other for other in reached[name] & wanted if name not in reached[other]} for name in wanted}
    before = {}  # header → the one in front of it in its chain

    def match(name, tried):
        for other in sorted(reached[name], key=lambda each: (-len(reached[each]), each)):
            if other not in tried:
                tried.add(other)
                if other not in behind or match(behind[other], tried):
                    behind[other] = name
                    before[name] = other
                    return True
        return False

    behind = {}  # header → the one behind it
    for name in sorted(wanted, key=lambda each: (len(reached[each]), each)):
        match(name, set())
    chains = []
    for name in sorted(wanted - set(behind)):
        chain = [name]
        while chain[-1] in before:
            chain.append(before[chain[-1]])
        chains.append(chain[::-1])
    return chains


def files_to_compile(kind, root, skipped, is_compiled_mode):
    """Lists of headers; each list makes a file."""
    headers = {header: text for header, text in house.read_headers(root.parent).items()
               if not any(f"/{header}".endswith(f"/{end}") for end in skipped)}
    graph = house.include_graph(headers)
    if not is_compiled_mode:
        graph = {name: [*graph[name], *house.tails(headers[f"{name}.hpp"])] for name in graph}
    return chains_of(graph, [name for name in graph if kind == "all" or house.is_public(name)])


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
    files = files_to_compile(kind, root, skipped, "-DZTENSOR_COMPILED" in compiler)[part - 1::parts]
    with tempfile.TemporaryDirectory() as scratch:
        failed = [names for names in files if not compile_file(names, scratch, compiler)]
    print(f"{sum(map(len, files))} headers compiled in {len(files)} files, {len(failed)} of them in vain")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
