# SPDX-License-Identifier: MIT
"""What llvm-cov-19 knows about include/ztensor, by header: uses of a template or an inline function count together.

usage: report.py PROGRAM PROFILE FOLDER

Prints the table that FOLDER/summary.md gets; FOLDER/uncovered.txt gets every line, branch and condition that is missing,
with its text.
"""

import collections
import json
import pathlib
import subprocess
import sys

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include" / "ztensor"
# Of these every condition of every decision must be shown to matter.
CHECKS = {"footer": "detail/manifest/footer.hpp", "cbor": "detail/cbor/", "manifest": "detail/manifest/"}


def export(program, profile, *more):
    return subprocess.run(["llvm-cov-19", "export", program, f"-instr-profile={profile}", *more, str(INCLUDE)],
                          stdout=subprocess.PIPE, check=True, text=True).stdout


class header:
    def __init__(self, name):
        self.name = name
        self.source = (INCLUDE / name).read_text(encoding="utf-8").split("\n")
        self.lines = {}  # count by number
        self.branches = collections.defaultdict(lambda: [0, 0])  # how often true and false, by place
        self.decisions = {}  # by place, for each condition whether it was shown to matter

    def missing_lines(self):
        return [number for number, count in sorted(self.lines.items()) if count == 0]

    def missing_branches(self):
        """(place, "true" or "false")"""
        return [(place, way) for place, counts in sorted(self.branches.items())
                for way, count in zip(("true", "false"), counts) if count == 0]

    def missing_conditions(self):
        return [(place, number) for place, shown in sorted(self.decisions.items())
                for number, each in enumerate(shown) if not each]

    def figures(self):
        """Missing and all: lines, branches, conditions."""
        return ((len(self.missing_lines()), len(self.lines)),
                (len(self.missing_branches()), 2 * len(self.branches)),
                (len(self.missing_conditions()), sum(map(len, self.decisions.values()))))

    def text(self, place):
        line, column, last, end = place
        return " ".join(part.strip() for part in
                        [self.source[line - 1][column - 1:end - 1 if line == last else None],
                         *self.source[line:last - 1], *([self.source[last - 1][:end - 1]] if last > line else [])])

    def is_folded(self, place):
        """Decided when compiling: no test can choose another way."""
        return "if constexpr" in self.source[place[0] - 1] or "if constexpr" in self.source[place[0] - 2]


def read_headers(program, profile):
    headers = {}

    def header_of(path):
        name = pathlib.Path(path).resolve().relative_to(INCLUDE).as_posix()
        return headers.setdefault(name, header(name))

    current = None
    for line in export(program, profile, "-format=lcov").split("\n"):
        if line.startswith("SF:"):
            current = header_of(line[3:])
        elif line.startswith("DA:"):
            number, count = line[3:].split(",")[:2]
            current.lines[int(number)] = max(current.lines.get(int(number), 0), int(count))
    for file in json.loads(export(program, profile, "-format=text"))["data"][0]["files"]:
        current = header_of(file["filename"])
        for branch in file.get("branches", []):
            place = tuple(branch[:4])
            if not current.is_folded(place):
                current.branches[place][0] += branch[4]
                current.branches[place][1] += branch[5]
        for record in file.get("mcdc_records", []):
            place, shown = tuple(record[:4]), record[-1]
            known = current.decisions.setdefault(place, [False] * len(shown))
            current.decisions[place] = [a or b for a, b in zip(known, shown)]
    return headers


def percent(missing, of):
    return f"{100 * (of - missing) / of:.2f} %" if of else "–"


def row(name, figures):
    return f"| {name} | " + " | ".join(f"{missing} of {of} | {percent(missing, of)}" for missing, of in figures) + " |"


def total(headers):
    return [tuple(map(sum, zip(*column))) for column in zip(*(each.figures() for each in headers))]


def main():
    program, profile, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    headers = sorted(read_headers(program, profile).values(),
                     key=lambda each: (-sum(missing for missing, _ in each.figures()), each.name))
    table = ["| header | lines missing | | branches missing | | MC/DC conditions missing | |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    table += [row(each.name, each.figures()) for each in headers if any(missing for missing, _ in each.figures())]
    complete = [each for each in headers if not any(missing for missing, _ in each.figures())]
    table.append(row(f"{len(complete)} others", total(complete)) if complete else "| no others | | | | | | |")
    table.append(row("**all**", total(headers)))
    for name, place in CHECKS.items():
        table.append(row(f"**{name}**", total([each for each in headers if each.name.startswith(place)])))
    (folder / "summary.md").write_text("\n".join(table) + "\n", encoding="utf-8")
    print("\n".join(table))

    with open(folder / "uncovered.txt", "w", encoding="utf-8") as out:
        for each in headers:
            for number in each.missing_lines():
                print(f"{each.name}:{number}: line: {each.source[number - 1].strip()}", file=out)
            for place, way in each.missing_branches():
                print(f"{each.name}:{place[0]}:{place[1]}: never {way}: {each.text(place)}", file=out)
            for place, number in each.missing_conditions():
                print(f"{each.name}:{place[0]}:{place[1]}: condition {number + 1} not shown to matter:"
                      f" {each.text(place)}", file=out)


if __name__ == "__main__":
    main()
