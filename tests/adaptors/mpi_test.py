# SPDX-License-Identifier: MIT
"""Builds programs/mpi_ranks.cpp, two examples and what the guide shows for one MPI library and runs them by 1, 2, 4 and 8 ranks:
values, bytes that are read, and faults of one rank, after which all ranks must say the same and none may hang.

usage: mpi_test.py openmpi|mpich WORK_FOLDER COMPILER FLAG...

Status 77 with a line "SKIPPED: why" where that library is not installed.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = {"mpi_ranks": PROJECT / "tests/adaptors/programs/mpi_ranks.cpp",
           "parallel_save": PROJECT / "examples/parallel_save.cpp", "parallel_load": PROJECT / "examples/parallel_load.cpp"}
GUIDE = PROJECT / "examples/guide/many_processes.md"
SIZES = (1, 2, 4, 8)
DEADLINE_SECONDS = 120
WARNINGS = "-O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror".split()


class TwoHosts:
    """Two network namespaces with a wire between them and names of their own, which MPI takes for two hosts. Needs root's rights."""

    def __init__(self, folder):
        self.names = [f"zt{os.getpid()}{letter}" for letter in "ab"]
        self.addresses = ["10.9.0.1", "10.9.0.2"]
        self.agent = folder / "agent.sh"

    def __enter__(self):
        a, b = self.names
        commands = [f"netns add {a}", f"netns add {b}", f"link add {a} netns {a} type veth peer name {b} netns {b}"]
        for name, address in zip(self.names, self.addresses):
            commands += [f"-n {name} addr add {address}/24 dev {name}", f"-n {name} link set {name} up", f"-n {name} link set lo up"]
        try:
            for command in commands:
                subprocess.run(["ip", *command.split()], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            subprocess.run(self.on(a, "true"), check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except (OSError, subprocess.CalledProcessError):
            self.__exit__()
            return None
        self.agent.write_text(f"""#!/bin/sh
# As ssh does: HOST COMMAND...
while case $1 in -*) true ;; *) false ;; esac; do shift; done
case $1 in {a} | {self.addresses[0]}) host={a} ;; *) host={b} ;; esac
shift
exec ip netns exec $host unshare -u sh -c "hostname $host; $*"
""", encoding="utf-8")
        self.agent.chmod(0o755)
        return self

    def __exit__(self, *_):
        for name in self.names:
            if shutil.which("ip") is not None:
                subprocess.run(["ip", "netns", "del", name], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    @staticmethod
    def on(name, command):
        return ["ip", "netns", "exec", name, "unshare", "-u", "sh", "-c", f"hostname {name}; exec {command}"]

    def started(self, mpi, ranks, words):
        """The command that starts half of the ranks on each host."""
        hosts = ",".join(f"{each}:{ranks // 2}" for each in (self.names if mpi.name == "openmpi" else self.addresses))
        options = [f"--mca plm rsh --mca plm_rsh_agent {self.agent} --mca pml ob1 --mca btl self,vader,tcp --oversubscribe -H",
                   "--mca btl_tcp_if_include 10.9.0.0/24 --mca oob_tcp_if_include 10.9.0.0/24"] if mpi.name == "openmpi" else \
            [f"-launcher ssh -launcher-exec {self.agent} -localhost {self.addresses[0]} -hosts", ""]
        return self.on(self.names[0], shlex.join([mpi.starter, *options[0].split(), hosts, *options[1].split(), "-np", str(ranks)])
                       + " " + shlex.join(words))


class Mpi:
    """One MPI library: how it compiles and starts programs."""

    def __init__(self, name, folder):
        self.name, self.folder, self.says = name, folder, folder / "says"
        self.wrapper, self.starter = (shutil.which(f"{program}.{name}") for program in ("mpicxx", "mpirun"))

    def is_here(self):
        return self.wrapper is not None and self.starter is not None

    def flags(self):
        """Of the compiler, with the library's folders as those of a system."""
        shown = subprocess.run([self.wrapper, "-show"], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
        words = [word for word in shown.split()[1:] if "_cxx" not in word and "mpichcxx" not in word]
        return [re.sub(r"^-I", "-isystem", word) for word in words]

    def build(self, compiler, flags):
        subprocess.run([sys.executable, "-B", str(PROJECT / "tests/structure/readme_blocks.py"), "--mpi",
                        str(self.folder / "guide.cpp"), str(GUIDE)], check=True)
        for name, source in {**SOURCES, "guide": self.folder / "guide.cpp"}.items():
            subprocess.run([compiler, *WARNINGS, str(source), "-o", str(self.folder / name), *flags, *self.flags()],
                           check=True)

    def run(self, ranks, *words, folder=None, hosts=None, **more):
        """Status and stdout of all ranks. A run that takes longer than the deadline has hung. What a rank says for a test goes to
        a file of its own, `says`/RANK, and what is printed to stderr to another: lines of several processes may run into each
        other."""
        fresh(self.says)
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_mpi_yield_when_idle="1", ZTENSOR_TEST_SAYS=str(self.says.resolve()), MPIR_CVAR_POLLS_BEFORE_YIELD="1",
                           **({} if hosts else {"HYDRA_LAUNCHER": "fork"}), **more)
        program = words[0] if words[0] in (*SOURCES, "guide") else "mpi_ranks"
        words = [str(self.folder / program), *(str(word) for word in words if word != program)]
        oversubscribed = ["--oversubscribe"] if self.name == "openmpi" else []
        command = hosts.started(self, ranks, words) if hosts else [self.starter, *oversubscribed, "-np", str(ranks), *words]
        with open(self.folder / "stderr", "wb") as errors, \
             subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=errors,
                              universal_newlines=True, start_new_session=True) as started:
            try:
                output, _ = started.communicate(timeout=DEADLINE_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(started.pid, 9)
                raise AssertionError(f"{words} by {ranks} ranks hung")
        return started.returncode, output

    def succeed(self, ranks, *words, **how):
        status, output = self.run(ranks, *words, **how)
        errors = (self.folder / "stderr").read_text(encoding="utf-8", errors="replace")
        assert status == 0, f"{words} by {ranks} ranks: status {status}\n{output}{errors}"
        return output

    def said(self, rank):
        """The lines that the rank said in the last run."""
        file = self.says / str(rank)
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def assert_same(mpi, ranks, *patterns):
    """All ranks said the same errors in the last run, and they are these."""
    said = [mpi.said(rank) for rank in range(ranks)]
    assert all(texts == said[0] for texts in said), said
    assert len(said[0]) == len(patterns), said
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
        mpi.succeed(ranks, "frames", fresh(mpi.folder / "frames"))
        assert_same(mpi, ranks, r"^digest_mismatch: .*checked", r"^digest_mismatch: .*raw", r"^decode_failed: .*plain")


def test_planes(mpi):
    for ranks in SIZES:
        mpi.succeed(ranks, "planes", fresh(mpi.folder / "planes"))


def test_refused(mpi):
    for ranks in (1, 4):
        mpi.succeed(ranks, "refuse", fresh(mpi.folder / "refuse"))
        assert_same(mpi, ranks, rf"^object_not_found: .*rank {ranks - 1}: .*absent")


def test_other_files(mpi):
    """One rank's file is missing, cut or another one."""
    mpi.succeed(1, "write", fresh(mpi.folder / "model"))
    model = mpi.folder / "model" / "v1.zt"
    for ranks in (2, 4):
        folder = folder_for_each(mpi.folder / "own", ranks, model)
        file = folder / str(ranks - 1) / "model.zt"
        file.unlink()
        mpi.succeed(ranks, "open_own", folder)
        assert_same(mpi, ranks, rf"^file_not_found: .*on rank {ranks - 1}")
        file.write_bytes(model.read_bytes()[:-100])
        mpi.succeed(ranks, "open_own", folder)
        assert_same(mpi, ranks, rf"^file_changed: .*on rank {ranks - 1}: .* bytes")
        file.write_bytes(model.read_bytes())
        os.utime(file, (1, 1))
        mpi.succeed(ranks, "open_own", folder)
        assert_same(mpi, ranks, rf"^file_changed: .*on rank {ranks - 1}: .*modified")
        first = folder / "0" / "model.zt"
        first.write_bytes(first.read_bytes()[:-3])
        mpi.succeed(ranks, "open_own", folder)
        assert_same(mpi, ranks, r"^truncated: .*on rank 0")


def test_cut_while_loading(mpi):
    mpi.succeed(1, "write", fresh(mpi.folder / "model"))
    for ranks in (2, 4):
        folder = folder_for_each(mpi.folder / "cut", ranks, mpi.folder / "model" / "v1.zt")
        mpi.succeed(ranks, "load_cut", folder)
        assert_same(mpi, ranks,
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


def test_two_hosts(mpi):
    """Each host has one copy of what its ranks share, and what is loaded and saved by the ranks of both is right."""
    if mpi.name == "mpich":  # which can take every other rank for one of another host
        mpi.succeed(4, "share", fresh(mpi.folder / "hosts"), MPIR_CVAR_ODD_EVEN_CLIQUES="1")
        assert mpi.said(0) in (["hosts: 2"], ["hosts: 4"]), mpi.said(0)  # of MPICH in sid each rank is alone
    with TwoHosts(mpi.folder) as hosts:
        if hosts is None:
            print("no network namespaces, which need root's rights: no two hosts", flush=True)
            return
        mpi.succeed(4, "share", fresh(mpi.folder / "hosts"), hosts=hosts)
        assert mpi.said(0) == ["hosts: 2"], mpi.said(0)
        for command in ("load", "frames", "save", "save_cube"):
            mpi.succeed(4, command, fresh(mpi.folder / "hosts"), hosts=hosts)


def test_guide(mpi):
    """What the guide shows: any number of ranks loads what any other number saved by it."""
    folder = fresh(mpi.folder / "guide_files")
    mpi.succeed(1, "write_guide", folder)
    for ranks in (4, 1):
        mpi.succeed(ranks, "guide", folder=folder)
        assert (folder / "checkpoint.zt").stat().st_size > 4096 * 1024 * 4
        (folder / "checkpoint.zt").replace(folder / "model.zt")


def test_saving_refused(mpi):
    for ranks in (1, 4):
        expected = [r"^not_expressible: .*2 of 3 tensors can't be written.*\"z\".*\"a\"",
                    r"^invalid_argument: .*on rank 1: 1 tensors are defined here",
                    r"^blob_overlap: .*2 of 2 tensors.*ranks 0 and 1.*no rank put 4"]
        if ranks == 1:
            expected = [expected[0], r"^size_mismatch: .*no rank put 4"]
        mpi.succeed(ranks, "refuse_saving", fresh(mpi.folder / "refuse"))
        assert_same(mpi, ranks, *expected)


def test_old_file_survives(mpi):
    """A full disk of one rank, and a rank that is killed."""
    for ranks in (2, 4):
        folder = fresh(mpi.folder / "old")
        mpi.succeed(1, "save_rows", folder)
        old = (folder / "saved.zt").read_bytes()
        for way in ("save_full_alone", "save_full_together"):
            mpi.succeed(ranks, way, folder)
            assert_same(mpi, ranks, rf"^io_error: .*on rank {ranks - 1}: can't write the file.*: File too large")
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
    for test in (test_load, test_law, test_frames, test_planes, test_refused, test_other_files, test_cut_while_loading,
                 test_shared_memory, test_save_and_reshard, test_examples, test_two_hosts, test_guide, test_saving_refused,
                 test_old_file_survives):
        begin = time.monotonic()
        test(mpi)
        print(f"{test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
