# SPDX-License-Identifier: MIT
"""Compares signatures, URLs and files of settings for S3 with those of botocore, of random requests, keys and files.

usage: s3_botocore.py WORK_FOLDER COMPILER FLAG..., in the top folder; 77 where botocore is not installed
"""

import datetime
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

try:
    import botocore
    import botocore.auth
    import botocore.awsrequest
    import botocore.config
    import botocore.configloader
    import botocore.credentials
    import botocore.exceptions
    import botocore.session
except ImportError:
    print("SKIPPED: botocore is not installed (pip install botocore)")
    sys.exit(77)

ID, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
CHARACTERS = "abcXYZ019-._~/ +%&=?#!$'()*,:;@[]|\\\"äé模🎉"
ROUNDS = 2000


def some_key(rng):
    while True:
        key = "".join(rng.choice(CHARACTERS) for _ in range(rng.randint(1, 40)))
        if not {".", ".."} & set(key.split("/")) and "\t" not in key:
            return key


def signature_cases(rng):
    """(command, what botocore answers)."""
    from urllib.parse import quote
    for _ in range(ROUNDS):
        method, region = rng.choice(["GET", "PUT", "HEAD", "DELETE"]), rng.choice(["us-east-1", "eu-central-1", "auto"])
        url = rng.choice(["https://b.s3.amazonaws.com/", "http://localhost:9000/b/", "https://h.example:443/", "http://h:80/"])
        url += quote(some_key(rng), safe="/~")
        query = [(quote(some_key(rng), safe="~"), quote(some_key(rng), safe="~")) for _ in range(rng.randint(0, 3))]
        if query:
            url += "?" + "&".join(name + "=" + value for name, value in query)
        token = rng.choice(["", "AQoDYXdzEPT//wEXAMPLE=="])
        seconds = rng.randint(0, 4102444800)
        names = rng.sample(["Range", "If-Match", "x-amz-meta-a", "X-Amz-Storage-Class", "User-Agent", "Content-Type"], rng.randint(0, 4))
        headers = [(name, rng.choice(["bytes=0-9", '"abc  def"', "  two   words ", "plain"])) for name in names]
        request = botocore.awsrequest.AWSRequest(method=method, url=url, headers=dict(headers))
        signer = botocore.auth.S3SigV4Auth(botocore.credentials.Credentials(ID, SECRET, token or None), "s3", region)
        moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
        botocore.auth.get_current_datetime = lambda: moment
        signer.add_auth(request)
        command = ["sign", method, url, region, str(seconds), token, request.headers["X-Amz-Content-SHA256"]]
        yield command + [word for header in headers for word in header], request.headers["Authorization"]


def url_cases(rng):
    session = botocore.session.Session()
    session.set_credentials(ID, SECRET)

    def client(region, endpoint, style):
        config = botocore.config.Config(signature_version=botocore.UNSIGNED, region_name=region, s3={
            "addressing_style": style, "us_east_1_regional_endpoint": "regional"})
        return session.create_client("s3", endpoint_url=endpoint or None, config=config)

    places = [(region, "", style) for region in ("us-east-1", "eu-central-1", "cn-north-1", "us-gov-west-1", "us-iso-east-1",
                                                 "us-isob-east-1", "us-isof-south-1", "eu-isoe-west-1", "eusc-de-east-1")
              for style in ("auto", "path", "virtual")]
    places += [("us-east-1", endpoint, style) for style in ("path", "virtual") for endpoint in (
        "http://localhost.example:9000", "https://h.example/storage/v1", "https://h.example/")]
    for region, endpoint, style in places:
        # Signed URLs of botocore name the global endpoint for "auto", so it is told what its requests would use.
        asked = {dots: client(region, endpoint, style if style != "auto" else "path" if dots else "virtual")
                 for dots in (False, True)}
        for _ in range(ROUNDS // 100):
            bucket = rng.choice(["bucket", "my-bucket-1", "a1b"] + ["with.dot.s"] * (style != "virtual"))
            key = some_key(rng)
            answer = asked["." in bucket].generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": key})
            yield ["url", bucket, key, region, endpoint, style], answer


def ini_cases(rng, folder):
    """Files that this parser takes are taken by botocore's, with the same sections, keys and values."""
    lines = ["[default]", "[profile a]", "[b c]", "key = value", "Key2=a=b", "  indented = 1", "\tsub = 2", "s3 =", "  s3 =",
             "    deep = x", "", "   ", "# comment", "; comment", "region=eu-west-1", "  # comment", "=", "word", "[", "[]", "k="]
    for number in range(ROUNDS):
        text = "\n".join(rng.choice(lines) for _ in range(rng.randint(0, 9)))
        path = folder / f"{number}.ini"
        path.write_text(text)
        try:
            parsed = botocore.configloader.raw_config_parse(str(path))
        except botocore.exceptions.ConfigParseError:
            yield ["ini", str(path)], None
            continue
        answer = ""
        for section in sorted(parsed):
            flat = {}
            for key, value in parsed[section].items():
                flat[key] = "" if isinstance(value, dict) else value
                if isinstance(value, dict):
                    flat.update({f"{key}.{inner.lower()}": held for inner, held in value.items()})
            answer += f"[{section}]" + "".join(f"{{{key}={flat[key]}}}" for key in sorted(flat))
        # It keeps empty lines in values of several lines, of which this library reads none.
        yield ["ini", str(path)], re.sub("\n+", "|", answer)


def main():
    work, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    work.mkdir(parents=True, exist_ok=True)
    program = work / "s3_texts"
    subprocess.run([compiler, *sys.argv[3:], "tests/adaptors/programs/s3_texts.cpp", "-o", program], check=True)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    rng = random.Random(4)
    with tempfile.TemporaryDirectory() as folder:
        cases = [*signature_cases(rng), *url_cases(rng), *ini_cases(rng, pathlib.Path(folder))]
        text = "\n".join("\t".join(command) for command, _ in cases)
        output = subprocess.run([program], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout.decode()
        wrong, counts = 0, {}
        for (command, expected), answer in zip(cases, output.split("\n")):
            refused = answer.startswith("error: ")
            kind = command[0] + (" refused here" if refused else "") + (" refused by botocore" if expected is None else "")
            counts[kind] = counts.get(kind, 0) + 1
            if not (expected is None if refused else answer == expected):
                wrong += 1
                shown = pathlib.Path(command[1]).read_text() if command[0] == "ini" else ""
                if wrong <= 10:
                    print(command, repr(shown), f"here:     {answer}", f"botocore: {expected}", sep="\n  ")
    print(counts, f"{wrong} differ from botocore {botocore.__version__}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
