#!/usr/bin/env python3
"""Print the JSON description of a .zt file of any generation.

Usage: describe.py FILE
Status 0, or 1 with one line on standard error when the file breaks a rule, or 3 when a package is missing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from oracle.description import describe
from oracle.model import FormatError


def main(arguments: list[str]) -> int:
    """Describe the one file that was named."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        description = describe(Path(arguments[0]).read_bytes())
    except (FormatError, OSError) as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(description, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
