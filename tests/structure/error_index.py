# SPDX-License-Identifier: MIT
"""Makes the index of all errors, cmake/docs/errors.md, from include/ztensor/error.hpp: code, kind and cause are as they
stand there. The cures stand here; a code without one of its own has that of its kind.

usage: error_index.py PROJECT_FOLDER [--check]; with --check it writes nothing and fails where the file is not up to date
"""

import pathlib
import re
import sys

KIND_CURES = {
    "io": "See `os_error()`, which holds what the operating system said, and try again when that is mended.",
    "invalid_file": "The file is damaged or was written wrongly: get another copy, or tell who wrote it.",
    "unsupported": "The file may be fine: read it by a version or a program that knows this, or ask for other parts of it.",
    "limit": "If the file is to be trusted, raise the limit.",
    "not_found": "Look at what is there: a reader is a list of its objects, an object of its components.",
    "usage": "Change the call: the sentence says what was given and what was expected.",
}
CURES = {
    "file_not_found": "Check the path, and the folder that a relative one starts from.",
    "not_regular_file": "Give the file itself; what comes from a pipe is read into memory and opened by `from_bytes`.",
    "unmappable": "Open it by `io_mode::positional`, or leave the choice to `io_mode::automatic`.",
    "file_changed": "Open it again when whoever writes to it is done.",
    "busy": "Let the other writer finish, and try again.",
    "recovery_needed": "Call `recover(path)`, or `zt recover FILE`.",
    "undo_record_refused": "If the file is as it should be, remove the record that the sentence is about; else bring back what it is about.",
    "not_durable": "The new file is in place. Call it safe only after a sync of its folder, or write it again.",
    "out_of_memory": "Read it in parts: `rows()`, `slice()`, or into memory of your own.",
    "too_large_for_host": "Read it in parts, or on a host of 64 bits.",
    "foreign_file": "Open it as what it is: the sentence names the format. `open_any` reads several of them.",
    "unsupported_container": "Convert it to version 1.2 by the program that wrote it, or get a newer version of this library.",
    "truncated": "Download or copy it again; the sentence says how many bytes there are. Where `has_undo_record(path)`, let the writer finish, or `recover(path)`.",
    "bad_magic": "It is no .zt file: check that the path is the right one.",
    "manifest_too_large": "Raise `max_manifest_bytes` of the options, if the file is to be trusted.",
    "limit_exceeded": "Raise the limit that the sentence names, if the file is to be trusted.",
    "decode_limit": "Raise `max_decoded_bytes`, if the file is to be trusted; a frame that can't be so large is damage.",
    "type_mismatch": "Ask for the type that the sentence names, or convert by `read_as<float>`.",
    "out_of_bounds": "Of a file: get another copy. Of rows and ranges that were asked for: stay inside the shape.",
    "size_mismatch": "Of a file: get another copy. Of memory that was given: make it as large as the sentence says.",
    "digest_mismatch": "The bytes are damaged: get another copy. To look at them all the same, turn `verify_digests` off.",
    "encode_failed": "Use a level that libzstd knows, or store the tensor raw.",
    "unknown_dtype": "Read the bytes (`read<std::byte>`), or use a version of this library that knows the type.",
    "unsupported_type": "Read the elements as their storage type, without the logical one.",
    "unsupported_format": "Ask for the components, or by the view that knows the format.",
    "unsupported_encoding": "`bytes()` and `read_stored_into` give the bytes as they are stored.",
    "strict_encoding": "Open it without `strict()`, or write it anew by `copy`.",
    "strict_order": "Open it without `strict()`, or write it anew by `copy`.",
    "strict_gap": "Open it without `strict()`, or write it anew by `copy`.",
    "strict_alias": "Open it without `strict()`.",
    "object_not_found": "Look at the names that are there (a reader is a list of its objects); a prefix such as `model.` may be too much or missing.",
    "attribute_not_found": "Ask `contains(key)` first, or go through the attributes: they are a list of keys and values.",
    "shard_missing": "Put the files that the sentence names beside the root or the other parts; if those of a root are there by other names, `shards(shard_lookup::by_digest)` finds them.",
    "shard_mismatch": "The root or first part is of another download or save than the file that the sentence names: get both from one place, or open a root with `shards(shard_lookup::by_digest)`.",
    "stale_index": "Make the index anew, or leave it out: `open_any` takes the folder without one.",
    "name_invalid": "Of a link that leads out of a model's folder: `follow_links()`, if the folder is trusted. Else the file is written wrongly, or the name that was given.",
    "attribute_type": "Ask for the kind that the sentence names.",
    "shape_mismatch": "Another model, or a transposed weight: the sentence has both shapes.",
    "not_viewable": "`read` it, which decodes; or open the file so that it is mapped.",
    "misaligned_memory": "`read` it, or give memory that starts at a multiple of 64.",
    "needs_byteswap": "`read` it, which turns the bytes around.",
    "bad_bool": "Read it as `std::uint8_t`, if the other values are meant.",
    "not_expressible": "Write version 1.2, or leave out what the sentence names.",
    "cancelled": "None: your own callback asked for it.",
    "writer_closed": "Use a writer for one file, and finish or drop its stream first.",
}

HEAD = """# Every error {#errors}

<!-- Made by tests/structure/error_index.py from error.hpp: change it there. -->

`error::code()` is one of these; `error::kind()` is what it asks of you:

"""


def parse(header):
    """Kinds with their meaning, and sections of codes with their cause."""
    kinds = dict(re.findall(r"^    (\w+), +///< (.+)$", header[header.index("enum class error_kind"):].split("};")[0], re.MULTILINE))
    body = header[header.index("enum class errc"):].split("};")[0]
    sections = []
    for line in body.splitlines():
        title = re.match(r"^    // -- (.+)$", line)
        code = re.match(r"^    (\w+),(?: +///< (.+))?$", line)
        more = re.match(r"^ +///< (.+)$", line)
        if title:
            sections.append((title.group(1), []))
        elif code:
            sections[-1][1].append([code.group(1), code.group(2) or ""])
        elif more:
            sections[-1][1][-1][1] += " " + more.group(1)
    kind_of = dict(re.findall(r'\{errc::(\w+),\s*"\w+",\s*error_kind::(\w+)', header))
    return kinds, sections, kind_of


def index(header):
    kinds, sections, kind_of = parse(header)
    text = HEAD + "| kind | what it means |\n| --- | --- |\n"
    text += "".join(f"| `{kind}` | {meaning} |\n" for kind, meaning in kinds.items())
    for title, codes in sections:
        text += f"\n## {title[0].upper()}{title[1:]}\n\n| code | kind | cause | cure |\n| --- | --- | --- | --- |\n"
        for code, cause in codes:
            kind = kind_of[code]
            text += f"| `{code}` | {kind} | {cause} | {CURES.get(code, KIND_CURES[kind])} |\n"
    unknown = sorted(set(CURES) - {code for _, codes in sections for code, _ in codes})
    if unknown:
        sys.exit(f"cures for codes that are none: {', '.join(unknown)}")
    return text


def main():
    project = pathlib.Path(sys.argv[1])
    expected = index((project / "include/ztensor/error.hpp").read_text(encoding="utf-8"))
    page = project / "cmake/docs/errors.md"
    if "--check" not in sys.argv:
        page.write_text(expected, encoding="utf-8")
    elif not page.exists() or page.read_text(encoding="utf-8") != expected:
        sys.exit("cmake/docs/errors.md is not up to date: run python3 tests/structure/error_index.py .")


main()
