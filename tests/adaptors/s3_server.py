# SPDX-License-Identifier: MIT
"""A server that speaks the part of S3 that the library uses, checks every signature, and fails on request, for
s3_test.cpp.

usage: s3_server.py PROGRAM [ARGUMENT...]

Listens at a free port of 127.0.0.1, runs the program, and ends with its status. The program finds in its environment:

ZTENSOR_S3_PORT    of http, at 127.0.0.1 and at localhost, which are two hosts for a client
ZTENSOR_S3_FOLDER  a folder in which each bucket is one of its own, which the program makes:
                   objects/KEY    percent-encoded key; what is written there can be asked for
                   uploads/ID     as long as an upload is neither complete nor aborted
                   log            one line of JSON for each request
                   plan.json      what is peculiar about the bucket, see below

A plan has any of: "region" (else us-east-1), "token" (without it a request is ExpiredToken), "anonymous" (no request may
be signed), "bearer" (the token that 127.0.0.1 wants in place of a signature, and localhost does not), "tell" (how another region is told: header, body or moved), "blind" (an object that is
not there is refused access), "to" (where a GET of 127.0.0.1 redirects to), and "faults", a
list of {"op": get | head | put | create | part | complete | abort, "count": how often, "part": of that number alone} with one of
"status" and "code" of an error, "late" (the same, with status 200, once the object is there if "done"), "cut" (bytes that
are read before the connection is reset), "empty" (200 without a body), "stall" (seconds before anything is done), "lost" (all
is done, and the connection is reset) and "then" (all is done, and the answer is that status).
"""

import calendar
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import xml.etree.ElementTree
from urllib.parse import parse_qsl, quote, unquote

KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
LEAST_PART = 5 << 20
NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


class Refusal(Exception):
    def __init__(self, status, code, headers=(), extra=""):
        super().__init__(code)
        self.status, self.code, self.headers, self.extra = status, code, dict(headers), extra


class Reset(Exception):
    """The connection is to be cut off."""


def error_body(code, extra=""):
    return (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>What was asked &amp; why not'
            f"</Message>{extra}<RequestId>1</RequestId></Error>").encode()


def digest(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def check_signature(method, path, query, headers, body, region):
    """As the manual of S3 has it, by other means than the library's."""
    given = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, SignedHeaders=([a-z0-9;-]+), "
                         r"Signature=([0-9a-f]{64})", headers.get("authorization", ""))
    if not given:
        raise Refusal(403, "AccessDenied")
    identity, day, scope, names, signature = given.groups()
    if identity != KEY:
        raise Refusal(403, "InvalidAccessKeyId")
    if scope != region["name"]:
        tell = region["tell"]
        raise Refusal(301 if tell == "moved" else 400, "PermanentRedirect" if tell == "moved" else "AuthorizationHeaderMalformed",
                      [] if tell == "body" else [("x-amz-bucket-region", region["name"])],
                      f"<Region>{region['name']}</Region>" if tell == "body" else "")
    moment = headers.get("x-amz-date", "")
    if not moment.startswith(day) or abs(calendar.timegm(time.strptime(moment, "%Y%m%dT%H%M%SZ")) - time.time()) > 900:
        raise Refusal(403, "RequestTimeTooSkewed")
    payload = headers.get("x-amz-content-sha256", "")
    if payload != hashlib.sha256(body).hexdigest():
        raise Refusal(400, "XAmzContentSHA256Mismatch")
    signed = names.split(";")
    if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(signed) or signed != sorted(signed):
        raise Refusal(403, "AccessDenied")
    if any(name.startswith("x-amz-") and name not in signed for name in headers):
        raise Refusal(403, "AccessDenied")
    pairs = sorted((quote(name, safe="~"), quote(value, safe="~")) for name, value in parse_qsl(query, keep_blank_values=True))
    canonical = "\n".join([method, quote(unquote(path), safe="/~"), "&".join(f"{name}={value}" for name, value in pairs),
                           *(f"{name}:{' '.join(headers[name].split())}" for name in signed), "", names, payload])
    to_sign = "\n".join(["AWS4-HMAC-SHA256", moment, f"{day}/{scope}/s3/aws4_request",
                         hashlib.sha256(canonical.encode()).hexdigest()])
    key = digest(digest(digest(digest(b"AWS4" + SECRET.encode(), day), scope), "s3"), "aws4_request")
    if not hmac.compare_digest(hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest(), signature):
        raise Refusal(403, "SignatureDoesNotMatch")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lock = threading.Lock()
    used = {}  # (bucket, index of the fault) → how often
    parts = {}  # upload → number → (ETag, bytes)
    tags = {}  # file → ETag
    under_way = {}  # bucket → requests
    folder = None

    def log_message(self, *arguments):
        pass

    def do(self):
        try:
            self.serve()
        except Reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
        except OSError:
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do

    def serve(self):
        path, _, query = self.path.partition("?")
        name, _, key = path[1:].partition("/")
        options = dict(parse_qsl(query, keep_blank_values=True))
        op = {"GET": "get", "HEAD": "head", "DELETE": "abort", "PUT": "part" if "partNumber" in options else "put",
              "POST": "create" if "uploads" in options else "complete"}.get(self.command, "other")
        bucket = self.folder / name
        headers = {field.lower(): value for field, value in self.headers.items()}
        body_size = int(headers.get("content-length", 0))
        if not bucket.is_dir():
            self.rfile.read(body_size)
            return self.refuse(Refusal(404, "NoSuchBucket"))
        try:
            plan = json.loads((bucket / "plan.json").read_text())
        except OSError:
            plan = {}
        with self.lock:
            self.under_way[name] = self.under_way.get(name, 0) + 1
            with open(bucket / "log", "a", encoding="utf-8") as log:
                log.write(json.dumps({"op": op, "path": path, "query": query, "bytes": body_size, "headers": headers,
                                      "active": self.under_way[name]}) + "\n")
            fault = {}
            for index, each in enumerate(plan.get("faults", [])):
                place = (name, index)
                if (each["op"] == op and self.used.get(place, 0) < each.get("count", 1 << 30) and not fault
                        and each.get("part") in (None, int(options.get("partNumber", 0)))):
                    self.used[place] = self.used.get(place, 0) + 1
                    fault = each
        try:
            if "cut" in fault:
                self.rfile.read(fault["cut"])
                raise Reset
            body = self.rfile.read(body_size)
            self.answer(op, bucket, path, key, query, options, headers, body, plan, fault)
        except Refusal as why:
            self.refuse(why)
        finally:
            with self.lock:
                self.under_way[name] -= 1

    def refuse(self, why):
        self.respond(why.status, error_body(why.code, why.extra), why.headers)

    def respond(self, status, body=b"", headers=()):
        self.send_response(status)
        for field, value in dict(headers).items():
            self.send_header(field, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer(self, op, bucket, path, key, query, options, headers, body, plan, fault):
        if headers.get("content-type") == "application/x-www-form-urlencoded":
            raise Refusal(400, "InvalidRequest")  # some servers take such a body apart
        if "stall" in fault:
            time.sleep(fault["stall"])
        if "status" in fault:
            raise Refusal(fault["status"], fault.get("code", "Any"))
        is_first_host = headers["host"].startswith("127.")
        if "bearer" in plan:
            if headers.get("authorization") != ("Bearer " + plan["bearer"] if is_first_host else None):
                raise Refusal(401, "AccessDenied")
        elif plan.get("anonymous"):
            if any(field == "authorization" or field.startswith("x-amz-") for field in headers):
                raise Refusal(400, "InvalidArgument")
        else:
            check_signature(self.command, path, query, headers, body,
                            {"name": plan.get("region", "us-east-1"), "tell": plan.get("tell", "header")})
            if headers.get("x-amz-security-token", "") != plan.get("token", ""):
                raise Refusal(400, "ExpiredToken")
        if "late" in fault and not fault.get("done"):
            return self.respond(200, b'<?xml version="1.0"?>\n   \n' + error_body(fault["late"])[39:])
        if "empty" in fault:
            return self.respond(200)
        file = bucket / "objects" / quote(unquote(key), safe="")
        getattr(self, op)(bucket, file, key, options, headers, body, plan, fault)

    def store(self, file, content, tag, headers):
        with self.lock:
            if headers.get("if-none-match") == "*" and file.exists():
                raise Refusal(412, "PreconditionFailed")
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(content)
            self.tags[file] = tag

    @staticmethod
    def lose_answer(fault):
        """All is done, but the client hears nothing, or an error of a proxy's."""
        if "lost" in fault:
            raise Reset
        if "then" in fault:
            raise Refusal(fault["then"], "InternalError")

    def head(self, bucket, file, key, options, headers, body, plan, fault):
        if not file.exists():
            raise Refusal(404, "NoSuchKey")
        content = file.read_bytes()
        self.respond(200, content, {"ETag": self.tags.get(file, '"' + hashlib.md5(content).hexdigest() + '"')})

    def get(self, bucket, file, key, options, headers, body, plan, fault):
        if "to" in plan and headers["host"].startswith("127."):
            return self.respond(307, b"", {"Location": plan["to"] + self.path})
        try:
            content = file.read_bytes()
        except OSError:
            raise Refusal(403 if "blind" in plan else 404, "AccessDenied" if "blind" in plan else "NoSuchKey") from None
        tag = '"' + hashlib.md5(content).hexdigest() + '"'
        if headers.get("if-match", tag) != tag:
            raise Refusal(412, "PreconditionFailed")
        span = re.fullmatch(r"bytes=(\d*)-(\d*)", headers.get("range", ""))
        if not span:
            return self.respond(200, content, {"ETag": tag})
        first, last = span.groups()
        begin = max(0, len(content) - int(last)) if first == "" else int(first)
        end = len(content) if first == "" or last == "" else min(int(last) + 1, len(content))
        if begin >= end:
            return self.respond(416, error_body("InvalidRange"), {"Content-Range": f"bytes */{len(content)}"})
        self.respond(206, content[begin:end], {"ETag": tag, "Content-Range": f"bytes {begin}-{end - 1}/{len(content)}"})

    def put(self, bucket, file, key, options, headers, body, plan, fault):
        tag = '"' + hashlib.md5(body).hexdigest() + '"'
        self.store(file, body, tag, headers)
        self.lose_answer(fault)
        self.respond(200, b"", {"ETag": tag})

    def create(self, bucket, file, key, options, headers, body, plan, fault):
        upload = "up+load/" + uuid.uuid4().hex
        self.parts[upload] = {}
        (bucket / "uploads").mkdir(exist_ok=True)
        (bucket / "uploads" / quote(upload, safe="")).write_text("")
        self.respond(200, f'<?xml version="1.0" encoding="UTF-8"?>\n<InitiateMultipartUploadResult xmlns="{NAMESPACE}">\n<Bucket>'
                          f"{bucket.name}</Bucket><Key>any &lt;key&gt;</Key><UploadId>{upload}</UploadId>"
                          "</InitiateMultipartUploadResult>".encode())

    def upload_of(self, bucket, options):
        place = bucket / "uploads" / quote(options.get("uploadId", ""), safe="")
        if not place.exists():
            raise Refusal(404, "NoSuchUpload")
        return place, self.parts[options["uploadId"]]

    def part(self, bucket, file, key, options, headers, body, plan, fault):
        _, parts = self.upload_of(bucket, options)
        tag = '"' + hashlib.md5(body).hexdigest() + '"'
        parts[int(options["partNumber"])] = (tag, body)
        if "lost" in fault:
            raise Reset
        self.respond(200, b"", {"ETag": tag})

    def complete(self, bucket, file, key, options, headers, body, plan, fault):
        place, parts = self.upload_of(bucket, options)
        root = xml.etree.ElementTree.fromstring(body)
        listed = [(int(part.find(f"{{{NAMESPACE}}}PartNumber").text), part.find(f"{{{NAMESPACE}}}ETag").text) for part in root]
        if [number for number, _ in listed] != sorted({number for number, _ in listed}) or not listed:
            raise Refusal(400, "InvalidPartOrder")
        if any(parts.get(number, ("", b""))[0] != tag for number, tag in listed):
            raise Refusal(400, "InvalidPart")
        if any(len(parts[number][1]) < LEAST_PART for number, _ in listed[:-1]):
            raise Refusal(400, "EntityTooSmall")
        content = b"".join(parts[number][1] for number, _ in listed)
        tags = b"".join(hashlib.md5(parts[number][1]).digest() for number, _ in listed)
        self.store(file, content, f'"{hashlib.md5(tags).hexdigest()}-{len(listed)}"', headers)
        place.unlink()
        if "late" in fault:
            return self.respond(200, error_body(fault["late"]))
        self.lose_answer(fault)
        self.respond(200, f'<?xml version="1.0" encoding="UTF-8"?>\n<CompleteMultipartUploadResult xmlns="{NAMESPACE}"><Location>'
                          f"http://x{self.path}</Location>".replace("&", "&amp;").encode() + b"<ETag>&quot;"
                     + hashlib.md5(tags).hexdigest().encode() + f"-{len(listed)}".encode()
                     + b"&quot;</ETag></CompleteMultipartUploadResult>")

    def abort(self, bucket, file, key, options, headers, body, plan, fault):
        place, _ = self.upload_of(bucket, options)
        place.unlink()
        self.respond(204)


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (OSError, ValueError)):
            super().handle_error(request, client_address)


def clean_environment():
    """Without settings of the user's own."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("AWS_", "HF_")) and not name.lower().endswith("_proxy")}
    return dict(kept, AWS_CONFIG_FILE=os.devnull, AWS_SHARED_CREDENTIALS_FILE=os.devnull)


def main():
    with tempfile.TemporaryDirectory() as name:
        Handler.folder = pathlib.Path(name)
        server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = dict(clean_environment(), ZTENSOR_S3_FOLDER=name, ZTENSOR_S3_PORT=str(server.server_address[1]))
        return subprocess.call(sys.argv[1:], env=environment)


if __name__ == "__main__":
    sys.exit(main())
