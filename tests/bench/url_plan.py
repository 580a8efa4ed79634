#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A plan over HTTP beside `curl --parallel` of the same ranges, from an nginx that lets each request wait and gives each
connection a bandwidth. Needs nginx with its Lua module (Debian: nginx-light, libnginx-mod-http-lua) and curl.

usage: url_plan.py PROGRAMS FOLDER [ROUNDS]     PROGRAMS is where url_plan was built; FOLDER gets 512 MiB

curl throws away what it gets, and asks for ranges of 8 MiB, 32 at once, as the library does; its ranges are known
beforehand. Both are processes of their own; of ours the time of the plan counts, of curl that of the process.
"""

import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time

DELAY_SECONDS, REQUESTS, REQUEST_BYTES, FILE_BYTES = 0.02, 32, 8 << 20, 512 << 20

CONFIGURATION = """load_module modules/ndk_http_module.so; load_module modules/ngx_http_lua_module.so;
user root; daemon off; env PACED_BYTES_PER_SECOND; worker_processes 2; pid FOLDER/nginx.pid; error_log FOLDER/nginx.log;
events { worker_connections 256; }
http {
    log_format short '$status $body_bytes_sent'; access_log FOLDER/access.log short; sendfile on;
    keepalive_requests 100000;
    client_body_temp_path FOLDER/t; proxy_temp_path FOLDER/t; fastcgi_temp_path FOLDER/t; uwsgi_temp_path FOLDER/t;
    scgi_temp_path FOLDER/t;
    server {
        listen 127.0.0.1:PORT; root FOLDER;
        location / { rewrite_by_lua_block { ngx.sleep(DELAY) } }
    }
}
"""


def start_nginx(folder, paced, bytes_per_second):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = {"FOLDER": folder, "PORT": port, "DELAY": DELAY_SECONDS}
    text = CONFIGURATION
    for word, value in words.items():
        text = text.replace(word, str(value))
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    environment = {**os.environ, "LD_PRELOAD": paced, "PACED_BYTES_PER_SECOND": str(bytes_per_second)}
    process = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf")], env=environment)
    for _ in range(100):
        with socket.socket() as probe:
            if process.poll() is None and probe.connect_ex(("127.0.0.1", port)) == 0:
                return process, f"http://127.0.0.1:{port}/model.zt"
        time.sleep(0.05)
    process.kill()
    sys.exit("nginx does not start")


def curl_seconds(folder, url, size):
    operations = [f'url = "{url}"\nrange = "{begin}-{min(begin + REQUEST_BYTES, size) - 1}"\noutput = "/dev/null"\nfail\n'
                  for begin in range(0, size, REQUEST_BYTES)]
    ranges = folder / "ranges"
    ranges.write_text("next\n".join(operations), encoding="utf-8")
    start = time.monotonic()
    subprocess.run(["curl", "--no-progress-meter", "--parallel", "--parallel-immediate", "--parallel-max",
                    str(REQUESTS), "--config", str(ranges)], check=True)
    return time.monotonic() - start


def compare(program, paced, folder, rounds, tensors, bytes_per_second):
    path = folder / "model.zt"
    subprocess.run([program, "write", str(path), str(tensors), str(FILE_BYTES // tensors)], check=True)
    nginx, url = start_nginx(folder, paced, bytes_per_second)
    times = {"open": [], "plan": [], "curl": []}
    try:
        for _ in range(rounds):
            answer = subprocess.run([program, "load", url, str(REQUESTS)], check=True, capture_output=True, text=True).stdout
            for name, value in zip(("open", "plan"), answer.split()):
                times[name].append(float(value))
            times["curl"].append(curl_seconds(folder, url, path.stat().st_size))
    finally:
        nginx.terminate()  # and its workers with it
        nginx.wait()
        path.unlink()
    cells = [f"{tensors:,} tensors", f"{bytes_per_second / 1e6:.0f}", f"{statistics.median(times['open']) / DELAY_SECONDS:.1f}"]
    cells += [f"{statistics.median(times[name]):.2f} ({' '.join(f'{value:.2f}' for value in times[name])})" for name in ("plan", "curl")]
    cells.append(f"{statistics.median(curl / plan for curl, plan in zip(times['curl'], times['plan'])):.2f}")
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    programs, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    os.environ["PATH"] += ":/usr/sbin"
    folder.mkdir(parents=True, exist_ok=True)
    print("512 MiB from nginx, 20 ms to each answer, 32 requests at once. Opening in delays; plan and curl in seconds, the "
          "median\nand the rounds; how many times as fast as curl the plan is, the median of the rounds.\n\n"
          "| file | MB/s for each connection | opening | plan | curl --parallel | ratio |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: |")
    for tensors, bytes_per_second in ((64, 10_000_000), (256, 10_000_000), (8192, 10_000_000), (64, 25_000_000)):
        compare(str(programs / "url_plan"), str(programs / "libpaced_accept.so"), folder, rounds, tensors, bytes_per_second)


if __name__ == "__main__":
    main()
