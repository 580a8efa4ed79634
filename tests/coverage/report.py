# SPDX-License-Identifier: MIT
"""What llvm-cov-19 knows about include/ztensor, by header: uses of a template or an inline function count together.

usage: report.py FOLDER PROFILE PROGRAM...

Prints the tables that FOLDER/summary.md gets; FOLDER/uncovered.txt gets every line, branch and condition that is missing,
with its text and what justified.txt says of it. Status 1 if more is missing without a reason than justified.txt still
allows.
"""

import collections
import fnmatch
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include" / "ztensor"
# Of these every condition of every decision must be shown to matter, too.
CHECKS = {"frame": "detail/index/frame.hpp", "cbor": "detail/cbor/", "index": "detail/index/"}
KINDS = ("lines", "branches", "conditions")
FUNCTION = re.compile(r"( *)(?!if|for|while|switch|return|case|else|template|using|struct|class|namespace|requires)[\w:~\[<].*?"
                      r"(operator[^\w(]+|~?\w+)\(.*")
ENDS_STATEMENT = re.compile(r"[;{}:]$|^$|^//|^#|^template <.*>$")


def export(profile, programs, *more):
    objects = [word for program in programs[1:] for word in ("-object", program)]
    return subprocess.run(["llvm-cov-19", "export", programs[0], *objects, f"-instr-profile={profile}", *more, str(INCLUDE)],
                          stdout=subprocess.PIPE, check=True, text=True).stdout


def is_check(name):
    return any(name.startswith(place) for place in CHECKS.values())


class justification:
    """A line of justified.txt: patterns of headers, as HEADER or HEADER@FUNCTION, and a regular expression that must match
    the whole text of what is missing."""

    def __init__(self, reason, line):
        places, text = line.split(": ", 1)
        self.reason = reason
        self.line = line
        self.places = [each if "@" in each else each + "@*" for each in places.split(" ")]
        self.text = re.compile(text)
        self.is_used = False

    def holds_for(self, each):
        place = f"{each.header.name}@{each.header.function(each.line)}"
        return any(fnmatch.fnmatchcase(place, of) for of in self.places) and self.text.fullmatch(each.text)


def read_justifications():
    """Paragraphs: `= CLASS: why`, which may go on in more lines that begin with two spaces, and the class's patterns."""
    found, reasons, allowed = [], {}, 0
    for line in (HERE / "justified.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("not judged yet: "):
            allowed = int(line.split(": ")[1])
        elif line.startswith("= "):
            reason, why = line[2:].split(": ", 1)
            reasons[reason] = why
        elif line.startswith("  "):
            reasons[reason] += " " + line.strip()
        elif line and not line.startswith("#"):
            found.append(justification(reason, line))
    return found, reasons, allowed


Missing = collections.namedtuple("Missing", "header kind line column text")


class header:
    def __init__(self, name):
        self.name = name
        self.source = (INCLUDE / name).read_text(encoding="utf-8").split("\n")
        self.lines = {}  # count by number
        self.branches = collections.defaultdict(lambda: [0, 0])  # how often true and false, by place
        self.uses = collections.defaultdict(lambda: collections.defaultdict(list))  # by line and place
        self.branch_lines = collections.Counter()  # how many ways llvm-cov counts by line
        self.decisions = {}  # by place, for each condition whether it was shown to matter

    def statement(self, number):
        """All lines of the statement, or of the head, that a line belongs to; of a closing brace what stands before it."""
        first = last = number - 1
        while first > 0 and self.source[first].strip() in ("}", "};"):
            first = last = first - 1
        while first > 0 and not ENDS_STATEMENT.search(self.source[first - 1].split(" // ")[0].strip()):
            first -= 1
        while last + 1 < len(self.source) and not ENDS_STATEMENT.search(self.source[last].split(" // ")[0].strip()):
            last += 1
        return " ".join(line.strip() for line in self.source[first:last + 1])

    def function(self, number):
        """The name of the function around a line, as its head stands above: at the margin or in a class."""
        depth = len(self.source[number - 1]) - len(self.source[number - 1].lstrip())
        for line in reversed(self.source[:number]):
            head = FUNCTION.fullmatch(line)
            if head and (len(head.group(1)) < depth or line is self.source[number - 1]) and line.endswith(("{", "}", ",", "(")) \
                    and not re.match(r" *(const |auto )?\w+ = |.*(?<!\[)\[[&=\w, ]*\]", line):
                return head.group(2)
        return ""

    def text(self, place):
        line, column, last, end = place
        return " ".join(part.strip() for part in
                        [self.source[line - 1][column - 1:end - 1 if line == last else None],
                         *self.source[line:last - 1], *([self.source[last - 1][:end - 1]] if last > line else [])])

    def after(self, place):
        """The rest of a branch's line and the next one: often what is done about it."""
        return f"{self.source[place[2] - 1][place[3] - 1:].strip()} {self.source[place[2]].strip()}"

    def folded(self):
        """Branches decided when compiling, where no test can choose another way: llvm-cov's own figures by line leave them
        out, but its list of branches has them, never true and never false. A line's first ones are taken for them."""
        for number, uses in self.uses.items():
            left = sum(map(len, uses.values())) - self.branch_lines[number] // 2
            for place in sorted(uses):
                if self.branches[place] == [0, 0] and len(uses[place]) <= left:
                    left -= len(uses[place])
                    yield place

    def missing(self):
        for number, count in sorted(self.lines.items()):
            if count == 0:
                yield Missing(self, "lines", number, 1, f"line: {self.statement(number)}")
        for place, counts in sorted(self.branches.items()):
            for way, count in zip(("true", "false"), counts):
                if count == 0:
                    text = f"never {way}: {self.text(place)} … {self.after(place)}"
                    yield Missing(self, "branches", *place[:2], text)
        for place, shown in sorted(self.decisions.items()):
            inner = self.conditions_in(place)
            for number, (each, of) in enumerate(zip(shown, inner if len(inner) == len(shown) else [place] * len(shown)), 1):
                if not each:
                    text = f"condition {number}: {self.text(of)} … of: {self.text(place)}"
                    yield Missing(self, "conditions", *of[:2], text)

    def conditions_in(self, decision):
        """The places of its conditions: they are branches, too."""
        return sorted(place for uses in self.uses.values() for place in uses
                      if place != decision and decision[:2] <= place[:2] and place[2:] <= decision[2:])

    def counts(self):
        return {"lines": len(self.lines), "branches": 2 * len(self.branches),
                "conditions": sum(map(len, self.decisions.values()))}


def read_headers(profile, programs):
    headers = {}

    def header_of(path):
        name = pathlib.Path(path).resolve().relative_to(INCLUDE).as_posix()
        return headers.setdefault(name, header(name))

    current = None
    for line in export(profile, programs, "-format=lcov").split("\n"):
        if line.startswith("SF:"):
            current = header_of(line[3:])
        elif line.startswith("DA:"):
            number, count = line[3:].split(",")[:2]
            current.lines[int(number)] = max(current.lines.get(int(number), 0), int(count))
        elif line.startswith("BRDA:"):
            current.branch_lines[int(line[5:].split(",")[0])] += 1
    for file in json.loads(export(profile, programs, "-format=text"))["data"][0]["files"]:
        current = header_of(file["filename"])
        for branch in file.get("branches", []):
            place = tuple(branch[:4])
            current.uses[place[0]][place].append(branch)
            current.branches[place][0] += branch[4]
            current.branches[place][1] += branch[5]
        for record in file.get("mcdc_records", []):
            place, shown = tuple(record[:4]), record[-1]
            known = current.decisions.setdefault(place, [False] * len(shown))
            current.decisions[place] = [a or b for a, b in zip(known, shown)]
    for each in headers.values():
        for place in list(each.folded()):
            del each.branches[place]
    return headers


def percent(missing, of):
    return f"{100 * (of - missing) / of:.2f} %" if of else "–"


def row(name, headers, missing, open_ones):
    cells = []
    for kind in KINDS:
        of = sum(each.counts()[kind] for each in headers)
        count, unexplained = (sum(1 for each in some if each.kind == kind and each.header in headers)
                              for some in (missing, open_ones))
        cells.append(f"{count} of {of} | {percent(count, of)} | {unexplained}")
    return f"| {name} | " + " | ".join(cells) + " |"


def tables(headers, missing, reason_of, reasons):
    open_ones = [each for each in missing if each not in reason_of and (each.kind != "conditions" or is_check(each.header.name))]
    yield "| header | lines missing | | not justified | branches missing | | not justified | MC/DC missing | | not justified |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    count = collections.Counter(each.header for each in missing)
    complete = [each for each in headers if not count[each]]
    for each in sorted(headers, key=lambda each: (-count[each], each.name)):
        if count[each]:
            yield row(each.name, [each], missing, open_ones)
    yield row(f"{len(complete)} others", complete, missing, open_ones)
    yield row("**all**", headers, missing, open_ones)
    for name, place in CHECKS.items():
        yield row(f"**{name}**", [each for each in headers if each.name.startswith(place)], missing, open_ones)
    yield ""
    yield "| justified | lines | branches | MC/DC | why |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for reason, why in reasons.items():
        counts = [sum(1 for each, name in reason_of.items() if name == reason and each.kind == kind) for kind in KINDS]
        yield f"| {reason} | " + " | ".join(map(str, counts)) + f" | {why} |"


def main():
    folder, profile, programs = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    headers = sorted(read_headers(profile, programs).values(), key=lambda each: each.name)
    justifications, reasons, allowed = read_justifications()
    missing = [each for header_ in headers for each in header_.missing()]
    reason_of = {}
    for each in missing:
        for justified in justifications:
            if justified.holds_for(each):
                justified.is_used = True
                reason_of.setdefault(each, justified.reason)
    # What is only ever true or only ever false can't be shown to matter: the reason is the same.
    ways = {(each.header, each.line, each.column): reason_of[each] for each in reason_of if each.kind == "branches"}
    for each in missing:
        reason = ways.get((each.header, each.line, each.column))
        if each.kind == "conditions" and reason is not None:
            reason_of.setdefault(each, reason)

    table = list(tables(headers, missing, reason_of, reasons))
    (folder / "summary.md").write_text("\n".join(table) + "\n", encoding="utf-8")
    print("\n".join(table))
    with open(folder / "uncovered.txt", "w", encoding="utf-8") as out:
        for each in sorted(missing, key=lambda each: each in reason_of):
            reason = f"[{reason_of[each]}] " if each in reason_of else ""
            print(f"{each.header.name}:{each.line}:{each.column}: {reason}{each.text}", file=out)

    for justified in justifications:
        if not justified.is_used:
            print(f"Nothing that is missing here is justified by: {justified.line}", file=sys.stderr)
    open_ones = [each for each in missing if each not in reason_of and (each.kind != "conditions" or is_check(each.header.name))]
    print(f"{len(open_ones)} lines, branches and conditions are missing and not justified, of {allowed} that may be: they stand"
          f" first in {folder}/uncovered.txt", file=sys.stderr)
    return 1 if len(open_ones) > allowed else 0


if __name__ == "__main__":
    sys.exit(main())
