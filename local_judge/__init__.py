"""Scores long, cited research reports with open-weight judges against a frozen copy of the web.

    import local_judge as lj

    run = lj.evaluate("reports", judge="qwen3-14b", base_url="http://127.0.0.1:8000/v1",
                      snapshot="snapshot", protocols=["fact"], out="runs/first")
    run.scores()

`__all__` lists the public names. They are loaded when they are first used, so that importing the package is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_judge.api import Run, evaluate, load

__version__ = "0.1.0"

__all__ = ["Run", "__version__", "evaluate", "load"]


def __getattr__(name: str) -> object:
    """Load a public name."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        return getattr(import_module("local_judge.api"), name)
    except ImportError as error:
        clash = hidden_package()
        if clash is not None:
            raise ImportError(clash) from error
        raise


def hidden_package() -> str | None:
    """Return one line about a module of the user's that hides `serving` or `indexes`; None if there is none."""
    from importlib.util import find_spec
    from pathlib import Path

    home = Path(__file__).resolve().parent.parent
    for name in ("serving", "indexes"):
        spec = find_spec(name)
        origin = spec.origin if spec is not None else None
        if origin is not None and home not in Path(origin).resolve().parents:
            return (
                f"{origin} hides local_judge's package `{name}`; rename it, or start Python in another folder"
            )
    return None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
