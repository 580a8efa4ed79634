# SPDX-License-Identifier: MIT
"""In the files that are compiled as one, a name must not mean two things: the anonymous namespaces of those files are
one, where a function of one file would silently be an overload of another's.

usage: unit_names.py FILE... [-- FILE...]..., the files of one unit after those of another
"""

import pathlib
import re
import sys

USING = re.compile(r"using ((?:\w+::)+)(\w+);")
ALIAS = re.compile(r"(?:using|namespace) (\w+) = ([^;]*);")
TYPE = re.compile(r"(?:struct|class|enum class|enum|union) (\w+)")
# Of what has no template arguments any more the last name before a bracket or an equals sign, as in
# `bytes floats(std::size_t count) {` and `const shape small = …`.
OTHER = re.compile(r".*?(\w+)(?:\[\w*\])?\s*(?:[({=;]|$)")
TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")
NO_DECLARATION = re.compile(r"\s|$|//|#|[})]|template|TEST_CASE|TEMPLATE_TEST_CASE|namespace (\w+ )?\{"
                            r"|using namespace|static_assert")


def meanings(text):
    """What the file's own names stand for, as far as lines that start at the margin tell: pairs of name and meaning."""
    found = set()
    for line in text.splitlines():
        using, alias, kind = USING.match(line), ALIAS.match(line), TYPE.match(line)
        if using:
            found.add((using.group(2), using.group(1)))
        elif alias:
            found.add((alias.group(1), alias.group(2)))
        elif kind:
            found.add((kind.group(1), "of its own"))
        elif not NO_DECLARATION.match(line):
            while TEMPLATE_ARGUMENTS.search(line):
                line = TEMPLATE_ARGUMENTS.sub("", line)
            other = OTHER.match(line)
            if other:
                found.add((other.group(1), "of its own"))
    return found


def clashes(texts):
    """Sentences; `texts` are those of the files by name."""
    problems, known = [], {}
    for file, text in texts.items():
        problems += [f"{file} says: {line}; name what is used" for line in text.splitlines()
                     if line.startswith("using namespace") and "std::string_literals" not in line]
        for name, meaning in sorted(meanings(text)):
            other, before = known.setdefault(name, (file, meaning))
            if other != file and (meaning != before or meaning == "of its own"):
                problems.append(f"{name} means one thing in {other}, and another in {file}")
    return problems


def main():
    units = [[]]
    for word in sys.argv[1:]:
        if word == "--":
            units.append([])
        else:
            units[-1].append(word)
    problems = [problem for unit in units
                for problem in clashes({path: pathlib.Path(path).read_text(encoding="utf-8") for path in unit})]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
