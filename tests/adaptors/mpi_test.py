# SPDX-License-Identifier: MIT
"""Builds programs/mpi_ranks.cpp and two examples for one MPI library and runs them by 1, 2, 4 and 8 ranks: values, bytes that are read, and
faults of one rank, after which all ranks must say the same and none may hang.

usage: mpi_test.py openmpi|mpich WORK_FOLDER COMPILER FLAG...

Status 77 with a line "SKIPPED: why" where that library is not installed.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = {"mpi_ranks": PROJECT / "tests/adaptors/programs/mpi_ranks.cpp",
           "parallel_save": PROJECT / "examples/parallel_save.cpp", "parallel_load": PROJECT / "examples/parallel_load.cpp"}
SIZES = (1, 2, 4, 8)
DEADLINE_SECONDS = 120
WARNINGS = "-O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror".split()


class Mpi:
    """One MPI library: how it compiles and starts programs."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.wrapper, self.starter = (shutil.which(f"{program}.{name}") for program in ("mpicxx", "mpirun"))

    def is_here(self):
        return self.wrapper is not None and self.starter is not None

    def flags(self):
        """Of the compiler, with the library's folders as those of a system."""
        shown = subprocess.run([self.wrapper, "-show"], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
        words = [word for word in shown.split()[1:] if "_cxx" not in word and "mpichcxx" not in word]
        return [re.sub(r"^-I", "-isystem", word) for word in words]

    def build(self, compiler, flags):
        for name, source in SOURCES.items():
            subprocess.run([compiler, *WARNINGS, str(source), "-o", str(self.folder / name), *flags, *self.flags()],
                           check=True)

    def run(self, ranks, *words):
        """Status and output of all ranks. A run that takes longer than the deadline has hung."""
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_mpi_yield_when_idle="1", MPIR_CVAR_POLLS_BEFORE_YIELD="1", HYDRA_LAUNCHER="fork")
        program = "mpi_ranks" if words[0] not in SOURCES else words[0]
        words = [str(word) for word in words if word != program]
        oversubscribed = ["--oversubscribe"] if self.name == "openmpi" else []
        with subprocess.Popen([self.starter, *oversubscribed, "-np", str(ranks), str(self.folder / program), *words],
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, start_new_session=True) as started:
            try:
                output, _ = started.communicate(timeout=DEADLINE_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(started.pid, 9)
                raise AssertionError(f"{words} by {ranks} ranks hung")
        return started.returncode, output

    def succeed(self, ranks, *words):
        status, output = self.run(ranks, *words)
        assert status == 0, f"{words} by {ranks} ranks: status {status}\n{output}"
        return output


def errors_of(output, ranks):
    """What each rank said, in its order; all ranks said as much."""
    said = {rank: [] for rank in range(ranks)}
    for rank, text in re.findall(r"^rank (\d+) says (.*)$", output, re.MULTILINE):
        said[int(rank)].append(text)
    assert all(said.values()), output
    return said


def assert_same(output, ranks, *patterns):
    """All ranks said the same errors, and they are these."""
    said = errors_of(output, ranks)
    assert all(texts == said[0] for texts in said.values()), output
    assert len(said[0]) == len(patterns), output
    for text, pattern in zip(said[0], patterns):
        assert re.search(pattern, text), f"{text!r} is not {pattern!r}"


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def folder_for_each(folder, ranks, model):
    """A copy of the model for each rank, of one time."""
    fresh(folder)
    for rank in range(ranks):
        (folder / str(rank)).mkdir()
        shutil.copy2(model, folder / str(rank) / "model.zt")
    return folder


def test_load(mpi):
    for ranks in SIZES:
        mpi.succeed(ranks, "load", fresh(mpi.folder / "load"))


def test_law(mpi):
    for ranks in (2, 4, 8):
        print(mpi.succeed(ranks, "law", fresh(mpi.folder / "law")).strip(), flush=True)


def test_frames(mpi):
    """Large zstd tensors are decoded by all ranks; damage is the same error on all of them."""
    for ranks in SIZES:
        output = mpi.succeed(ranks, "frames", fresh(mpi.folder / "frames"))
        assert_same(output, ranks, r"^digest_mismatch: .*checked", r"^digest_mismatch: .*raw", r"^decode_failed: .*plain")


def test_refused(mpi):
    for ranks in (1, 4):
        output = mpi.succeed(ranks, "refuse", fresh(mpi.folder / "refuse"))
        assert_same(output, ranks, rf"^object_not_found: .*rank {ranks - 1}: .*absent")


def test_other_files(mpi):
    """One rank's file is missing, cut or another one."""
    mpi.succeed(1, "write", fresh(mpi.folder / "model"))
    model = mpi.folder / "model" / "v1.zt"
    for ranks in (2, 4):
        folder = folder_for_each(mpi.folder / "own", ranks, model)
        file = folder / str(ranks - 1) / "model.zt"
        file.unlink()
        assert_same(mpi.succeed(ranks, "open_own", folder), ranks, rf"^file_not_found: .*on rank {ranks - 1}")
        file.write_bytes(model.read_bytes()[:-100])
        assert_same(mpi.succeed(ranks, "open_own", folder), ranks, rf"^file_changed: .*on rank {ranks - 1}: .* bytes")
        file.write_bytes(model.read_bytes())
        os.utime(file, (1, 1))
        assert_same(mpi.succeed(ranks, "open_own", folder), ranks, rf"^file_changed: .*on rank {ranks - 1}: .*modified")
        first = folder / "0" / "model.zt"
        first.write_bytes(first.read_bytes()[:-3])
        assert_same(mpi.succeed(ranks, "open_own", folder), ranks, r"^truncated: .*on rank 0")


def test_cut_while_loading(mpi):
    mpi.succeed(1, "write", fresh(mpi.folder / "model"))
    for ranks in (2, 4):
        folder = folder_for_each(mpi.folder / "cut", ranks, mpi.folder / "model" / "v1.zt")
        assert_same(mpi.succeed(ranks, "load_cut", folder), ranks,
                    *[rf"^file_changed: .*on rank {ranks - 1}: the file has become shorter"] * 3)


def test_shared_memory(mpi):
    for ranks in SIZES:
        mpi.succeed(ranks, "share", fresh(mpi.folder / "share"))


def test_save_and_reshard(mpi):
    """What some ranks saved, others load."""
    for ranks in SIZES:
        folder = fresh(mpi.folder / "save")
        mpi.succeed(ranks, "save", folder)
        mpi.succeed(ranks, "save_cube", folder)
    for savers, loaders in ((4, 2), (2, 4), (8, 1), (1, 8), (4, 3)):
        folder = fresh(mpi.folder / "save")
        mpi.succeed(savers, "save_rows", folder)
        mpi.succeed(loaders, "load_saved", folder)


def test_examples(mpi):
    """Any number of ranks loads what any other number saved: each byte that is wanted is read once."""
    folder = fresh(mpi.folder / "examples")
    wanted = 8 * 4 * (2 * 128 * 64 + 64)
    for savers, loaders in ((1, 8), (2, 4), (4, 2), (8, 1)):
        mpi.succeed(savers, "parallel_save", folder / "checkpoint.zt", 2)
        output = mpi.succeed(loaders, "parallel_load", folder / "checkpoint.zt", 4)
        read = int(re.search(r"(\d+) bytes read by all", output).group(1))
        assert read == wanted, output


def test_saving_refused(mpi):
    for ranks in (1, 4):
        expected = [r"^not_expressible: .*2 of 3 tensors can't be written.*\"z\".*\"a\"",
                    r"^invalid_argument: .*on rank 1: 1 tensors are defined here",
                    r"^blob_overlap: .*2 of 2 tensors.*ranks 0 and 1.*no rank put 4"]
        if ranks == 1:
            expected = [expected[0], r"^size_mismatch: .*no rank put 4"]
        output = mpi.succeed(ranks, "refuse_saving", fresh(mpi.folder / "refuse"))
        assert_same(output, ranks, *expected)


def test_old_file_survives(mpi):
    """A full disk of one rank, and a rank that is killed."""
    for ranks in (2, 4):
        folder = fresh(mpi.folder / "old")
        mpi.succeed(1, "save_rows", folder)
        old = (folder / "saved.zt").read_bytes()
        for way in ("save_full_alone", "save_full_together"):
            output = mpi.succeed(ranks, way, folder)
            assert_same(output, ranks, rf"^io_error: .*on rank {ranks - 1}: can't write the file.*: File too large")
        assert [each.name for each in folder.iterdir()] == ["saved.zt"], list(folder.iterdir())
        assert (folder / "saved.zt").read_bytes() == old
        status, output = mpi.run(ranks, "save_killed", folder)
        assert status != 0, output
        assert (folder / "saved.zt").read_bytes() == old
        left = [each.name for each in folder.iterdir() if each.name != "saved.zt"]
        assert all(re.fullmatch(r"\.ztensor-[0-9a-f]{16}\.tmp", each) for each in left), left


def main():
    name, folder, compiler, flags = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
    mpi = Mpi(name, folder)
    if not mpi.is_here():
        print(f"SKIPPED: {name} is not installed, or not as mpicxx.{name} and mpirun.{name} "
              f"(Debian and Ubuntu: lib{name}-dev and {'openmpi-bin' if name == 'openmpi' else 'mpich'})")
        return 77
    folder.mkdir(parents=True, exist_ok=True)
    mpi.build(compiler, flags)
    for test in (test_load, test_law, test_frames, test_refused, test_other_files, test_cut_while_loading,
                 test_shared_memory, test_save_and_reshard, test_examples, test_saving_refused, test_old_file_survives):
        begin = time.monotonic()
        test(mpi)
        print(f"{test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
