# SPDX-License-Identifier: MIT
"""Opens, loads, saves, replaces and refuses to replace objects at a server of S3 that others wrote.

usage: s3_proxy.py s3proxy|moto WORK_FOLDER PROGRAM

PROGRAM is s3_servers.cpp. s3proxy checks signatures, and takes Maven and Java 17; moto does not check them, and takes pip.
The server is fetched into WORK_FOLDER the first time, as the settings of Maven and pip say. ZTENSOR_S3_JARS and
ZTENSOR_S3_MOTO name a folder of jars and a moto_server that are there already. Ends with 77 if the server can't be had.
"""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

from s3_server import KEY, SECRET, clean_environment

POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>any</groupId><artifactId>any</artifactId><version>1</version><packaging>pom</packaging><dependencies>
<dependency><groupId>org.gaul</groupId><artifactId>s3proxy</artifactId><version>4.1.0</version></dependency>
<dependency><groupId>com.fasterxml.jackson.core</groupId><artifactId>jackson-annotations</artifactId><version>2.21</version></dependency>
</dependencies></project>
"""
MOTO = "moto[server,s3]==5.2.5"
MAKE_BUCKET = """import sys, urllib.request
request = urllib.request.Request(f"http://127.0.0.1:{sys.argv[1]}/bucket-1", method="PUT")
request.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=any/20250101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0")
urllib.request.urlopen(request)"""
PROPERTIES = """s3proxy.authorization=aws-v2-or-v4
s3proxy.endpoint=http://127.0.0.1:PORT
s3proxy.identity=IDENTITY
s3proxy.credential=SECRET
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir=FOLDER
"""


class Missing(Exception):
    """A server that can't be had here, and why."""


def fetch(words, what):
    print("fetching", what, flush=True)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
    if done.returncode:
        raise Missing(f"{what} can't be fetched:\n{done.stdout[-1000:]}")


def s3proxy_jars(work):
    given = os.environ.get("ZTENSOR_S3_JARS")
    jars = pathlib.Path(given) if given else work / "jars"
    if not (given or (jars / "complete").exists()):
        maven = shutil.which("mvn")
        if not maven:
            raise Missing("s3proxy takes Maven (Debian and Ubuntu: maven)")
        (work / "pom.xml").write_text(POM, encoding="utf-8")
        fetch([maven, "-q", "-B", "-f", work / "pom.xml", "dependency:copy-dependencies", f"-DoutputDirectory={jars}"], "s3proxy")
        (jars / "complete").write_text("")
    return jars


def start_s3proxy(work, port):
    java = shutil.which("java")
    version = subprocess.run([java, "-version"], stderr=subprocess.PIPE, check=False, text=True).stderr if java else ""
    found = re.search(r'version "(\d+)', version)
    if not found or int(found.group(1)) < 17:
        raise Missing("s3proxy takes Java 17 (Debian and Ubuntu: openjdk-17-jre-headless)")
    jars = s3proxy_jars(work)
    folder = work / "buckets"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bucket-1").mkdir(parents=True)
    text = PROPERTIES.replace("PORT", str(port)).replace("FOLDER", str(folder)).replace("IDENTITY", KEY).replace("SECRET", SECRET)
    (work / "s3proxy.conf").write_text(text, encoding="utf-8")
    return [java, "-Xmx512m", "-DLOG_LEVEL=info", "-cp", f"{jars}/*", "org.gaul.s3proxy.Main", "--properties", str(work / "s3proxy.conf")]


def start_moto(work, port):
    program = os.environ.get("ZTENSOR_S3_MOTO") or work / "venv/bin/moto_server"
    if not pathlib.Path(program).exists():
        fetch([sys.executable, "-m", "venv", work / "venv"], "a virtual environment")
        fetch([work / "venv/bin/pip", "install", "-q", MOTO], MOTO)
    return [program, "-H", "127.0.0.1", "-p", str(port)]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def try_server(name, start, work, program):
    port = free_port()
    words = start(work, port)
    with open(work / f"{name}.log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(words, stdout=log, stderr=log, env=clean_environment())
    try:
        for _ in range(600):
            if server.poll() is not None:
                raise Missing(f"{name} does not start, see {work / name}.log")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        if name == "moto":  # its bucket is made as nothing else is here: it wants no signature
            subprocess.run([sys.executable, "-c", MAKE_BUCKET, str(port)], check=True)
        environment = dict(clean_environment(), AWS_ENDPOINT_URL_S3=f"http://127.0.0.1:{port}", AWS_ACCESS_KEY_ID=KEY,
                           AWS_SECRET_ACCESS_KEY=SECRET, AWS_REGION="us-east-1")
        return subprocess.call([program, name], env=environment)
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def main():
    name, work, program = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    work.mkdir(parents=True, exist_ok=True)
    try:
        return try_server(name, {"s3proxy": start_s3proxy, "moto": start_moto}[name], work, program)
    except Missing as why:
        print(f"SKIPPED: {name}: {why}")
        return 77


if __name__ == "__main__":
    sys.exit(main())
