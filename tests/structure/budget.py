# SPDX-License-Identifier: MIT
"""How large the library may be: measures it, prints each figure beside its limits, and fails where one is exceeded.

usage: budget.py [lines]                         counts files, in some seconds; a test of CTest
       budget.py programs [--compiler NAME]      compiles two programs and looks at their object code; a test of CTest
       budget.py seconds [--compiler NAME]       compiles five programs three times, beside one with nlohmann/json
       budget.py lines|programs --lower          lowers the limits in this file to what was measured, where that is less

The first number of a row is its limit today: a change that makes the library smaller lowers it. The second and the third are
due when the issues "The border" and "Subtract" close; None stands where these ask for nothing.
"""

import argparse
import fnmatch
import pathlib
import re
import subprocess
import sys
import tempfile

import house

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(PROJECT / "tests/bench"))
import compile_time  # noqa: E402: its folder is known from here on

# Lines are counted with comments, tokens with those of directives. An object file's text is in KB, for the compiler MEASURED_BY.
# Seconds are CPU time relative to the program with nlohmann/json.
LIMITS = {
    "lines": {
        "lines of include/ztensor": (63_404, 58_000, 46_500),
        "tokens of include/ztensor": (489_740, 400_000, 320_000),
        "core: all": (33_647, 30_200, 21_700),
        "core: public": (6_227, 6_000, 4_200),
        "core: base": (2_223, 1_650, 1_200),
        "core: os": (4_078, 3_900, 2_600),
        "core: cbor": (1_363, 1_330, 1_100),
        "core: codec": (1_687, 1_700, 1_400),
        "core: index": (5_386, 5_300, 3_400),
        "core: read, file_set and far": (8_916, 6_900, 5_500),
        "core: write": (3_767, 3_420, 2_300),
        "sparse": (1_251, 1_300, 1_100),
        "quantized, ggml": (1_621, 1_900, 1_900),
        "planes": (938, 1_250, 700),
        "edit": (1_592, 1_200, 900),
        "convert": (1_690, 1_800, 1_500),
        "sets": (945, 1_250, 1_000),
        "lint": (540, 530, 500),
        "import": (10_265, 8_800, 8_000),
        "remote": (4_725, 4_450, 4_450),
        "hdf5": (1_905, 1_760, 1_500),
        "mpi": (2_894, 1_700, 1_600),
        "adaptors": (1_391, 1_400, 1_300),
        "own lines that reader.hpp brings": (29_355, 14_500, 10_000),
        "own lines that writer.hpp brings": (24_578, 18_500, 13_500),
        "own lines that ztensor.hpp brings": (41_855, 28_000, 19_500),
        "lines of examples/zt": (7_000, 5_900, 5_900),
        "lines of cmake, but packaging and docs": (949, None, None),
        "files that call read_at(": (37, 6, 6),
        "files that name ZSTD_": (1, 1, 1),
        "constants named *gap*": (5, 1, 1),
        "version::v outside dialects": (141, 0, 0),
        "macros": (17, 17, 17),
        "longest line": (212, 120, 120),
        "at least: % of lines that are comments": (10, 10, 10),
        "at least: % of public lines that are comments": (20, 20, 20),
    },
    "programs": {
        "reader: KB of text": (296, 165, 125),
        "reader: functions": (853, 520, 400),
        "reader: preprocessed lines": (119_795, None, None),
        "writer: KB of text": (208, 100, 75),
        "writer: functions": (568, None, None),
        "writer: preprocessed lines": (112_097, None, None),
    },
    "seconds": {
        "reader": (4.0, 1.6, 1.2),
        "writer": (2.6, 1.2, 0.9),
        "reader, by ztensor.hpp": (4.6, 1.9, 1.5),
        "README's first program": (8.0, 3.0, 2.2),
        "reader, compiled mode": (0.25, 0.25, 0.25),
    },
}
MEASURED_BY = "x86_64-linux-gnu", "12.2.0"
PAIRS = 3
# By how much a figure may be above its limit: headers of the system change with its updates, and machines are busy.
VARY = {"lines": 1.0, "programs": 1.01, "seconds": 1.1}

# What a header belongs to. The modules' headers stand among the core's so far, so that the modules are asked first.
MODULES = {
    "sparse": "sparse.hpp detail/read/sparse_*.hpp detail/write/typed_drafts.hpp",
    "quantized, ggml": "quantized.hpp detail/read/quantized_*.hpp detail/read/weights.hpp detail/codec/ggml_*.hpp",
    "planes": "detail/index/planes.hpp detail/codec/plane_kernels.hpp detail/read/joined_planes.hpp "
              "detail/write/planes_draft.hpp",
    "edit": "edit.hpp detail/write/edit_*.hpp detail/write/editor.hpp detail/write/old_file.hpp "
            "detail/write/object_rewriter.hpp detail/write/undo_record.hpp",
    "convert": "copy.hpp detail/transfer/*.hpp",
    "sets": "sharded_writer.hpp detail/write/sharded_*.hpp detail/write/model_files.hpp detail/read/joined_files.hpp",
    "lint": "lint.hpp detail/read/lint_*.hpp detail/read/index_audit.hpp",
    "import": "import.hpp detail/import/*.hpp detail/codec/deflate.hpp",
    "remote": "http.hpp s3.hpp detail/http/*.hpp",
    "hdf5": "hdf5.hpp detail/hdf5/*.hpp",
    "mpi": "mpi.hpp detail/mpi/*.hpp",
    "adaptors": "json.hpp dlpack.hpp eigen.hpp mdspan.hpp visit.hpp formatter.hpp",
}
CORE = {
    "core: public": "*.hpp",
    "core: base": "detail/base/*.hpp",
    "core: os": "detail/os/*.hpp",
    "core: cbor": "detail/cbor/*.hpp",
    "core: codec": "detail/codec/*.hpp",
    "core: index": "detail/index/*.hpp",
    "core: read, file_set and far": "detail/read/*.hpp",
    "core: write": "detail/write/*.hpp",
}
DIALECTS = "detail/index/frame.hpp detail/index/parse.hpp detail/index/parse_2.hpp detail/index/write.hpp"

TOKEN = re.compile(r"[A-Za-z_]\w*|\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*|<<=|>>=|\.\.\.|->\*|::|\+\+|--|->|<<|>>|<=|>=|==|!=|&&|\|\|"
                   r"|[-+*/%&|^]=|[^\s\w]")
GAP_CONSTANT = re.compile(r"\bconstexpr\b[^;={}()]*?\b\w*gap\w*\s*[={;]")


def matches(header, patterns):
    """Whether one of the patterns, which are separated by spaces, fits: * stands for a part of one folder's or file's name."""
    return any(header.count("/") == pattern.count("/") and fnmatch.fnmatchcase(header, pattern) for pattern in patterns.split())


def parts_of(header):
    """The parts that a header belongs to, which must be one."""
    modules = [name for name, patterns in MODULES.items() if matches(header, patterns)]
    return modules or [name for name, patterns in CORE.items() if matches(header, patterns)]


def check_parts(headers):
    return [f"{header} belongs to {' and '.join(parts_of(header)) or 'no part'}: name one in tests/structure/budget.py"
            for header in headers if len(parts_of(header)) != 1]


def count_tokens(text):
    return len(TOKEN.findall(house.NOT_CODE.sub(lambda found: " " if found.group().startswith("/") else " literal ", text)))


def comment_percent(texts):
    lines = [line for text in texts for line in text.splitlines()]
    return 100 * sum(line.lstrip().startswith("//") for line in lines) / max(len(lines), 1)


def lines_below(folder, left_out=()):
    """Lines of all files in a folder, but those in the folders `left_out`."""
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*")
               if path.is_file() and path.relative_to(folder).parts[0] not in left_out)


def measure_lines(project):
    """The figures of LIMITS["lines"] by row."""
    headers = house.read_headers(project)
    code = {header: house.without_comments_and_strings(text) for header, text in headers.items()}
    lines = {header: text.count("\n") for header, text in headers.items()}
    graph = {header[:-len(".hpp")]: house.own_includes(text) for header, text in headers.items()}

    def lines_of(part):
        return sum(lines[header] for header in headers if parts_of(header)[:1] == [part])

    def brought_by(name):
        return sum(lines.get(f"{each}.hpp", 0) for each in house.reachable(graph, name) | {name})

    def files_that_say(pattern):
        return sum(bool(re.search(pattern, text)) for text in code.values())

    return {
        "lines of include/ztensor": lines_below(project / "include/ztensor"),
        "tokens of include/ztensor": sum(map(count_tokens, headers.values())),
        "core: all": sum(map(lines_of, CORE)),
        **{part: lines_of(part) for part in [*CORE, *MODULES]},
        **{f"own lines that {name}.hpp brings": brought_by(name) for name in ("reader", "writer", "ztensor")},
        "lines of examples/zt": lines_below(project / "examples/zt"),
        "lines of cmake, but packaging and docs": lines_below(project / "cmake", ("packaging", "docs")),
        "files that call read_at(": files_that_say(r"\bread_at\("),
        "files that name ZSTD_": files_that_say(r"\bZSTD_"),
        "constants named *gap*": sum(len(GAP_CONSTANT.findall(text)) for text in code.values()),
        "version::v outside dialects": sum(len(re.findall(r"version::v\d", text)) for header, text in code.items()
                                           if not matches(header, DIALECTS)),
        "macros": len({name for _, name in house.lasting_macros(headers)}),
        "longest line": max(len(line) for text in headers.values() for line in text.splitlines()),
        "at least: % of lines that are comments": comment_percent(headers.values()),
        "at least: % of public lines that are comments": comment_percent(
            text for header, text in headers.items() if house.is_public(header)),
    }


def measure_programs(compiler):
    """The figures of LIMITS["programs"] by row."""
    figures = {}
    for name in ("reader", "writer"):
        case = compile_time.Case(f"{name}.hpp", "program", "header-only", compile_time.PROGRAMS[f"{name}.hpp"])
        compiled(case, compiler)
        figures[f"{name}: KB of text"] = -(-case.text // compile_time.KILOBYTE)
        figures[f"{name}: functions"] = case.functions
        figures[f"{name}: preprocessed lines"] = case.preprocessed_lines(compiler)
    return figures


def measure_seconds(compiler):
    """The figures of LIMITS["seconds"] by row: the least of some compilations, in turns with those of the other program."""
    reader = compile_time.PROGRAMS["reader.hpp"]
    readme = re.search(r"```cpp\n(.*?)```", (PROJECT / "README.md").read_text(encoding="utf-8"), re.DOTALL).group(1)
    sources = {"reader": reader, "writer": compile_time.PROGRAMS["writer.hpp"], "README's first program": readme,
               "reader, by ztensor.hpp": reader.replace("reader.hpp", "ztensor.hpp"), "reader, compiled mode": reader}
    figures = {}
    for row in LIMITS["seconds"]:
        rival = compile_time.Case("nlohmann/json.hpp", "program", "", compile_time.JSON_PROGRAM)
        case = compile_time.Case(row, "program", "compiled" if "compiled" in row else "header-only", sources[row])
        for _ in range(PAIRS):
            compiled(rival, compiler)
            compiled(case, compiler)
        print(f"{row}: {case.cpu():.1f} s and {case.megabytes:.0f} MB, nlohmann/json {rival.cpu():.1f} s", flush=True)
        figures[row] = case.cpu() / rival.cpu()
    return figures


def compiled(case, compiler):
    with tempfile.TemporaryDirectory() as folder:
        case.compile(compiler, pathlib.Path(folder))
    if case.failed:
        sys.exit(f"{' '.join(case.key)} does not compile by {compiler}")


def judge(row, figure, limit, vary=1.0):
    """What there is to say of a figure: whether it breaks its limit, and in words."""
    if row.startswith("at least"):
        return figure < limit, "too few" if figure < limit else ""
    if figure > limit * vary:
        return True, f"exceeded by {shown(figure - limit)}"
    return False, f"may be lowered by {shown(limit - figure)}" if figure < limit and vary == 1.0 else ""


def shown(value):
    return "–" if value is None else f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def print_table(figures, limits, vary=1.0):
    """Prints all rows, and gives how many are broken."""
    print(f"{'':46}{'measured':>9}{'limit':>9}{'border':>9}{'subtract':>9}")
    broken = 0
    for row, (limit, *due) in limits.items():
        is_broken, words = judge(row, figures[row], limit, vary)
        print(f"{row:46}" + "".join(f"{shown(value):>9}" for value in (figures[row], limit, *due)), "", words)
        broken += is_broken
    return broken


def lowered(text, figures, limits):
    """The text of this script with the limits that leave something over at what was measured."""
    for row, (limit, *_) in limits.items():
        if figures[row] < limit and not row.startswith("at least"):
            text = re.sub(rf'("{re.escape(row)}": \()[\d_]+', rf"\g<1>{figures[row]:_}", text)
    return text


def is_measured_by(compiler):
    answers = [subprocess.run([compiler, option], capture_output=True, text=True, check=False).stdout.strip()
               for option in ("-dumpmachine", "-dumpfullversion")]
    return tuple(answers) == MEASURED_BY


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=LIMITS, nargs="?", default="lines")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--lower", action="store_true")
    options = parser.parse_args()
    if options.what == "programs" and not is_measured_by(options.compiler):
        print(f"SKIPPED: text and functions are limited as g++ {MEASURED_BY[1]} for {MEASURED_BY[0]} makes them, and "
              f"{options.compiler} is another compiler")
        return 77
    problems = check_parts(house.read_headers(PROJECT))
    figures = (measure_lines(PROJECT) if options.what == "lines" else
               measure_programs(options.compiler) if options.what == "programs" else measure_seconds(options.compiler))
    broken = print_table(figures, LIMITS[options.what], VARY[options.what])
    if options.lower and options.what != "seconds":
        script = pathlib.Path(__file__)
        script.write_text(lowered(script.read_text(encoding="utf-8"), figures, LIMITS[options.what]), encoding="utf-8")
    print("\n".join(problems))
    return 1 if broken or problems else 0


if __name__ == "__main__":
    sys.exit(main())
