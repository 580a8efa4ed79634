# SPDX-License-Identifier: MIT
"""Builds small houses that break one rule each, and demands that house.py says so. Does the same for
budget.py and unit_names.py, and looks at the chains of headers that headers_alone.py compiles."""

import contextlib
import io
import pathlib
import tempfile
import unittest
import unittest.mock

import budget
import headers_alone
import house
import unit_names

VERSION_HPP = "".join(f"#define ZTENSOR_VERSION_{part} {number}\n"
                      for part, number in (("MAJOR", 0), ("MINOR", 1), ("PATCH", 0)))
def tail(*names):
    """What a public header ends with."""
    return ("#if !defined(ZTENSOR_COMPILED)\n" + "".join(f"#include <ztensor/detail/{name}_definitions.hpp>\n" for name in names)
            + "#endif\n")


SOUND = {
    "version.hpp": VERSION_HPP + "#if defined(ZTENSOR_COMPILED)\n#endif\n",
    "error.hpp": "#include <ztensor/version.hpp>\n#include <ztensor/detail/base/checked.hpp>\n#include <string>\n"
                 + tail("base/error"),
    "reader.hpp": "#include <ztensor/error.hpp>\n" + tail("read/reader"),
    "writer.hpp": "#include <ztensor/error.hpp>\n",
    "copy.hpp": "#include <ztensor/reader.hpp>\n#include <functional>\n",
    "json.hpp": "#include <ztensor/detail/cbor/cursor.hpp>\n#include <nlohmann/json.hpp>\n",
    "detail/cbor/cursor.hpp": "#include <ztensor/error.hpp>\n",
    "file_path.hpp": "",
    "detail/base/bytes.hpp": "// the only reinterpret_cast\nreinterpret_cast<char*>(p);\n",
    "detail/base/checked.hpp": "#include <cstddef>\n",
    "detail/base/error_definitions.hpp": "#include <ztensor/error.hpp>\n#include <charconv>\n",
    "detail/codec/zstd.hpp": "#include <ztensor/detail/base/bytes.hpp>\n#include <zstd.h>\n",
    "detail/os/tasks.hpp": "#include <thread>\n",
    "detail/os/windows.hpp": "#include <filesystem>\n#include <windows.h>\n",
    "detail/read/decode.hpp": "#include <ztensor/detail/codec/zstd.hpp>\n",
    "detail/read/reader_definitions.hpp": "#include <ztensor/reader.hpp>\n#include <ztensor/detail/read/decode.hpp>\n",
    "ztensor.hpp": "".join(f"#include <ztensor/{name}.hpp>\n"
                           for name in ("version", "error", "file_path", "reader", "writer", "copy", "json")),
    "compiled.hpp": "#include <ztensor/detail/base/error_definitions.hpp>\n"
                    "#include <ztensor/detail/read/reader_definitions.hpp>\n",
}


SOURCES = {
    "base.cpp": "ZTENSOR_EXPORT_BEGIN\n#include <ztensor/error.hpp>\nZTENSOR_EXPORT_END\n"
                "#include <ztensor/detail/base/error_definitions.hpp>\n",
    "read.cpp": "ZTENSOR_EXPORT_BEGIN\n#include <ztensor/reader.hpp>\nZTENSOR_EXPORT_END\n"
                "#include <ztensor/detail/read/reader_definitions.hpp>\n",
}


class RulesCanFail(unittest.TestCase):
    def problems(self, rule, headers=None, **files):
        with tempfile.TemporaryDirectory() as folder:
            project = pathlib.Path(folder)
            for name, body in {**SOUND, **(headers or {})}.items():
                guard = house.guard_of(name)
                self.write(project / "include/ztensor" / name,
                           f"// SPDX-License-Identifier: MIT\n#ifndef {guard}\n#define {guard}\n{body}#endif\n")
            self.write(project / "README.md", files.get("readme", "explained in detail\n"))
            self.write(project / "examples/inspect.cpp", files.get("example", "int main() {}\n"))
            self.write(project / "tests/base/checked_test.cpp", files.get("test", '#include "support/catch.hpp"\n'))
            self.write(project / "tests/support/catch.hpp", "#include <catch2/catch.hpp>\nCatch::Approx a;\n")
            for name, body in {**SOURCES, **files.get("sources", {})}.items():
                self.write(project / "cmake/compiled" / name, body)
            self.write(project / "cmake/packaging/vcpkg/ports/ztensor/vcpkg.json",
                       f'{{"version": "{files.get("version", "0.1.0")}"}}')
            return house.RULES[rule](project)

    @staticmethod
    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def test_a_sound_house_has_no_problem(self):
        for rule in house.RULES:
            self.assertEqual(self.problems(rule), [], rule)

    def test_ranks(self):
        for headers in (
                {"error.hpp": "#include <ztensor/reader.hpp>\n"},
                {"unheard_of.hpp": ""},
                {"dtype.hpp": "#include <ztensor/shape.hpp>\n", "shape.hpp": "#include <ztensor/dtype.hpp>\n"},
                {"reader.hpp": "#include <ztensor/writer.hpp>\n"},
                {"writer.hpp": "#include <ztensor/sparse.hpp>\n", "sparse.hpp": "#include <ztensor/reader.hpp>\n"},
                {"load_plan.hpp": "#include <ztensor/json.hpp>\n"}):
            self.assertTrue(self.problems("ranks", headers), headers)

    def test_portable(self):
        for body in ("int a = std::min(1, 2);\n", "int a = std::min<int>(1, 2);\n", "// 2 × 3\n",
                     "int a = std::numeric_limits<int>::max();\n", "int a = std::max<std::pair<int, int>>(b, c);\n",
                     "auto a = -address_of(p) % 8;\n", "f(-static_cast<std::size_t>(b));\n", "return -std::uint64_t{1};\n",
                     "__builtin_ia32_sfence();\n", "__builtin_shufflevector(a, b);\n"):
            self.assertTrue(self.problems("portable", {"shape.hpp": body}), body)
        for body in ("int a = (std::min)(1, 2);\n", "int a = (std::numeric_limits<int>::max)();\n", "int max_(int);\n",
                     "auto a = 0 - address_of(p);\n", "f(a - static_cast<std::size_t>(b));\n", "__builtin_prefetch(p);\n"):
            self.assertEqual(self.problems("portable", {"shape.hpp": body}), [], body)

    def test_catch(self):
        for body in ("#include <catch2/catch_all.hpp>\n", 'CHECK_THAT(text, Catch::Matchers::Contains("x"));\n'):
            self.assertTrue(self.problems("catch", test=body), body)
    def test_offsets(self):
        wide = ("// Offsets have 64 bits on every host.\nint a = ::stat(p, q);\n"
                "static_assert(sizeof(posix_offset) == 8);\n")
        self.assertFalse(self.problems("offsets", {"detail/os/posix.hpp": wide}))
        for body in ("::readdir(entries);\n", "static_cast<::off64_t>(a);\n", "::posix_fadvise(a, b, c, d);\n",
                     "::fstatfs(file, &found);\n", "::statfs(path, &found);\n", "::getdents(a, b, c);\n", "static_cast<::off_t>(a);\n"):
            self.assertTrue(self.problems("offsets", {"detail/os/posix.hpp": wide + body}), body)
            self.assertTrue(self.problems("offsets", {"detail/os/posix_writing.hpp": body}), body)

    def test_statics(self):
        for body in ("static std::mutex held;\n", "static const std::vector<int> all = make();\n", "static os_mutex only;\n",
                     "static std::string text(\"a\");\n", "inline std::map<int, int> known;\n", "static std::string names[2];\n",
                     "const std::string name = \"a\";\n", "inline const std::string name{\"a\"};\n",
                     "static thread_local std::vector<int> mine;\n", "thread_local std::string mine = text();\n",
                     "struct s {\n    static inline std::string name;\n};\n"):
            self.assertTrue(self.problems("statics", {"reader.hpp": body}), body)
        for body in ("static never_destroyed<std::mutex> held;\n", "static const never_destroyed<error> told(errc::a, \"b\");\n",
                     "static std::atomic<unsigned> count{0};\n", "static constexpr names known(fields);\n",
                     "inline constexpr std::string_view name = \"a\";\n", "static std::string text_of(const shape& of);\n",
                     "static result<reader> open(const path& at, const options& how = {});\n", "static result<void> run(file& of);\n",
                     "inline std::string text() {\n    const std::string one = f();\n}\n", "static executor* const pool = make();\n",
                     "inline namespace MODE {\n}\n"):
            self.assertEqual(self.problems("statics", {"reader.hpp": body}), [], body)

    def test_wings(self):
        for headers in (
                {"detail/cast.hpp": ""},
                {"detail/pantry/cast.hpp": ""},
                {"detail/base/text.hpp": "#include <ztensor/detail/cbor/cursor.hpp>\n", "detail/cbor/cursor.hpp": ""},
                {"detail/cbor/cursor.hpp": "#include <ztensor/detail/os/tasks.hpp>\n"},
                {"detail/read/decode.hpp": "#include <ztensor/detail/write/writer_core.hpp>\n", "detail/write/writer_core.hpp": ""},
                {"detail/index/parse.hpp": "#include <ztensor/detail/read/decode.hpp>\n"},
                {"detail/base/text.hpp": "#include <ztensor/digest.hpp>\n", "digest.hpp": ""},
                {"detail/index/parse.hpp": "#include <ztensor/reader.hpp>\n"}):
            self.assertTrue(self.problems("wings", headers), headers)
        self.assertTrue(self.problems("ranks", {"detail/base/a.hpp": "#include <ztensor/detail/base/b.hpp>\n",
                                                "detail/base/b.hpp": "#include <ztensor/detail/base/a.hpp>\n"}))

    def test_tails(self):
        reader = SOUND["reader.hpp"]
        for headers in (
                {"writer.hpp": "#if !defined(ZTENSOR_COMPILED)\n#include <ztensor/error.hpp>\n#endif\n"},
                {"writer.hpp": "#if defined(ZTENSOR_COMPILED)\nint x;\n#endif\n"},
                {"writer.hpp": "#include <ztensor/detail/read/reader_definitions.hpp>\n"},
                {"detail/base/text.hpp": "#include <ztensor/detail/base/error_definitions.hpp>\n",
                 "writer.hpp": "#include <ztensor/detail/base/text.hpp>\n"},
                {"detail/base/text.hpp": tail("base/error")},
                {"detail/base/other_definitions.hpp": ""},  # nobody's end, and not compiled
                {"detail/base/other_definitions.hpp": "", "reader.hpp": reader + tail("base/other")},  # not compiled
                {"compiled.hpp": ""}):
            self.assertTrue(self.problems("tails", headers), headers)

    def test_sources(self):
        for sources in (
                {"base.cpp": ""},                      # of no source
                {"again.cpp": SOURCES["base.cpp"]},    # of two
                {"read.cpp": SOURCES["read.cpp"].replace("#include <ztensor/reader.hpp>", "#include <ztensor/error.hpp>")}):
            self.assertTrue(self.problems("sources", sources=sources), sources)
        for headers in (
                {"detail/base/error_definitions.hpp": "#include <ztensor/error.hpp>\n#include <ztensor/file_path.hpp>\n"},
                {"detail/base/text.hpp": "ZTENSOR_INLINE int f() {}\n",
                 "detail/read/decode.hpp": "#include <ztensor/detail/base/text.hpp>\n"}):
            self.assertTrue(self.problems("sources", headers), headers)

    def test_waist(self):
        for headers in (
                {"writer.hpp": "#include <ztensor/detail/codec/zstd.hpp>\n"},
                {"writer.hpp": "#include <ztensor/detail/cbor/cursor.hpp>\n"},
                {"detail/base/checked.hpp": "#include <ztensor/detail/codec/zstd.hpp>\n"},
                {"detail/base/checked.hpp": "#include <map>\n"},
                {"detail/base/bytes.hpp": "#include <filesystem>\n"},
                {"detail/read/decode.hpp": "#include <filesystem>\n"},
                {"detail/os/posix.hpp": "#include <filesystem>\n"},
                {"detail/read/decode.hpp": "#include <thread>\n"},
                {"detail/base/error_definitions.hpp": "#include <chrono>\n"}):
            self.assertTrue(self.problems("waist", headers), headers)
        for heavy in ("filesystem", "thread", "chrono", "functional", "ostream", "iostream", "map", "set", "variant", "mutex"):
            self.assertTrue(self.problems("waist", {"reader.hpp": f"#include <{heavy}>\n"}), heavy)

    def test_umbrella(self):
        listed = SOUND["ztensor.hpp"]
        for body in ("int x;\n", "#include <vector>\n", "#include <ztensor/detail/base/bytes.hpp>\n", "using std::string;\n"):
            self.assertTrue(self.problems("umbrella", {"ztensor.hpp": listed + body}), body)
        self.assertTrue(self.problems("umbrella", {"shape.hpp": ""}))
        self.assertTrue(self.problems("umbrella", {"ztensor.hpp": "#include <ztensor/json.hpp>\n" + listed}))

    def test_foreign(self):
        for body in ("#include <zstd.h>\n", "#include <nlohmann/json.hpp>\n", "#include <unistd.h>\n",
                     "#include <sys/mman.h>\n", "#include <stdint.h>\n", '#include "ztensor/error.hpp"\n',
                     "auto x = reinterpret_cast<char*>(p);\n", "ZSTD_decompress();\n", "nlohmann::json x;\n"):
            self.assertTrue(self.problems("foreign", {"reader.hpp": body}), body)
        self.assertTrue(self.problems("foreign", {"detail/os/tasks.hpp": "static thread_local int mine;\n"}))
        for room in ("detail/os/posix.hpp", "detail/codec/crc32.hpp", "detail/base/bytes.hpp", "detail/read/zstd.hpp"):
            self.assertTrue(self.problems("foreign", {room: "#include <zstd.h>\n"}), room)
        self.assertTrue(self.problems("foreign", {"detail/codec/zstd.hpp": "#include <immintrin.h>\n"}))
        self.assertTrue(self.problems("foreign", {"detail/codec/sha256.hpp": "#include <immintrin.h>\n"}))
        self.assertFalse(self.problems("foreign", {"detail/os/memory.hpp": "#include <immintrin.h>\n"}))
        for body in ("_mm_sfence();\n", "__m256i eight;\n", '__asm__("nop");\n'):
            self.assertTrue(self.problems("foreign", {"reader.hpp": body}), body)
        self.assertFalse(self.problems("foreign", {"detail/codec/crc32.hpp": "__m128i sum;\n_mm_sfence();\n"}))

    def test_macros(self):
        self.assertTrue(self.problems("macros", {"reader.hpp": "#define ZTENSOR_FAST 1\n"}))
        self.assertTrue(self.problems("macros", {"version.hpp": "#define FAST 1\n"}))
        taken_back = '#define NOMINMAX\n#pragma pop_macro("NOMINMAX")\n#define T 1\n#undef T\n'
        self.assertFalse(self.problems("macros", {"detail/os/windows.hpp": taken_back}))

    def test_form(self):
        with tempfile.TemporaryDirectory() as folder:
            project = pathlib.Path(folder)
            self.write(project / "include/ztensor/span.hpp",
                       "#ifndef ZTENSOR_SHAPE_HPP\n#define ZTENSOR_SHAPE_HPP\n#endif\n")
            self.assertEqual(len(house.check_form(project)), 2)

    def test_detail(self):
        self.assertTrue(self.problems("detail", readme="call ztensor::detail::load\n"))
        self.assertTrue(self.problems("detail", example="#include <ztensor/detail/base/bytes.hpp>\n"))

    def test_length(self):
        self.assertTrue(self.problems("length", {"reader.hpp": "\n" * 601}))

    def test_memory(self):
        for allocation in ("::operator new(most)", "operator new(most)", "new char[most]"):
            self.assertTrue(self.problems("memory", {"reader.hpp": f"static_cast<void>({allocation});\n"}), allocation)

    def test_versions(self):
        self.assertTrue(self.problems("versions", version="0.0.9"))

    def test_unit_names(self):
        first = "using support::bytes;\nbytes ones(std::size_t count) {\n    return bytes(count);\n}\n"
        for second in ("std::vector<int> ones(float value);\n", "using sparse::ones;\n", "const shape ones = {1};\n",
                       "struct ones {\n", "constexpr int ones[] = {1};\n", "using bytes = std::string;\n",
                       "template <class T>\nstd::function<void(T&)> ones(T other) {\n", "using namespace sparse;\n"):
            self.assertTrue(unit_names.clashes({"a": first, "b": second}), second)
        self.assertFalse(unit_names.clashes({"a": first, "b": "using support::bytes;\nbytes twos(int ones) {\n    ones();\n}\n"}))

    def test_chains(self):
        graph = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["d", "unheard of"], "f": []}
        chains = headers_alone.chains_of(graph)
        self.assertEqual(sorted(name for chain in chains for name in chain), sorted(graph))
        self.assertEqual(len(chains), 3)
        for chain in chains:
            for before, name in zip(chain, chain[1:]):
                self.assertIn(before, house.reachable(graph, name))
        self.assertEqual([["a", "d"]], headers_alone.chains_of(graph, ["a", "d"]))
        in_a_circle = headers_alone.chains_of({"a": ["b"], "b": ["a"], "c": ["a"]})
        self.assertEqual(sorted(map(len, in_a_circle)), [1, 2])
        self.assertNotIn(["a", "b"], map(sorted, in_a_circle))


class BudgetsCanFail(unittest.TestCase):
    def test_every_row_can_be_exceeded(self):
        for what, limits in budget.LIMITS.items():
            kept = {row: limit for row, (limit, *_) in limits.items()}
            self.assertEqual(self.broken(kept, what), 0, what)
            for row, limit in kept.items():
                too_much = limit - 1 if row.startswith("at least") else limit * budget.VARY[what] + 1
                self.assertEqual(self.broken({**kept, row: too_much}, what), 1, row)

    def broken(self, figures, what):
        with contextlib.redirect_stdout(io.StringIO()):
            return budget.print_table(figures, budget.LIMITS[what], budget.VARY[what])

    def test_what_is_left_is_told_and_can_be_lowered(self):
        limits = {"lines": (1_200, 900, None), "at least: %": (10, 10, 10)}
        self.assertEqual(budget.judge("lines", 1_100, 1_200), (False, "may be lowered by 100"))
        self.assertEqual(budget.lowered('"lines": (1_200, 900),', {"lines": 1_100, "at least: %": 12}, limits), '"lines": (1_100, 900),')
        self.assertEqual(budget.lowered('"lines": (1_200, 900),', {"lines": 1_300, "at least: %": 9}, limits), '"lines": (1_200, 900),')

    def test_each_header_belongs_to_one_part(self):
        self.assertEqual(budget.check_parts(["reader.hpp", "sparse.hpp", "detail/read/sparse_parts.hpp"]), [])
        self.assertTrue(budget.check_parts(["detail/pantry/jam.hpp"]))
        with unittest.mock.patch.dict(budget.MODULES, {"again": "detail/read/sparse_parts.hpp"}):
            self.assertTrue(budget.check_parts(["detail/read/sparse_parts.hpp"]))

    def test_what_is_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {
                    "include/ztensor/reader.hpp": "// read_at( in words\n#include <ztensor/sparse.hpp>\n#define ZTENSOR_A 1\n",
                    "include/ztensor/writer.hpp": "auto a = format_version::v1_2;\nauto b = ZSTD_compress(\"read_at(\");\n",
                    "include/ztensor/ztensor.hpp": "#include <ztensor/reader.hpp>\n#include <ztensor/writer.hpp>\n",
                    "include/ztensor/sparse.hpp": "static constexpr int most_gap_bytes = 0x1'0;\nfile.read_at(1.5e+3);\n",
                    "include/ztensor/detail/index/parse.hpp": f"version::v1{' ' * 200}\n",
                    "cmake/a.cmake": "\n", "cmake/compiled/a.cpp": "\n", "cmake/packaging/b": "\n\n", "examples/zt/a.cpp": "\n"}.items():
                RulesCanFail.write(pathlib.Path(folder) / path, text)
            figures = budget.measure_lines(pathlib.Path(folder))
        self.assertEqual(set(figures), set(budget.LIMITS["lines"]))
        for row, figure in {
                "lines of include/ztensor": 10, "tokens of include/ztensor": 63, "core: all": 8, "core: public": 7, "core: index": 1,
                "sparse": 2, "own lines that reader.hpp brings": 5, "own lines that writer.hpp brings": 2,
                "own lines that ztensor.hpp brings": 9, "lines of examples/zt": 1, "lines of cmake, but packaging and docs": 2,
                "files that call read_at(": 1, "files that name ZSTD_": 1, "constants named *gap*": 1,
                "version::v outside dialects": 1, "macros": 1, "longest line": 211,
                "at least: % of lines that are comments": 10}.items():
            self.assertEqual(figures[row], figure, row)


if __name__ == "__main__":
    unittest.main()
