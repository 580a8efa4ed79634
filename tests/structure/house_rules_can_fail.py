# SPDX-License-Identifier: MIT
"""Builds small houses that break one rule each, and demands that house.py says so."""

import pathlib
import tempfile
import unittest

import house

VERSION_HPP = "".join(f"#define ZTENSOR_VERSION_{part} {number}\n"
                      for part, number in (("MAJOR", 0), ("MINOR", 1), ("PATCH", 0)))
SOUND = {
    "version.hpp": VERSION_HPP,
    "error.hpp": "#include <ztensor/version.hpp>\n#include <string>\n",
    "reader.hpp": "#include <ztensor/error.hpp>\n",
    "writer.hpp": "#include <ztensor/error.hpp>\n",
    "json.hpp": "#include <nlohmann/json.hpp>\n",
    "detail/cast.hpp": "// the only reinterpret_cast\nreinterpret_cast<char*>(p);\n",
    "ztensor.hpp": "".join(f"#include <ztensor/{name}.hpp>\n"
                           for name in ("version", "error", "reader", "writer", "json")),
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

    def test_umbrella(self):
        listed = SOUND["ztensor.hpp"]
        for body in ("int x;\n", "#include <vector>\n", "#include <ztensor/detail/cast.hpp>\n", "using std::string;\n"):
            self.assertTrue(self.problems("umbrella", {"ztensor.hpp": listed + body}), body)
        self.assertTrue(self.problems("umbrella", {"shape.hpp": ""}))
        self.assertTrue(self.problems("umbrella", {"ztensor.hpp": "#include <ztensor/json.hpp>\n" + listed}))

    def test_foreign(self):
        for body in ("#include <zstd.h>\n", "#include <nlohmann/json.hpp>\n", "#include <unistd.h>\n",
                     "#include <sys/mman.h>\n", "#include <stdint.h>\n", '#include "ztensor/error.hpp"\n',
                     "auto x = reinterpret_cast<char*>(p);\n", "ZSTD_decompress();\n", "nlohmann::json x;\n"):
            self.assertTrue(self.problems("foreign", {"reader.hpp": body}), body)
        self.assertTrue(self.problems("foreign", {"detail/os_posix.hpp": "#include <zstd.h>\n"}))

    def test_macros(self):
        self.assertTrue(self.problems("macros", {"reader.hpp": "#define ZTENSOR_FAST 1\n"}))
        self.assertTrue(self.problems("macros", {"version.hpp": "#define FAST 1\n"}))
        self.assertTrue(self.problems("macros", {"version.hpp": "".join(f"#define ZTENSOR_{i}\n" for i in range(10))}))
        taken_back = '#define NOMINMAX\n#pragma pop_macro("NOMINMAX")\n#define T 1\n#undef T\n'
        self.assertFalse(self.problems("macros", {"detail/os_windows.hpp": taken_back}))

    def test_form(self):
        with tempfile.TemporaryDirectory() as folder:
            project = pathlib.Path(folder)
            self.write(project / "include/ztensor/span.hpp",
                       "#ifndef ZTENSOR_SHAPE_HPP\n#define ZTENSOR_SHAPE_HPP\n#endif\n")
            self.assertEqual(len(house.check_form(project)), 2)

    def test_detail(self):
        self.assertTrue(self.problems("detail", readme="call ztensor::detail::load\n"))
        self.assertTrue(self.problems("detail", example="#include <ztensor/detail/cast.hpp>\n"))

    def test_length(self):
        self.assertTrue(self.problems("length", {"reader.hpp": "\n" * 451}))

    def test_versions(self):
        self.assertTrue(self.problems("versions", version="0.0.9"))


if __name__ == "__main__":
    unittest.main()
