# SPDX-License-Identifier: MIT
"""Looks for every public free function and enumeration in the reference that Doxygen has made: each has an entry with an
anchor on the page of its namespace.

usage: reference.py PROJECT DOCS_FOLDER
"""

import pathlib
import re
import sys
import xml.etree.ElementTree

NAMESPACE = re.compile(r"^(?:inline )?namespace ([\w:]+) \{|^\} // namespace ([\w:]+)$")
NO_FUNCTION = re.compile(r"(?:class|struct|union|using|friend|typedef|static_assert|public:|private:|protected:|extern)\b|\w+:$")


def declared_in(project):
    """(kind, name) of the free functions and enumerations of the public headers, with the header of each."""
    found = {}
    for header in sorted((project / "include" / "ztensor").glob("*.hpp")):
        spaces = []
        for statement in statements(header.read_text(encoding="utf-8").split("\n")):
            space = NAMESPACE.match(statement)
            if space:
                spaces.append(space.group(1)) if space.group(1) else spaces.pop()
            elif "ztensor" in spaces and not any(each.startswith("detail") for each in spaces):
                what = declared_by(statement)
                if what:
                    found[what] = header.name
    return found


def statements(lines):
    """The beginning of what stands at the left margin, up to its body, in one line each. clang-format indents the rest."""
    statement = ""
    for line in lines:
        line = line.split(" //")[0] if not NAMESPACE.match(line) else line
        statement += " " + line.strip() if statement else line if re.match(r"[\w\[}]", line) else ""
        if statement and re.search(r"[;{}:]$", statement) or NAMESPACE.match(statement):
            yield statement
            statement = ""


def declared_by(statement):
    """What it declares; None for what is neither function nor enumeration, for members, and for operators."""
    text = re.sub(r"\[\[\w+\]\] ?", "", statement)
    shorter = None
    while shorter != text:  # template parameters and arguments
        shorter, text = text, re.sub(r"<[^<>]*>", "", text)
    text = re.sub(r"^(?:template ?)+", "", text)
    enumeration = re.match(r"enum (?:class )?(\w+)", text)
    if enumeration:
        return "enumeration", enumeration.group(1)
    function = re.match(r"[\w:&*,. ]+[ &*](\w+)\(", text)
    if not function or NO_FUNCTION.match(text) or "operator" in text or text.endswith("= delete;"):
        return None
    return "function", function.group(1)


def documented_in(docs):
    """(kind, name) of what the pages of namespaces have an anchor for, as their index says."""
    found = set()
    for space in xml.etree.ElementTree.parse(docs / "ztensor.tag").getroot().findall("compound[@kind='namespace']"):
        for member in space.findall("member"):
            page = docs / "html" / member.findtext("anchorfile")
            if f'id="{member.findtext("anchor")}"' in page.read_text(encoding="utf-8"):
                found.add((member.get("kind"), member.findtext("name")))
    return found


def main():
    project, docs = map(pathlib.Path, sys.argv[1:])
    declared, documented = declared_in(project), documented_in(docs)
    assert {("function", "open_any"), ("enumeration", "io_mode")} <= declared.keys(), "the headers were not understood"
    missing = {what: header for what, header in declared.items() if what not in documented}
    for (kind, name), header in sorted(missing.items()):
        print(f"the reference has no {kind} {name}, which {header} declares")
    print(f"{len(declared)} free functions and enumerations, {len(missing)} missing from the reference")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
