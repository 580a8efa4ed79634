# SPDX-License-Identifier: MIT
"""The rules of the house, each a function that returns what breaks it.

usage: house.py PROJECT_FOLDER
"""

import json
import pathlib
import re
import sys

# A header may include lower ranks, and its own rank where that makes no circle.
RANKS = {
    0: "version span detail/checked detail/text",
    1: "error result dtype vocabulary shape float_types options",
    2: "digest detail/endian detail/cast detail/utf8 detail/names detail/name_table detail/convert "
       "detail/dense detail/sparse_rules detail/fields_0_1 detail/cbor detail/cbor_encoder detail/crc32c detail/sha256 "
       "detail/zstd detail/parallel detail/os_calls detail/os_posix detail/os_windows detail/os_file",
    3: "attributes byte_source byte_sink footer manifest",
    4: "detail/index_scanner detail/manifest_words detail/manifest_read detail/manifest_read_0_1 detail/manifest_write detail/validate detail/validate_sparse "
       "detail/codec detail/elements detail/opened_file detail/blob_writer detail/quantized_rules",
    5: "component_view object_view object_draft detail/draft_check detail/blob_area detail/writer_core",
    6: "detail/sparse_parts detail/sparse_0_1 detail/redraft csr_view coo_view sparse quantized reader writer",
    7: "load_plan copy json",
    8: "ztensor",
    9: "eigen mdspan dlpack",
}
UMBRELLA = "ztensor.hpp"
ADAPTORS = 9  # the rank that only users include

# Rooms that must not know each other, not even through a third.
STRANGERS = [("reader", "writer"), ("writer", "reader"), ("load_plan", "writer"), ("load_plan", "json")]

# Headers that are neither ours nor the standard library's, and the rooms that may know them.
FOREIGN_HEADERS = {
    "detail/zstd.hpp": r"zstd(_errors)?\.h",
    "detail/os_posix.hpp": r"(sys/|linux/)?(?!zstd)\w+\.h",
    "detail/os_windows.hpp": r"(?!zstd)\w+\.h",
    "detail/crc32c.hpp": r"\w*intrin\.h|arm_\w+\.h|cpuid\.h|sys/auxv\.h",
    "detail/sha256.hpp": r"\w*intrin\.h|arm_\w+\.h|cpuid\.h|sys/auxv\.h",
    "json.hpp": r"nlohmann/\w+\.hpp",
    "eigen.hpp": r"Eigen/\w+",
    "mdspan.hpp": r"experimental/mdspan",
    "dlpack.hpp": r"dlpack/dlpack\.h",
}
FOREIGN_WORDS = {
    r"\breinterpret_cast\b": "detail/cast.hpp",
    r"\bnlohmann\b": "json.hpp",
    r"\bZSTD_\w+": "detail/zstd.hpp",
}

MAX_MACROS = 9
LONG_HEADER_LINES = 400
MAX_HEADER_LINES = 450

NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)", re.MULTILINE)


def read_headers(project):
    """Text by path below include/ztensor, such as "detail/cast.hpp"."""
    folder = project / "include" / "ztensor"
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*.hpp"))}


def without_comments_and_strings(text):
    return NOT_CODE.sub(" ", text)


def own_includes(text):
    """The headers of this library that `text` includes, without folder and ending."""
    return [name[len("ztensor/"):-len(".hpp")] for _, name in INCLUDE.findall(text) if name.startswith("ztensor/")]


def include_graph(headers):
    return {header[:-len(".hpp")]: own_includes(text) for header, text in headers.items()}


def guard_of(header):
    return "ZTENSOR_" + re.sub(r"\W", "_", header).upper()


def rank_table():
    return {name: rank for rank, names in RANKS.items() for name in names.split()}


def reachable(graph, start):
    """Everything that `start` includes, directly or not; itself only if it stands in a circle."""
    seen, pending = set(), list(graph.get(start, []))
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending.extend(graph.get(name, []))
    return seen


def check_ranks(project):
    ranks = rank_table()
    graph = include_graph(read_headers(project))
    problems = []
    for header, included in graph.items():
        if header not in ranks:
            problems.append(f"{header}.hpp has no rank: add it to RANKS in tests/structure/house.py")
            continue
        problems += [f"{header}.hpp (rank {ranks[header]}) includes {other}.hpp (rank {ranks[other]})"
                     for other in included if ranks.get(other, 0) > ranks[header]]
    problems += [f"{header}.hpp includes itself in a circle" for header in graph if header in reachable(graph, header)]
    problems += [f"{header}.hpp must not know {stranger}.hpp" for header, stranger in STRANGERS
                 if stranger in reachable(graph, header)]
    return problems


def check_umbrella(project):
    headers = read_headers(project)
    text = headers[UMBRELLA]
    lines = [line.strip() for line in NOT_CODE.sub(" ", text).splitlines()]
    allowed = re.compile(rf"|#include <ztensor/\w+\.hpp>|#(ifndef|define) {guard_of(UMBRELLA)}|#endif")
    problems = [f"{UMBRELLA} is only a list of public headers, but says: {line}"
                for line in lines if not allowed.fullmatch(line)]

    ranks = rank_table()
    included = own_includes(text)
    graph = include_graph(headers)
    reached = reachable(graph, "ztensor")
    problems += [f"{UMBRELLA} does not reach {name}.hpp" for name in graph
                 if "/" not in name and name not in reached and name != "ztensor" and ranks.get(name) != ADAPTORS]
    problems += [f"{UMBRELLA} lists {name}.hpp below a header of a higher rank" for before, name
                 in zip(included, included[1:]) if ranks.get(name, 0) < ranks.get(before, 0)]
    return problems


def check_foreign(project):
    problems = []
    for header, text in read_headers(project).items():
        for delimiter, name in INCLUDE.findall(text):
            ours = name.startswith("ztensor/")
            if delimiter != "<":
                problems.append(f'{header} includes "{name}": write <{name}>')
            elif not ours and not re.fullmatch(r"[a-z_]+", name):  # all that the C++ standard names look like this
                if not re.fullmatch(FOREIGN_HEADERS.get(header, r"(?!)"), name):
                    problems.append(f"{header} must not include <{name}>")
        code = without_comments_and_strings(INCLUDE.sub("", text))
        for word, home in FOREIGN_WORDS.items():
            found = re.search(word, code)
            if found and header != home:
                problems.append(f"{header} says {found.group()}, which belongs in {home}")
    return problems


def check_macros(project):
    problems, ours = [], set()
    for header, text in read_headers(project).items():
        for name in DEFINE.findall(without_comments_and_strings(text)):
            # Defined for a foreign header only, and taken back.
            if re.search(rf'#\s*undef\s+{name}\b|pop_macro\("{name}"\)', text):
                continue
            if not name.startswith("ZTENSOR_"):
                problems.append(f"{header} defines {name}: macros are all ZTENSOR_")
            elif name != guard_of(header):
                ours.add(name)
                if header != "version.hpp":
                    problems.append(f"{header} defines {name}: the library's macros stand in version.hpp")
    if len(ours) > MAX_MACROS:
        problems.append(f"{len(ours)} macros, at most {MAX_MACROS}: {' '.join(sorted(ours))}")
    return problems


def check_form(project):
    problems = []
    for header, text in read_headers(project).items():
        if not text.startswith("// SPDX-License-Identifier: MIT\n"):
            problems.append(f"{header} does not start with its licence")
        if f"#ifndef {guard_of(header)}\n#define {guard_of(header)}\n" not in text:
            problems.append(f"{header} is not guarded by {guard_of(header)}")
    return problems


def check_detail(project):
    shown = [project / "README.md", *sorted((project / "examples").glob("*.cpp"))]
    return [f"{path.relative_to(project).as_posix()}:{number} names detail: {line.strip()}" for path in shown
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
            if re.search(r"\bdetail::|ztensor/detail", line)]


def check_length(project):
    lengths = {header: text.count("\n") for header, text in read_headers(project).items()}
    for header, lines in lengths.items():
        if LONG_HEADER_LINES < lines <= MAX_HEADER_LINES:
            print(f"warning: {header} has {lines} lines, perhaps two rooms in one")
    return [f"{header} has {lines} lines, at most {MAX_HEADER_LINES}" for header, lines in lengths.items()
            if lines > MAX_HEADER_LINES]


def check_versions(project):
    """The vcpkg manifest repeats the version; CMake and conan read it from version.hpp."""
    numbers = re.findall(r"#define ZTENSOR_VERSION_[A-Z]+ (\d+)", read_headers(project)["version.hpp"])
    manifest = json.loads((project / "cmake/packaging/vcpkg/ports/ztensor/vcpkg.json").read_text(encoding="utf-8"))
    if manifest["version"] != ".".join(numbers):
        return [f"vcpkg.json has version {manifest['version']}, version.hpp {'.'.join(numbers)}"]
    return []


RULES = {
    "ranks": check_ranks,
    "umbrella": check_umbrella,
    "foreign": check_foreign,
    "macros": check_macros,
    "form": check_form,
    "detail": check_detail,
    "length": check_length,
    "versions": check_versions,
}


def main():
    project = pathlib.Path(sys.argv[1])
    problems = [f"{name}: {problem}" for name, rule in RULES.items() for problem in rule(project)]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
