# SPDX-License-Identifier: MIT
"""Two commits beside each other: opening indices of every kind, and the table of operations.

usage: compare.py COMMIT_A COMMIT_B [--pairs 15] [--only opens|operations] [--groups GROUP ...] [--rounds N] [--least]
                  [--folder FOLDER] [--launcher WORDS]

Builds both in folders of their own, header-only and optimised, and runs them in turns, A and B in an order that changes
from pair to pair. Prints for each row how many times as fast B is as A: the median of the pairs' ratios, with a 90 %
interval (by resampling the pairs), and opens also beside a bare walk of the same index in the same process.

Opens are those of frozen.cpp, families.hpp and walk.hpp of this tree, for both commits alike. Operations are each
commit's own tests/bench/operations.cpp, whose table.hpp must know ZTENSOR_BENCH_ROWS; they need 4 GB of disk.
"""

import argparse
import io
import os
import pathlib
import random
import shlex
import statistics
import subprocess
import sys
import tarfile

BENCH = pathlib.Path(__file__).resolve().parent
PROJECT = BENCH.parents[1]
LIBRARIES = ["-lzstd", "-lz", "-lxxhash", "-pthread"]
RESAMPLES = 2000


def run(command, **more):
    return subprocess.run([str(each) for each in command], check=True, text=True, **more)


def tree_of(commit, folder):
    """The commit's files, taken anew, and its full name."""
    name = run(["git", "-C", PROJECT, "rev-parse", "--short=12", commit], capture_output=True).stdout.strip()
    tree = folder / name
    if not tree.exists():
        archive = subprocess.run(["git", "-C", str(PROJECT), "archive", name], check=True, capture_output=True)
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as opened:
            opened.extractall(tree)
    return tree


def build_opens(tree, launcher):
    program = tree / "frozen"
    if not program.exists() or program.stat().st_mtime < (BENCH / "frozen.cpp").stat().st_mtime:
        compiler = [*launcher, os.environ.get("CXX", "g++"), "-std=c++17", "-O3", "-DNDEBUG", f"-I{tree / 'include'}"]
        run([*compiler, "-c", BENCH / "frozen.cpp", "-o", tree / "frozen.o"])
        run([*compiler[len(launcher):], tree / "frozen.o", "-o", program, *LIBRARIES])
    return program


def build_operations(tree, launcher):
    if "ZTENSOR_BENCH_ROWS" not in (tree / "tests/bench/table.hpp").read_text(encoding="utf-8"):
        sys.exit(f"{tree.name}: its table.hpp prints no rows for this script; compare later commits, or --only opens")
    build = tree / "build"
    settings = ["-DCMAKE_BUILD_TYPE=Release", "-DZTENSOR_BUILD_BENCHMARKS=ON", "-DZTENSOR_BUILD_TESTS=OFF",
                "-DZTENSOR_BUILD_EXAMPLES=OFF"]
    if launcher:
        settings.append("-DCMAKE_CXX_COMPILER_LAUNCHER=" + ";".join(launcher))
    run(["cmake", "-S", tree, "-B", build, *settings], stdout=subprocess.DEVNULL)
    run(["cmake", "--build", build, "--target", "ztensor_operations"], stdout=subprocess.DEVNULL)
    return next(build.rglob("operations"))


def rows_of(command, column):
    """What a program printed: by name the time of ours, and that of the rival. A name may stand twice."""
    rows = {}
    for line in run(command, capture_output=True, env={**os.environ, "ZTENSOR_BENCH_ROWS": "1"}).stdout.splitlines():
        fields = line.split("\t")
        if len(fields) == 5:
            name, number = fields[0], 2
            while name in rows:
                name, number = f"{fields[0]} ({number})", number + 1
            rows[name] = (float(fields[1 + column]), float(fields[3 + column]))
    return rows


def interval(ratios):
    """5 % of resampled medians are below it, and 5 % above."""
    dice = random.Random(7)
    medians = sorted(statistics.median(dice.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return medians[RESAMPLES // 20], medians[-1 - RESAMPLES // 20]


def compare(title, commands, options, rival):
    """`commands` are those of A and of B."""
    pairs = options.pairs
    measured = [[], []]
    for pair in range(pairs):
        for which in (0, 1) if pair % 2 == 0 else (1, 0):
            measured[which].append(rows_of(commands[which], int(options.least)))
        print(f"\r{title}: pair {pair + 1} of {pairs}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(f"\n| {title} | A | B | speed, B ÷ A | 90 % interval | A ÷ {rival} | B ÷ {rival} |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    all_ratios = []
    for name in measured[0][0]:
        if name not in measured[1][0]:
            print(f"| {name} | | not there | | | | |")
            continue
        both = [[run_[name] for run_ in each] for each in measured]
        ratios = [a[0] / b[0] for a, b in zip(*both)]
        low, high = interval(ratios)
        times = [statistics.median(time for time, _ in each) for each in both]
        beside = [statistics.median(other / time for time, other in each) for each in both]
        all_ratios.append(statistics.median(ratios))
        print(f"| {name} | {times[0] * 1e6:,.1f} us | {times[1] * 1e6:,.1f} us | {all_ratios[-1]:.3f} | "
              f"{low:.3f} – {high:.3f} | {beside[0]:.2f} | {beside[1]:.2f} |")
    print(f"| geometric mean | | | {statistics.geometric_mean(all_ratios):.3f} | | | |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commits", nargs=2, metavar="COMMIT")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=3, help="of each program, of which the medians count")
    parser.add_argument("--least", action="store_true", help="the fastest rounds count, which a busy machine disturbs less")
    parser.add_argument("--only", choices=["opens", "operations"])
    parser.add_argument("--groups", nargs="*", default=[], help="of operations: opening, reading, verifying, …")
    parser.add_argument("--folder", type=pathlib.Path, default=PROJECT / "build" / "compare")
    parser.add_argument("--launcher", default="", help="in front of the compiler, such as ccache")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    launcher = shlex.split(options.launcher)
    trees = [tree_of(commit, options.folder.resolve()) for commit in options.commits]
    print(f"A is {trees[0].name}, B is {trees[1].name}.")
    if options.only != "operations":
        programs = [build_opens(tree, launcher) for tree in trees]
        compare("opening, in memory", [[each, options.rounds] for each in programs], options, "a bare walk")
    if options.only != "opens":
        programs = [build_operations(tree, launcher) for tree in trees]
        files = options.folder / "files"
        files.mkdir(exist_ok=True)
        commands = [[each, files, options.rounds, *options.groups] for each in programs]
        compare("operation", commands, options, "the rival")


if __name__ == "__main__":
    main()
