# SPDX-License-Identifier: MIT
"""What Doxygen reads in the place of a header: without the namespace that tells the modes apart, without what is no
user's business (deleted functions, fields with a trailing _), and with a sentence for members that have the same
meaning everywhere, so that headers need not repeat it. Overloads share the comment of the first.

usage: filter.py HEADER
"""

import re
import sys

MEANINGS = {
    # As in the standard library.
    "value_type": "The type of the elements.",
    "element_type": "The type of the elements, const if they may not be changed.",
    "error_type": "The type of the error.",
    "unexpected_type": "What becomes a result without a value.",
    "swap": "Exchanges what both hold.",
    "size_type": "The type of sizes.",
    "iterator": "The type of iterators.",
    "const_iterator": "The type of iterators over constant elements.",
    "iterator_category": "What it can do, for algorithms of C++17.",
    "iterator_concept": "What it can do, for ranges of C++20.",
    "difference_type": "The type of distances.",
    "pointer": "What operator-> returns.",
    "reference": "What operator* returns.",
    "size": "How many there are.",
    "size_bytes": "How many bytes they take.",
    "empty": "True if there is none.",
    "begin": "The first of them.",
    "end": "Behind the last of them.",
    "data": "Where the first of them lies.",
    "front": "The first of them, if there is one.",
    "back": "The last of them, if there is one.",
    "first": "So many of them from the start.",
    "last": "So many of them up to the end.",
    "subspan": "Those from a position on.",
    "operator[]": "The one at that position; unchecked.",
    "operator*": "What it stands for.",
    "operator->": "Its members.",
    "operator++": "Goes to the next.",
    "operator--": "Goes to the one before.",
    "operator==": "True if both are equal.",
    "operator!=": "True if they differ.",
    "operator=": "Takes the place of what was there.",
    "operator<<": "Writes it as text.",
    "operator bool": "True if there is one.",
    "has_value": "True if it holds a value.",
    "value_or": "The value, or another if there is none.",
    "error": "The error, if it holds one.",
    "error_or": "The error, or another if there is none.",
    "operator()": "Calls it.",
    "operator double": "As a double, which is exact.",
    "contains": "True if there is one of that name.",
    "find": "The one of that name.",
    "push_back": "Adds one behind the last.",
    "what": "The message.",
    # The words of the format.
    "name": "Its name.",
    "shape": "Its dimensions.",
    "format": "Its format.",
    "attributes": "Its attributes.",
    "rows": "How many rows there are.",
    "columns": "How many columns there are.",
    "row": "Its row.",
    "column": "Its column.",
    "value": "The value itself.",
    "values": "The stored values.",
    "entry_count": "How many values are stored.",
    "key": "Its key.",
    "id": "Which one it is.",
    "storage": "The storage type.",
    "type": "The logical type.",
    "bits": "The bit pattern.",
    "code": "Which rule was broken, or what could not be had.",
    "kind": "What is asked of whoever gets it.",
    "evict": "The opposite of prefetch().",
    "dtype": "The storage type.",
    "view": "The elements where they lie, without a copy. As readable::view().",
    "read": "The elements in memory of the caller's own. As readable::read().",
    "read_as": "The same, converted. As readable::read_as().",
    "load": "The same, in an array. As readable::load().",
    "read_into": "The same into the caller's memory. As readable::read_into().",
    "read_as_into": "The same, converted. As readable::read_as_into().",
    "is_open": "True if it holds a file.",
    "ranges": "Its ranges, one for each dimension.",
    "too_long": "True if it was made from more dimensions than there may be.",
    "unsigned_integer": "As an integer without sign.",
    "boolean": "As true or false.",
    "text": "As text.",
    "byte_string": "As bytes.",
    "set": "Sets a value, in place of one that was there.",
    "set_null": "Sets null.",
    "remove": "Removes the value of that key, if there is one.",
    "remove_file_attributes": "Removes the attributes of the file itself.",
    "cbor": "Its value, encoded.",
    "parameters": "Bits, group size and packing.",
    "category": "What kind of number it is.",
    "seconds": "How long it took.",
    "update": "Takes more bytes in.",
    "mode": "How the bytes of a file are had.",
    "version": "Which version is written.",
    "publish": "How the new file takes the old one's place.",
    "in_file": "Adds the file's path.",
    "in_object": "Adds the object's name.",
    "in_component": "Adds the component's role.",
    "at": "Adds the position in the file, in bytes.",
    "because": "Adds what the operating system said.",
    "bits_type": "An unsigned integer of as many bits.",
    "is_nan": "True if it is no number.",
    "per_word": "How many integers are in a word.",
    "word": "The storage type of a word.",
    "current": "What it points to.",
    "has_zeros": "True if it has zero points.",
    "add": "Adds one. As load_plan::add().",
    "add_as": "Adds one to be converted. As load_plan::add_as().",
    "path": "The path.",
    "object": "The object's name.",
    "component": "The component's role.",
    "sentence": "What was found and expected, without the place.",
    "width_bytes": "How many bytes it takes.",
    "packed_weight": "The packed integers.",
    "scales": "A scale for each group.",
    "zeros": "A zero point for each group.",
}
COPIED = "A copy, which shares nothing, or what a handle shares."
MADE = "From these."
CHOSEN = "What was chosen, or holds unless told otherwise."

CLASSES = {
    "iterator": "Goes through them in order.",
    "row_view": "One row: its columns and values.",
    "dtype_facts": "What is known of a storage type.",
    "format_facts": "What is known of a format.",
    "lint_finding": "Something odd about a file.",
}

CLASS = re.compile(r"^(\s*)(?:template .*)?(?:class|struct)(?: \[\[\w+\]\])? (\w+)\b[^;]*\{\}?;?$")
INLINE_NAMESPACE = re.compile(r"^(?:inline namespace ZTENSOR_MODE \{|\} // namespace ZTENSOR_MODE)$")


def name_of(declaration):
    """What is declared; "" where that can't be told."""
    text = re.sub(r"\[\[\w+\]\]\s*", "", declaration)
    while True:  # template parameters may hold parentheses
        shorter = re.sub(r"<[^<>]*>", "", text)
        if shorter == text:
            break
        text = shorter
    text = re.sub(r"^(?:template\s*)+", "", text.strip())
    for pattern in (r"using (\w+) =", r"\b(operator bool)\b", r"\b(operator\s*(?:\(\)|\[\]|[^\s\w(]+|\w+))\s*\(",
                    r"(\w+)\s*\(", r"(\w+)(?:\[\w*\])?\s*(?:=[^=].*)?[;{]"):
        found = re.search(pattern, text)
        if found:
            return found.group(1)
    return ""


def statement(lines, start):
    """A declaration from its first line to the one that ends it, or opens its body."""
    text = ""
    for line in lines[start:start + 12]:
        text += " " + line.split(" //")[0].strip()
        if re.search(r"[;{}]\s*$", text):
            break
    return text.strip()


def without_html(comment):
    """The comment with result<T> and its like as code, which HTML would take for tags."""
    parts = comment.split("`")
    parts[::2] = [re.sub(r"\b[\w:]+<[\w:, ]+>(?:::\w+(?:\(\))?)?", r"`\g<0>`", re.sub(r"(?<!\w)<(\w+)>", r"\\<\1\\>", part))
                  for part in parts[::2]]
    return "`".join(parts)


def comment_for(name, declaration, owner):
    if name == owner:
        return COPIED if re.search(rf"\b{owner}\s*(?:const\s*)?&", declaration) else MADE
    if not owner and not name.startswith("operator"):
        return ""  # a free function says itself what it does
    return MEANINGS.get(name, "")


def filtered(lines):
    owners = {0: ""}  # the class by the indent of its members
    documented = None  # the name that the last comment was for
    in_comment = False
    are_chosen = False  # of options: what tells what the functions above were told
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        text = line.strip()
        are_chosen = text == "// What was chosen." or (are_chosen and text != "private:")
        opens = CLASS.match(line)
        closes = re.match(r"^(\s*)\};?", line)
        if closes:
            owners.pop(len(closes.group(1)) + 4, None)
        starts = indent in owners and re.match(r"[\[\w~]|template", text) and not re.match(
            r"(?:public|private|protected|namespace|friend|enum|class|struct|static_assert|return|inline namespace)\b", text)
        if INLINE_NAMESPACE.match(line):
            yield ""
        elif starts and not in_comment and not re.search(r"///<", line):
            whole = statement(lines, number)
            name = name_of(whole)
            if name.endswith("_") or re.search(r"\(\*\s*\w+_\)", whole) or re.search(r"= delete;", whole):
                yield f"/** @private */ {line}"
                continue
            meaning = (CHOSEN if are_chosen else
                       "@overload" if name == documented else comment_for(name, whole, owners[indent]))
            yield f"/** {meaning} */ {line}" if meaning else line
        elif not in_comment and re.match(r"[\w:]+ \w+_;$", text):  # within a union
            yield f"/** @private */ {line}"
        elif text.startswith("///") and not text.startswith("///     "):
            yield without_html(line)
        elif opens and not in_comment and (opens.group(2) in CLASSES or "element_traits<" in line):
            yield f"/** {CLASSES.get(opens.group(2), 'What it is in a file.')} */ {line}"
        else:
            yield line
        if in_comment and starts:
            documented = name_of(statement(lines, number))
        if text.startswith("///"):
            in_comment = True
        elif not (text.startswith("template") and in_comment):
            in_comment = False
        if opens:
            owners[len(opens.group(1)) + 4] = opens.group(2)
            documented = None


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        sys.stdout.write("\n".join(filtered(header.read().split("\n"))))
