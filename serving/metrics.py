"""Figures in the text of vLLM's /metrics.

Invariant: what the text does not contain, or contains as an impossible value, is None.
"""

from __future__ import annotations

import math
import re

from local_judge.base.model import Frozen

_LABEL = re.compile(r'(?<!\w)(\w++)="((?:[^"\\]|\\.)*)"')
"""Label of a metric; the possessive quantifier keeps the time linear in the length of a word."""

_COUNT = re.compile(r"[0-9]{1,12}")

_GAUGE = re.compile(
    r"^vllm:(num_requests_running|num_requests_waiting|kv_cache_usage_perc)\{[^}\n]{0,1000}\} (\S{1,40})$",
    re.MULTILINE,
)


class ServerLoad(Frozen):
    """Load of a server by the requests of all its clients, over all its data-parallel engines."""

    running: int | None = None
    """Requests that are computed."""
    waiting: int | None = None
    """Requests in the queue."""
    kv_usage: float | None = None
    """Used share of the KV cache, in [0, 1]; the mean over the engines."""

    @property
    def requests(self) -> int:
        """Requests that are computed or wait."""
        return (self.running or 0) + (self.waiting or 0)


def server_load(metrics: str) -> ServerLoad:
    """Return the load of a server."""
    found: dict[str, list[float]] = {}
    for name, text in _GAUGE.findall(metrics):
        if (value := _number(text)) is not None:
            found.setdefault(name, []).append(value)
    running, waiting = (found.get(f"num_requests_{state}") for state in ("running", "waiting"))
    usages = [usage for usage in found.get("kv_cache_usage_perc", []) if usage <= 1]
    return ServerLoad(
        running=None if running is None else int(sum(running)),
        waiting=None if waiting is None else int(sum(waiting)),
        kv_usage=sum(usages) / len(usages) if usages else None,
    )


def kv_cache_tokens(metrics: str) -> int | None:
    """Return the size of the KV cache in tokens over all data-parallel engines.

    `vllm:cache_config_info` has the label `kv_cache_size_tokens`, or else `block_size` and `num_gpu_blocks`.
    """
    total = 0
    for line in metrics.splitlines():
        if line.startswith("vllm:cache_config_info{"):
            labels = dict(_LABEL.findall(line))
            tokens, blocks, size = (
                _count(labels.get(name, ""))
                for name in ("kv_cache_size_tokens", "num_gpu_blocks", "block_size")
            )
            total += tokens or blocks * size
    return total or None


def _number(text: str) -> float | None:
    """Parse a gauge's value; None if it is no number, negative or impossibly large."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 <= value < 1e9 else None


def _count(text: str) -> int:
    """Parse a label's number; 0 if it is invalid or impossibly large."""
    return int(text) if _COUNT.fullmatch(text) else 0
