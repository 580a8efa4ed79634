#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seeds for the fuzz targets: seeds.py OUT FOLDER...

Takes every .zt file of at most 8 KiB in the folders. OUT/files gets them whole, OUT/indices their indices (one CBOR item
each), OUT/manifests_2 the manifests of version 2, OUT/frames the zstd frames in them; OUT/texts names and digests; OUT/responses what servers of HTTP answer; OUT/s3_texts what leads to S3, and what it answers;
OUT/planes what makes tensors in planes;
OUT/sets some of the files, and indices of shards; OUT/foreign_FORMAT the files of other formats in foreign/FORMAT of the folders.
"""

import json
import pathlib
import struct
import sys

MOST_BYTES = 8 * 1024
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ALIGNMENT = 64
MAGIC_2 = b"\x89ZT2\r\n\x1a\n"


def index_of(content):
    """(start, end) of the index of a file before version 2, by its footer; None if that says nothing sensible."""
    end = len(content) - (16 if content[-8:] == content[:8] and len(content) >= 24 else 8)
    if end < 8 or content[:4] != b"ZTEN":
        return None
    (size,) = struct.unpack_from("<Q", content, end)
    return (end - size, end) if size <= end - 8 else None


def manifest_2_of(content):
    """The manifest of a file of version 2; b"" if its footer says nothing sensible."""
    if len(content) < 48 or content[-8:] != MAGIC_2:
        return b""
    offset, length = struct.unpack_from("<QQ", content, len(content) - 40)
    return content[offset:offset + length]


def main():
    out = pathlib.Path(sys.argv[1])
    for kind in ("files", "indices", "frames", "texts", "manifests_2"):
        (out / kind).mkdir(parents=True, exist_ok=True)
    count = 0
    for folder in map(pathlib.Path, sys.argv[2:]):
        for path in sorted(folder.rglob("*.zt")):
            content = path.read_bytes()
            if 0 < len(manifest_2_of(content)) <= MOST_BYTES:
                (out / "manifests_2" / f"{path.parent.name}-{path.stem}").write_bytes(manifest_2_of(content))
            if len(content) > MOST_BYTES:
                continue
            count += 1
            name = f"{count:04}-{path.stem}"
            (out / "files" / name).write_bytes(content)
            place = index_of(content)
            if place:
                (out / "indices" / name).write_bytes(content[place[0]:place[1]])
            for start in range(0, len(content), ALIGNMENT):
                if content[start:start + 4] == ZSTD_MAGIC:
                    (out / "frames" / f"{name}-{start}").write_bytes(content[start:place[0] if place else None])
    for folder in map(pathlib.Path, sys.argv[2:]):
        for path in sorted(folder.glob("foreign/*/**/*")):
            format_name = path.relative_to(folder / "foreign").parts[0]
            if path.is_file() and path.suffix not in (".json", ".tsv") and path.stat().st_size <= MOST_BYTES:
                seeds = out / f"foreign_{format_name}"
                seeds.mkdir(exist_ok=True)
                (seeds / path.name).write_bytes(path.read_bytes())
    texts = [b"a\0b\0a", b"crc32c:0x12345678", b"sha256:" + b"0" * 64, b"md5:00", "ä\0\u00e9\0e\u0301".encode(), b"\xff\0\xc0\x80"]
    for number, text in enumerate(texts):
        (out / "texts" / str(number)).write_bytes(text)
    (out / "responses").mkdir(exist_ok=True)
    date, partial = b"Sun, 06 Nov 1994 08:49:37 GMT", b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4095/10000\r\n"
    responses = [partial + b"ETag: \"a\"\r\n\r\n", partial + b"ETag: W/\"a\"\r\nContent-Encoding: gzip\r\n\r\n",
                 b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/2 206 \r\ncontent-range: bytes 90-99/100\r\n\r\n",
                 b"HTTP/1.1 503 Busy\nRetry-After: " + date + b"\n\n", b"HTTP/1.1 302 Found\r\nLocation: /a\r\n\r\n",
                 b"HTTP/1.1 416 No\r\nContent-Range: bytes */7\r\n\r\n", b"bytes 3-9/20", b"bytes */20", b"120", date, b"W/\"a\""]
    for number, response in enumerate(responses):
        (out / "responses" / str(number)).write_bytes(response)
    (out / "s3_texts").mkdir(exist_ok=True)
    s3_texts = [b"[default]\nregion = eu-west-1\ns3 =\n  addressing_style = path\n[profile a]\naws_access_key_id=b\n",
                b"s3://bucket/a b%41.zt\nhttp://localhost:9000/a\nbytes=0-9", b"hf://datasets/a/b@refs/pr/1/c.zt\nhttps://h\n",
                b"https://b.s3.amazonaws.com/k?partNumber=1&uploadId=a%2B\n\n\"tag\"",
                b'<?xml version="1.0"?>\n<Error><Code>A</Code><Region>b-1</Region><Message>&lt;</Message></Error>',
                b'<A xmlns="b"><UploadId>c&amp;d</UploadId><ETag>&quot;e&quot;</ETag><F/></A>']
    for number, text in enumerate(s3_texts):
        (out / "s3_texts" / str(number)).write_bytes(text)
    (out / "planes").mkdir(exist_ok=True)
    for form in range(16):  # types and versions; shapes; how exponents and fractions are compressed
        noise = bytes((index * index * 7 + form * 31 + index // 3) % 256 for index in range(600))
        content = bytes((form, 7, 20, form * 5 % 32)) + noise[:140] + bytes((form % 3 * 9,)) + noise[140:]
        (out / "planes" / str(form)).write_bytes(content)
    (out / "sets").mkdir(exist_ok=True)
    maps = [{"a": "1.zt", "b": "2.zt"}, {"a": "1.zt", "b": "2.zt", "w": "f.zt"}, {"a": "2.zt"}, {"a": "../1.zt", "b": 1}, {}]
    for number, weight_map in enumerate(maps):
        index = {"metadata": {"total_size": 16, "more": [1.5, None]}, "weight_map": weight_map}
        (out / "sets" / f"index-{number}.json").write_text(json.dumps(index))
    for path in sorted((out / "files").iterdir())[::4]:
        (out / "sets" / path.name).write_bytes(path.read_bytes())
    print(f"{count} files")


main()
