# SPDX-License-Identifier: MIT
"""Plants small faults into the checks, one at a time, and looks whether a test notices.

usage: mutants.py [--count N] [--seed S] [--only REGEX] [--numbers N,N,...] [--quick] [--short] [--folder FOLDER] [--list]

The tests are built once, as a shared library without optimisation. A mutant is compiled alone, as a library that is
loaded before: its inline functions take the place of all others. First the tests run that are likeliest to notice;
what they let pass is compiled into the whole library and meets the whole suite, and what passes that too is compiled
with optimisation: if that makes the same code of it as of the original, it is the original. The rest are survivors: their changes stand in FOLDER/survivors.txt.
"""

import argparse
import hashlib
import os
import pathlib
import random
import re
import subprocess
import sys
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
DETAIL = PROJECT / "include" / "ztensor" / "detail"
EARLIER = [
    "index/frame", "cbor/cursor", "index/parser", "index/parse", "index/rules", "index/part_rules",
    "index/record_template", "index/scan", "index/layouts",
]
LATER = [ # which tests of their own reach, and hardly any others
    # version 2
    "index/parse_2", "read/convert", "read/siblings", "codec/digests",
    # the model, and parts of what it describes
    "index/model", "read/parts", "read/weights",
    # files of other formats
    "import/zip", "import/pickle_machine", "import/pickle_values", "import/pickle_stream", "import/pt_content",
    "import/gguf", "import/npy_header", "import/safetensors_definitions",
    "import/shared", "import/strided", "import/onnx_tensor", "import/folder_definitions",
    "import/folder_files",
    # planes
    "codec/plane_kernels", "index/planes", "read/joined_planes", "write/planes_draft",
]
HEADERS = EARLIER + LATER
# Topics of tests that run first, by header; then those that take no time, and then the others that are about reading.
FIRST = {
    "index/frame": "footer foreign_files corpus_2 version_2",
    "cbor/cursor": "attributes refused_fields cursor deterministic corpus_2",
    "index/parser": "generations templates chunked_text refused_fields",
    "index/parse": "generations templates unlike_objects old_indices",
    "index/rules": "generations refused_fields sparse_0_1 sparse_views sparse_refused deterministic corpus_2 version_2",
    "index/record_template": "generations templates templates_2 corpus_2 version_2",
    "index/scan": "templates_2 generations templates chunked_text unknown_pairs refused_fields corpus_2 version_2",
    "index/part_rules": "blobs_in_any_order sparse_0_1 generations refused_fields templates lint sparse_refused version_2 written_version_2",
    "index/layouts": "quantized_refused deterministic corpus_2 version_2 templates_2 written_version_2 corpus_across",
    "index/parse_2": "deterministic corpus_2 version_2 templates_2 written_version_2 corpus_across",
    "read/convert": "convert narrow selections deterministic corpus_2 version_2 written_version_2",
    "read/siblings": "built_2 version_2 corpus_2 shard_faults written_version_2 corpus_across",
    "codec/digests": "digest_texts corpus_2 verify golden version_2 written_version_2",
    "index/model": "generations templates templates_2 corpus_2 version_2 built_2 built_foreign",
    "read/parts": "slices selections pieces load_plan",
    "read/weights": "slices selections load_plan version_2 corpus_2",
    "import/zip": "numpy pt foreign_corpus",
    "import/pickle_machine": "pickle_opcodes pickle_lines pickles pt pt_growth foreign_corpus",
    "import/pickle_values": "pickle_opcodes pickle_lines pickles pt pt_growth foreign_corpus",
    "import/pickle_stream": "pickle_opcodes pickle_lines pickles pt pt_growth foreign_corpus",
    "import/pt_content": "pickle_opcodes pickle_lines pickles pt pt_growth foreign_corpus",
    "import/gguf": "gguf gguf_parts foreign_corpus",
    "import/npy_header": "numpy foreign_corpus",
    "import/safetensors_definitions": "safetensors foreign_corpus",
    "import/shared": "recognised safetensors gguf onnx foreign_corpus",
    "import/strided": "numpy pt foreign_corpus",
    "import/onnx_tensor": "onnx onnx_graphs foreign_corpus",
    "import/folder_definitions": "joined_readers gguf_parts folders",
    "import/folder_files": "joined_readers folders",
    "codec/plane_kernels": "plane_kernels planes planes_written",
    "index/planes": "planes_refused planes planes_copied",
    "read/joined_planes": "planes planes_refused",
    "write/planes_draft": "planes_written planes planes_copied",
}
# Templates that nobody uses in the header alone.
INSTANCES = {
    "index/scan": "".join(f"template const std::byte* pass_shape<{each}>(const std::byte*, std::uint64_t&) noexcept;"
                          for each in ("true", "false")),
    "cbor/cursor": "".join(f"template class basic_cbor_cursor<cbor_strictness::{each}>;"
                           for each in ("well_formed", "deterministic")),
    "index/parser": "".join(f"template class index_parser<cbor_strictness::{each}>;"
                            for each in ("well_formed", "deterministic")),
    "index/record_template": "template class template_cache<true>; template class template_cache<false>;",
}
QUICK = ("footer foreign_files generations blobs_in_any_order chunked_text old_indices quantized_counts row_pointers "
         "kept_attributes spec_example name_table attributes sparse_views sparse_rows layout_limits "
         "quantized_refused rule_files lint sparse_0_1 sparse_types golden refused_uses refused_fields "
         "deterministic corpus_2 version_2 written_version_2 foreign_corpus").split()
SLOW = [["sparse_refused", "refused_containers"], ["templates"]]
# What can't notice faults in these headers, or takes minutes to: every bit of every file, floats, threads, system calls.
ELSEWHERE = ("joined_readers damage json exhaustion opening_memory exhausted_memory peak_memory out_of_memory "
             "float_types result task_group file byte_sink digest digest_kernels "
             "zstd zstd_frames edit_faults").split()
WINGS = "support base os cbor codec index read write transfer import".split()
COMPILE = "clang++ -std=c++17 -fPIC -w -DZTENSOR_COMPILED".split()
SECONDS = 600  # a test run that takes longer hangs: the longest takes a third of it


def run(command, **more):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **more)


def must(command, **more):
    done = run(command, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}")


# -- where faults can stand

IGNORED = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^\s*#[^\n]*|static_assert\([^;]*;'
                     r"|^\s*(?:inline |static )*(?:constexpr )?std::\w+ most_\w+ = [^;]*;|<\w+, \d+>", re.MULTILINE)
OPERATORS = {
    " < ": [" <= ", " >= "], " <= ": [" < ", " > "], " > ": [" >= ", " <= "], " >= ": [" > ", " < "],
    " == ": [" != "], " != ": [" == "], " && ": [" || "], " || ": [" && "],
    " + ": [" - "], " - ": [" + "], " % ": [" / "], " * ": [" + "],
}
EARLY_RETURN = re.compile(r"(?<!else )if \((?:[^;{}]*; )?((?:[^;{}])+?)\) \{\s*return\b")


SENTENCE = re.compile(r"(?<=\bfail\()(\s*errc::\w+)([^;]*)(?=\)[^;()]*;)|(?<=wrong_count\()()([^;]*)(?=\);)")


def blanked(text):
    """Without what is no code and what only words an error: tests ask for its code."""
    code = IGNORED.sub(lambda match: " " * len(match.group()), text)
    return SENTENCE.sub(lambda match: (match.group(1) or "") + " " * len(match.group(2) or match.group(4) or ""), code)


def faults(text):
    """(start, end, replacement, kind) of every fault that `text` can be given."""
    code = blanked(text)
    found = []
    for old, replacements in OPERATORS.items():
        for match in re.finditer(r"(?<=\S)\s" + re.escape(old.strip()) + r"(?=\s)", code):
            start, end = match.start() + 1, match.end()
            found += [(start, end, new.strip(), old.strip()) for new in replacements]
    for match in re.finditer(r"!(?=[\w(])", code):
        found.append((match.start(), match.end(), "", "dropped !"))
    for match in re.finditer(r"(?<![\w.])(0x[0-9a-f]+|\d+)(u?)(?![\w.'])", code):
        line = code[code.rfind("\n", 0, match.start()) + 1:code.find("\n", match.end())]
        if re.search(r"^\s*(const )?[\w:<>]+ \w+ = 0;|\{0\}|\[\w*\]|inline constexpr", line):
            continue  # a start value, a size
        number = int(match.group(1), 0)
        for near in (number - 1, number + 1):
            if near >= 0:
                found.append((match.start(), match.end(), f"{near}{match.group(2)}", "±1"))
    for match in EARLY_RETURN.finditer(code):
        found.append((match.start(1), match.end(1), f"false && ({text[match.start(1):match.end(1)]})", "early return"))
    codes = sorted(set(re.findall(r"\berrc::\w+", code)))
    for match in re.finditer(r"\berrc::\w+", code):
        found += [(match.start(), match.end(), other, "error code") for other in codes if other != match.group()][:1]
    for match in re.finditer(r"\b(true|false)\b", code):
        found.append((match.start(), match.end(), "false" if match.group() == "true" else "true", "true/false"))
    return sorted(set(found))


def all_mutants(only):
    return [(header, fault) for header in HEADERS if re.search(only, header)
            for fault in faults((DETAIL / f"{header}.hpp").read_text(encoding="utf-8"))]


def difference(text, fault):
    """The lines of a fault, before and after."""
    start, end, replacement, _ = fault
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    changed = text[first:start] + replacement + text[end:last]
    before = "".join(f"-{line}\n" for line in text[first:last].split("\n"))
    return f"line {text.count(chr(10), 0, start) + 1}\n{before}" + "".join(f"+{line}\n" for line in changed.split("\n"))


FUNCTION = re.compile(r"^((?:    )?)(?!\s|(?:return|if|for|while|else|template|using|explicit|struct|class|enum|static_assert)\b)"
                      r"(?=(?:[\w:<>&*,]+ )+[&*]?[\w:]+\((?:[^=\n]*|[^\n]*[{}])$)", re.MULTILINE)


def emitted(text):
    """The same, but that a compiler writes every function down, used or not."""
    return FUNCTION.sub(r"\1[[gnu::used]] ", text.replace("[[nodiscard]]", "[[nodiscard]] [[gnu::used]]"))


# -- building

class workshop:
    def __init__(self, folder):
        self.folder = folder
        self.overlay = folder / "include"
        folder.mkdir(parents=True, exist_ok=True)
        self.flags = ["-I", self.overlay, "-I", PROJECT / "include", "-I", PROJECT / "tests"]
        self.pchs = {}
        self.seen = {}

    def is_fresh(self, product, *sources):
        sources = sources or [path for top in ("include", "tests", "cmake") for path in (PROJECT / top).rglob("*.[ch]pp")]
        return product.exists() and all(product.stat().st_mtime > path.stat().st_mtime for path in sources)

    def build_tests(self):
        """All tests in one shared library, and a program that is nothing but it."""
        main = self.folder / "main.so"
        if not self.is_fresh(main, PROJECT / "tests/support/main.cpp"):
            must(COMPILE + self.flags + ["-O0", "-shared", PROJECT / "tests/support/main.cpp", "-o", main])
        library = self.folder / "tests.so"
        if not self.is_fresh(library):
            pch = self.folder / "tests.pch"
            common = self.folder / "tests.hpp"
            common.write_text("".join(f'#include "support/{name}.hpp"\n' for name in ("catch", "openings", "zt_builder")))
            must(COMPILE + self.flags + ["-O0", "-x", "c++-header", common, "-o", pch])
            objects = [self.folder / "library.o"]
            must(COMPILE + self.flags + ["-O0", "-c", PROJECT / "cmake/ztensor.cpp", "-o", objects[0]])
            for wing in WINGS:
                sources = sorted(path for path in (PROJECT / "tests" / wing).glob("*.cpp") if path.name != "main.cpp")
                for first in range(0, len(sources), 6):
                    unit = self.folder / f"{wing}_{first}.cpp"
                    unit.write_text("".join(f'#include "{path}"\n' for path in sources[first:first + 6]))
                    objects.append(unit.with_suffix(".o"))
                    must(COMPILE + self.flags + ["-O0", "-include-pch", pch, "-c", unit, "-o", objects[-1]])
            must(["clang++", "-shared", *objects, "-lzstd", "-lz", "-lpthread", "-o", library])
        program = self.folder / "program"
        must(["clang++", "-x", "c++", "/dev/null", "-x", "none", "-Wl,--no-as-needed", main, library, "-o", program,
              f"-Wl,-rpath,{self.folder}", "-Wl,--allow-shlib-undefined"])
        return program

    def pch_for(self, header):
        """All that `header` includes."""
        if header not in self.pchs:
            included = re.findall(r"#include <[^>]+>", (DETAIL / f"{header}.hpp").read_text(encoding="utf-8"))
            source = self.folder / (header.replace("/", "_") + "_pch.hpp")
            source.write_text("\n".join(included) + "\n")
            self.pchs[header] = source.with_suffix(".pch")
            must(COMPILE + self.flags + ["-O0", "-x", "c++-header", source, "-o", self.pchs[header]])
        return self.pchs[header]

    def plant(self, header, text):
        path = self.overlay / "ztensor" / "detail" / f"{header}.hpp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def compile_alone(self, header):
        """The functions of the header and what they call, or None."""
        path = self.overlay / "ztensor" / "detail" / f"{header}.hpp"
        planted = path.read_text(encoding="utf-8")
        path.write_text(emitted(planted), encoding="utf-8")
        source = self.folder / "alone.cpp"
        source.write_text(f"#include <ztensor/detail/{header}.hpp>\nnamespace ztensor {{ inline namespace ZTENSOR_MODE {{ "
                          f"namespace detail {{ {INSTANCES.get(header, '')} }} }} }}\n")
        mutant = self.folder / "mutant.so"
        done = run(COMPILE + self.flags + ["-O0", "-include-pch", self.pch_for(header), "-shared", source, "-lzstd", "-lz", "-o",
                                           mutant])
        path.write_text(planted, encoding="utf-8")
        return mutant if done.returncode == 0 else None

    def compile_all(self):
        mutant = self.folder / "mutant_all.so"
        must(COMPILE + self.flags + ["-O0", "-shared", PROJECT / "cmake/ztensor.cpp", "-lzstd", "-lz", "-o", mutant])
        return mutant

    def optimised(self):
        """A digest of the machine code that the whole library becomes."""
        out = self.folder / "optimised.o"
        must(COMPILE + self.flags + ["-O2", "-c", PROJECT / "cmake/ztensor.cpp", "-o", out])
        code = run(["objdump", "-dr", "--no-show-raw-insn", "-j", ".text*", out]).stdout
        code += run(["objdump", "-s", out]).stdout
        return hashlib.sha256(code.split("\n", 3)[-1].encode()).hexdigest()


def topics_of_wings():
    return [path.name[:-len("_test.cpp")] for wing in WINGS for path in sorted((PROJECT / "tests" / wing).glob("*_test.cpp"))
            if path.name[:-len("_test.cpp")] not in ELSEWHERE]


def notices(program, mutant, topics):
    """The first test that fails, "hangs" or "dies"; None if all is well."""
    if not topics:
        return None  # no topic would mean all
    environment = dict(os.environ, LD_PRELOAD=str(mutant), LC_ALL="C")
    command = [program, "--filenames-as-tags", "--abort", ",".join(f"[#{topic}_test]" for topic in topics)]
    try:
        done = run(command, env=environment, cwd=PROJECT, timeout=SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode == 0:
        return None
    where = re.search(r"tests/(\w+/\w+)_test\.cpp:\d+", done.stdout)
    return where.group(1) if where else f"dies ({done.returncode})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--numbers", default="", help="only these, as another run has counted them")
    parser.add_argument("--quick", action="store_true", help="only the tests that are likeliest to notice, and no look at the code of survivors")
    parser.add_argument("--short", action="store_true", help="of the tests only those that are likeliest to notice, but all else")
    parser.add_argument("--only", default="", help="headers that the expression matches, such as footer")
    parser.add_argument("--folder", type=pathlib.Path, default=PROJECT / "build" / "mutants")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no mutant after so long")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()

    mutants = all_mutants(options.only)
    total = len(mutants)
    random.Random(options.seed).shuffle(mutants)
    chosen = [int(number) for number in options.numbers.split(",") if number] or range(min(options.count, total))
    texts = {header: (DETAIL / f"{header}.hpp").read_text(encoding="utf-8") for header in HEADERS}
    if options.list:
        for number in chosen:
            header, fault = mutants[number]
            print(f"#{number} {header} {difference(texts[header], fault)}")
        return 0

    shop = workshop(options.folder.resolve())
    started = time.time()
    must(["rm", "-rf", shop.overlay])
    program = shop.build_tests()
    whole = topics_of_wings()
    passed = shop.folder / "passed"
    if not shop.is_fresh(passed, shop.folder / "tests.so"):
        for topics in [QUICK, *SLOW, *([] if options.quick else [whole])]:
            if noticed := notices(program, "", topics):
                sys.exit(f"the tests fail without any fault: {noticed}")
        passed.touch()
    original = "" if options.quick else shop.optimised()
    print(f"{total} faults can be planted; built in {time.time() - started:.0f} s", flush=True)

    results = {"killed": 0, "same code": 0, "not compiled": 0, "survived": 0}
    by_header = {header: [0, 0] for header in HEADERS}
    survivors = open(shop.folder / "survivors.txt", "a", encoding="utf-8")
    for number in chosen:
        header, fault = mutants[number]
        if time.time() - started > options.minutes * 60:
            break
        text = texts[header]
        path = shop.plant(header, text[:fault[0]] + fault[2] + text[fault[1]:])
        first = FIRST[header].split()
        mutant = shop.compile_alone(header)
        if mutant is None:
            outcome, noticed = "not compiled", ""
        else:
            noticed = None
            others = [] if header in LATER else [QUICK, *SLOW]
            for topics in [first, *others]:
                noticed = noticed or notices(program, mutant, [topic for topic in topics if topic not in first or topics == first])
            if not noticed and not options.quick: # of some headers not every function is emitted alone
                whole_library = shop.compile_all()
                noticed = notices(program, whole_library, first)
                if not noticed and not options.short:
                    noticed = notices(program, whole_library, whole)
            is_same = not noticed and not options.quick and shop.optimised() == original
            outcome = "killed" if noticed else "same code" if is_same else "survived"
        path.unlink()
        results[outcome] += 1
        by_header[header][0] += outcome == "killed"
        by_header[header][1] += outcome in ("killed", "survived")
        place = difference(text, fault)
        print(f"{number:4} {outcome:12} {header} {fault[3]} {place.splitlines()[0]} {noticed or ''}", flush=True)
        if outcome == "survived":
            survivors.write(f"#{number} {header} {place}\n")
            survivors.flush()

    judged = results["killed"] + results["survived"]
    print(f"\nseed {options.seed}: {results}; killed {results['killed']} of {judged}"
          f" ({100 * results['killed'] / max(judged, 1):.1f} %), {time.time() - started:.0f} s")
    for header, (killed, of) in by_header.items():
        if of:
            print(f"  {header:28} {killed:4} of {of}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
