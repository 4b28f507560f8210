"""Why a judge's probabilities cannot be calibrated.

    UserError
    └── Uncalibratable     on these claims there is nothing to fit; `kind` says what is missing

Invariant: what cannot be fitted or judged is refused with one of these kinds, and never becomes a NaN.
"""

from __future__ import annotations

from typing import Literal

from local_judge.errors import UserError

Kind = Literal["one_class", "constant", "inverted", "few_pages"]
"""`one_class`: only true or only altered claims. `constant`: the judge gives all of them the same. `inverted`: it gives
altered claims more than true ones. `few_pages`: too few pages, or too unevenly filled, for folds by page."""


class Uncalibratable(UserError):
    """There is nothing to fit."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind: Kind = kind
