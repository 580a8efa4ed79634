"""The files that generate.py writes, one function each, grouped by subject."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from ..build import Built

Maker = Callable[[random.Random], Built]


@dataclass(frozen=True)
class Case:
    """One file to be made."""

    name: str
    make: Maker
    cbor2_reads_it: bool = True  # False: cbor2 refuses something in it that is well-formed
    question: str | None = None  # a point that the rulings leave open: not written by default


CASES: dict[str, Case] = {}


def case(name: str, cbor2_reads_it: bool = True, question: str | None = None) -> Callable[[Maker], Maker]:
    """Register a function as the maker of the file `name`."""

    def register(make: Maker) -> Maker:
        if name in CASES:
            raise ValueError(f"two cases are called {name}")
        CASES[name] = Case(name, make, cbor2_reads_it, question)
        return make

    return register


from . import (  # noqa: E402  (the modules register their cases when they are imported)
    attributes,
    cbor_forms,
    dense,
    digests,
    first,
    legacy,
    names,
    one_point_one,
    places,
    questions,
    sparse,
    vocabulary,
    zstd,
)

__all__ = [
    "CASES", "Case", "attributes", "cbor_forms", "dense", "digests", "first", "legacy", "names", "one_point_one",
    "places", "questions", "sparse", "vocabulary", "zstd",
]  # fmt: skip
