# SPDX-License-Identifier: MIT
"""Lends tensors to NumPy and takes its own, through a module of Python's that is compiled here.

usage: dlpack_numpy.py WORK_FOLDER COMPILER FLAG..., where the flags are enough to compile and link a user of the library

Status 77 with a line "SKIPPED: why" where NumPy or Python's headers can't be had.
"""

import gc
import os
import pathlib
import subprocess
import sys
import sysconfig

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
NUMPY = "numpy>=2.1,<3"  # the first whose from_dlpack() knows versioned tensors


def skip(why):
    print(f"SKIPPED: {why}. Nothing was lent to NumPy.", flush=True)
    sys.exit(SKIPPED)


def run_or_skip(what, command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True)
    if done.returncode != 0:
        print(done.stdout)
        skip(f"{what} failed")


def compile_module(folder, compiler):
    headers = sysconfig.get_paths()["include"]
    if not (pathlib.Path(headers) / "Python.h").exists():
        skip("Python's headers are not installed (Debian and Ubuntu: python3-dev)")
    module = folder / ("dlpack_module" + sysconfig.get_config_var("EXT_SUFFIX"))
    source = HERE / "programs" / "dlpack_module.cpp"
    command = [compiler[0], "-shared", "-fPIC", "-O0", "-isystem", headers, str(source), "-o", str(module), *compiler[1:]]
    if sys.platform == "darwin":
        command += ["-undefined", "dynamic_lookup"]
    subprocess.run(command, check=True)


def prepare(folder, compiler):
    """Runs this script again, by a Python that has NumPy."""
    environment = folder / "environment"
    python = environment / "bin" / "python"
    run_or_skip("making a Python virtual environment", [sys.executable, "-m", "venv", environment])
    run_or_skip("installing NumPy", [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                                     "--no-compile", "--retries", "2", "--timeout", "20", NUMPY])
    compile_module(folder, compiler)
    compiled_when_needed = dict(os.environ, PYTHONPYCACHEPREFIX=str(folder / "pycache"))
    return subprocess.call([str(python), __file__, "check", str(folder)], env=compiled_when_needed)


class Lent:
    """What from_dlpack() takes: `make` gives a new capsule."""

    def __init__(self, make):
        self.make = make

    def __dlpack__(self, **_):
        return self.make()

    def __dlpack_device__(self):
        return 1, 0


def check(folder):
    import numpy

    sys.path.insert(0, str(folder))
    import dlpack_module

    path = str(folder / "lent.zt")

    def save(array):
        dlpack_module.save(path, "w", array.__dlpack__(max_version=(1, 0)))

    def lent(how):
        return numpy.from_dlpack(Lent(lambda: how(path, "w")))

    def is_mapped():
        maps = pathlib.Path("/proc/self/maps")
        return maps.exists() and path in maps.read_text(encoding="utf-8", errors="replace")

    counting = numpy.arange(24).reshape(2, 3, 4)
    arrays = [counting.astype(name) for name in
              "f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1 ? c8 c16".split()]
    arrays += [counting.T, counting[:, ::-2], counting[::-1, 1:, :2], numpy.broadcast_to(counting[0], (2, 3, 4)),
               numpy.array(0.5, "f4"), numpy.zeros((0, 3)), numpy.zeros((2, 0, 3), "i2"), numpy.ones((1, 1), "f4").T]
    for array in arrays:
        save(array)
        for how in (dlpack_module.view, dlpack_module.read):
            back = lent(how)
            what = f"{how.__name__} of {array.dtype} {array.shape}"
            assert back.dtype == array.dtype and back.shape == array.shape, what
            assert numpy.array_equal(back, array), what
            assert back.size == 0 or back.flags.writeable == (how is dlpack_module.read), what
            assert back.flags.c_contiguous, what
    print(f"{len(arrays)} arrays came back the same")

    save(counting)
    view = lent(dlpack_module.view)
    part = view[1, :2]
    del view
    gc.collect()
    assert is_mapped() or not sys.platform.startswith("linux")
    assert part.tolist() == [[12, 13, 14, 15], [16, 17, 18, 19]]
    try:
        part[0, 0] = 1
        raise AssertionError("a read-only array was written to")
    except ValueError as why:
        print("refused, as it should be:", why)
    del part
    gc.collect()
    assert not is_mapped(), "the file is still mapped although nobody has a tensor of it"

    dlpack_module.view(path, "w")  # a capsule that nobody takes
    gc.collect()
    assert not is_mapped(), "a capsule that was dropped keeps its file"

    mine = lent(dlpack_module.read)
    mine[...] = 0
    assert lent(dlpack_module.view).sum() == counting.sum(), "writing to a copy changed the file"

    try:
        dlpack_module.view(path, "absent")
        raise AssertionError("an absent object was lent")
    except ValueError as why:
        print("refused, as it should be:", why)
    print("all checks passed")
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "check":
        sys.exit(check(pathlib.Path(sys.argv[2])))
    work = pathlib.Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    sys.exit(prepare(work, sys.argv[2:]))
