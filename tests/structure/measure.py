# SPDX-License-Identifier: MIT
"""How large the library is, and how much of it is there twice: the measures that its rebuilding is judged by.

usage: measure.py [--against COMMIT] [--lists]

Prints a table of this tree, beside that of a commit if one is named. --lists also prints what some numbers count, which
needs a reader's judgement: names that end in a version, and structs that may describe one component or one object.

Tokens are identifiers, literals and punctuators outside of comments and preprocessor lines, of include/ and of the
library's sources. Apart from them stand data tables (runs of at least 100 literals, signs, commas and braces) and what a
debugger's or std::format's header says of the format (format.hpp, formatter.hpp).
"""

import argparse
import collections
import io
import pathlib
import re
import subprocess
import tarfile
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
TOKEN = re.compile(
    r"""(?P<comment>//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)
      | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)")
      | (?P<literal>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*'
          |\.?[0-9](?:'?[0-9a-zA-Z_.]|(?<=[eEpP])[+-])*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign><<=|>>=|\.\.\.|->\*|::|\+\+|--|->|<<|>>|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|[^\s\w])""",
    re.VERBOSE | re.DOTALL,
)
APART = {"include/ztensor/format.hpp", "include/ztensor/formatter.hpp"}
TABLE_TOKENS = 100
SMALL_LINES = 60
VERSION = r"_(?:0_1|1_[0-9]|1|2|v[0-9](?:_[0-9])?)"
VERSION_FILE = re.compile(VERSION + r"(?:_definitions)?$")
VERSION_FUNCTION = re.compile(r"(?!H5)\w+" + VERSION + r"$")  # those of libhdf5 have names that are not ours
# Where a version may be in a name: today's folders, and those that are to be.
OF_VERSIONS = {"manifest", "index", "copy", "transfer"}
RECORD = re.compile(r"(component|part|object|tensor|stored|draft|entry)", re.IGNORECASE)


def without_directives(text):
    """The text with preprocessor lines, and those they go on in, left empty."""
    lines, goes_on = [], False
    for line in text.split("\n"):
        is_directive = goes_on or line.lstrip().startswith("#")
        goes_on = is_directive and line.endswith("\\")
        lines.append("" if is_directive else line)
    return "\n".join(lines)


def tokens_of(text):
    """(kind, text) of each token, without comments."""
    found = []
    for match in TOKEN.finditer(without_directives(text)):
        kind = match.lastgroup if match.lastgroup != "mark" else "raw"
        if kind != "comment":
            found.append(("literal" if kind == "raw" else kind, match.group()))
    return found


def table_tokens(tokens):
    """How many of them stand in data tables."""
    total = run = 0
    for kind, text in tokens + [("name", "")]:
        if kind == "literal" or text in ("{", "}", ",", "-", "+"):
            run += 1
        else:
            total += run if run >= TABLE_TOKENS else 0
            run = 0
    return total


def comment_lines(text):
    """Lines that hold a comment and nothing else."""
    is_inside, count = False, 0
    for line in text.split("\n"):
        bare = line.strip()
        if is_inside or bare.startswith("//") or bare.startswith("/*"):
            count += 1
            is_inside = (is_inside or bare.startswith("/*")) and "*/" not in bare
    return count


def functions_of(tokens):
    """Names in front of a parenthesis where they are declared or defined: behind a type, not behind an operator."""
    found = set()
    for (_, before), (kind, name), (_, after) in zip(tokens, tokens[1:], tokens[2:]):
        is_declared = re.match(r"[A-Za-z_]\w*$|[>&*]$|::$", before) and before not in ("return", "else", "throw")
        if kind == "name" and after == "(" and is_declared:
            found.add(name)
    return found


def structs_of(tokens):
    """Names of what is defined as a struct or a class."""
    found = []
    for i, (kind, text) in enumerate(tokens[:-2]):
        if kind == "name" and text in ("struct", "class") and tokens[i + 1][0] == "name":
            if tokens[i - 1][1] in ("enum", "<", ",", "friend"):
                continue
            for _, following in tokens[i + 2 : i + 12]:
                if following in (";", ">", ",", "("):
                    break
                if following == "{":
                    found.append(tokens[i + 1][1])
                    break
    return found


def is_apart(header):
    """Of the adaptor for URLs, which a program without libcurl never sees: not counted among the library's headers."""
    return header.parts[-3:-1] == ("detail", "http") or header.name in ("http.hpp", "s3.hpp")


def measure(root):
    include = root / "include"
    headers = sorted(include.rglob("*.hpp"))
    sources = sorted((root / "cmake").glob("*.cpp")) + sorted((root / "cmake" / "compiled").glob("*.cpp"))
    sources += sorted((root / "src").rglob("*.cpp"))
    private = [path for path in headers if "detail" in path.parts]
    texts = {path: path.read_text(encoding="utf-8") for path in headers + sources}
    tokens = {path: tokens_of(text) for path, text in texts.items()}
    counted = [path for path in texts if path.relative_to(root).as_posix() not in APART]
    lines = {path: text.count("\n") for path, text in texts.items()}
    tables = sum(table_tokens(tokens[path]) for path in counted)

    names = collections.Counter(path.name for path in private)
    outside = [path for path in headers if not OF_VERSIONS & set(path.parts)]
    lists = {
        "private headers under 60 lines": [f"{each.relative_to(include)} {lines[each]}" for each in private if lines[each] < SMALL_LINES],
        "names twice in detail/": sorted(name for name, times in names.items() if times > 1),
        "files named after a version, outside index/ and transfer/":
            [str(each.relative_to(include)) for each in outside if VERSION_FILE.search(each.stem)],
        "functions named after a version, outside index/ and transfer/":
            sorted({f"{name} ({each.relative_to(include)})" for each in outside for name in functions_of(tokens[each])
                    if VERSION_FUNCTION.match(name)}),
        "structs that may describe one component or object":
            sorted(f"{name} ({each.relative_to(include)})" for each in headers for name in structs_of(tokens[each])
                   if RECORD.search(name)),
    }
    numbers = {
        "lines of include/ztensor": sum(lines[path] for path in headers),
        "headers": len([path for path in headers if not is_apart(path)]),
        "private headers": len([path for path in private if not is_apart(path)]),
        "headers of the adaptor http, apart": len([path for path in headers if is_apart(path)]),
    }
    for what in list(lists)[:2]:
        numbers[what] = len(lists[what])
    numbers["lines of comment, % of include/"] = (
        100 * sum(comment_lines(texts[path]) for path in headers) / numbers["lines of include/ztensor"])
    numbers["tokens, without data tables"] = sum(len(tokens[path]) for path in counted) - tables
    numbers["tokens of data tables"] = tables
    for what in list(lists)[2:]:
        numbers[what] = len(lists[what])
    numbers["macros defined"] = len({name for path in headers for name in re.findall(r"^\s*#\s*define (\w+)", texts[path], re.M)
                                     if not name.endswith("_HPP")})
    return numbers, lists


def tree_of(commit, folder):
    archive = subprocess.run(["git", "-C", str(PROJECT), "archive", commit, "include", "cmake"], check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as opened:
        opened.extractall(folder)
    return pathlib.Path(folder)


def shown(value):
    return f"{value:.1f}" if isinstance(value, float) else f"{value:,}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--lists", action="store_true")
    options = parser.parse_args()
    now, lists = measure(PROJECT)
    if options.against:
        with tempfile.TemporaryDirectory() as folder:
            before, _ = measure(tree_of(options.against, folder))
        print(f"| measure | {options.against} | now | ratio |\n| --- | ---: | ---: | ---: |")
        for what, value in now.items():
            ratio = f"{value / before[what]:.3f}" if before[what] else "–"
            print(f"| {what} | {shown(before[what])} | {shown(value)} | {ratio} |")
    else:
        print("| measure | now |\n| --- | ---: |")
        for what, value in now.items():
            print(f"| {what} | {shown(value)} |")
    if options.lists:
        for what, entries in lists.items():
            print(f"\n{what}: {len(entries)}")
            for each in entries:
                print(f"  {each}")


if __name__ == "__main__":
    main()
