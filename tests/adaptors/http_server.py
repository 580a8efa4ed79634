# SPDX-License-Identifier: MIT
"""A server that makes mistakes on request, for http_test.cpp.

usage: http_server.py PROGRAM [ARGUMENT...]

Serves the files of a new folder on free ports of 127.0.0.1, by http and, where the program openssl can make a
certificate, by https; runs the program, and ends with its status. The program finds in its environment:

ZTENSOR_HTTP_FOLDER  the folder; what it writes there can be asked for at once
ZTENSOR_HTTP_PORT    of http, at 127.0.0.1 and at localhost, which are two hosts for a client
ZTENSOR_HTTPS_PORT   of https; absent without openssl
ZTENSOR_HTTP_CA      the certificate
ZTENSOR_NGINX_PORT   where nginx serves the same folder by http, if it is installed and starts
ZTENSOR_NGINXS_PORT  likewise by https, with HTTP/2 where this nginx has it

A URL is http://HOST:PORT/PLAN/ID/FILE. Each request of an ID is one line of JSON in log/ID of the folder, which is there
before the answer is. The PLAN is a list of faults, separated by commas, or "-" for none: NAME[@WHERE][*COUNT][=VALUE].
WHERE tells requests apart by their range: head (from byte 0), tail (a suffix), rest, all (the default), and COUNT is how
many of an ID the fault has. See answer() for the names.
"""

import email.utils
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

# What servers say that are none of HTTP, or break its rules.
GARBAGE = {
    "": b"this is no HTTP\r\n\r\n",
    "ssh": b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",
    "smtp": b"220 mail.example.com ESMTP\r\n",
    "status": b"HTTP/1.1 xyz Odd\r\n\r\n",
    "version": b"HTTP/7.3 206 Odd\r\n\r\n",
    "line": b"HTTP/1.1 206 Odd\r\nX-Long: " + b"x" * 200000 + b"\r\n\r\n",
}
FAULT = re.compile(r"(\w+)(?:@(\w+))?(?:\*(\d+))?(?:=(.*))?")


class Reset(Exception):
    """The connection is to be cut off."""


class Server:
    def __init__(self, folder):
        self.folder = folder
        self.lock = threading.Lock()
        self.used = {}  # (id, fault) → how often
        self.active = {}  # id → requests under way
        self.ports = {}

    def listen(self, scheme, context=None):
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        listening.listen(256)
        self.ports[scheme] = listening.getsockname()[1]
        threading.Thread(target=self.accept, args=(listening, scheme, context), daemon=True).start()

    def accept(self, listening, scheme, context):
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=self.serve, args=(connection, scheme, context), daemon=True).start()

    def serve(self, connection, scheme, context):
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context:
                connection = context.wrap_socket(connection, server_side=True)
            pending = b""
            while True:
                while b"\r\n\r\n" not in pending:
                    received = connection.recv(65536)
                    if not received:
                        return
                    pending += received
                    if pending[:1] == b"\x16":  # TLS
                        return
                head, pending = pending.split(b"\r\n\r\n", 1)
                if not self.handle(connection, scheme, head.decode("latin-1")):
                    return
        except Reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
        finally:
            connection.close()

    def handle(self, connection, scheme, head):
        """False if the connection is to be closed."""
        lines = head.split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        path, _, query = target.partition("?")
        _, plan, identity, file = path.split("/", 3)
        span = headers.get("range", "")
        where = "head" if span.startswith("bytes=0-") else "tail" if span.startswith("bytes=-") else "rest"
        with self.lock:
            self.active[identity] = self.active.get(identity, 0) + 1
            with open(self.folder / "log" / identity, "a", encoding="utf-8") as log:
                log.write(json.dumps({"method": method, "scheme": scheme, "path": path, "query": query, "where": where,
                                      "headers": headers, "active": self.active[identity]}) + "\n")
            faults = {}
            for word in [] if plan == "-" else plan.split(","):
                name, wanted, count, value = FAULT.fullmatch(urllib.parse.unquote(word)).groups()
                key = (identity, word)
                if wanted in (None, "all", where) and (count is None or self.used.get(key, 0) < int(count)):
                    self.used[key] = self.used.get(key, 0) + 1
                    faults[name] = value or ""
        try:
            return self.answer(connection, scheme, faults, headers, query, plan, identity, file)
        finally:
            with self.lock:
                self.active[identity] -= 1

    def location(self, kind, scheme, headers, plan, identity, file):
        host, port = headers["host"].rsplit(":", 1)
        rest = ",".join(word for word in plan.split(",") if not word.startswith("redirect")) or "-"
        path = f"/{rest}/{identity}/{file}"
        return {
            "same": path + "?signature=SECRET-OF-TARGET",
            "other": f"http://{'localhost' if host == '127.0.0.1' else '127.0.0.1'}:{port}{path}?signature=SECRET-OF-TARGET",
            "loop": f"/{plan}/{identity}/{file}",
            "secure": f"https://{host}:{self.ports.get('https')}{path}",
            "plain": f"http://{host}:{self.ports['http']}{path}",
            "ftp": f"ftp://{host}{path}",
            "odd": "http://[",
            "long": "/" + "x" * 20000,
            "none": None,
        }[kind]

    def answer(self, connection, scheme, faults, headers, query, plan, identity, file):
        def fault(name, otherwise=None):
            return faults.get(name, otherwise)

        def simple(status, *fields, body=b"an error\n"):
            text = "".join(f"{field}\r\n" for field in fields)
            connection.sendall(f"HTTP/1.1 {status} Reason\r\n{text}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            return True

        if "delay" in faults:  # seconds before the answer
            time.sleep(float(fault("delay")))
        if fault("reset") == "":  # before the answer
            raise Reset
        if "garbage" in faults:
            connection.sendall(GARBAGE[fault("garbage")])
            return False
        if "redirect" in faults:
            to = self.location(fault("redirect"), scheme, headers, plan, identity, file)
            return simple(fault("code", "302"), *([f"Location: {to}"] if to else []))
        if "need" in faults and headers.get("authorization") != fault("need").replace("+", " "):
            return simple("401", 'WWW-Authenticate: Basic realm="x"')
        if "expired" in faults and "fresh" not in query:  # an URL that has expired
            return simple("403")
        if "status" in faults:
            after = {"": [], "date": ["Retry-After: " + email.utils.formatdate(time.time() + 1, usegmt=True)]}
            retry = fault("retry", "")
            return simple(fault("status"), *after.get(retry, [f"Retry-After: {retry}"]))
        try:
            content = (self.folder / urllib.parse.unquote(file)).read_bytes()
        except OSError:
            return simple("404")
        tag = fault("etag", '"version-1"')
        if "if-match" in headers and headers["if-match"] != tag:
            return simple("412")

        content_end = len(content)
        total = content_end + int(fault("claim", 0))  # of zeros that follow
        span = re.fullmatch(r"bytes=(\d*)-(\d*)", headers.get("range", ""))
        if not span or "whole" in faults:
            return simple("200", body=content)
        first, last = span.groups()
        begin = max(0, total - int(last)) if first == "" else int(first)
        end = total if first == "" or last == "" else min(int(last) + 1, total)
        if begin >= end:
            return simple("416", f"Content-Range: bytes */{total}")
        body = content[begin:end] + bytes(end - max(begin, content_end) if end > content_end else 0)
        said = (begin + int(fault("begin", 0)), end - 1 + int(fault("end", 0)), total + int(fault("total", 0)))
        fields = [f"Content-Range: {fault('range', 'bytes %d-%d/%d' % said)}"] if "norange" not in faults else []
        fields += [f"ETag: {tag}"] if tag else []
        fields += ["Content-Encoding: gzip"] if "gzip" in faults else []
        fields += ["Content-Range: bytes 0-0/1"] if "twice" in faults else []
        fields += ["X-Padding: " + "x" * int(fault("padding"))] if "padding" in faults else []
        if "early" in faults:
            connection.sendall(b"HTTP/1.1 103 Early Hints\r\nETag: \"no\"\r\nContent-Range: bytes 0-1/2\r\n\r\n")
        if "headers" in faults:  # without end
            connection.sendall(b"HTTP/1.1 206 Partial Content\r\n")
            while True:
                connection.sendall(b"X-More: " + b"x" * 1000 + b"\r\n")
        text = "HTTP/1.1 206 Partial Content\r\n" + "".join(f"{field}\r\n" for field in fields)
        if "endless" in faults:
            connection.sendall((text + "\r\n").encode() + body)
            while True:
                connection.sendall(b"more" * 1000)
        body += b"more" if "longer" in faults else b""
        if "shorter" in faults:  # and well-formed
            body = body[:int(fault("shorter"))]
        connection.sendall((text + f"Content-Length: {len(body)}\r\n\r\n").encode())
        for name in ("cut", "stall", "reset"):  # after so many bytes
            if name in faults:
                connection.sendall(body[:int(fault(name))])
                if name == "stall":
                    time.sleep(30)
                if name == "reset":
                    raise Reset
                return False
        if "trickle" in faults:  # so many seconds for each byte
            for at in range(len(body)):
                connection.sendall(body[at:at + 1])
                time.sleep(float(fault("trickle")))
        connection.sendall(body)
        return True


def make_certificate(folder):
    """The paths of a certificate for both names and its key; nothing without openssl."""
    if not shutil.which("openssl"):
        return None
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                           "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", str(key), "-out", str(certificate)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (certificate, key) if made.returncode == 0 else None


NGINX = """daemon off; master_process off; worker_processes 1; pid FOLDER/nginx.pid; error_log FOLDER/nginx.log;
events { worker_connections 256; }
http {
    access_log off; types { text/plain zt; } gzip on; gzip_types *; gzip_min_length 1;
    client_body_temp_path FOLDER/t; proxy_temp_path FOLDER/t; fastcgi_temp_path FOLDER/t; uwsgi_temp_path FOLDER/t;
    scgi_temp_path FOLDER/t;
    server { listen 127.0.0.1:PLAIN; root FOLDER; }
    SECURE
}
"""
NGINX_SECURE = "server { listen 127.0.0.1:PORT sslHTTP2; root FOLDER; ssl_certificate CERTIFICATE; ssl_certificate_key KEY; }"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_nginx(folder, made, environment):
    """The process; nothing where there is no nginx, or none that starts."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    plain, secure = free_port(), free_port()
    for http2 in (" http2", "") if program and made else ():
        text = NGINX_SECURE.replace("PORT", str(secure)).replace("HTTP2", http2)
        text = text.replace("CERTIFICATE", str(made[0])).replace("KEY", str(made[1]))
        text = NGINX.replace("PLAIN", str(plain)).replace("SECURE", text).replace("FOLDER", str(folder))
        (folder / "nginx.conf").write_text(text, encoding="utf-8")
        process = subprocess.Popen([program, "-c", str(folder / "nginx.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            if process.poll() is not None:
                break
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", secure)) == 0:
                    environment.update(ZTENSOR_NGINX_PORT=str(plain), ZTENSOR_NGINXS_PORT=str(secure))
                    return process
            time.sleep(0.05)
        process.kill()
        process.wait()
    return None


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "log").mkdir()
        server = Server(folder)
        server.listen("http")
        environment = dict(os.environ, ZTENSOR_HTTP_FOLDER=name, ZTENSOR_HTTP_PORT=str(server.ports["http"]))
        for proxy in ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            environment.pop(proxy, None)
        made = make_certificate(folder)
        if made:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*made)
            server.listen("https", context)
            environment.update(ZTENSOR_HTTPS_PORT=str(server.ports["https"]), ZTENSOR_HTTP_CA=str(made[0]))
        nginx = start_nginx(folder, made, environment)
        try:
            return subprocess.call(sys.argv[1:], env=environment)
        finally:
            if nginx:
                nginx.kill()
                nginx.wait()


if __name__ == "__main__":
    sys.exit(main())
