"""The part of scipy.optimize that is used here."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]

class _Found(Protocol):
    @property
    def x(self) -> _Floats: ...
    @property
    def jac(self) -> _Floats: ...

def minimize(
    fun: Callable[[_Floats], float],
    x0: npt.ArrayLike,
    *,
    method: str,
    jac: Callable[[_Floats], _Floats],
    hess: Callable[[_Floats], _Floats],
    options: dict[str, float],
) -> _Found: ...
