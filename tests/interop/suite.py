#!/usr/bin/env python3
"""The whole comparison, as CTest runs it: makes a virtual environment, then runs the scripts beside this one, those of
each reference in one process, so that a file is described once.

Usage: suite.py --work DIR --inspect COMMAND... --rewrite COMMAND... --save-model COMMAND... --migrate COMMAND...
                --go-on COMMAND... --write-v2 COMMAND... --write-planes COMMAND... --zt COMMAND... [--seed N]
The commands are the examples of these names, go_on.cpp, write_v2.cpp, write_planes.cpp and the tool zt, after an emulator if they need one. DIR/files holds what was written.
Status 0 if everything agrees, 1 if not, 77 with a line "SKIPPED: why" if the Python packages can't be had. Where some of them
can't, a line says what was not compared.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import traceback
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent / "corpus"
GOLDEN = CORPUS / "golden"
SKIPPED = 77
OLDEST_PYTHON = (3, 10)
GROUPS = {"reference": "the reference of 0.1 to 1.2", "version_2": "the reference of version 2", "foreign": "other formats' libraries"}


def skip(why: str) -> NoReturn:
    """End the test as neither passed nor failed."""
    print(f"SKIPPED: {why}. Nothing was compared with the reference implementation.", flush=True)
    sys.exit(SKIPPED)


def what_kept(command: list[str]) -> str:
    """Run a step without which something can't be compared; "", or why it failed."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode == 0:
        return ""
    print(result.stdout)
    lines = result.stdout.strip().splitlines() or ["no output"]
    return next((line.strip() for line in lines if line.lower().lstrip().startswith("error")), lines[-1])


def environment(folder: Path) -> tuple[str, list[str]]:
    """A Python with all packages that can be had, the reference of version 2 in a folder of its own; and which of GROUPS
    can't be had."""
    if sys.version_info < OLDEST_PYTHON:
        skip("the second implementation needs Python {}.{}, this is {}.{}".format(*OLDEST_PYTHON, *sys.version_info))
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    why = what_kept([sys.executable, "-m", "venv", str(folder)])
    if why:
        skip(f"making a Python virtual environment failed: {why}")
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    install += ["--retries", "2", "--timeout", "20", "--only-binary", "ztensor"]  # whose build downloads a compiler
    version_2 = (HERE / "version_2.txt").read_text(encoding="utf-8").splitlines()
    reference = [line for line in version_2 if line.startswith("ztensor")]
    others = [line for line in version_2 if line and not line.startswith(("ztensor", "#"))]
    files = [word for path in sorted(HERE.glob("requirements*.txt")) for word in ("-r", str(path))]
    target = ["--no-deps", "--upgrade", "--target", str(folder / "version_2")]
    missing = []
    if what_kept([*install, *files, *others]):  # all at once is quicker
        why = what_kept([*install, "-r", str(HERE / "requirements.txt")])
        if why:
            skip(f"installing Python packages failed: {why}")
        for group, words in (("foreign", ["-r", str(HERE / "requirements-foreign.txt")]),
                             ("reference", ["-r", str(HERE / "requirements-reference.txt")]), ("version_2", others)):
            missing += without(group, what_kept([*install, *words]))
    if "version_2" not in missing:
        missing += without("version_2", what_kept([*install, *target, *reference]))
    return str(python), missing


def without(group: str, why: str) -> list[str]:
    """The group, if there is a reason that it can't be had, which is told."""
    if why:
        print(f"SKIPPED: nothing was compared with {GROUPS[group]}, whose packages could not be installed: {why}", flush=True)
    return [group] if why else []


def compare_in(python: str, work: Path, which: str, missing: list[str]) -> bool:
    """Run the comparisons of COMPARISONS that are called so, in one process; modules are compiled when they are needed."""
    variables = dict(os.environ, PYTHONPYCACHEPREFIX=str(work / "pycache"))
    if which == "version_2":
        variables["PYTHONPATH"] = str(work / "environment" / "version_2")
    return subprocess.call([python, str(HERE / "suite.py"), *sys.argv[1:], "--only", which,
                            *(["--without", *missing] if missing else [])], env=variables) == 0


def run(title: str, *command: object) -> bool:
    """Run one program; whether it succeeded."""
    print(f"\n== {title}", flush=True)
    status = subprocess.call([str(word) for word in command])
    if status != 0:
        print(f"FAILED with status {status}: {title}", flush=True)
    return status == 0


def script(title: str, name: str, *words: object) -> bool:
    """Run one script in this process; whether it succeeded."""
    print(f"\n== {title}", flush=True)
    status: object = 1
    try:
        status = importlib.import_module(name).main([str(word) for word in words])
    except SystemExit as end:
        status = end.code
    except Exception:
        traceback.print_exc()
    if status != 0:
        print(f"FAILED with status {status}: {title}", flush=True)
    return status == 0


def compare_version_2(arguments: argparse.Namespace) -> list[bool]:
    """With the reference of version 2."""
    read, written = (arguments.work / "files" / name for name in ("version_2", "version_2_written"))
    seed, commands = ["--seed", arguments.seed], ["--write", *arguments.write_v2, "--migrate", *arguments.migrate]
    return [
        script("write files of version 2 with its reference, and inspect them", "check_v2", read, "--inspect",
               *arguments.inspect, *seed),
        script("write files of version 2 beside its reference", "check_v2_written", "--out", written, *commands, *seed),
    ]


def compare(arguments: argparse.Namespace) -> list[bool]:
    """Every comparison but those of version 2; whether each succeeded."""
    files = arguments.work / "files"
    shutil.rmtree(files, ignore_errors=True)
    generated, referenced, written = files / "generated", files / "by_reference", files / "by_examples"
    written.mkdir(parents=True)
    has_reference, has_foreign = ("reference" not in arguments.without, "foreign" not in arguments.without)

    seed = ["--seed", arguments.seed]
    inspect, rewrite = ["--inspect", *arguments.inspect], ["--rewrite", *arguments.rewrite]
    results = [script("generate files of all generations", "generate", generated, *seed)]
    sources = [GOLDEN, generated]
    if has_reference:
        results.append(script("write files with the reference", "reference", "write", referenced, *seed))
        sources.append(referenced)
    results += [
        script("inspect them and the golden files", "check_inspect", *sources, *inspect),
        run("save a model", *arguments.save_model, written / "saved_model.zt"),
        script("rewrite all files", "check_rewrite", *sources, "--out", written, *rewrite),
        script("inspect what was written", "check_inspect", written, *inspect),
    ]
    if has_reference:
        results.append(script("damage files", "check_damaged", *sources, *inspect, "--count", 300, *seed))
    gone_on, go_on = files / "gone_on_with", ["--go-on", *arguments.go_on]
    title = "append to all files and edit them"
    results.append(script(title, "check_go_on", *sources, "--out", gone_on, *go_on))
    results.append(script("inspect what became of them", "check_inspect", gone_on, *inspect))
    if has_foreign:
        title = "write files of other formats with their packages, and inspect them"
        results.append(script(title, "check_foreign", files / "foreign", *inspect, *seed))
        title = "convert files of other formats there and back"
        results.append(script(title, "check_export", files / "exported", "--zt", *arguments.zt, *seed))
    if has_reference or has_foreign:  # which bring NumPy
        planes = files / "planes.zt"
        results.append(run("write tensors in planes", *arguments.write_planes, planes))
        results.append(script("read them by the specification", "check_planes", planes, CORPUS / "planes/planes.zt"))
    if has_reference:
        names = sorted([*written.glob("*.zt"), *gone_on.glob("*.zt")])
        results.append(script("read it with the reference", "reference", "read", "--known-limits", *names))
    return results


COMPARISONS = {"all_others": compare, "version_2": compare_version_2}


def main() -> int:
    """Prepare, then compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    for example in ("--inspect", "--rewrite", "--save-model", "--migrate", "--go-on", "--write-v2", "--write-planes",
                    "--zt"):
        parser.add_argument(example, nargs="+", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without", nargs="+", default=[], choices=sorted(GROUPS), help="whose packages are not there")
    parser.add_argument("--only", choices=sorted(COMPARISONS), help="these comparisons, here and now")
    arguments = parser.parse_args()
    if arguments.only:
        results = COMPARISONS[arguments.only](arguments)
        print(f"\n{results.count(True)} steps succeeded, {results.count(False)} failed")
    else:
        python, missing = environment(arguments.work / "environment")
        results = [compare_in(python, arguments.work, which, missing) for which in COMPARISONS if which not in missing]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
