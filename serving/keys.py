"""API keys of servers, from environment variables.

Invariant: a key is passed on in requests and in the environment of a server only, so that no file, message or list of
processes contains it.
"""

from __future__ import annotations

import os
import re

from serving.errors import BadEndpoint
from serving.presets import THINKING_SUFFIX

API_KEY = "LOCAL_JUDGE_API_KEY"
"""Environment variable with the API key of all servers; with `_` and a judge's name, that of this judge's servers."""


def key_variables(judge: str) -> list[str]:
    """Return the names of the variables that can contain a judge's key, the one that takes precedence first.

    `qwen3-14b-thinking` has the server of `qwen3-14b`, and so its key: LOCAL_JUDGE_API_KEY_QWEN3_14B.
    """
    names = dict.fromkeys((judge, judge.removesuffix(THINKING_SUFFIX)))
    return [*(f"{API_KEY}_{re.sub(r'[^A-Z0-9]', '_', name.upper())}" for name in names), API_KEY]


def key_variable(judge: str) -> str | None:
    """Return the name of the variable that contains a judge's key; None if there is no key."""
    return next((name for name in key_variables(judge) if os.environ.get(name)), None)


def api_key(judge: str) -> str | None:
    """Return the API key of a judge's servers; None if there is none.

    Raises:
        BadEndpoint: It cannot be sent in a header. Libraries would quote it in their error.
    """
    name = key_variable(judge)
    key = None if name is None else os.environ[name]
    if key is not None and not (key.isascii() and key.isprintable()):
        raise BadEndpoint(f"{name} holds characters that no header can; look for a line end in it")
    return key
