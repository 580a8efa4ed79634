# SPDX-License-Identifier: MIT
"""Writes the files of hdf5_corpus.py by the newest h5py that can be had, and runs the tests of HDF5 with them.

usage: hdf5_h5py.py WORK_FOLDER TEST_PROGRAM, in the top folder of the project

Status 77 with a line "SKIPPED: why" where h5py can't be had.
"""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
PACKAGES = ["h5py>=3.8", "numpy", "ml_dtypes"]


def run_or_skip(what, command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True)
    if done.returncode != 0:
        print(done.stdout)
        print(f"SKIPPED: {what} failed. Nothing was compared with h5py.", flush=True)
        sys.exit(SKIPPED)


def find_python(folder):
    """A Python that has h5py: this one, or one of a virtual environment."""
    probe = subprocess.run([sys.executable, "-c", "import h5py, ml_dtypes"], stderr=subprocess.DEVNULL)
    if probe.returncode == 0:
        return sys.executable
    environment = folder / "environment"
    python = environment / "bin" / "python"
    run_or_skip("making a Python virtual environment", [sys.executable, "-m", "venv", environment])
    run_or_skip("installing h5py", [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                                    "--retries", "2", "--timeout", "20", *PACKAGES])
    return python


def main():
    folder, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(parents=True, exist_ok=True)
    python, corpus = find_python(folder), folder / "corpus"
    subprocess.run([str(python), "-B", str(HERE / "hdf5_corpus.py"), str(corpus)], check=True)
    return subprocess.call([program], env=dict(os.environ, ZTENSOR_HDF5_CORPUS=str(corpus)))


if __name__ == "__main__":
    sys.exit(main())
