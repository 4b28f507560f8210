"""Python's garbage collector under thousands of calls.

Invariant: changes when garbage is collected, never what is kept. For programs, which own their process: the library
itself never calls it.
"""

from __future__ import annotations

import gc


def relax_collector() -> None:
    """Collect rarely: what is alive now is left out for good, and a collection waits for many new objects.

    Every call in flight is some hundred long-lived objects, and with the default thresholds the collector walks all of
    them again and again: a quarter of the client's time at ten thousand calls (`scripts/bench_client`).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
