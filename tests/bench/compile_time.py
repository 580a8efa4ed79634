#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What including and using the library costs a compiler, in both modes, relative to nlohmann/json in the same run.

usage: compile_time.py [--rounds N] [--compiler NAME]...

Takes g++ and clang++, whichever is there, at -O2 in C++17. Each round compiles everything once in an order of its own;
what counts is the least CPU time (user and system) of all rounds, as whatever else the machine does only adds to it.
Text is what `size` calls so: machine code, constants and unwind tables of the object file. Memory is that of the
largest process. The last line is what the compiled library itself takes, once for a program. What a program may cost is
limited by tests/structure/budget.py.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-std=c++17", "-O2", f"-I{PROJECT / 'include'}"]
KILOBYTE = 1024

JSON_INCLUDE = "#include <nlohmann/json.hpp>\n"
JSON_PROGRAM = """
#include <nlohmann/json.hpp>
#include <fstream>
#include <iostream>
int main(int, char** arguments) {
    std::ifstream in(arguments[1]);
    auto model = nlohmann::json::parse(in);
    std::cout << model["w"].get<double>() << '\\n' << model.dump() << '\\n';
}
"""

PROGRAMS = {
    "error.hpp": """
#include <ztensor/error.hpp>
#include <iostream>
int main(int, char** arguments) {
    const ztensor::error why = ztensor::error(ztensor::errc::io_error, "it is on fire").in_file(arguments[1]);
    std::cout << why.code() << ": " << why.what() << '\\n';
}
""",
    "reader.hpp": """
#include <ztensor/reader.hpp>
#include <iostream>
int main(int, char** arguments) {
    auto model = ztensor::reader::open(arguments[1]).value();
    auto view = model.view<float>("w").value();
    std::cout << view[0] << '\\n';
}
""",
    "writer.hpp": """
#include <ztensor/writer.hpp>
#include <vector>
int main(int, char** arguments) {
    auto out = ztensor::writer::create(arguments[1]).value();
    const std::vector<float> values = {1, 2, 3};
    out.add("w", {3}, values).value();
    out.finish().value();
}
""",
    "ztensor.hpp": """
#include <ztensor/ztensor.hpp>
#include <iostream>
#include <vector>
int main(int, char** arguments) {
    auto out = ztensor::writer::create(arguments[1]).value();
    const std::vector<float> values = {1, 2, 3};
    out.add("w", {3}, values, ztensor::store().zstd(3).digest(ztensor::digest::sha256)).value();
    out.attributes(ztensor::attributes().set("license", "MIT")).value();
    out.finish().value();
    auto model = ztensor::reader::open(arguments[1]).value();
    for (ztensor::object_view object : model) {
        std::cout << object.name() << ' ' << object.shape() << ' ' << object.format() << '\\n';
    }
    std::cout << model.read_as<double>("w").value()[0] << '\\n';
}
""",
}


class Case:
    """One file to compile."""

    def __init__(self, header, use, mode, source):
        self.key = (header, use, mode)
        self.source = source
        self.flags = ["-DZTENSOR_COMPILED"] if mode == "compiled" else []
        self.seconds = []
        self.megabytes = 0
        self.text = None
        self.functions = None
        self.failed = False

    def compile(self, compiler, folder):
        """Once; notes CPU time and the largest memory of any process, or that it failed."""
        source, object_file = folder / "case.cpp", folder / "case.o"
        source.write_text(self.source, encoding="utf-8")
        object_file.unlink(missing_ok=True)
        command = [compiler, *FLAGS, *self.flags, "-c", str(source), "-o", str(object_file)]
        with open(folder / "messages", "wb") as messages:
            process = subprocess.Popen(command, stdout=messages, stderr=messages)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status  # or Popen waits for it again
        self.failed = status != 0
        self.seconds.append(usage.ru_utime + usage.ru_stime)
        self.megabytes = max(self.megabytes, usage.ru_maxrss / KILOBYTE)
        if not self.failed:
            self.text = text_bytes(object_file)
            self.functions = functions_of(object_file)

    def preprocessed_lines(self, compiler):
        """Those of the program that are neither empty nor markers, with all that it includes."""
        command = [compiler, *FLAGS, *self.flags, "-E", "-x", "c++", "-"]
        text = subprocess.run(command, input=self.source, capture_output=True, text=True, check=True).stdout
        return sum(not line.startswith("#") and not line.isspace() for line in text.splitlines(keepends=True))

    def cpu(self):
        return min(self.seconds)


def text_bytes(object_file):
    """The text of an object file, or None where there is no `size` to ask."""
    for program in ("size", "llvm-size"):
        if shutil.which(program):
            answer = subprocess.run([program, str(object_file)], capture_output=True, text=True, check=True).stdout
            return int(answer.splitlines()[1].split()[0])
    return None


def functions_of(object_file):
    """How many functions an object file defines, or None where there is no `nm` to ask."""
    for program in ("nm", "llvm-nm"):
        if shutil.which(program):
            answer = subprocess.run([program, str(object_file)], capture_output=True, text=True, check=True).stdout
            return len(re.findall(r"^[0-9a-f]+ [tTW] ", answer, re.MULTILINE))
    return None


def all_cases():
    cases = [Case("nlohmann/json.hpp", "include", "", JSON_INCLUDE),
             Case("nlohmann/json.hpp", "program", "", JSON_PROGRAM)]
    for header, program in PROGRAMS.items():
        for mode in ("header-only", "compiled"):
            cases.append(Case(header, "include", mode, f"#include <ztensor/{header}>\n"))
            cases.append(Case(header, "program", mode, program))
    cases.append(Case("compiled.hpp", "include", "compiled", "#include <ztensor/compiled.hpp>\n"))
    return cases


def measure(compiler, rounds):
    cases = all_cases()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:  # what does not compile drops out, and the files are in memory from here on
            case.compile(compiler, pathlib.Path(folder))
            if case.failed:
                messages = (pathlib.Path(folder) / "messages").read_text(encoding="utf-8", errors="replace")
                print(f"{' '.join(case.key)} does not compile:", *messages.splitlines()[:3], sep="\n    ",
                      file=sys.stderr)
            case.seconds.clear()
        for _ in range(rounds):
            shuffled = [case for case in cases if not case.failed]
            random.shuffle(shuffled)
            for case in shuffled:
                case.compile(compiler, pathlib.Path(folder))
    return {case.key: case for case in cases}


def table_row(case, reference):
    """What stands behind the case's names."""
    if case.failed:
        return ["does not compile"]
    row = [f"{case.cpu():.2f} s", "", "", f"{case.megabytes:.0f} MB"]
    if reference is not None and not reference.failed:
        row[1] = f"{case.cpu() / reference.cpu():.2f}"
    if case.text is not None and case.text > 0:
        row[2] = f"{case.text / KILOBYTE:.1f} KB"
    return row


def print_table(compiler, rounds, cases):
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    print(f"\n{version}, -O2, C++17, {rounds} rounds")
    rows = [["header", "use", "mode", "CPU", "x nlohmann", "text", "memory"]]
    for (header, use, mode), case in cases.items():
        reference = None if header == "compiled.hpp" else cases["nlohmann/json.hpp", use, ""]
        rows.append([header, use, mode, *table_row(case, reference)])
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, (17, 7, 11, 8, 10, 8, 8))).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compiler", action="append", help="instead of g++ and clang++; may stand several times")
    arguments = parser.parse_args()
    compilers = arguments.compiler or [name for name in ("g++", "clang++") if shutil.which(name)]
    if not compilers:
        sys.exit("neither g++ nor clang++ is there")
    for compiler in compilers:
        print_table(compiler, arguments.rounds, measure(compiler, max(arguments.rounds, 1)))


if __name__ == "__main__":
    main()
