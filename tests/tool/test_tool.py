#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every subcommand of zt: what it prints, where, and its exit code. Needs nothing but Python.

Usage: test_tool.py ZT...: the program, after an emulator if it needs one. In the top folder of the project.
"""

import base64
import contextlib
import http.server
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import xml.etree.ElementTree
import zipfile

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "corpus"
GOLDEN = CORPUS / "golden"
MODEL = GOLDEN / "silero-vad-16k.zt"
GOOD, BAD, USAGE, REFUSED = 0, 1, 2, 3
COMMANDS = ("info stats report verify lint convert copy merge split migrate diff extract print append remove rename attributes compact recover sweep id bench "
            "completion").split()
ZT = []


def run(*words, code=GOOD, env=None):
    """Runs zt; what it printed. Errors go to the standard error alone, and say who says it."""
    environment = dict(os.environ, LC_ALL="C", **(env or {}))
    result = subprocess.run([*ZT, *map(str, words)], capture_output=True, env=environment, check=False)
    out, errors = result.stdout.decode(), result.stderr.decode()
    assert result.returncode == code, f"{words}: code {result.returncode}, not {code}\n{out}{errors}"
    if code == REFUSED or code == GOOD:
        assert bool(errors) == (code == REFUSED), f"{words}: {errors}"
    run.errors = errors
    return out


def tell_skipped(what):
    """On a line of its own, where tests/skipped.sh finds it."""
    print(f"\nSKIPPED: {what}", flush=True)


def npy(values, form="f", shape=None):
    """A .npy file of the numbers."""
    types = {"f": "<f4", "d": "<f8", "B": "|u1", "q": "<i8"}
    text = f"{{'descr': '{types[form]}', 'fortran_order': False, 'shape': {shape or (len(values),)}, }}"
    header = text.encode() + b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}{form}", *values)


def crc32c(content):
    """CRC-32C, bit by bit."""
    remainder = 0xffffffff
    for byte in content:
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (0x82f63b78 if remainder & 1 else 0)
    return remainder ^ 0xffffffff


def undo_record(path):
    """The undo record of a file of version 1.2 that is being appended to in place, as (path, content)."""
    name_hash = 0xcbf29ce484222325
    for unit in path.name.encode():
        name_hash = (name_hash ^ unit) * 0x100000001b3 & 0xffffffffffffffff
    digits = "".join("0123456789abcdef"[name_hash >> 4 * at & 15] for at in range(16))
    old = path.read_bytes()
    manifest = len(old) - 16 - struct.unpack("<Q", old[-16:-8])[0]
    head = struct.pack("<8sQQI32s", b"ZTUNDO03", len(old), manifest, crc32c(old[manifest:]), bytes(32))
    return path.parent / f".ztensor-{digits}.undo", head + struct.pack("<I", crc32c(head))


def safetensors(tensors, metadata=None):
    """A safetensors file of (name, dtype, shape, bytes)."""
    header, data = ({"__metadata__": metadata} if metadata else {}), b""
    for name, dtype, shape, content in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def on_terminal(columns, *words, env=None):
    """What zt prints on a terminal of so many columns."""
    import fcntl
    import pty
    import termios
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C", **(env or {})}
    process = subprocess.Popen([*ZT, *map(str, words)], stdin=child, stdout=child, stderr=child, env=environment)
    # What was printed may be lost when the last holder of the other end closes it, so that end stays open until a mark
    # behind everything printed was read.
    mark = b"\x04end"
    threading.Thread(target=lambda: (process.wait(), os.write(child, mark))).start()
    out = b""
    while not out.endswith(mark):
        out += os.read(parent, 65536)
    os.close(parent)
    os.close(child)
    assert process.wait() == GOOD
    return out[:-len(mark)].decode().replace("\r\n", "\n")


def in_browser(page, script):
    """What a script finds in a page that is open in a browser: the JSON that it leaves in `found`; None without a browser."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        seen = pathlib.Path(folder) / "page.html"
        seen.write_text(page.read_text() + "<script>'use strict'; (() => { const found = {};\n" + script +
                        "\nconst e = document.createElement('pre'); e.id = 'found';"
                        "e.textContent = btoa(JSON.stringify(found)); document.body.append(e); })();</script>")
        shown = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/user",
                                "--dump-dom", seen.as_uri()], capture_output=True, text=True, check=True, timeout=120).stdout
    return json.loads(base64.b64decode(re.search(r'<pre id="found">([^<]*)</pre>', shown).group(1)))


@contextlib.contextmanager
def served(folder):
    """The files of a folder by http, whole or in ranges; gives the URL of the folder."""
    class Answer(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            path = folder / self.path.lstrip("/").partition("?")[0]
            content = path.read_bytes() if path.is_file() else None
            wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "bytes=0-"))
            if content is None:
                self.send_response(404)
                self.send_header("Content-Length", "0")
                return self.end_headers()
            first, last = wanted.groups()
            begin = int(first) if first else max(len(content) - int(last), 0)
            part = content[begin:int(last) + 1 if first and last else len(content)]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{begin + len(part) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def damaged(path, to):
    """A copy of a file of which one byte of the first blob is another."""
    content = bytearray(path.read_bytes())
    content[64] ^= 1
    to.write_bytes(content)
    return to


class ToolTest(unittest.TestCase):
    """One method for each subcommand, and for what they have in common."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.dir = pathlib.Path(self.folder.name)

    def file(self, name, content):
        (self.dir / name).write_bytes(content)
        return self.dir / name

    def small(self):
        """A safetensors file of a few tensors."""
        return self.file("small.safetensors", safetensors([
            ("a.weight", "F32", [2, 2], struct.pack("<4f", 1, 2, 3, 4)),
            ("a.bias", "F16", [2], struct.pack("<2e", 0.5, -1)),
            ("steps", "I64", [], struct.pack("<q", 7)),
        ], {"format": "pt"}))

    def description(self, path):
        """With everything that is read for it."""
        return json.loads(run("info", "--json", "--digests", path))

    def names(self, path):
        return sorted(each["name"] for each in self.description(path)["objects"])

    def has_version_2(self):
        """False in a build that says that it has no xxHash."""
        words = [*ZT, "migrate", "--version", "2", str(MODEL), str(self.dir / "try.zt")]
        result = subprocess.run(words, capture_output=True, check=False)
        assert result.returncode == GOOD or b"xxHash" in result.stderr, result.stderr
        return result.returncode == GOOD

    # -- what all have in common

    def test_help_has_an_example_of_every_command(self):
        overview = run("--help")
        for command in COMMANDS:
            self.assertIn(f"\n  {command} ", overview)
            page = run(command, "--help")
            self.assertIn(f"\nUsage: zt {command} [OPTIONS]", page)
            self.assertIn(f"\nOptions:\n  -h, --help  ", page)
            self.assertIn(f"Example:\n  zt {command} ", page)
            for argument in re.search(r"(?m)^Usage: zt .* \[OPTIONS\](.*)$", page).group(1).split():
                name = re.fullmatch(r"\[(.+)\]|(.+)", argument).expand(r"\1\2") # in brackets if it may be left out
                self.assertRegex(name, r"^[A-Z]+(\.\.\.)?$", "CLI11 2.4 and later refuse names of other characters")
                self.assertIn(f"\n  {name} ", page)
        self.assertEqual(run("--help-all").count("\nExample:\n"), len(COMMANDS))
        self.assertRegex(run("--version"), r"^zt \d+\.\d+\.\d+\n$")
        self.assertEqual(run(code=USAGE), "")
        self.assertEqual(run.errors, "zt: a command is required; zt --help lists them\n")

    def test_a_command_line_that_makes_no_sense_is_2(self):
        out = self.dir / "out.zt"
        for words in [[], ["frobnicate"], ["info"], ["info", "--frobnicate", MODEL], ["convert", MODEL],
                      ["convert", MODEL, self.dir / "out.txt"], ["convert", "--zstd=99", MODEL, out],
                      ["convert", "--dtype", "i8", MODEL, out], ["convert", "--digest=md5", MODEL, out],
                      ["convert", "--only", "no such *", MODEL, out], ["copy", "--rename", "x", MODEL, out],
                      ["copy", "--rename", "*x*=y", MODEL, out], ["extract", MODEL, "no such", self.dir / "x.npy"],
                      ["convert", "--zstd", MODEL, self.dir / "x.npz"], ["split", "--size", "many", MODEL, self.dir],
                      ["split", "--size", "0", MODEL, self.dir], ["remove", MODEL, "no such"],
                      ["rename", MODEL, "no such=x"], ["diff", "--tolerance", "nan", MODEL, MODEL],
                      ["diff", "--tolerance", "-1", MODEL, MODEL], ["diff", "--tolerance", "x", MODEL, MODEL], ["completion", "tcsh"],
                      ["convert", "--drop-attributes", MODEL, out]]:
            self.assertEqual(run(*words, code=USAGE), "")
            self.assertTrue(run.errors, words)
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_a_command_line_is_refused_in_the_words_of_zt(self):
        for words, why in [(["frobnicate"], 'there is no command "frobnicate"; zt --help'),
                           (["inof", "x"], 'there is no command "inof"; zt --help'),
                           (["-x"], 'there is no option "-x"; zt --help'),
                           (["info", "--frobnicate", MODEL], 'info takes no "--frobnicate"; zt info --help'),
                           (["print", MODEL, "a", ":", "more", "words"], 'print takes no "more"; zt print --help'),
                           (["info"], "FILE is required; zt info --help")]:
            run(*words, code=USAGE)
            self.assertEqual(run.errors.splitlines()[0], f"zt: {why} says what there is")

    def test_what_is_read_is_not_lost_to_what_is_written(self):
        path = self.file("m.zt", MODEL.read_bytes())
        link = self.dir / "link.zt"
        os.link(path, link)
        for out in (path, self.dir / "." / "m.zt", link):
            for words in (["report", path, "-o", out], ["info", "--layout", out, path],
                          ["extract", path, "conv1.bias", out]):
                run(*words, code=USAGE)
                self.assertIn("is what is read, and would be lost", run.errors)
        self.assertEqual(path.read_bytes(), MODEL.read_bytes())

    def test_files_behind_one_that_is_bad_are_looked_at_too(self):
        none, cut = self.dir / "none.zt", self.file("cut.zt", MODEL.read_bytes()[:-9])
        out = run("verify", none, MODEL, cut, MODEL, code=REFUSED)
        self.assertEqual(out.count("0 damaged\n"), 2)
        self.assertEqual(run.errors.count("\n"), 2)
        self.assertEqual(run("info", none, MODEL, code=REFUSED).count("15 objects"), 1)
        files = json.loads(run("info", "--json", cut, MODEL, code=BAD))["files"]
        self.assertEqual([sorted(each)[0] for each in files], ["error", "attributes"])

    def test_what_a_file_lacks_is_no_wrong_usage(self):
        path = CORPUS / "planes" / "no_dtype.zt"
        for words in (["stats", path], ["print", path, "w"], ["extract", path, "w", self.dir / "w.npy"]):
            run(*words, code=BAD)
            self.assertIn("planes.dtype", run.errors)

    def test_what_the_system_refuses_is_3_and_says_why(self):
        missing = self.dir / "none" / "out.zt"
        run("info", self.dir / "none.zt", code=REFUSED)
        self.assertRegex(run.errors, r"^zt: .*none\.zt: .+\n$")
        for words in [["convert", MODEL, missing], ["copy", MODEL, missing],
                      ["convert", MODEL, self.dir / "none" / "out.safetensors"],
                      ["info", "--layout", self.dir / "none" / "x.svg", MODEL], ["append", missing, MODEL]]:
            run(*words, code=REFUSED)
        run("split", MODEL, self.file("file", b""), code=REFUSED)
        self.assertRegex(run.errors, r"^zt: .*file: the folder can't be made: ")
        if os.path.exists("/dev/null"):
            run("info", "/dev/null", code=REFUSED)
            self.assertIn("/dev/null: a regular file is needed", run.errors)
        if os.path.exists("/dev/full"):
            with open("/dev/full", "wb") as full:
                result = subprocess.run([*ZT, "info", str(MODEL)], stdout=full, stderr=subprocess.PIPE, check=False)
            self.assertEqual(result.returncode, REFUSED)
            self.assertEqual(result.stderr, b"zt: can't write to the standard output\n")

    def test_a_file_that_is_bad_is_1_and_says_why(self):
        for name, content in [("empty.zt", b""), ("cut.zt", MODEL.read_bytes()[:-9]), ("text.zt", b"no tensors here " * 9),
                              ("bad.safetensors", safetensors([])[:-1] + b"x"), ("bad.npy", npy([1])[:-1])]:
            path = self.file(name, content)
            for command in ("info", "stats", "verify", "lint", "bench"):
                self.assertEqual(run(command, path, code=BAD), "")
                self.assertRegex(run.errors, r"^zt: .*" + re.escape(name) + r": .+\n$")

    def test_files_behind_urls_are_read_as_others(self):
        small = self.small()
        shutil.copy(MODEL, self.dir / "model.zt")
        run("convert", "--digest=crc32c", MODEL, self.dir / "checked.zt")
        damaged(self.dir / "checked.zt", self.dir / "damaged.zt")
        with served(self.dir) as url:
            words = [*ZT, "info", f"{url}/model.zt"]
            first = subprocess.run(words, capture_output=True, text=True, check=False)
            if "built without libcurl" in first.stderr:
                return tell_skipped("files behind URLs: this zt is built without libcurl")
            self.assertEqual(first.returncode, GOOD, first.stderr)
            for name, path in (("model.zt", MODEL), (small.name, small)):
                for command in ("info", "stats"):
                    there, here = run(command, f"{url}/{name}"), run(command, path)
                    self.assertEqual(there.replace(f"{url}/{name}", "X"), here.replace(str(path), "X"))
                run("diff", f"{url}/{name}", path)
                run("convert", f"{url}/{name}", self.dir / "converted.zt")
                self.assertEqual(self.names(self.dir / "converted.zt"), self.names(path))
            self.assertEqual(run("verify", f"{url}/model.zt"), run("verify", MODEL).replace(str(MODEL), f"{url}/model.zt"))
            run("extract", f"{url}/{small.name}", "a.weight", self.dir / "x.npy")
            self.assertTrue((self.dir / "x.npy").read_bytes().endswith(struct.pack("<4f", 1, 2, 3, 4)))
            run("verify", f"{url}/damaged.zt", code=BAD)
            run("info", f"{url}/absent.zt?token=secret", code=REFUSED)
            self.assertIn("/absent.zt", run.errors)
            self.assertNotIn("secret", run.errors)
            run("remove", f"{url}/model.zt", "x", code=BAD)
            self.assertIn("on another machine", run.errors)
        self.assertEqual(run("info", "gopher://127.0.0.1/model.zt", code=BAD), "")

    # -- looking

    def test_info_lists_objects_attributes_and_sums(self):
        out = run("info", self.small())
        lines = out.splitlines()
        self.assertEqual(lines[0].split(), "NAME TYPE SHAPE STORED".split(), "columns that say nothing are left out")
        self.assertEqual(lines[1].split(), "a.weight f32 [2, 2] 16 B".split())
        self.assertIn("3 objects, 7 parameters, 28 B stored, 28 B decoded; safetensors", out)
        self.assertIn('  format: "pt"', out)
        sizes = [len(line) for line in lines[1:4]]
        self.assertEqual(len(set(sizes)), 1, "numbers stand below each other")
        self.assertNotIn("\x1b", out)

    def test_info_takes_what_is_chosen_in_the_order_that_is_asked_for(self):
        small = self.small()
        names = lambda *words: [line.split()[0] for line in run("info", *words, small).split("\n\n")[0].splitlines()[1:]]
        self.assertEqual(names("--sort", "name"), ["a.bias", "a.weight", "steps"])
        self.assertEqual(names("--sort", "size"), ["a.weight", "steps", "a.bias"])
        self.assertEqual(names("--sort", "parameters"), ["a.weight", "a.bias", "steps"])
        self.assertEqual(names("--only", "a.*"), ["a.weight", "a.bias"])
        self.assertEqual(names("--exclude", "a.*"), ["steps"])
        run("info", "--only", "none", small, code=USAGE)
        tree = run("info", "--tree", small).splitlines()
        self.assertEqual(tree[0].split(), "NAME SHAPE PARAMETERS STORED".split())
        self.assertEqual([line.split() for line in tree[1:5]],
                         ["a. 2 objects 6 20 B".split(), "bias [2] 2 4 B".split(), "weight [2, 2] 4 16 B".split(),
                          "steps [] 1 8 B".split()])
        both = run("info", small, MODEL)
        self.assertIn(str(small), both)
        self.assertIn("3 objects", both)
        self.assertIn("15 objects", both)

    def report(self, *words):
        run("report", *words, "-o", self.dir / "r.html")
        page = (self.dir / "r.html").read_text("utf-8")
        block = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL).group(1)
        self.assertNotRegex(page, r"(?:src|href)=|https?://(?!www\.w3\.org)|@import|url\(", "nothing comes from elsewhere")
        return json.loads(block)

    def test_report_is_one_page_with_all_that_is_in_a_file(self):
        found = self.report(self.small())
        self.assertEqual([each["name"] for each in found["tensors"]], ["a.weight", "a.bias", "steps"])
        weight = found["tensors"][0]
        self.assertEqual((weight["min"], weight["max"], weight["mean"], weight["zeros"], sum(weight["bars"])), (1, 4, 2.5, 0, 4))
        self.assertEqual((weight["shape"], weight["type"], weight["stored"]), ([2, 2], "f32", 16))
        self.assertEqual(found["attributes"], {"format": "pt"})
        self.assertIn("<svg", found["layout"])
        self.assertNotIn("bars", self.report("--no-stats", self.small())["tensors"][0])
        run("convert", self.small(), self.dir / "a.zt")
        self.assertTrue(any("missing_digest" in each for each in self.report(self.dir / "a.zt")["lint"]))
        hostile = self.file("h.safetensors", safetensors([("</script><b>\u2028", "F32", [2], struct.pack("<2f", float("nan"), float("-inf")))]))
        odd = self.report(hostile)["tensors"][0]
        self.assertEqual((odd["name"], odd["nan"], odd["infinite"]), ("</script><b>\u2028", 1, 1))

    def test_print_shows_numbers_of_a_part(self):
        small = self.small()
        self.assertEqual(run("print", small, "a.weight"), "a.weight [2, 2] f32\n1 2\n3 4\n")
        self.assertEqual(run("print", small, "a.weight", "1"), "a.weight [1, 2] f32\n3 4\n")
        self.assertEqual(run("print", small, "a.weight", ":,1:2"), "a.weight [2, 1] f32\n2\n4\n")
        self.assertEqual(run("print", small, "steps"), "steps [] i64\n7\n")
        self.assertEqual(run("print", small, "a.bias", "0:0"), "a.bias [0] f16\n")
        for words in (["a.weight", "2"], ["a.weight", "x"], ["a.weight", "0,0,0"], ["none"]):
            run("print", small, *words, code=USAGE if words[-1] not in ("2",) else BAD)
        self.assertEqual(run("print", MODEL, "stft_conv.weight", code=USAGE), "")
        self.assertIn("give a slice", run.errors)
        self.assertEqual(len(run("print", MODEL, "stft_conv.weight", "0:2").splitlines()), 3)
        self.assertEqual(run("print", self.file("big.safetensors", safetensors(
            [("i", "I64", [1], struct.pack("<q", 2**53 + 1))])), "i").splitlines()[1], str(2**53 + 1))

    def test_attributes_are_shown_set_and_removed(self):
        path = self.dir / "a.zt"
        run("convert", self.small(), path)
        self.assertEqual(json.loads(run("attributes", path)), {"format": "pt"})
        run("attributes", "--set", "license=MIT", "--set", "layers=12", "--remove", "format", path)
        self.assertEqual(json.loads(run("attributes", path)), {"license": "MIT", "layers": 12})
        run("attributes", "--set", 'unit={"of": ["mV"]}', path, "steps")
        self.assertEqual(json.loads(run("attributes", path, "steps")), {"unit": {"of": ["mV"]}})
        self.assertEqual(json.loads(run("attributes", path)), {"license": "MIT", "layers": 12})
        run("attributes", "--set", "novalue", path, code=USAGE)
        run("attributes", path, "none", code=USAGE)
        run("attributes", "--remove", "none", path, code=USAGE)
        self.assertIn('no attribute "none"', run.errors)

    def test_sweep_removes_what_writers_left(self):
        (self.dir / ".ztensor-0123456789abcdef.tmp").write_bytes(b"x")
        self.assertIn("0 temporary files", run("sweep", self.dir))
        os.utime(self.dir / ".ztensor-0123456789abcdef.tmp", (0, 0))
        self.assertIn("1 temporary files", run("sweep", self.dir))
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_wrong_words_are_answered_with_the_nearest_right_one(self):
        run("inof", MODEL, code=USAGE)
        self.assertIn('did you mean "info" by "inof"?', run.errors)
        run("info", "--tre", MODEL, code=USAGE)
        self.assertIn('did you mean "--tree" by "--tre"?', run.errors)
        run("frobnicate", code=USAGE)
        self.assertNotIn("did you mean", run.errors)

    def test_info_json_is_the_description_of_the_golden_files(self):
        for name in ("v1.2-dense", "v1.2-sparse-csr", "v0.1-big-endian", "v1.2-quantized-group"):
            expected = json.loads((GOLDEN / f"{name}.json").read_text())
            found = self.description(GOLDEN / f"{name}.zt")
            self.assertEqual([each["components"] for each in found["objects"]],
                             [each["components"] for each in expected["objects"]])

    def test_the_page_of_report_finds_sorts_and_shows_tensors_in_a_browser(self):
        many = [(f"layer.{i}", "F32", [i + 1], struct.pack("<f", i) * (i + 1)) for i in range(300)]
        self.report(self.file("many.safetensors", safetensors(many + [("<b>&amp;", "U8", [2], b"\x01\x02")])))
        found = in_browser(self.dir / "r.html", """
            const names = () => [...document.querySelectorAll('.row')].map(row => row.firstChild.textContent);
            const press = (on, key) => on.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
            found.rows = names().length;
            at('find').value = 'LAYER.29 f32'; at('find').dispatchEvent(new Event('input'));
            found.found = names(); found.count = at('count').textContent;
            at('find').value = ''; at('find').dispatchEvent(new Event('input'));
            at('head').children[3].click(); found.most = names()[0];
            at('head').children[3].click(); found.least = names()[0];
            document.querySelector('.row').click();
            found.name = at('name').textContent; found.facts = at('facts').textContent; found.bars = document.querySelectorAll('#bars rect').length;
            press(at('rows'), 'ArrowDown'); found.next = at('name').textContent;
            at('find').value = '<b>'; at('find').dispatchEvent(new Event('input')); found.odd = names();
            found.layout = document.querySelectorAll('#layout rect').length > 0;
            found.requests = performance.getEntriesByType('resource').length;""")
        if found is None:
            tell_skipped("what a browser makes of the page of zt report: there is no chromium")
            return
        self.assertLess(found["rows"], 100, "only rows that are seen are drawn")
        self.assertEqual(found["found"], ["layer.29", *(f"layer.{i}" for i in range(290, 300))])
        self.assertEqual(found["count"], "11 of 301")
        self.assertEqual((found["most"], found["least"], found["name"], found["next"]),
                         ("layer.299", "layer.0", "layer.0", "layer.1"))
        self.assertIn("Parameters1", found["facts"])
        self.assertGreater(found["bars"], 0)
        self.assertEqual(found["odd"], ["<b>&amp;"])
        self.assertTrue(found["layout"])
        self.assertEqual(found["requests"], 0, "it needs no network")

    def test_info_json_says_what_the_index_says_with_attributes_as_values(self):
        path = self.dir / "m.zt"
        run("convert", "--digest", self.small(), path)
        found = json.loads(run("info", "--json", path))
        self.assertEqual((found["path"], found["generation"], found["file_length"], found["parameters"]),
                         (str(path), "1.2", path.stat().st_size, 7))
        self.assertEqual(found["attributes"], {"format": "pt"})
        weight = {each["name"]: each for each in found["objects"]}["a.weight"]
        self.assertEqual((weight["shape"], weight["parameters"], weight["attributes"]), ([2, 2], 4, None))
        part = weight["components"]["data"]
        self.assertEqual((part["dtype"], part["length"], part["decoded_length"]), ("f32", 16, 16))
        self.assertTrue(part["digest"].startswith("sha256:"))
        for key in ("digest_state", "stored_sha256", "decoded_sha256"):
            self.assertNotIn(key, part, "nothing but the index is read")
        only = json.loads(run("info", "--json", "--only", "a.*", path))
        self.assertEqual((len(only["objects"]), only["parameters"]), (2, 6))
        both = json.loads(run("info", "--json", path, MODEL))["files"]
        self.assertEqual([each["path"] for each in both], [str(path), str(MODEL)])

    def test_info_json_reports_damage(self):
        path = self.dir / "m.zt"
        run("convert", "--digest", self.small(), path)
        content = bytearray(path.read_bytes())
        content[content.index(struct.pack("<4f", 1, 2, 3, 4))] ^= 1
        path.write_bytes(content)
        json.loads(run("info", "--json", path))
        found = json.loads(run("info", "--json", "--digests", path, code=BAD))
        parts = {each["name"]: each["components"]["data"] for each in found["objects"]}
        self.assertEqual(parts["a.weight"]["digest_state"], "mismatch")
        self.assertEqual(parts["a.weight"]["error"]["code"], "digest_mismatch")
        self.assertEqual(parts["a.bias"]["digest_state"], "match")
        path.write_bytes(content[:-1])
        found = json.loads(run("info", "--json", path, code=BAD))
        self.assertEqual((found["path"], found["error"]["code"]), (str(path), "truncated"))
        self.assertIn("m.zt", run.errors)
        run("info", "--digests", path, code=USAGE)

    def test_info_is_cut_to_the_terminal_and_emphasised_unless_told_otherwise(self):
        if sys.platform == "win32":
            tell_skipped("what a terminal is shown: there are no pseudo-terminals")
            return
        long = self.file("long.safetensors", safetensors([("x" * 200, "U8", [1], b"1"), ("é", "U8", [1], b"1")]))
        for columns in (60, 80, 120):
            out = on_terminal(columns, "info", long)
            self.assertIn("\x1b[1m", out)
            plain = re.sub(r"\x1b\[\d*m", "", out)
            self.assertLessEqual(max(map(len, plain.splitlines())), columns)
            self.assertIn("xx...xx", plain, "of a name the middle is cut")
            self.assertIn("STORED", plain)
            self.assertNotIn("\x1b", on_terminal(columns, "info", long, env={"NO_COLOR": "1"}))
        for command, columns in (("info", 20), ("stats", 80)):
            out = re.sub(r"\x1b\[\d*m", "", on_terminal(columns, command, long))
            self.assertLessEqual(max(map(len, out.splitlines())), columns)
        self.assertIn("x" * 200, run("info", long))
        self.assertIn("\\u00e9", run("info", long))

    def test_info_folds_what_is_long_unless_all_is_asked_for(self):
        def text(value):
            return struct.pack("<Q", len(value)) + value
        words = [f"tok{i}".encode() for i in range(5000)]
        pairs = text(b"tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, len(words)) + b"".join(map(text, words))
        pairs += text(b"tokenizer.chat_template") + struct.pack("<I", 8) + text(b"{% if x %}\n" * 100)
        pairs += text(b"general.name") + struct.pack("<I", 8) + text(b"tiny")
        path = self.file("v.gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 3) + pairs)
        out = subprocess.run([*ZT, "info", str(path)], capture_output=True, check=True).stdout.decode()
        self.assertLess(len(out), 1000)
        self.assertIn('  general.name: "tiny"\n', out)
        self.assertIn('["tok0", "tok1", "tok2", "tok3", "tok4", "tok5", ... 4,994 more]\n', out)
        self.assertRegex(out, r'tokenizer\.chat_template: "\{% if x %\}\\n.*\.\.\." \(1,100 bytes\)\n')
        for words in (["--all"], ["--json"]):
            self.assertIn("tok4999", subprocess.run([*ZT, "info", *words, str(path)], capture_output=True, check=True).stdout.decode())
        run("convert", self.small(), self.dir / "a.zt")
        run("attributes", "--set", f'm={json.dumps({f"k{i}": {"a": {"b": {"c": 1}}} for i in range(9)})}', self.dir / "a.zt")
        self.assertIn('  m: {"k0": {"a": {1 keys}}, ', run("info", self.dir / "a.zt"))
        self.assertIn(", ... 3 more}\n", run("info", self.dir / "a.zt"))

    def test_info_says_the_type_of_quantized_tensors_in_a_line_each(self):
        out = run("info", CORPUS / "foreign" / "gguf" / "blocks.gguf")
        self.assertRegex(out, r"(?m)^q8_0 +q8_0 +\[2, 64\] +136 B +gguf\.q8_0/1$")
        self.assertNotIn("block_bytes", out)
        self.assertNotIn("u8", out)
        self.assertIn("  q8_0: block_bytes: 34, elems_per_block: 32\n", run("info", "--all", CORPUS / "foreign" / "gguf" / "blocks.gguf"))
        groups = GOLDEN / "v1.2-quantized-group.zt"
        out = run("info", groups)
        self.assertRegex(out, r"(?m)^q4 +int4 +\[128, 256\] +18\.0 KiB +- +- +crc32c +quantized_group$")
        self.assertRegex(out, r"(?m)^q8 +int8 +\[16, 128\] +2\.1 KiB +2\.1 KiB +zstd +- +quantized_group$")
        self.assertEqual(len(out.split("\n\n")[0].splitlines()), 4)
        self.assertNotIn("attributes", out)
        self.assertRegex(run("info", "--all", groups), r"(?m)^  packed_weight +i32 +16\.0 KiB ")
        self.assertRegex(run("info", CORPUS / "v2" / "valid" / "mx-mx.zt"), r"(?m)^w +mxfp4 +\[2, 32\] +34 B +zt\.mx/1$")
        self.assertRegex(run("info", GOLDEN / "v1.2-sparse-csr.zt"), r"(?m)^csr\.zstd +bf16 +\[200, 300\] .* zstd +sha256 +sparse_csr$")
        self.assertRegex(run("stats", CORPUS / "foreign" / "gguf" / "blocks.gguf"), r"(?m)^q8_0 +q8_0 +128 ")

    def test_names_can_be_told_apart_on_a_narrow_terminal(self):
        if sys.platform == "win32":
            tell_skipped("what a narrow terminal is shown: there are no pseudo-terminals")
            return
        parts = [f"self_attn.{x}_proj" for x in "qkvo"] + [f"mlp.{x}_proj" for x in ("gate", "up", "down")]
        names = [f"model.layers.{i}.{part}.{end}" for i in (0, 1, 10, 11) for part in parts for end in ("weight", "bias")]
        sets = [names, [f"{'x' * 90}{i}{'y' * 90}" for i in range(30)], ["model.embed_tokens.weight", "lm_head.weight"],
                [f"block/{i}/{'k' * 30}.{j}" for i in range(20) for j in range(3)], [f"\u6587\u5b57{i}" * 20 for i in range(9)]]
        for number, each in enumerate(sets):
            numbers = struct.pack("<4f", -0.0123456, 0.0234567, 1.23456e-5, math.nan)
            path = self.file(f"{number}.safetensors", safetensors([(name, "F32", [4], numbers) for name in each]))
            for command in ("stats", "info"):
                for columns in (60, 80):
                    for locale in ("C", "C.UTF-8"):
                        with self.subTest(set=number, command=command, columns=columns, locale=locale):
                            out = re.sub(r"\x1b\[\d*m", "", on_terminal(columns, command, path, env={"LC_ALL": locale}))
                            rows = out.split("\n\n")[0].splitlines()[1:]
                            self.assertEqual(len({row.split()[0] for row in rows}), len(each), out)
                            self.assertEqual(len(rows), len(each))
                            if number != 4:
                                self.assertLessEqual(max(map(len, out.splitlines())), columns)
        wide = re.sub(r"\x1b\[\d*m", "", on_terminal(80, "stats", self.dir / "0.safetensors"))
        self.assertIn("self_attn.q_proj.weight", wide.split("\n\n")[1], "the end of a name is kept")

    def test_text_is_shown_as_it_is_where_the_terminal_shows_it_and_never_what_changes_the_terminal(self):
        if sys.platform == "win32":
            tell_skipped("what a terminal is shown: there are no pseudo-terminals")
            return
        names = ["\u2581caf\u00e9", "\u6587", "a\u202eb", "c\u009b31m", "d\x1b[31m", "e\nf", "g\ufeff"]
        path = self.file("u.safetensors", safetensors([(name, "U8", [1], b"1") for name in names], {"\u2581": "\u00e9\x1b[31m\u2066"}))
        for words in (["info"], ["info", "--all"], ["stats"]):
            on_utf8 = on_terminal(100, *words, path, env={"LC_ALL": "C.UTF-8", "NO_COLOR": "1"})
            for shown in ("\u2581caf\u00e9", "\u6587", "a\\u202eb", "c\\u009b31m", "d\\u001b[31m", "e\\nf", "g\\ufeff"):
                self.assertIn(shown, on_utf8)
            self.assertFalse(set("\u202e\u009b\x1b\ufeff\u2066") & set(on_utf8))
            for out in (on_terminal(100, *words, path, env={"NO_COLOR": "1"}), run(*words, path)):
                self.assertTrue(out.isascii())
                self.assertIn("\\u2581caf\\u00e9", out)
        self.assertIn('  \u2581: "\u00e9\\u001b[31m\\u2066"', on_terminal(100, "info", path, env={"LC_ALL": "", "LC_CTYPE": "", "LANG": "en_US.utf8", "NO_COLOR": "1"}))

    HOSTILE = "x\x1b[31m\ny\u202ez\u009b"

    def hostile_files(self):
        """Files and folders whose names, entries, keys and words would reach a terminal."""
        hostile = self.HOSTILE
        def text(value):
            value = value.encode()
            return struct.pack("<Q", len(value)) + value
        def archive(path, entries):
            with zipfile.ZipFile(path, "w") as zipped:
                for name, content in entries:
                    zipped.writestr(name, content)
            return path
        yield self.file("names.safetensors", safetensors([(hostile, "F32", [1], b"1234")], {hostile: hostile}))
        yield self.file("type.safetensors", safetensors([(hostile, hostile, [1], b"1234")]))
        yield self.file("cut.safetensors", safetensors([(hostile, "F32", [9], b"1234")]))
        yield self.file("keys.gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text(hostile) + struct.pack("<I", 8) + text(hostile))
        yield self.file("bad.gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text(hostile) + struct.pack("<I", 99))
        yield archive(self.dir / "entries.npz", [(hostile + ".npy", npy([1])), (hostile + "2.npy", npy([1])[:-1])])
        yield archive(self.dir / "types.npz", [("a.npy", npy([1]).replace(b"<f4", b"<U1")), (hostile + "2.npy", b"none")])
        yield self.file("descr.npy", npy([1]).replace(b"<f4", b"\x1b[m"))
        pickle = b"\x80\x02c" + hostile.replace("\n", "").encode() + b"\nevil\n)R."
        yield archive(self.dir / "module.pt", [("a/data.pkl", pickle), ("a/version", b"3\n")])
        (self.dir / "index").mkdir()
        yield self.file("index/m.safetensors.index.json", json.dumps({"weight_map": {hostile: hostile + ".safetensors"}}).encode())
        if os.name != "nt":
            folder = self.dir / ("folder" + hostile)
            folder.mkdir()
            for name in (b"a\x1b[31m\n.safetensors", b"b\xff\xe2\x80\xae.safetensors"):
                with open(os.fsencode(folder) + b"/" + name, "wb") as file:
                    file.write(safetensors([("w", "F32", [1], b"1234")]))
            yield folder
            alone = self.dir / "alone"
            alone.mkdir()
            with open(os.fsencode(alone) + b"/m\xff\x1b[31m-00001-of-00002.safetensors", "wb") as file:
                file.write(safetensors([("w", "F32", [1], b"1234")]))
            yield alone
            yield self.file("bad" + hostile + ".zt", b"ZTEN1000" + bytes(90))
            yield self.file("good" + hostile + ".zt", MODEL.read_bytes())
        yield self.dir / ("missing" + hostile)
        yield self.dir / ("missing" + hostile + ".json")
        yield "https://" + hostile + "/m.zt"
        yield "gopher://" + hostile + "/m.zt"

    def test_no_name_changes_the_terminal_whatever_it_is_the_name_of(self):
        out, other = self.dir / "out.zt", self.dir / "other.zt"
        run("convert", MODEL, other)
        hostile = self.HOSTILE
        given = {"append": [other], "extract": [hostile, self.dir / "out.npy"], "remove": [hostile], "rename": [hostile + "=" + hostile],
                 "print": [hostile], "report": ["-o", self.dir / "r.html"], "split": [self.dir / "shards"], "convert": [out],
                 "copy": [out], "migrate": [out], "diff": [other], "attributes": [hostile]}
        for path in self.hostile_files():
            for command in COMMANDS:
                if command in ("completion", "bench"):
                    continue
                words = [path, *given.get(command, [])]
                words = {"merge": [out, path], "append": [other, path]}.get(command, words)
                with self.subTest(command=command, path=ascii(str(path))):
                    done = subprocess.run([*ZT, command, *words], capture_output=True, check=False, env=dict(os.environ, LC_ALL="C.UTF-8"))
                    said = (done.stdout + done.stderr).decode()  # which is UTF-8
                    self.assertFalse([c for c in said if c in "\x1b\u202e\u009b\x7f" or (c < " " and c != "\n")], ascii(said))
                    for line in done.stderr.decode().splitlines():
                        self.assertRegex(line, r"^(zt: |an undo record)")
        for words in (["info", "--" + hostile], [hostile], ["convert", "--zstd=" + hostile, MODEL, out], ["split", "--size", hostile, MODEL, out],
                      ["print", MODEL, "conv1.bias", hostile], ["copy", "--only", hostile, MODEL, out], ["completion", hostile],
                      ["convert", MODEL, self.dir / (hostile + ".txt")], ["convert", MODEL, self.dir / hostile / "x.zt"],
                      ["info", "--layout", self.dir / hostile / "x.svg", MODEL], ["split", MODEL, other / hostile]):
            done = subprocess.run([*ZT, *words], capture_output=True, check=False)
            self.assertFalse({"\x1b", "\u202e", "\u009b"} & set((done.stdout + done.stderr).decode()), words)

    def test_secrets_of_a_url_are_in_nothing_that_is_printed_or_written(self):
        shutil.copy(MODEL, self.dir / "model.zt")
        shutil.copy(self.small(), self.dir / "model.safetensors")
        (self.dir / "broken.zt").write_bytes(MODEL.read_bytes()[:-9])
        run("migrate", "--version", "2", MODEL, self.dir / "two.zt") if self.has_version_2() else None
        other = self.dir / "other.safetensors"
        other.write_bytes(safetensors([("only.here", "F32", [1], b"1234")]))
        written = self.dir / "written"
        secrets = ("pa55word", "s1gnature", "t0ken")
        with served(self.dir) as url:
            if b"without libcurl" in subprocess.run([*ZT, "info", f"{url}/model.zt"], capture_output=True, check=False).stderr:
                return tell_skipped("secrets in URLs: this zt is built without libcurl")
            host = url.partition("//")[2]
            seen = 0
            for start in ("http://user:pa55word@" + host, "http://127.0.0.1:1", "http://user:pa55word@127.0.0.1:x", "HTTP://user:pa55word@" + host,
                          "gopher://user:pa55word@host", "http://user:pa5/pa55word@" + host, "s3://user:pa55word@bucket"):
                for name in ("model.zt", "model.safetensors", "broken.zt", "absent.zt", "two.zt", "absent.json"):
                    path = f"{start}/{name}?X-Amz-Signature=s1gnature.zt#t0ken"
                    for command in COMMANDS:
                        if command in ("completion", "bench") or (start[-1] == "x" and name != "model.zt"):
                            continue
                        shutil.rmtree(written, ignore_errors=True)
                        written.mkdir()
                        words = {"append": [written / "a.zt", path], "merge": [written / "x.zt", path], "extract": [path, "conv1.bias", written / "x.npy"],
                                 "remove": [path, "x"], "rename": [path, "x=y"], "print": [path, "conv1.bias"], "diff": [path, other],
                                 "report": [path, "-o", written / "r.html"], "split": [path, written / "shards"], "convert": [path, written / "x.zt"],
                                 "copy": [path, written / "x.zt"], "migrate": [path, written / "x.zt"]}.get(command, [path])
                        for more in {"info": ([], ["--json"], ["--layout", written / "x.svg"], ["--digests", "--json"], ["--all"], [MODEL], [path, "--json"])}.get(command, ([],)):
                            if command == "append":
                                shutil.copy(MODEL, written / "a.zt")
                            done = subprocess.run([*ZT, command, *map(str, [*words, *more])], capture_output=True, check=False,
                                                  env=dict(os.environ, AWS_EC2_METADATA_DISABLED="true", AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b",
                                                           AWS_ENDPOINT_URL="http://127.0.0.1:1"))
                            said = (done.stdout + done.stderr).decode()
                            said += "".join(f"{each.name} {each.read_bytes().decode('latin-1')}" if each.is_file() else each.name
                                            for each in written.rglob("*"))
                            seen += "model.zt" in said
                            self.assertFalse([each for each in secrets if each in said], (command, path, said[:600]))
            self.assertGreater(seen, 20)
            for words in (["id", other, f"http://user:pa55word@{host}/m?s1gnature"], [f"http://user:pa55word@{host}/m?s1gnature"]):
                run(*words, code=USAGE)
                self.assertFalse([each for each in secrets if each in run.errors], run.errors)

    def test_a_page_that_can_not_be_written_leaves_the_old_one(self):
        for words, name in ((["report", MODEL, "-o"], "r.html"), (["info", MODEL, "--layout"], "x.svg")):
            out = self.dir / name
            run(*words, out)
            content = out.read_bytes()
            os.chmod(out, 0o640)
            run(*words, out)
            self.assertEqual(out.read_bytes(), content)
            if os.name == "nt":
                continue
            self.assertEqual(out.stat().st_mode & 0o777, 0o640, "rights stay")
            out.write_bytes(b"old" * 100)
            program = 'ulimit -f 1; trap "" XFSZ; exec "$@"'  # a kilobyte of a file, and no signal
            done = subprocess.run(["sh", "-c", program, "sh", *ZT, *map(str, words), str(out)], capture_output=True, check=False)
            self.assertEqual(done.returncode, REFUSED, done.stderr)
            self.assertIn(b"can't write ", done.stderr)
            self.assertEqual(out.read_bytes(), b"old" * 100)
            self.assertEqual(sorted(each.name for each in self.dir.iterdir()), [name])
            link = self.dir / "link"
            link.symlink_to(name)
            run(*words, link)
            self.assertTrue(link.is_symlink())
            self.assertEqual(out.read_bytes(), content)
            link.unlink()
            piped = subprocess.run([*ZT, *map(str, words), "/dev/stdout"], capture_output=True, check=True).stdout
            self.assertEqual(piped, content)
            out.unlink()

    def test_layout_draws_the_whole_file_to_scale(self):
        many = self.file("many.safetensors",
                         safetensors([(f"t{i}", "U8", [i + 1], bytes(i + 1)) for i in range(3000)]))
        run("convert", many, self.dir / "many.zt")
        run("convert", "--zstd", MODEL, self.dir / "zstd.zt")
        for path in (MODEL, self.small(), many, self.dir / "many.zt", self.dir / "zstd.zt"):
            run("info", "--layout", self.dir / "x.svg", path)
            root = xml.etree.ElementTree.parse(self.dir / "x.svg").getroot()
            space = "{http://www.w3.org/2000/svg}"
            rectangles = [each for each in root.iter(space + "rect") if each.find(space + "title") is not None]
            bands = [each for each in rectangles if float(each.get("y")) >= 92]
            rows = {each.get("y") for each in bands}
            self.assertAlmostEqual(sum(float(each.get("width")) for each in bands) / 1090, len(rows), delta=0.05)
            self.assertLessEqual(len(rows), 40)
            legend = " ".join(each.text for each in root.iter(space + "text"))
            self.assertIn("header, index and footer: ", legend)
            self.assertIn("compressed: " if path.name == "zstd.zt" else "raw: ", legend)
            tips = [each.find(space + "title").text for each in bands]
            joined = [tip for tip in tips if re.match(r"\d+ blobs?, ", tip)]  # too narrow to be seen
            self.assertEqual(path.name.startswith("many"), joined != [], joined)
            self.assertEqual([], [tip for tip in joined if tip.startswith("1 blob,")])
            if path.name == "many.zt":  # whatever is drawn as one, gaps are not counted as blobs
                self.assertIn(f"({100 * sum(range(1, 3001)) / path.stat().st_size:.1f} %)", legend)

    def test_stats_tell_numbers_what_is_none_and_where_they_lie(self):
        path = self.file("x.npy", npy([1, 2, 2, 5, math.nan, math.inf]))
        out = run("stats", path)
        self.assertEqual(out.splitlines()[1].split(), "x f32 6 1 5 2.5 1.5 1 1".split())
        self.assertIn("|=   @          =|", out.replace("+", "="))
        everything = run("stats", MODEL)
        some = run("stats", "--only", "conv1.*", MODEL)
        self.assertLess(len(some), len(everything))
        sparse = GOLDEN / "v1.2-sparse-csr.zt"
        self.assertEqual(run("stats", sparse).count("\n|"), len(self.names(sparse)))
        rows = {}
        for version in ("0.1", "1.2"):
            run("convert", "--version", version, sparse, self.dir / "x.zt")
            rows[version] = [row.split() for row in run("stats", self.dir / "x.zt").splitlines()[1:4]]
        self.assertEqual(sorted(rows["0.1"]), sorted(rows["1.2"]))

    def test_verify_finds_damage(self):
        path = GOLDEN / "v1.2-digests.zt"
        self.assertRegex(run("verify", "--decode", path), r": \d+ verified, \d+ without a digest .*, 0 damaged\n$")
        out = run("verify", damaged(path, self.dir / "damaged.zt"), path, code=BAD)
        self.assertIn(", 1 damaged\n", out)
        self.assertRegex(run.errors, r"^zt: .*damaged\.zt: object \".*\", component \"data\": the stored bytes are not")
        run("verify", "--require-digests", GOLDEN / "v1.2-dense.zt", code=BAD)
        cut = self.file("cut.zt", (GOLDEN / "v1.2-zstd.zt").read_bytes())
        damaged(cut, cut)
        run("verify", "--decode", cut, code=BAD)

    def test_lint_tells_what_is_odd(self):
        self.assertEqual(run("convert", "--digest", MODEL, self.dir / "m.zt"), "")
        self.assertEqual(run("lint", self.dir / "m.zt"), "")
        self.assertIn("digest", run("lint", GOLDEN / "v1.2-dense.zt", code=BAD))
        self.assertEqual(run.errors, "")

    def test_bench_measures(self):
        out = run("bench", self.small())
        for what in ("open", "load every dense tensor", "load on one thread"):
            self.assertRegex(out, rf"(?m)^{what} +[\d.]+ (us|ms|s) ")
        self.assertRegex(out, r"(?m)^verify digests \(there are none\) +- +- +-$")
        run("convert", "--digest", "--only", "a.weight", self.small(), self.dir / "d.zt")
        run("append", self.dir / "d.zt", "--only", "steps", self.small())
        self.assertRegex(run("bench", self.dir / "d.zt"), r"(?m)^verify digests +[\d.]+ (us|ms|s) +16 B +\S+ .+/s$")

    # -- converting

    def test_convert_there_and_back_keeps_everything(self):
        start = self.small()
        run("convert", start, self.dir / "a.zt")
        run("convert", self.dir / "a.zt", self.dir / "b.safetensors")
        run("convert", "--zstd=3", "--digest", self.dir / "b.safetensors", self.dir / "c.zt")
        for name in ("a.zt", "b.safetensors", "c.zt"):
            self.assertEqual(run("diff", start, self.dir / name), "")
        run("convert", "--drop-attributes", self.dir / "c.zt", self.dir / "d.npz")
        run("convert", "--version", "0.1", self.dir / "c.zt", self.dir / "old.zt", code=BAD)
        self.assertIn("has no attributes of the file, which zt convert --drop-attributes leaves out", run.errors)
        run("convert", "--version", "0.1", "--drop-attributes", self.dir / "c.zt", self.dir / "old.zt")
        for name in ("d.npz", "old.zt"):
            self.assertEqual(run("diff", "--ignore-attributes", self.dir / name, start), "")
        content = (self.dir / "b.safetensors").read_bytes()
        self.assertEqual((8 + struct.unpack("<Q", content[:8])[0]) % 64, 0)

    def test_convert_compresses_and_digests_what_it_is_told_to(self):
        run("convert", "--zstd", "--digest=crc32c", MODEL, self.dir / "z.zt")
        parts = [part for each in self.description(self.dir / "z.zt")["objects"] for part in each["components"].values()]
        self.assertTrue(all(part["digest"].startswith("crc32c:") for part in parts))
        self.assertIn("zstd", {part["encoding"] for part in parts})
        self.assertEqual({part["digest_state"] for part in parts}, {"match"})
        self.assertEqual(run("diff", MODEL, self.dir / "z.zt"), "")
        for name in ("v1.2-sparse-csr", "v1.2-quantized-group", "v0.1-sparse-csr", "v0.1-big-endian"):
            path = GOLDEN / f"{name}.zt"
            run("convert", "--digest", path, self.dir / "d.zt")
            run("verify", self.dir / "d.zt")
            if not name.startswith("v0.1-sparse"):  # which has its parts in one blob
                self.assertEqual(run("diff", path, self.dir / "d.zt"), "")

    def test_convert_stores_floats_in_planes_and_back(self):
        said = run("convert", "--planes", "--digest", MODEL, self.dir / "p.zt")
        self.assertRegex(said, r"^[\d,]+ bytes of tensors before, [\d,]+ after: 8\d\.\d %\n$")  # trained ones, of f32
        objects = self.description(self.dir / "p.zt")["objects"]
        of_planes = [each for each in objects if "planes_of" in each]
        self.assertTrue(of_planes)
        self.assertEqual({each["planes_of"] for each in of_planes}, {"f32"})
        self.assertEqual({tuple(each["components"]) for each in of_planes}, {("exponent", "fraction")})
        self.assertEqual({part["digest_state"] for each in objects for part in each["components"].values()}, {"match"})
        self.assertRegex(run("info", self.dir / "p.zt"), r"lstm_cell\.weight_hh *f32 *\[512, 128\] *\d+\.\d KiB  256.0 KiB  planes")
        self.assertEqual(run("diff", MODEL, self.dir / "p.zt"), "")
        run("verify", self.dir / "p.zt")
        run("convert", "--digest=crc32c", self.dir / "p.zt", self.dir / "again.zt")  # which stays in planes
        self.assertEqual(len([1 for each in self.description(self.dir / "again.zt")["objects"] if "planes_of" in each]),
                         len(of_planes))
        for version in ("1.1", "1.2", "2"):
            run("convert", "--version", version, self.dir / "p.zt", self.dir / "v.zt")
            self.assertEqual(run("diff", MODEL, self.dir / "v.zt"), "")
        for words in (["--plain"], ["--version", "0.1"]):
            run("convert", *words, self.dir / "p.zt", self.dir / "x.zt")
            self.assertFalse([1 for each in self.description(self.dir / "x.zt")["objects"] if "planes_of" in each])
            self.assertEqual(run("diff", MODEL, self.dir / "x.zt"), "")
        run("convert", "--planes", "--zstd", MODEL, self.dir / "x.zt", code=USAGE)
        run("convert", "--planes", MODEL, self.dir / "x.npz", code=USAGE)

    def test_convert_turns_floats_into_other_floats(self):
        start = self.small()
        for dtype, width in (("f32", 4), ("bf16", 2), ("f16", 2)):
            for out in ("x.zt", "x.safetensors"):
                run("convert", "--dtype", dtype, start, self.dir / out)
                objects = {each["name"]: each["components"]["data"] for each in self.description(self.dir / out)["objects"]}
                self.assertEqual([objects[name]["dtype"] for name in ("a.weight", "a.bias", "steps")],
                                 [dtype, dtype, "i64"])
                self.assertEqual(objects["a.weight"]["decoded_length"], 4 * width)
                self.assertEqual(run("diff", "--tolerance", "0", start, self.dir / out), "")
        run("convert", "--drop-attributes", "--dtype", "bf16", start, self.dir / "x.npz", code=BAD)
        self.assertIn("bf16", run.errors)

    def test_convert_turns_weights_with_scales_into_floats_in_every_format(self):
        golden = GOLDEN / "v1.2-quantized-group.zt"
        of_version_2 = [CORPUS / "v2" / "valid" / f"{name}.zt" for name in ("mx-mx", "mx-mx-of-f8", "group-packed-zeros")]
        for start in [golden, *of_version_2]:
            known = ["--exclude", "odd-packing"] if start == golden else []
            for dtype, tolerance in (("f32", "0"), ("bf16", "1"), ("f16", "1")):
                for out in ("x.zt", "x.safetensors"):
                    run("convert", "--dtype", dtype, *known, start, self.dir / out)
                    objects = self.description(self.dir / out)["objects"]
                    self.assertEqual({each["format"] for each in objects}, {"dense"})
                    self.assertEqual({each["components"]["data"]["dtype"] for each in objects}, {dtype})
                    self.assertEqual(run("diff", *known, "--tolerance", tolerance, start, self.dir / out), "")
        run("convert", "--dtype", "f32", golden, self.dir / "y.zt", code=BAD)
        self.assertIn("odd-packing", run.errors)

    def test_convert_turns_values_of_sparse_tensors_and_refuses_floats_it_does_not_know(self):
        run("convert", "--dtype", "f16", GOLDEN / "v1.2-sparse-csr.zt", self.dir / "x.zt")
        types = {each["components"]["values"]["dtype"] for each in self.description(self.dir / "x.zt")["objects"]}
        self.assertEqual(types, {"f16"})
        unknown = GOLDEN / "s1.2-unknown-vocabulary.zt"
        for name, word in (("dtype", "f128"), ("type", "f4_e2m1x2")):
            run("convert", "--dtype", "f32", "--only", name, unknown, self.dir / "y.zt", code=BAD)
            self.assertIn(f"--dtype can't turn {name} into f32", run.errors)
            self.assertIn(word, run.errors)
            self.assertFalse((self.dir / "y.zt").exists())
        run("convert", "--dtype", "f32", "--only", "known", unknown, self.dir / "y.zt")

    def test_convert_refuses_floats_in_a_format_it_does_not_know(self):
        custom = GOLDEN / "v1.2-custom-format.zt"
        names = [each["name"] for each in self.description(custom)["objects"] if each["format"] != "dense"]
        run("convert", "--dtype", "f16", custom, self.dir / "x.zt", code=BAD)
        self.assertIn("--dtype can't turn lora into f16: what its format, lora_pair, means is not known", run.errors)
        run("convert", "--dtype", "f16", *[word for name in names for word in ("--exclude", name)], custom,
            self.dir / "x.zt")

    def test_what_is_asked_for_is_done_to_every_layout_whatever_the_versions(self):
        versions = ("0.1", "1.2", "2") if self.has_version_2() else ("0.1", "1.2")
        for name in ("v1.2-sparse-csr", "v0.1-sparse-csr", "v1.2-quantized-group"):
            for version in versions:
                if "quantized" in name and version == "0.1":
                    continue  # which has no place for such
                for words in (["--digest"], ["--zstd", "--digest"], ["--dtype", "bf16", "--digest"]):
                    with self.subTest(file=name, version=version, words=words):
                        path, out = GOLDEN / f"{name}.zt", self.dir / "x.zt"
                        run("convert", "--exclude", "odd-packing", "--version", version, *words, path, out)
                        run("verify", "--require-digests", out)
                        objects = self.description(out)["objects"]
                        if "--dtype" in words:
                            part = "values" if "sparse" in name and version != "0.1" else "data"
                            self.assertEqual({each["components"][part]["dtype"] for each in objects}, {"bf16"})
                        else:
                            self.assertEqual(run("diff", "--exclude", "odd-packing", path, out), "")
        blocks = CORPUS / "foreign" / "gguf" / "blocks.gguf"
        for version in versions[1:]:
            run("convert", "--zstd", "--digest", "--version", version, blocks, self.dir / "b.zt")
            run("verify", "--require-digests", self.dir / "b.zt")

    def test_convert_writes_the_version_asked_for(self):
        for version in ("0.1", "1.1", "1.2", "2")[: 4 if self.has_version_2() else 3]:
            for words in ([], ["--zstd"], ["--digest"]):
                run("convert", "--version", version, *words, MODEL, self.dir / "x.zt")
                self.assertIn(f"; zTensor {version}, ", run("info", self.dir / "x.zt"))
                self.assertEqual(run("diff", "--ignore-attributes", MODEL, self.dir / "x.zt"), "")
        run("convert", MODEL, self.dir / "x.zt")
        self.assertIn("; zTensor 1.2, ", run("info", self.dir / "x.zt"))
        run("convert", "--version", "2", self.small(), self.dir / "x.safetensors", code=USAGE)
        run("convert", "--version", "3", self.small(), self.dir / "x.zt", code=USAGE)

    def test_what_is_skipped_is_told(self):
        path, out = CORPUS / "hdf5" / "skipped.h5", self.dir / "kept.zt"
        words = [[*ZT, *map(str, each)] for each in (("info", path), ("convert", path, out),
                                                     ("convert", "--strict", path, self.dir / "none.zt"))]
        results = [subprocess.run(each, capture_output=True, check=False) for each in words]
        if b"built with libhdf5" in results[0].stderr:
            self.skipTest("built without libhdf5")
        self.assertEqual([each.returncode for each in results], [GOOD, GOOD, BAD])
        for each in results:
            errors = each.stderr.decode().splitlines()
            self.assertIn(f'zt: {path}: skipped "records": its elements are records of several fields', errors)
            self.assertIn(f"zt: {path}: 12 skipped, 1 objects read", errors)
        self.assertEqual(self.names(out), ["kept"])
        self.assertFalse((self.dir / "none.zt").exists())

    def test_a_file_of_another_format_without_tensors_is_no_quiet_success(self):
        def text(value):
            return struct.pack("<Q", len(value)) + value
        def archive(entries):
            path = self.dir / "made.zip"
            with zipfile.ZipFile(path, "w") as zipped:
                for name, content in entries:
                    zipped.writestr(name, content)
            return path.read_bytes()
        files = {
            "none.safetensors": safetensors([]), "metadata.safetensors": safetensors([], {"a": "b"}),
            "none.gguf": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text(b"a") + struct.pack("<II", 4, 7),
            "none.onnx": b"\x08\x07\x12\x01x\x3a\x03\x12\x01g", "none.npz": archive([]),
            "texts.npz": archive([("a.npy", npy([1]).replace(b"<f4", b"<U1"))]),
            "none.pt": archive([("a/data.pkl", b"\x80\x02}q\x00X\x01\x00\x00\x00nK\x01s."), ("a/version", b"3\n")]),
        }
        paths = [self.file(*each) for each in files.items()]
        with_hdf5 = subprocess.run([*ZT, "info", str(CORPUS / "hdf5" / "types.h5")], capture_output=True, check=False)
        paths += [CORPUS / "hdf5" / "empty.h5"] if with_hdf5.returncode == GOOD else []
        for path in paths:
            for words, code in ((("info", path), GOOD), (("convert", path, self.dir / "e.zt"), GOOD),
                                (("convert", "--strict", path, self.dir / "s.zt"), BAD)):
                with self.subTest(file=path.name, command=words[0]):
                    result = subprocess.run([*ZT, *map(str, words)], capture_output=True, check=False)
                    self.assertEqual(result.returncode, code)
                    self.assertRegex(result.stderr.decode(), "no tensors were found in it|1 skipped, 0 objects read")
            self.assertFalse((self.dir / "s.zt").exists())

    def test_weights_in_blocks_become_floats_in_every_format(self):
        blocks = CORPUS / "foreign" / "gguf" / "blocks.gguf"
        for out in ("x.zt", "x.safetensors", "x.npz"):
            drops = ["--drop-attributes"] if out == "x.npz" else []
            run("convert", "--dtype", "f32", *drops, blocks, self.dir / out)
            objects = {each["name"]: each for each in self.description(self.dir / out)["objects"]}
            self.assertEqual(objects["iq2_xs"]["components"]["data"]["dtype"], "f32")
            self.assertFalse(objects["iq2_xs"].get("attributes"))
            ignored = ["--ignore-attributes"] if out == "x.npz" else []
            self.assertEqual(run("diff", "--tolerance", "0", *ignored, blocks, self.dir / out), "")
        run("convert", "--dtype", "f16", blocks, self.dir / "half.zt")
        out = run("diff", "--tolerance", "0", "--only", "q4_1", blocks, self.dir / "half.zt", code=BAD)
        self.assertRegex(out, r"q4_1: \d+ of 128 elements differ, by at most ")
        self.assertIn("format", run("diff", "--only", "q4_1", blocks, self.dir / "x.zt", code=BAD))
        run("convert", "--dtype", "f32", "--only", "nvfp4", blocks, self.dir / "x.npy")
        self.assertIn(b"'descr': '<f4', 'fortran_order': False, 'shape': (2, 128), }", (self.dir / "x.npy").read_bytes())
        run("convert", "--dtype", "f32", blocks, self.dir / "y.npy", code=USAGE)
        self.assertIn("there are 54", run.errors)
        rows = {row[0]: row[2:] for row in map(str.split, run("stats", blocks).splitlines()) if len(row) == 9}
        self.assertEqual(len(rows), 55)
        for name in rows:
            self.assertEqual(rows[name], rows.get(name + ".expected", rows[name]))

    def test_a_missing_part_of_a_gguf_model_is_told_by_its_number(self):
        def text(value):
            return struct.pack("<Q", len(value)) + value
        pairs = text(b"split.no") + struct.pack("<IH", 2, 0) + text(b"split.count") + struct.pack("<IH", 2, 2)
        (self.dir / "m-00001-of-00002.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + pairs)
        for path in (self.dir, self.dir / "m-00001-of-00002.gguf"):
            run("info", path, code=REFUSED)
            self.assertIn("part 2 of 2, \"m-00002-of-00002.gguf\": it is missing", run.errors)

    def test_convert_selects_and_renames(self):
        start = self.small()
        for out in ("x.zt", "x.safetensors"):
            run("convert", "--only", "a.*", "--only", "st?ps", "--exclude", "*bias", "--rename", "a.*=layer.*.0", start,
                self.dir / out)
            self.assertEqual(self.names(self.dir / out), ["layer.weight.0", "steps"])
        run("convert", "--rename", "steps=a.bias", start, self.dir / "x.zt", code=BAD)
        self.assertEqual(self.names(self.dir / "x.zt"), ["layer.weight.0", "steps"], "the old file stays")

    def test_convert_refuses_by_name_what_the_other_format_can_not_say(self):
        for name in ("v1.2-sparse-csr", "v1.2-quantized-group"):
            for out in ("x.safetensors", "x.npz"):
                run("convert", GOLDEN / f"{name}.zt", self.dir / out, code=BAD)
                self.assertRegex(run.errors, r"^zt: .*object \".*\": (safetensors|npz) has no place for an object of the")
        run("convert", self.small(), self.dir / "x.npz", code=BAD)
        self.assertIn("npz has no place for attributes of the file, which --drop-attributes leaves out", run.errors)

    def test_copy_takes_blobs_as_they_are(self):
        run("copy", "--exclude", "conv*", MODEL, self.dir / "x.zt")
        old = {each["name"]: each for each in self.description(MODEL)["objects"]}
        new = self.description(self.dir / "x.zt")["objects"]
        self.assertTrue(0 < len(new) < len(old))
        for each in new:
            self.assertEqual(each["components"]["data"]["stored_sha256"],
                             old[each["name"]]["components"]["data"]["stored_sha256"])
        run("copy", GOLDEN / "v0.1-dense.zt", self.dir / "old.zt")
        self.assertEqual(self.description(self.dir / "old.zt")["generation"], "0.1")

    def test_migrate_writes_the_version_asked_for(self):
        for version in ("0.1", "1.1", "1.2", "2")[: 4 if self.has_version_2() else 3]:
            run("migrate", "--version", version, MODEL, self.dir / "x.zt")
            self.assertIn(f"; zTensor {version}", run("info", self.dir / "x.zt"))
            self.assertEqual(run("diff", "--ignore-attributes", MODEL, self.dir / "x.zt"), "")
        run("migrate", "--version", "0.1", GOLDEN / "v1.2-quantized-group.zt", self.dir / "y.zt", code=BAD)

    def test_id_is_that_of_the_tensors(self):
        run("id", MODEL, code=BAD)
        if not self.has_version_2():
            tell_skipped("what takes version 2: built without xxHash")
            return
        run("migrate", "--version", "2", MODEL, self.dir / "a.zt")
        run("copy", self.dir / "a.zt", self.dir / "b.zt")
        run("copy", "--only", "conv1*", self.dir / "a.zt", self.dir / "c.zt")
        ids = [run("id", self.dir / name) for name in ("a.zt", "b.zt", "c.zt")]
        self.assertRegex(ids[0], r"^xxh3:[0-9a-f]{16}\n$")
        self.assertEqual(ids[0], ids[1])
        self.assertNotEqual(ids[0], ids[2])

    def parts(self, count=2, form="model-{:05}-of-{:05}.safetensors"):
        """A folder of a model in parts, without an index: a0, a1, ... of one f32 each."""
        folder = self.dir / "parts"
        folder.mkdir()
        for number in range(count):
            content = safetensors([(f"a{number}", "F32", [2], struct.pack("<2f", number, 1))], {"format": "pt"})
            (folder / form.format(number + 1, count)).write_bytes(content)
        return folder

    def index_of(self, folder):
        """Puts an index of the parts beside a folder of them; its path."""
        files = sorted(each.name for each in folder.iterdir())
        index = self.dir / "whole.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": {f"a{at}": f"{folder.name}/{name}" for at, name in enumerate(files)}}))
        return index

    def test_every_command_takes_a_folder_or_an_index_or_says_that_it_takes_one_file(self):
        folder, other, out = self.parts(), self.dir / "other.zt", self.dir / "out.zt"
        given = {"append": [other], "extract": ["a1", self.dir / "out.npy"], "remove": ["a0"], "rename": ["a0=b"],
                 "print": ["a1"], "report": ["-o", self.dir / "r.html"], "split": [self.dir / "shards"], "convert": [out], "copy": [out], "migrate": [out]}
        one_file = {"remove", "rename", "compact", "recover", "id"}
        for path in (folder, self.index_of(folder)):
            run("convert", MODEL, other)
            for command in COMMANDS:
                if command in ("completion", "sweep"):  # which take none
                    continue
                words = [path, *given.get(command, [])]
                words = {"diff": [path, folder], "merge": [out, path], "append": [other, path]}.get(command, words)
                with self.subTest(command=command, path=path.name):
                    if command in one_file:
                        run(command, *words, code=BAD)
                        self.assertIn("this command takes one file, and", run.errors)
                        self.assertIn(str(path), run.errors)
                        continue
                    if command == "lint":  # which looks at .zt files alone
                        run(command, *words, code=BAD)
                        self.assertIn("lint looks at .zt files", run.errors)
                        continue
                    run(command, *words)
                    if out in words:
                        self.assertEqual([each["name"] for each in json.loads(run("info", "--json", out))["objects"]],
                                         ["a0", "a1"])
                        out.unlink()
            run("append", path, other, code=BAD)
            self.assertIn("this command takes one file, and", run.errors)
            self.assertEqual((self.dir / "out.npy").read_bytes()[-8:], struct.pack("<2f", 1, 1))
            shards = sorted(each.name for each in (self.dir / "shards").iterdir())
            stem = "parts" if path == folder else "whole"
            self.assertEqual([re.sub("-[0-9a-f]{16}-", "-", each) for each in shards],
                             [f"{stem}-00001-of-00001.zt", f"{stem}.zt.index.json"])
            shutil.rmtree(self.dir / "shards")
        self.assertIn("a0", run("migrate", "--version", "2", folder, out) + run("info", out))
        run("split", "--size", "100KB", MODEL, self.dir / "shards")
        linted = run("lint", self.dir / "shards", code=BAD)
        self.assertIn("-00001-of-00008.zt: missing_digest: object", linted)
        self.assertIn("-00006-of-00008.zt: missing_digest: object", linted)
        run("extract", folder, "b", self.dir / "b.npy", code=USAGE)
        self.assertIn('"b"', run.errors)
        run("info", "--layout", self.dir / "x.svg", folder, code=USAGE)
        self.assertIn("is for one file", run.errors)
        files = json.loads(run("info", "--json", folder))["files"]
        self.assertEqual(sorted(each["name"] for file in files for each in file["objects"]), ["a0", "a1"])
        run("convert", folder, self.dir / "whole.npz", code=USAGE)
        self.assertIn("several files become one .zt file", run.errors)

    def test_endings_count_in_any_case_and_in_folders_too(self):
        content = self.small().read_bytes()
        run("convert", self.small(), self.dir / "small.zt")
        archive = self.dir / "archive"
        with zipfile.ZipFile(archive, "w") as zipped:
            zipped.writestr("w.npy", npy([1, 2, 3]))
        files = {"m-00001-of-00001.SAFETENSORS": content, "m.ZT": (self.dir / "small.zt").read_bytes(), "m.NPY": npy([1]),
                 "m.Npz": archive.read_bytes(), "m.GGUF": (CORPUS / "foreign" / "gguf" / "kinds.gguf").read_bytes()}
        for name, each in files.items():
            with self.subTest(name=name):
                folder = self.dir / (name + ".d")
                folder.mkdir()
                (folder / name).write_bytes(each)
                self.assertTrue(self.names(folder))
                run("convert", folder, self.dir / "out.ZT")
                self.assertEqual(run("diff", "--ignore-attributes", folder, self.dir / "out.ZT"), "")
        folder = self.dir / "shards"
        run("split", "--size", "100KB", MODEL, folder)
        for each in list(folder.iterdir()):
            each.rename(folder / each.name.replace(".zt", ".ZT").replace(".json", ".JSON"))
        index = next(folder.glob("*.JSON"))
        index.write_text(index.read_text().replace(".zt", ".ZT"))
        for where in (folder, index):
            self.assertEqual(run("diff", MODEL, where), "")
        run("split", index, self.dir / "again")
        self.assertTrue((self.dir / "again" / "silero-vad-16k.zt.index.json").exists())

    def test_a_name_may_be_empty_where_the_format_allows_it(self):
        path, out = self.file("e.safetensors", safetensors([("", "U8", [1], b"a"), ("b", "U8", [1], b"b")])), self.dir / "x.zt"
        self.assertEqual(self.names(path), ["", "b"])
        for command in ("convert", "copy"):
            run(command, path, out, code=BAD)
            self.assertIn("name", run.errors)
            self.assertFalse(out.exists())
        run("convert", "--rename", "=a", path, out)
        self.assertEqual(self.names(out), ["a", "b"])

    def test_a_set_with_a_part_missing_and_a_folder_of_several_models_are_refused_by_name(self):
        folder, out = self.parts(3), self.dir / "out.zt"
        second = folder / "model-00002-of-00003.safetensors"
        content = second.read_bytes()
        second.unlink()
        for words in (["info", folder], ["convert", folder, out], ["verify", folder], ["merge", out, folder]):
            run(*words, code=REFUSED)
            self.assertIn('"model-00002-of-00003.safetensors"', run.errors)
            self.assertFalse(out.exists())
        second.write_bytes(content)
        run("info", folder)
        (folder / "other-00001-of-00001.safetensors").write_bytes(content)
        run("info", folder, code=BAD)
        self.assertIn('"model-*-of-00003.safetensors", "other-*-of-00001.safetensors"', run.errors)
        (folder / "other-00001-of-00001.safetensors").rename(folder / "other.safetensors")
        run("info", folder, code=BAD)
        self.assertIn("the folder holds several models", run.errors)
        self.assertIn('"a1"', run.errors)
        (self.dir / "empty.index.json").write_text('{"weight_map": {}}')
        run("info", self.dir / "empty.index.json", code=BAD)
        self.assertIn("names no file", run.errors)

    def test_what_is_skipped_is_told_by_every_command_that_hands_the_rest_on(self):
        archive, other, out = self.dir / "mixed.npz", self.dir / "other.zt", self.dir / "out.zt"
        with zipfile.ZipFile(archive, "w") as zipped:
            zipped.writestr("w.npy", npy([1, 2, 3]))
            zipped.writestr("names.npy", npy([1, 2, 3]).replace(b"<f4", b"<U1"))
        run("convert", MODEL, other)
        line = f'zt: {archive}: skipped "names": the elements are of NumPy\'s type "<U1", which is text\n'
        for words in (["info", archive], ["convert", archive, out], ["copy", archive, out], ["merge", out, archive],
                      ["migrate", archive, out], ["append", other, archive], ["split", archive, self.dir / "shards"]):
            with self.subTest(command=words[0]):
                done = subprocess.run([*ZT, *map(str, words)], capture_output=True, check=False)
                self.assertEqual(done.returncode, GOOD)
                self.assertEqual(done.stderr.decode(), line + f"zt: {archive}: 1 skipped, 1 objects read\n")
        run("convert", "--strict", archive, self.dir / "strict.zt", code=BAD)
        self.assertIn("--strict was given", run.errors)
        self.assertFalse((self.dir / "strict.zt").exists())

    def test_split_writes_shards_and_an_index_that_are_read_as_one(self):
        shards = self.dir / "shards"
        self.assertRegex(run("split", "--size", "300KB", MODEL, shards), r"(?m)^silero-vad-16k-[0-9a-f]{16}-00001-of-\d{5}\.zt: \d+ objects$")
        index = json.loads((shards / "silero-vad-16k.zt.index.json").read_text())
        files = sorted(set(index["weight_map"].values()))
        self.assertGreater(len(files), 1)
        self.assertEqual(sorted(path.name for path in shards.glob("*.zt")), files)
        objects = self.description(MODEL)["objects"]
        self.assertEqual(sorted(index["weight_map"]), sorted(each["name"] for each in objects))
        stored = [part["length"] for each in objects for part in each["components"].values()]
        self.assertEqual(index["metadata"]["total_size"], sum(stored))
        self.assertEqual(index["metadata"]["file_sizes"], {name: (shards / name).stat().st_size for name in files})
        for where in (shards, shards / "silero-vad-16k.zt.index.json"):
            self.assertEqual(run("diff", MODEL, where), "")
            run("verify", where)
            self.assertIn("\n", run("stats", where))
            self.assertEqual(run("info", where).count(" objects, "), 1, "one table for all")
            self.assertIn(f"; {len(files)} files of ", run("info", where))
        run("convert", shards, self.dir / "x.safetensors", code=USAGE)
        run("convert", shards, self.dir / "x.zt")
        run("merge", self.dir / "y.zt", *sorted(shards.glob("*.zt")))
        for name in ("x.zt", "y.zt"):
            self.assertEqual(run("diff", "--ignore-attributes", MODEL, self.dir / name), "")

    def test_split_keeps_the_version_unless_told_otherwise(self):
        for version in ("0.1", "1.1", "1.2", "2") if self.has_version_2() else ("0.1", "1.1", "1.2"):
            run("migrate", "--version", version, MODEL, self.dir / "m.zt")
            for words, expected in (([], version), (["--version", "1.1"], "1.1")):
                shards = self.dir / "shards"
                self.assertRegex(run("split", "--size", "300KB", *words, self.dir / "m.zt", shards), r"(?m)^m.*\.zt: \d+ objects")
                found = json.loads(run("info", "--json", shards / "m.zt" if expected == "2" else shards))
                self.assertEqual({each["generation"] for each in found.get("files", [found])}, {expected})
                self.assertEqual(run("diff", self.dir / "m.zt", shards / "m.zt" if expected == "2" else shards), "")
                shutil.rmtree(shards)
        run("split", self.small(), self.dir / "shards")
        self.assertIn("; zTensor 1.2, ", run("info", self.dir / "shards"))

    def test_split_selects_and_renames(self):
        shards = self.dir / "shards"
        run("split", "--size", "1", "--exclude", "steps", "--rename", "a.*=b.*", self.small(), shards)
        index = json.loads((shards / "small.zt.index.json").read_text())
        self.assertEqual(sorted(index["weight_map"]), ["b.bias", "b.weight"])
        self.assertEqual(len(set(index["weight_map"].values())), 2)
        self.assertIn("b.bias", run("info", shards))
        run("split", "--size", "1", "--rename", "a.*=x", self.small(), self.dir / "twins", code=BAD)
        self.assertIn('two objects are to be called "x"', run.errors)

    def test_merge_refuses_a_name_in_two_files(self):
        start = self.small()
        other = self.file("b.npy", npy([1, 2]))
        run("merge", self.dir / "x.zt", start, other)
        self.assertEqual(self.names(self.dir / "x.zt"), ["a.bias", "a.weight", "b", "steps"])
        run("merge", self.dir / "y.zt", start, start, code=BAD)
        self.assertFalse((self.dir / "y.zt").exists())

    def test_diff_tells_each_difference(self):
        a = self.file("a.safetensors", safetensors([("same", "F32", [1], struct.pack("<f", 1)),
                                                    ("value", "F32", [3], struct.pack("<3f", 1, 2, 3)),
                                                    ("type", "F32", [1], struct.pack("<f", 1)),
                                                    ("shape", "U8", [2], b"ab"), ("only", "U8", [1], b"a")], {"k": "a"}))
        b = self.file("b.safetensors", safetensors([("same", "F32", [1], struct.pack("<f", 1)),
                                                    ("value", "F32", [3], struct.pack("<3f", 1, 2.5, 4)),
                                                    ("type", "F16", [1], struct.pack("<e", 1)),
                                                    ("shape", "U8", [1, 2], b"ab"), ("more", "U8", [1], b"a")], {"k": "b"}))
        self.assertEqual(sorted(run("diff", a, b, code=BAD).splitlines()), sorted([
            "value: 2 of 3 elements differ", "type: type f32 and f16", "shape: shape [2] and [1, 2]",
            f"only: only in {a}", f"more: only in {b}", "attributes of the file differ"]))
        self.assertEqual(run.errors, "")
        out = run("diff", "--tolerance", "0.5", "--only", "value", "--only", "type", "--ignore-attributes", a, b, code=BAD)
        self.assertEqual(out, "value: 1 of 3 elements differ, by at most 1\n")
        self.assertEqual(run("diff", "--tolerance", "1", "--only", "value", "--ignore-attributes", a, b), "")

    def test_diff_finds_the_same_content_whatever_the_version_calls_it(self):
        versions = ("1.2", "1.1", "0.1", "2") if self.has_version_2() else ("1.2", "1.1", "0.1")
        for name in ("v1.2-sparse-csr", "v1.2-quantized-group", "v0.1-sparse-csr"):
            paths = []
            for version in versions:
                path = self.dir / f"{name}-{version}.zt"
                quantized = "quantized" in name
                if quantized and version == "0.1":
                    continue  # which has no place for such
                run("convert", "--exclude", "odd-packing", "--version", version, GOLDEN / f"{name}.zt", path)
                paths.append(path)
            for a in paths:
                for b in paths:
                    for words in ([], ["--tolerance", "0"]):
                        self.assertEqual(run("diff", *words, a, b), "", (a, b))

    def test_diff_knows_bools_and_narrow_types_of_every_version(self):
        header = {"b": {"dtype": "BOOL", "shape": [3], "data_offsets": [0, 3]},
                  "e": {"dtype": "F8_E8M0", "shape": [2], "data_offsets": [3, 5]},
                  "f": {"dtype": "F4", "shape": [2], "data_offsets": [5, 6]}}
        text = json.dumps(header).encode()
        start = self.dir / "x.SAFETENSORS"
        start.write_bytes(struct.pack("<Q", len(text)) + text + bytes([0, 1, 1, 127, 128, 0x21]))
        paths = [start]
        for version in ("1.2", "2") if self.has_version_2() else ("1.2",):
            path = self.dir / f"{version}.ZT"
            run("convert", "--version", version, start, path)
            paths.append(path)
        for a in paths:
            for b in paths:
                self.assertEqual(run("diff", a, b), "")
                self.assertEqual(run("diff", "--tolerance", "0", a, b), "")
        for path in paths:
            run("convert", "--dtype", "f32", path, self.dir / "floats.Safetensors")
            objects = {each["name"]: each["components"]["data"]
                       for each in self.description(self.dir / "floats.Safetensors")["objects"]}
            self.assertEqual([objects[name]["dtype"] for name in "bef"], ["bool", "f32", "f32"])
            self.assertEqual(run("diff", "--tolerance", "0", path, self.dir / "floats.Safetensors"), "")
            rows = {line.split()[0]: line.split() for line in run("stats", path).splitlines() if line[:2] in ("e ", "f ")}
            self.assertEqual(rows["e"][3:6], ["1", "2", "1.5"])
            self.assertEqual(rows["f"][3:6], ["0.5", "1", "0.75"])

    def test_exponents_of_version_2_are_numbers_in_every_file(self):
        path, out = self.file("e.safetensors", safetensors([("e", "F8_E8M0", [4], bytes([0, 127, 128, 255]))])), self.dir / "f.zt"
        run("convert", path, self.dir / "e.zt")
        for start in (path, self.dir / "e.zt"):
            run("convert", "--dtype", "f32", start, out)
            run("extract", out, "e", self.dir / "e.npy")
            values = struct.unpack("<4f", (self.dir / "e.npy").read_bytes()[-16:])
            self.assertEqual(values[:3], (2.0**-127, 1, 2))
            self.assertTrue(math.isnan(values[3]))

    def test_packed_floats_of_pytorch_become_f4_of_safetensors(self):
        pickle = (b"\x80\x02}X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v3\n((X\x07\x00\x00\x00storagectorch.storage\nUntypedStorage\n"
                  b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQK\x00(K\x02K\x02t(K\x02K\x01t\x89"
                  b"ccollections\nOrderedDict\n)Rctorch\nfloat4_e2m1fn_x2\ntRs.")
        path = self.dir / "m.pt"
        with zipfile.ZipFile(path, "w") as zipped:
            for name, content in (("m/data.pkl", pickle), ("m/data/0", bytes([1, 2, 3, 4])), ("m/version", b"3\n")):
                zipped.writestr(name, content)
        run("convert", path, self.dir / "m.safetensors")
        (object_,) = self.description(self.dir / "m.safetensors")["objects"]
        self.assertEqual(object_["shape"], [2, 4])
        self.assertEqual(object_["components"]["data"]["type"], "f4")

    def test_codes_without_their_scales_are_no_numbers_unless_raw_values_are_asked_for(self):
        codes = {"F8_E4M3": bytes([0x38] * 4), "F8_E5M2": bytes(4), "I8": bytes([1, 2, 3, 4]), "U8": bytes(4), "F4": bytes(2),
                 "I32": bytes(16), "U32": bytes(16), "BF16": bytes(8)}
        conventions = [
            ("x.weight", "F8_E4M3", "x.weight_scale"), ("x.weight", "F8_E4M3", "x.weight_scale_inv"),
            ("x.weight", "F8_E5M2", "x.scale_weight"), ("x.weight", "I8", "x.scale"), ("x.weight", "U32", "x.scales"),
            ("x.weight", "I8", "x.SCB"), ("x.weight", "U8", "x.weight.absmax"), ("x.weight", "U8", "x.weight_scale"),
            ("x.weight", "F4", "x.weight_scale"), ("x.weight", "BF16", "x.weight.quant_state.bitsandbytes__nf4"),
            ("x.weight_packed", "I32", "x.weight_scale"), ("x.qweight", "I32", "x.scales"), ("x_blocks", "U8", "x_scales"),
            ("x.blocks", "U8", "x.scales"), ("x.W_q", "U8", "x.scale"), ("x._weight_qdata", "I8", "x._weight_scale"),
            ("x.weight._data", "I8", "x.weight._scale"), ("x_proj", "F8_E4M3", "x_proj_scale_inv"),
            ("x/kernel", "I8", "x/kernel_scale"), ("weight", "I8", "scale"), ("x_quantized", "U8", "x_scale")]
        norm = ("norm.weight", "F32", [1], struct.pack("<f", 2))
        for weight, dtype, scales in conventions:
            with self.subTest(weight=weight, dtype=dtype, scales=scales):
                tensors = [(weight, dtype, [4], codes[dtype]), (scales, "F32", [1], struct.pack("<f", 0.5)), norm]
                path, out = self.file("q.safetensors", safetensors(tensors)), self.dir / "out.zt"
                refused = [["convert", "--dtype", "f32", path, out], ["stats", path], ["extract", path, weight, self.dir / "w.npy"],
                           ["convert", "--dtype", "f16", path, self.dir / "out.safetensors"],
                           ["convert", "--only", weight, path, self.dir / "out.npy"]]
                for words in refused:
                    run(*words, code=BAD)
                    self.assertIn(f"{weight} ({scales})", run.errors)
                    self.assertIn("--raw-values", run.errors)
                self.assertFalse(out.exists())
                run("convert", path, out)  # as it is
                self.assertEqual(run("diff", path, out), "")
                run("convert", path, self.dir / "same.safetensors")
                self.assertEqual(run("diff", path, self.dir / "same.safetensors"), "")
                run("convert", "--dtype", "bf16", "--exclude", weight, path, out)
                run("convert", "--dtype", "f32", "--raw-values", path, out)
                self.assertIn("norm.weight", run("stats", "--raw-values", path))
                run("stats", "--only", "norm.weight", path)
                out.unlink()
        path = self.file("one.safetensors", safetensors([("x.weight", "F8_E4M3", [4], codes["F8_E4M3"]),
                                                         ("x.weight_scale", "F32", [1], struct.pack("<f", 0.5))]))
        result = subprocess.run([*ZT, "print", str(path), "x.weight"], capture_output=True, check=False)
        self.assertEqual(result.stdout.decode().splitlines()[1:], ["1 1 1 1"])
        self.assertIn("their scales are in x.weight_scale", result.stderr.decode())
        page = self.dir / "r.html"
        run("report", path, "-o", page)
        self.assertIn("codes, whose scales are in x.weight_scale", page.read_text())
        run("report", "--raw-values", path, "-o", page)
        self.assertNotIn("codes, whose scales are in", page.read_text())
        run("extract", "--raw-values", "--dtype", "f32", path, "x.weight", self.dir / "w.npy")
        self.assertEqual((self.dir / "w.npy").read_bytes()[-16:], struct.pack("<4f", 1, 1, 1, 1))

    def test_scales_are_looked_for_in_all_files_of_a_model_and_the_first_weights_are_named(self):
        folder = self.dir / "shards"
        folder.mkdir()
        scale = struct.pack("<f", 1)
        (folder / "1.safetensors").write_bytes(safetensors([(f"{i}.weight", "F8_E4M3", [1], b"8") for i in range(5)]))
        (folder / "2.safetensors").write_bytes(safetensors([(f"{i}.weight_scale", "F32", [], scale) for i in range(5)]))
        run("convert", "--dtype", "f32", folder, self.dir / "out.zt", code=BAD)
        self.assertIn("0.weight (0.weight_scale), 1.weight (1.weight_scale), 2.weight (2.weight_scale) and 2 more", run.errors)

    def test_tensors_that_are_called_like_scales_but_scale_no_codes_are_plain(self):
        def tensor(name, dtype, size):
            return (name, dtype, [1], bytes(size))
        names = ["input_scale", "output_scale", "x.k_scale", "x.v_scale", "x.pre_quant_scale", "x.activation_scale", "y.scale", "blocks.0.scales"]
        tensors = [tensor(name, "F32", 4) for name in names]
        tensors += [tensor("y.weight", "BF16", 2), tensor("mask", "I8", 1), tensor("single_blocks", "U8", 1), tensor("z.weight", "F8_E4M3", 1),
                    tensor("z.input_scale", "F32", 4), tensor("ids", "I32", 4), tensor("y.weight_scale", "F32", 4)]
        path = self.file("plain.safetensors", safetensors(tensors))
        run("convert", "--dtype", "f32", path, self.dir / "out.zt")
        run("stats", path)
        run("extract", "--dtype", "f32", path, "z.weight", self.dir / "z.npy")

    def test_files_that_a_folder_holds_besides_its_model_are_told_and_refused_by_strict(self):
        folder, out = self.dir / "model", self.dir / "out.zt"
        folder.mkdir()
        one = struct.pack("<f", 1)
        (folder / "a.safetensors").write_bytes(safetensors([("a", "F32", [1], one), ("old", "F32", [1], one)]))
        (folder / "projector.safetensors").write_bytes(safetensors([("p", "F32", [1], one)]))
        (folder / "m.safetensors.index.json").write_text('{"weight_map": {"a": "a.safetensors"}}')
        for words in (["info", folder], ["convert", folder, out], ["copy", folder, out], ["merge", out, folder],
                      ["split", folder, self.dir / "shards"], ["report", folder, "-o", self.dir / "r.html"]):
            with self.subTest(command=words[0]):
                done = subprocess.run([*ZT, *map(str, words)], capture_output=True, check=False)
                self.assertEqual(done.returncode, GOOD)
                self.assertEqual(done.stderr.decode().splitlines(), [
                    f'zt: {folder}: skipped "old" in "a.safetensors": the index does not name it',
                    f'zt: {folder}: skipped "projector.safetensors": the index of the folder does not name this file',
                    f"zt: {folder}: 2 skipped, 1 objects read"])
        self.assertEqual(self.names(out), ["a"])
        self.assertIn("skipped: projector.safetensors", (self.dir / "r.html").read_text())
        run("convert", "--strict", folder, self.dir / "strict.zt", code=BAD)
        self.assertIn("--strict was given", run.errors)
        self.assertFalse((self.dir / "strict.zt").exists())

    def test_diff_compares_integers_to_the_last_bit(self):
        a, b, c = (self.dir / name for name in ("a.npy", "b.npy", "c.npy"))
        a.write_bytes(npy([2**53, -2**63, 5], "q"))
        b.write_bytes(npy([2**53 + 1, -2**63 + 1, 5], "q"))
        c.write_bytes(npy([float(2**53), float(-2**63), 5.0], "d"))
        only = ["--rename", "a=x", "--rename", "b=x", "--rename", "c=x"]
        for path in (a, b, c):
            run("convert", *only[2 * "abc".index(path.stem):][:2], path, self.dir / f"{path.stem}.zt")
        a, b, c = (path.with_suffix(".zt") for path in (a, b, c))
        self.assertIn("2 of 3 elements differ, by at most 1", run("diff", "--tolerance", "0", a, b, code=BAD))
        self.assertEqual(run("diff", "--tolerance", "1", a, b), "")
        self.assertEqual(run("diff", "--tolerance", "0", a, c), "")
        self.assertIn("2 of 3", run("diff", "--tolerance", "0", b, c, code=BAD))

    def test_a_file_equals_itself(self):
        path = self.dir / "n.npy"
        path.write_bytes(npy([math.nan, math.inf, -math.inf, -0.0]))
        files = [path, *sorted(GOLDEN.glob("*.zt")), *sorted((CORPUS / "foreign" / "gguf").glob("*.gguf"))]
        files += [each for kind in ("safetensors", "npy", "npz", "pt", "onnx")
                  for each in sorted((CORPUS / "foreign" / kind).glob(f"*.{kind}"))]
        files += sorted((CORPUS / "v2" / "valid").glob("[mgst]*.zt"))[::3] if self.has_version_2() else []
        for number, each in enumerate(files):  # both ways for each take long in an emulator
            words = ["--tolerance", "0"] if number % 2 else []
            result = subprocess.run([*ZT, "diff", *words, str(each), str(each)], capture_output=True, check=False)
            self.assertEqual(result.stdout, b"", each)
            self.assertTrue(result.returncode == GOOD or b"built" in result.stderr, (each, result.stderr))

    def test_stats_of_numbers_far_from_zero_are_exact(self):
        path = self.dir / "x.npy"
        for numbers, form, deviation in ((range(10**15, 10**15 + 1000), "q", "288.67"), ([1.5e308, -1.5e308], "d", "1.5e+308"),
                                         ([1e-300, 3e-300], "d", "1e-300"), ([0.0, 0.0], "d", "0")):
            path.write_bytes(npy(list(numbers), form))
            self.assertEqual(run("stats", path).splitlines()[1].split()[6], deviation)

    @unittest.skipUnless(hasattr(os, "mkfifo"), "no pipes with names")
    def test_a_pipe_is_read_to_its_end_first(self):
        pipe = self.dir / "pipe"
        os.mkfifo(pipe)
        feeder = subprocess.Popen(["sh", "-c", f"cat '{MODEL}' > '{pipe}'"])
        self.assertEqual(run("diff", MODEL, pipe), "")
        feeder.wait()
        out = subprocess.run(["sh", "-c", 'cat "$1" | "$2" info /dev/stdin', "sh", str(MODEL), ZT[-1]], check=True,
                             capture_output=True).stdout.decode() if len(ZT) == 1 else run("info", MODEL)
        self.assertEqual(out.splitlines()[1:], run("info", MODEL).splitlines()[1:])

    @unittest.skipUnless(hasattr(os, "mkfifo"), "no pipes with names")
    def test_every_command_reads_pipes_or_says_that_it_changes_files(self):
        pipe, other, out = self.dir / "model.npy", self.dir / "other.zt", self.dir / "out.zt"
        os.mkfifo(pipe)
        content = npy([1, 2])
        same = self.dir / "same"
        same.mkdir()
        (same / "model.npy").write_bytes(content)
        run("convert", MODEL, other)
        table = [["info", pipe], ["stats", pipe], ["verify", pipe], ["bench", pipe], ["diff", pipe, same / "model.npy"],
                 ["diff", pipe, pipe], ["convert", pipe, out], ["copy", pipe, out], ["migrate", pipe, out],
                 ["merge", out, pipe], ["split", pipe, self.dir / "shards"], ["extract", pipe, "model", self.dir / "x.npy"],
                 ["append", other, pipe], ["lint", pipe], ["id", pipe], ["append", pipe, other], ["remove", pipe, "model"],
                 ["rename", pipe, "model=x"], ["compact", pipe], ["recover", pipe], ["print", pipe, "model"], ["attributes", pipe],
                 ["report", pipe, "-o", self.dir / "r.html"]]
        self.assertEqual({words[0] for words in table} | {"completion", "sweep"}, set(COMMANDS))
        changes = [["append", pipe, other], ["remove", pipe, "model"], ["rename", pipe, "model=x"], ["compact", pipe], ["recover", pipe]]
        for words in table:
            with self.subTest(words=words):
                if words in changes:
                    run(*words, code=BAD)
                    self.assertEqual(run.errors, f"zt: this command changes a file where it is, and {pipe} is a pipe\n")
                    continue
                feeder = subprocess.Popen([sys.executable, "-c", "import sys; open(sys.argv[1], 'wb').write("
                                           "bytes.fromhex(sys.argv[2]))", str(pipe), content.hex()])
                said = run(*words, code=BAD if words[0] in ("lint", "id") else GOOD) + run.errors
                feeder.wait()
                self.assertNotIn(tempfile.gettempdir() + "/zt-", said)
                if words[0] in ("verify", "lint"):
                    self.assertIn(str(pipe), said)

    def test_no_message_about_a_damaged_file_speaks_of_cpp(self):
        files = sorted(path for folder in ("foreign", "rules", "v2", "hdf5") for path in (CORPUS / folder).rglob("*")
                       if path.is_file() and path.suffix not in (".json", ".tsv", ".py", ".md") and "reject" in path.parts)
        self.assertGreater(len(files), 100)
        for path in files[::15]:  # all of them take long in an emulator
            result = subprocess.run([*ZT, "info", str(path)], capture_output=True, check=False)
            said = result.stderr.decode()
            self.assertIn(result.returncode, (GOOD, BAD, REFUSED), path)
            self.assertNotRegex(said, r"::|\w\(\)|read_options|<ztensor", path)
            if path.parent.parent.name in ("safetensors", "gguf", "npy", "npz", "pt", "onnx", "hdf5"):
                self.assertNotIn("manifest", said, path)

    def test_what_the_library_says_is_said_in_words_of_the_program(self):
        def without_comments(text):
            text = re.sub(r"static_assert\(.*?\);", "", text, flags=re.DOTALL)
            text = re.sub(r"^\s*//.*$|^#.*$| // .*$", "", text, flags=re.MULTILINE)
            return re.sub(r'"\s*\n\s*"', "", text)

        root = CORPUS.parent.parent
        table = re.findall(r'\{"((?:[^"\\]|\\.)*)",', without_comments((root / "examples/zt/wording.cpp").read_text()))
        self.assertGreater(len(table), 20)
        cpp = re.compile(r"[a-z_]+\(\)|\b(?:read_options|write_options|ztensor|std|shard_lookup|writer)::|\b\w+_view\b|"
                         r"<ztensor/|read_as")
        for path in sorted((root / "include").rglob("*.hpp")):
            for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', without_comments(path.read_text(encoding="utf-8"))):
                said = text
                for each in table:
                    said = said.replace(each, "")
                self.assertFalse(" " in text and cpp.search(said), f"{path.name}: {text}")

    def test_extract_writes_the_array(self):
        start = self.small()
        run("extract", start, "a.weight", self.dir / "x.npy")
        content = (self.dir / "x.npy").read_bytes()
        self.assertIn(b"'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", content)
        self.assertEqual(struct.unpack("<4f", content[-16:]), (1, 2, 3, 4))
        blocks, groups = CORPUS / "foreign" / "gguf" / "blocks.gguf", GOLDEN / "v1.2-quantized-group.zt"
        for path, name, same in ((blocks, "q4_0", "q4_0.expected"), (groups, "q4", "q4")):
            run("extract", path, name, self.dir / f"{name}.npy")
            self.assertEqual(run("print", self.dir / f"{name}.npy", name, "0,0:4").splitlines()[1],
                             run("print", path, same, "0,0:4").splitlines()[1])
        run("extract", groups, "odd-packing", self.dir / "odd.npy", code=BAD)
        self.assertFalse((self.dir / "odd.npy").exists())
        run("extract", "--dtype", "f64", start, "a.bias", self.dir / "x.npy")
        self.assertEqual(struct.unpack("<2d", (self.dir / "x.npy").read_bytes()[-16:]), (0.5, -1))
        run("convert", "--dtype", "bf16", start, self.dir / "x.zt")
        run("extract", self.dir / "x.zt", "a.weight", self.dir / "y.npy", code=BAD)
        self.assertIn('NumPy has no type "bf16"; --dtype f32 turns it into f32', run.errors)
        self.assertFalse((self.dir / "y.npy").exists())
        for out in ("y.npy", "y.npz"):
            run("convert", "--drop-attributes", "--only", "a.weight", self.dir / "x.zt", self.dir / out, code=BAD)
            self.assertIn('has no type "bf16"; --dtype f32 turns it into f32', run.errors)

    def test_what_does_not_match_its_digest_is_handed_on_only_if_told_so(self):
        run("convert", "--digest", self.small(), self.dir / "small.zt")
        bad = damaged(self.dir / "small.zt", self.dir / "bad.zt")
        name = self.first_damaged(bad)
        target = self.dir / "target.zt"
        for number, words in enumerate([
                ["convert", bad, "x.zt"], ["convert", "--zstd", bad, "x.zt"], ["convert", "--dtype=bf16", bad, "x.zt"],
                ["convert", "--drop-attributes", bad, "x.safetensors"], ["copy", bad, "x.zt"],
                ["migrate", "--version", "1.1", bad, "x.zt"], ["merge", "x.zt", bad], ["split", bad, "x.zt"],
                ["extract", bad, name, "x.zt"], ["append", target, bad]]):
            run("convert", self.file("b.npy", npy([1])), target)
            words = [self.dir / word if str(word).startswith("x.") else word for word in words]
            run(*words, code=BAD)
            self.assertRegex(run.errors, r'^zt: .*bad\.zt.*: object ".*", component "data": the .* digest', words)
            if words[0] not in ("split", "append"):
                self.assertEqual(list(self.dir.glob("x.*")), [], words)
            run(words[0], "--damaged", *words[1:])
            for path in self.dir.glob("x.*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        run("copy", "--exclude", name, bad, self.dir / "good.zt")

    def first_damaged(self, path):
        run("verify", path, code=BAD)
        return re.search(r'object "(.*?)"', run.errors).group(1)

    # -- changing

    def test_an_append_in_place_that_was_broken_off_is_told_of_and_recovered(self):
        path = self.dir / "m.zt"
        run("convert", self.file("a.npy", npy([1, 2])), path)
        self.assertIn("nothing to recover", run("recover", path))
        old = path.read_bytes()
        record, content = undo_record(path)
        record.write_bytes(content)
        self.assertIn("zt recover", run("info", path))
        json.loads(subprocess.run([*ZT, "info", "--json", path], capture_output=True, check=True).stdout)
        path.write_bytes(old + b"some new bytes")
        run("info", path, code=BAD)
        self.assertIn("zt recover", run.errors)
        self.assertIn("as it was before", run("recover", path))
        self.assertEqual(path.read_bytes(), old)
        self.assertFalse(record.exists())
        record.write_bytes(content)
        path.write_bytes(old[:-1] + bytes(100))
        run("recover", path, code=REFUSED)
        self.assertTrue(record.exists())
        run("recover", self.dir / "none.zt", code=REFUSED)
        self.assertRegex(run.errors, r"^zt: .*none\.zt: there is no such file\n$")

    def test_append_remove_and_rename_change_a_file(self):
        path = self.dir / "x.zt"
        run("convert", self.small(), path)
        run("append", "--rename", "b=b.weight", path, self.file("b.npy", npy([1, 2])))
        run("append", "--in-place", path, self.file("c.npy", npy([3])))
        self.assertEqual(self.names(path), ["a.bias", "a.weight", "b.weight", "c", "steps"])
        run("append", path, self.dir / "c.npy", code=BAD)
        run("rename", path, "c=d", "steps=c")
        run("remove", path, "a.*", "d")
        self.assertEqual(self.names(path), ["b.weight", "c"])
        before = path.read_bytes()
        run("rename", path, "c=b.weight", code=BAD)
        self.assertIn('two objects are to be called "b.weight"', run.errors)
        run("rename", path, "c", code=USAGE)
        self.assertEqual(path.read_bytes(), before)

    def test_dead_bytes_are_told_of_and_dropped(self):
        path = self.dir / "x.zt"
        run("convert", self.small(), path)
        before = path.read_bytes()
        self.assertNotIn("dead", run("info", path) + run("info", "--json", path))
        self.assertEqual(run("compact", path), f"{path}: no dead bytes\n")
        self.assertEqual(path.read_bytes(), before)
        run("append", "--in-place", path, self.file("c.npy", npy([3])))
        self.assertEqual(path.read_bytes()[:len(before)], before)
        self.assertRegex(run("info", path), r'(?m)^\d+ B of the file are dead bytes, which "zt compact" drops$')
        self.assertGreater(json.loads(run("info", "--json", path))["dead_bytes"], 100)
        self.assertRegex(run("compact", path), r": \d+ B of dead bytes dropped\n$")
        self.assertNotIn("dead", run("info", path))
        self.assertEqual(self.names(path), ["a.bias", "a.weight", "c", "steps"])
        run("compact", self.small(), code=BAD)
        run("compact", self.dir / "none.zt", code=REFUSED)

    def test_rename_and_remove_take_patterns(self):
        names = ["model.a.weight", "model.a.bias", "model.b.weight", "head"]
        for version in ("0.1", "1.1", "1.2"):  # those of version 2 only grow
            path = self.dir / "x.zt"
            run("convert", "--version", version, self.file("x.safetensors", safetensors(
                [(name, "U8", [1], bytes([at])) for at, name in enumerate(names)])), path)
            values = lambda: {name: run("print", path, name).split()[-1] for name in self.names(path)}
            run("rename", path, "model.*=*")
            self.assertEqual(values(), {"a.weight": "0", "a.bias": "1", "b.weight": "2", "head": "3"})
            run("rename", path, "*.weight=layer.*.w", "head=a.bias", "a.bias=head")
            self.assertEqual(values(), {"layer.a.w": "0", "head": "1", "layer.b.w": "2", "a.bias": "3"})
            run("rename", path, "layer.a.w=layer.b.w", "layer.b.w=renamed-0", "head=layer.a.w")
            self.assertEqual(values(), {"layer.b.w": "0", "layer.a.w": "1", "renamed-0": "2", "a.bias": "3"})
            before = path.read_bytes()
            for words, code, why in ((["layer.*=same"], BAD, 'two objects are to be called "same"'), (["layer.*=a.bias"], BAD, '"a.bias"'),
                                     (["layer.*.w=layer.c.w"], BAD, '"layer.c.w"'), (["x*=y*"], USAGE, 'no object "x*"'),
                                     (["*a*=b"], USAGE, "at most one *"), (["a=b*"], USAGE, "at most one *"), (["layer.a.w=ok", "none=x"], USAGE, '"none"')):
                run("rename", path, *words, code=code)
                self.assertIn(why, run.errors)
                self.assertEqual(path.read_bytes(), before)
            run("remove", path, "layer.*", "a.?ias")
            self.assertEqual(self.names(path), ["renamed-0"])
            run("remove", path, "none*", code=USAGE)
            self.assertEqual(self.names(path), ["renamed-0"])

    # -- about itself

    def test_completion_is_a_script_that_each_shell_takes(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.file(f"zt.{shell}", run("completion", shell).encode())
            text = script.read_text()
            for command in COMMANDS:
                self.assertIn(command, text)
            self.assertIn("layout", text)
            if shutil.which(shell):
                subprocess.run([shell, "-n", script], check=True)
            else:
                tell_skipped(f"whether {shell} takes its completion: it is not installed")
        if not shutil.which("bash"):
            return
        for words, expected in ((["zt", "in"], ["info"]), (["zt", "info", "--l"], ["--layout"]),
                                (["zt", "completion", "z"], ["zsh"])):
            program = (f"source {self.dir}/zt.bash; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _zt; "
                       'printf "%s\\n" "${COMPREPLY[@]}"')
            out = subprocess.run(["bash", "-c", program], capture_output=True, check=True, text=True).stdout
            self.assertEqual(out.split(), expected)

    def test_the_manual_page_has_every_command_and_option(self):
        page = run("--man")
        self.assertTrue(page.startswith(".TH ZT 1 "))
        for command in COMMANDS:
            self.assertIn(f"\n.SS zt {command} ", page)
            for option in re.findall(r"(?m)^  (?:-h, )?--([\w-]+)", run(command, "--help")):
                self.assertIn("\\-\\-" + option.replace("-", "\\-"), page)
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "EXIT STATUS"):
            self.assertIn(f"\n.SH {section}\n", page)
        if shutil.which("groff"):
            path = self.file("zt.1", page.encode())
            shown = subprocess.run(["groff", "-man", "-Tascii", "-ww", path], capture_output=True, check=True)
            self.assertEqual(shown.stderr, b"")
        else:
            tell_skipped("whether groff shows the manual page: it is not installed")


def main():
    global ZT
    ZT = [sys.argv[1] if len(sys.argv) == 2 else "zt"] if len(sys.argv) <= 2 else sys.argv[1:]
    ZT = [str(pathlib.Path(ZT[0]).resolve()), *ZT[1:]] if os.sep in ZT[0] else ZT
    unittest.main(argv=sys.argv[:1], verbosity=1)


if __name__ == "__main__":
    main()
