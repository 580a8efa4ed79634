"""Imports of packages that are not part of Python, with a loud message when one is missing."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

EXIT_MISSING = 3


def require(module: str, requirements: str = "requirements.txt") -> ModuleType:
    """Import `module`, or end the program with status 3 and say what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        print(
            f"MISSING PYTHON PACKAGE '{module}' ({error}).\n"
            f"Nothing was checked. Install it: python3 -m pip install -r tests/interop/{requirements}",
            file=sys.stderr,
        )
        raise SystemExit(EXIT_MISSING) from None
