# SPDX-License-Identifier: MIT
"""The rules of the house, each a function that returns what breaks it.

usage: house.py PROJECT_FOLDER
"""

import json
import pathlib
import re
import sys

# Public headers. Each may include lower ranks, and its own rank where that makes no circle.
RANKS = {
    0: "version span fwd",
    1: "error result dtype format shape float_types options file_path array",
    2: "digest attributes io tensor readable",
    5: "object_view object_draft",
    6: "sparse quantized reader writer",
    7: "load_plan copy edit lint json pieces import sharded_writer",
    8: "ztensor compiled",
    9: "hdf5 http s3 mpi eigen mdspan dlpack visit formatter",
}
UMBRELLA = "ztensor.hpp"
COMPILED = "compiled.hpp"  # the definitions, for one file of a program; nothing includes it
ADAPTORS = 9  # the rank that only users include
FOREIGN_GROUP = {"import"}  # of files of other formats, beside the umbrella

# The folders of detail/, with the floor that each stands on and the highest rank of the public headers that it may
# include. A wing includes itself, where that makes no circle, and wings on lower floors.
WINGS = {
    "base": (1, 1),
    "os": (2, 1),
    "cbor": (2, 2),
    "codec": (3, 2),
    "index": (4, 2),
    "read": (5, 7),
    "write": (6, 7),
    "transfer": (7, 7),
    "import": (7, 7),
    "hdf5": (8, 7),  # of the adaptor alone
    "http": (8, 7),  # likewise
    "mpi": (8, 7),  # likewise
}
WAIST_WING = "base"  # all of detail/ that a public header may reach in compiled mode
WAIST_EXCEPTIONS = {"json": {"cbor"}}  # header-only in both modes: a compiled library knows no nlohmann/json

# The end of a public header: definitions that only header-only mode has there.
TAIL = re.compile(r"^#if !defined\(ZTENSOR_COMPILED\)\n((?:#include <ztensor/detail/\w+/\w+_definitions\.hpp>\n)+)#endif\n",
                  re.MULTILINE)

# Rooms that must not know each other, not even through a third.
STRANGERS = [("reader", "writer"), ("writer", "reader"), ("load_plan", "writer"), ("load_plan", "json")]

# Standard headers that cost those who include them much, and the headers that may include them all the same.
HEAVY_IN_PUBLIC = {name: r"(?!)" for name in ("filesystem thread chrono ostream iostream map set variant mutex").split()}
HEAVY_IN_PUBLIC["functional"] = r"copy\.hpp"
HEAVY_IN_DETAIL = {"filesystem": r"detail/os/windows\.hpp", "thread": r"detail/os/\w+\.hpp", "chrono": r"detail/os/\w+\.hpp"}

# Headers that are neither ours nor the standard library's, by the rooms that may know them.
FOREIGN_HEADERS = {
    r"detail/codec/zstd\.hpp": r"zstd(_errors)?\.h",
    r"detail/codec/digests\.hpp": r"xxhash\.h",
    r"detail/os/posix\.hpp": r"(sys/|linux/)?(?!zstd)\w+\.h",
    r"detail/os/windows\.hpp": r"(?!zstd)\w+\.h",
    r"detail/os/memory\.hpp": r"sys/auxv\.h|immintrin\.h",
    r"(detail/import/)?json\.hpp": r"nlohmann/\w+\.hpp",
    r"detail/codec/deflate\.hpp": r"zlib\.h",
    r"eigen\.hpp": r"Eigen/\w+",
    r"detail/hdf5/library\.hpp": r"hdf5\.h",
    r"detail/http/(client|failures|url)\.hpp": r"curl/curl\.h",
    r"detail/mpi/communicator\.hpp": r"mpi\.h",
    r"mdspan\.hpp": r"mdspan/mdspan\.hpp|experimental/mdspan",
}
FOREIGN_WORDS = {
    r"\breinterpret_cast\b": r"detail/base/bytes\.hpp",
    r"\bnlohmann\b": r"(detail/import/)?json\.hpp",
    r"\bz_stream\b|\binflate(\w+[A-Z]\w*)?\(|\bZ_[A-Z_]+\b": r"detail/codec/deflate\.hpp",
    r"\bZSTD_\w+": r"detail/codec/zstd\.hpp",
    r"\bXXH\w+": r"detail/codec/digests\.hpp",
    r"\b_mm(256|512)?_\w+|\b__m(128|256|512)\w*": r"detail/(codec/(crc32|plane_kernels|sha256)|os/memory|read/convert)\.hpp",
    r"\b__asm__\b": r"detail/(codec/(crc32|sha256)|os/memory)\.hpp",
    # version.hpp has a symbol of that kind, and no object that a program uses.
    r"\bthread_local\b": r"detail/os/system\.hpp|version\.hpp",
    r"\bH5[A-Z]+\w*|\bhid_t\b|\bherr_t\b|\bhsize_t\b|\bhaddr_t\b": r"detail/hdf5/\w+\.hpp",
    r"\bcurl_\w+|\bCURL\w*": r"detail/http/(client|failures|url)\.hpp",
    r"\bMPI_\w+": r"(detail/mpi/\w+|mpi)\.hpp",
}

LONG_HEADER_LINES = 500
MAX_HEADER_LINES = 600

NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)", re.MULTILINE)


def read_headers(project):
    """Text by path below include/ztensor, such as "detail/base/bytes.hpp"."""
    folder = project / "include" / "ztensor"
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*.hpp"))}


def without_comments_and_strings(text):
    return NOT_CODE.sub(" ", text)


def own_includes(text):
    """The headers of this library that `text` includes, without folder and ending."""
    return [name[len("ztensor/"):-len(".hpp")] for _, name in INCLUDE.findall(text) if name.startswith("ztensor/")]


def without_tails(text):
    return TAIL.sub("", text)


def include_graph(headers):
    """What each header includes in every mode: tails don't count."""
    return {header[:-len(".hpp")]: own_includes(without_tails(text)) for header, text in headers.items()}


def tails(text):
    """What a header includes in header-only mode alone."""
    return own_includes("".join(TAIL.findall(text)))


def standard_includes(text):
    return [name for delimiter, name in INCLUDE.findall(text) if re.fullmatch(r"[a-z_]+", name)]


def guard_of(header):
    return "ZTENSOR_" + re.sub(r"\W", "_", header).upper()


def rank_table():
    return {name: rank for rank, names in RANKS.items() for name in names.split()}


def wing_of(name):
    """"core" of "detail/base/bytes"; None of a public header."""
    parts = name.split("/")
    return parts[1] if parts[0] == "detail" and len(parts) == 3 else None


def is_public(name):
    return "/" not in name


def is_definitions(name):
    return name.endswith("_definitions")


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
    """Public headers among each other."""
    ranks = rank_table()
    graph = include_graph(read_headers(project))
    problems = []
    for header in filter(is_public, graph):
        if header not in ranks:
            problems.append(f"{header}.hpp has no rank: add it to RANKS in tests/structure/house.py")
            continue
        problems += [f"{header}.hpp (rank {ranks[header]}) includes {other}.hpp (rank {ranks[other]})"
                     for other in graph[header] if ranks.get(other, 0) > ranks[header]]
    problems += [f"{header}.hpp includes itself in a circle" for header in graph if header in reachable(graph, header)]
    problems += [f"{header}.hpp must not know {stranger}.hpp" for header, stranger in STRANGERS
                 if stranger in reachable(graph, header)]
    return problems


def check_wings(project):
    """The wings among each other, and what they know of the public headers."""
    ranks = rank_table()
    problems = []
    for header, included in include_graph(read_headers(project)).items():
        wing = wing_of(header)
        if is_public(header):
            continue
        if wing not in WINGS:
            problems.append(f"{header}.hpp stands in no wing: detail/ is folders, see WINGS in tests/structure/house.py")
            continue
        floor, highest_rank = WINGS[wing]
        for other in included:
            other_wing = wing_of(other)
            if other_wing in WINGS and other_wing != wing and WINGS[other_wing][0] >= floor:
                problems.append(f"{header}.hpp (floor {floor}) includes {other}.hpp (floor {WINGS[other_wing][0]})")
            if is_public(other) and ranks.get(other, 0) > highest_rank:
                problems.append(f"{header}.hpp includes {other}.hpp (rank {ranks[other]}); its wing's highest is {highest_rank}")
    return problems


def waist(graph):
    """What users include in compiled mode: public headers, and what these reach through each other and the core."""
    ranks = rank_table()
    exempt = {UMBRELLA[:-len(".hpp")], COMPILED[:-len(".hpp")]}
    inner = {name: [other for other in included if is_public(other) or wing_of(other) == WAIST_WING]
             for name, included in graph.items()}
    public = [name for name in graph if is_public(name) and name not in exempt and ranks.get(name) != ADAPTORS]
    return sorted(set(public).union(*(reachable(inner, name) for name in public)) & set(graph))


def check_tails(project):
    """Definitions are included where header-only mode needs them, by compiled.hpp, and nowhere else."""
    headers = read_headers(project)
    problems = []
    for header, text in headers.items():
        name = header[:-len(".hpp")]
        rest = without_comments_and_strings(without_tails(text))
        if re.search(r"\bZTENSOR_COMPILED\b", rest) and header not in ("version.hpp", COMPILED):
            problems.append(f"{header} asks for ZTENSOR_COMPILED, but not to include *_definitions.hpp at its end")
        if TAIL.search(text) and not is_public(name):
            problems.append(f"{header} is no public header, and ends with definitions")
    graph = include_graph(headers)
    problems += [f"{name}.hpp includes {other}.hpp: sources of the compiled library that both reach it would not link"
                 for name in graph if name != COMPILED[:-len(".hpp")] for other in graph[name] if is_definitions(other)]
    wanted = {other for text in headers.values() for other in tails(text)}
    reached = reachable(graph, COMPILED[:-len(".hpp")])
    for name in filter(is_definitions, graph):
        if COMPILED in headers and name not in reached:
            problems.append(f"{COMPILED} does not reach {name}.hpp: a compiled library would lack what it defines")
        if name not in wanted and not any(name in reachable(graph, other) for other in wanted):
            problems.append(f"no public header ends with {name}.hpp: header-only programs lack what it defines")
    return problems


# What a source of the compiled library exports, and what it defines.
EXPORTS = re.compile(r"^ZTENSOR_EXPORT_BEGIN\n((?:#include <ztensor/\w+\.hpp>\n)+)ZTENSOR_EXPORT_END\n", re.MULTILINE)


def check_sources(project):
    """The compiled library's sources: each definition is in one, which exports it if users may reach what declares it."""
    headers = read_headers(project)
    graph = include_graph(headers)
    users_reach = set(waist(graph))
    problems, places = [], {}
    for path in sorted((project / "cmake/compiled").glob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        exported = {name for names in EXPORTS.findall(text) for name in own_includes(names)}
        exported |= {other for name in exported for other in reachable(graph, name)}
        for name in own_includes(EXPORTS.sub("", text)):
            places.setdefault(name, []).append(path.name)
            problems += [f"{path.name} does not export what {other}.hpp declares, which {name}.hpp may define: include a "
                         "public header that reaches it before ZTENSOR_EXPORT_END"
                         for other in sorted(users_reach.intersection(graph.get(name, [])) - exported)]
    for name in filter(is_definitions, graph):
        if len(places.get(name, [])) != 1:
            problems.append(f"{name}.hpp stands in {len(places.get(name, []))} sources of cmake/compiled, not in one")
    for header, text in headers.items():
        name = header[:-len(".hpp")]
        users = [other for other, included in graph.items() if name in included]
        if (name != "version" and not is_definitions(name) and "ZTENSOR_INLINE" in without_comments_and_strings(text)
                and (len(users) != 1 or not is_definitions(users[0]))):
            problems.append(f"{header} defines what is compiled once, so that one *_definitions.hpp alone may include it")
    return problems


def check_waist(project):
    headers = read_headers(project)
    graph = include_graph(headers)
    problems = []
    for name in waist(graph):
        problems += [f"{name}.hpp includes {other}.hpp: of detail/ users may reach {WAIST_WING}/ alone"
                     for other in graph[name] if not is_public(other)
                     and wing_of(other) not in {WAIST_WING} | WAIST_EXCEPTIONS.get(name, set())]
        problems += [f"{name}.hpp includes <{heavy}>, which users pay for"
                     for heavy in standard_includes(without_tails(headers[name + ".hpp"]))
                     if not re.fullmatch(HEAVY_IN_PUBLIC.get(heavy, r".*"), name + ".hpp")]
    for header, text in headers.items():
        if header.startswith("detail/"):
            problems += [f"{header} must not include <{heavy}>" for heavy in standard_includes(text)
                         if not re.fullmatch(HEAVY_IN_DETAIL.get(heavy, r".*"), header)]
    return problems


def check_umbrella(project):
    headers = read_headers(project)
    text = headers[UMBRELLA]
    lines = [line.strip() for line in NOT_CODE.sub(" ", text).splitlines()]
    allowed = re.compile(rf"|#include <ztensor/\w+\.hpp>|#(ifndef|define) {guard_of(UMBRELLA)}|#endif"
                         r"|#if __has_include\(<[\w/]+\.hpp>\)")
    problems = [f"{UMBRELLA} is only a list of public headers, but says: {line}"
                for line in lines if not allowed.fullmatch(line)]

    ranks = rank_table()
    included = own_includes(text)
    graph = include_graph(headers)
    reached = reachable(graph, "ztensor")
    problems += [f"{UMBRELLA} does not reach {name}.hpp" for name in graph
                 if is_public(name) and name not in reached and name + ".hpp" not in (UMBRELLA, COMPILED)
                 and ranks.get(name) != ADAPTORS and name not in FOREIGN_GROUP]
    problems += [f"{UMBRELLA} includes {name}.hpp, which is for other formats" for name in FOREIGN_GROUP & set(reached)]
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
                if not any(re.fullmatch(room, header) and re.fullmatch(known, name)
                           for room, known in FOREIGN_HEADERS.items()):
                    problems.append(f"{header} must not include <{name}>")
        code = without_comments_and_strings(INCLUDE.sub("", re.sub(r"__has_include\(.*\)", "", text)))
        for word, home in FOREIGN_WORDS.items():
            found = re.search(word, code)
            if found and not re.fullmatch(home, header):
                problems.append(f"{header} says {found.group()}, which belongs in " + home.replace("\\", ""))
    return problems


def lasting_macros(headers):
    """(header, name) of each macro that a header leaves behind, but for guards."""
    for header, text in headers.items():
        for name in DEFINE.findall(without_comments_and_strings(text)):
            # Defined for a foreign header only, and taken back.
            if not re.search(rf'#\s*undef\s+{name}\b|pop_macro\("{name}"\)', text) and name != guard_of(header):
                yield header, name


def check_macros(project):
    problems = []
    for header, name in lasting_macros(read_headers(project)):
        if not name.startswith("ZTENSOR_"):
            problems.append(f"{header} defines {name}: macros are all ZTENSOR_")
        elif header != "version.hpp":
            problems.append(f"{header} defines {name}: the library's macros stand in version.hpp")
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


# A program of tests may include Catch2, and name what its generations spell otherwise, in support/catch.hpp alone.
CATCH = re.compile(r"#\s*include\s*<catch2/|\bCatch::\w+")


def check_catch(project):
    return [f"{path.relative_to(project).as_posix()} says {found}, which belongs in tests/support/catch.hpp"
            for path in sorted((project / "tests").rglob("*.[ch]pp")) if path.as_posix() not in (
                (project / "tests/support/catch.hpp").as_posix(), (project / "tests/support/main.cpp").as_posix())
            for found in CATCH.findall(path.read_text(encoding="utf-8"))]
# An allocation that nothing uses: a compiler may remove it, so it can't be asked to fail.
UNUSED_ALLOCATION = re.compile(r"static_cast<void>\(\s*(?:::)?\s*(?:operator\s+)?new\b")


def check_memory(project):
    """How memory that runs out is told."""
    return [f"{header} makes an allocation that nothing uses: raise_out_of_memory() tells that memory ran out"
            for header, text in read_headers(project).items()
            if UNUSED_ALLOCATION.search(without_comments_and_strings(text))]


# Names that <windows.h> makes macros of unless told otherwise; a name in parentheses is no call of a macro.
MACRO_CALLS = re.compile(r"\b(?:min|max)\b(?:<(?:[^<>;(){}]|<[^<>]*>)*>)?\s*\(")


# Builtins that the manuals of GCC and clang both describe for users. What intrinsics are made of is a compiler's own.
DOCUMENTED_BUILTINS = {"__builtin_mul_overflow", "__builtin_prefetch"}
# The minus of something unsigned: Microsoft's compiler warns of it (C4146), as an error under /sdl.
NEGATED_UNSIGNED = re.compile(r"(?:[({\[,=<>&|?:]|\breturn)\s*(-(?:address_of|(?:static_cast<)?(?:std::)?(?:size_t|uint\w*))\b)")


def check_portable(project):
    """What compilers and systems that no test here has would stumble over."""
    problems = []
    for header, text in read_headers(project).items():
        # Without /utf-8, Microsoft's compiler takes bytes above 127 for those of the system's code page.
        problems += [f"{header}:{number} is not ASCII: {line.strip()}"
                     for number, line in enumerate(text.splitlines(), start=1) if not line.isascii()]
        code = without_comments_and_strings(text)
        problems += [f"{header} calls {call}: write (std::min)(a, b), for <windows.h> has macros of these names"
                     for call in MACRO_CALLS.findall(code)]
        problems += [f"{header} calls {builtin}, which no compiler promises to keep"
                     for builtin in sorted(set(re.findall(r"\b__builtin_\w+", code)) - DOCUMENTED_BUILTINS)]
        problems += [f"{header} says {negated}: write 0 - ... of what is unsigned"
                     for negated in NEGATED_UNSIGNED.findall(code)]
    return problems


# Calls that cut offsets, sizes or inode numbers to 32 bits where _FILE_OFFSET_BITS says so.
NARROW_CALLS = re.compile(r"::(creat|fallocate|fgetpos|fopen|freopen|fseeko|fsetpos|fstat|fstatat|fstatfs|fstatvfs|ftello|ftruncate|ftw"
                          r"|getdents|getrlimit|glob|lockf|lseek|lstat|mkostemp|mkstemp|mmap|nftw|open|openat|posix_fadvise"
                          r"|posix_fallocate|pread|preadv2?|prlimit|pwrite|pwritev2?|readdir|readdir_r|scandir|sendfile"
                          r"|setrlimit|stat|statfs|statvfs|tmpfile|truncate)\(|(::off64_t|::off_t)")
WIDE_CALLS = re.compile(r"// Offsets have 64 bits on every host\..*?static_assert\(sizeof\(posix_offset\) == 8", re.DOTALL)


def check_offsets(project):
    """Wherever off_t may have 32 bits, the calls are made by names that do not depend on it."""
    return [f"{header} calls {call or word}: posix.hpp has a posix_ function for it, of 64 bits on every host"
            for header, text in read_headers(project).items() if header.startswith("detail/os/posix")
            for call, word in NARROW_CALLS.findall(without_comments_and_strings(WIDE_CALLS.sub("", text)))]


# Variables that live as long as the program or a thread: `static T name`, `thread_local T name`, and `inline T name` or
# `const T name` of a namespace, which are never indented; ended by ";", "=", "{", "[", or by arguments in parentheses, which no parameters are.
LASTING = re.compile(
    r"^(?P<inline>(?:inline|const)\b)(?P<of_inline>[^;{}()=]*?)\b\w+\s*(?:\[[^\]]*\]\s*)?(?:;|=(?!=)|\{)"
    r"|\b(?P<static>static|thread_local)\b(?!\s*(?:constexpr|consteval))(?P<of_static>[^;{}()=]*?)\b\w+\s*"
    r"(?:\[[^\]]*\]\s*)?(?:;|=(?!=)|\{|\((?P<arguments>[^(){};]+)\)\s*;)", re.MULTILINE)
PARAMETER = re.compile(r"\w[\s&*>]+\w|[&*>]\s*(?:,|$)")
# Types without destructors, and those that system.hpp gives one for its own end. What a program may destroy
# while it ends is wrapped in never_destroyed.
LASTING_TYPES = re.compile(
    r"(?:detail::)?never_destroyed<.*>|std::atomic<.*>|.*\*|(?:unsigned )?char|bool|unsigned|int|(?:std::)?(?:byte|size_t|u?int\d+_t)"
    r"|crc_tables|crc32c_word_powers|cpu_features|executor_choice|float8_values|reading_calls|system_calls"
    r"|thread_state|thread_end")
QUALIFIERS = re.compile(r"\b(?:static|inline|thread_local|const|volatile)\b")


def lasting_variables(code):
    """The types of variables that outlive all calls, each with the line it is found in."""
    for found in LASTING.finditer(code):
        words = found.group("of_inline") if found.group("inline") is not None else found.group("of_static")
        arguments = found.group("arguments")
        is_namespace = found.group("inline") is not None and re.match(r"\s*namespace\b", words)
        if "constexpr" in words or is_namespace or (arguments and PARAMETER.search(arguments)):
            continue
        yield " ".join(QUALIFIERS.sub(" ", words).split()), " ".join(found.group().split())


def check_statics(project):
    """Nothing is destroyed while the program ends: destructors of other statics may still call the library then."""
    return [f"{header} says {line}: make it a never_destroyed<{kind}>"
            for header, text in read_headers(project).items()
            for kind, line in lasting_variables(without_comments_and_strings(text))
            if not LASTING_TYPES.fullmatch(kind)]


RULES = {
    "ranks": check_ranks,
    "wings": check_wings,
    "tails": check_tails,
    "sources": check_sources,
    "waist": check_waist,
    "umbrella": check_umbrella,
    "foreign": check_foreign,
    "macros": check_macros,
    "form": check_form,
    "detail": check_detail,
    "length": check_length,
    "versions": check_versions,
    "memory": check_memory,
    "portable": check_portable,
    "catch": check_catch,
    "offsets": check_offsets,
    "statics": check_statics,
}


def main():
    project = pathlib.Path(sys.argv[1])
    problems = [f"{name}: {problem}" for name, rule in RULES.items() for problem in rule(project)]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
