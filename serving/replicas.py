"""Routing of requests to replicas: which server gets a prefix, which ones are skipped, and what each has done.

Replicas are ordered for each prefix by rendezvous hashing (Thaler and Ravishankar, 1998), so that one prefix uses one
prefix cache, and removing a replica moves only its own prefixes. A replica takes at most `BALANCE` times the mean load
(consistent hashing with bounded loads: Mirrokni, Thorup and Zadimoghaddam, arXiv 1608.01350); what is more goes to the
next in the order of its prefix, and stays there.

Invariants: a replica that does not answer gets no requests until a check finds the same judge there; one that asked for
a pause gets none before its end, unless all of them do.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from serving.errors import EngineError, EngineOverloaded, EngineUnreachable
from serving.metrics import ServerLoad
from serving.types import ReplicaUse, Usage

BALANCE = 1.25
"""Maximum load of a replica that takes a new prefix, as a multiple of the mean load of those that answer."""

WARM_BALANCE = 1.75
"""The same for a prefix that the replica has read: elsewhere, it would have to be read again."""

REMEMBERED = 4096
"""Number of prefixes whose replicas are remembered; the least recently used are forgotten."""

SMALL_LOAD = 8
"""Number of requests that a replica takes in any case: a batch of this size costs little more than one request."""

FULL = 0.9
"""Share of the KV cache from which a replica counts as full: more requests would drop cached prefixes."""

REST_SECONDS = 1.0
"""Pause of a replica that answered 429 or 503 without Retry-After."""


@dataclass
class _Replica:
    """State of one server."""

    url: str
    key: bytes
    in_flight: int = 0
    other_load: int = 0
    """Requests of other clients at the last look at its metrics."""
    kv_usage: float = 0.0
    rests_until: float = 0.0
    overload: EngineOverloaded | None = None
    """Answer that asked for the pause until then."""
    away_since: float | None = None
    seconds_away: float = 0.0
    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    failures: int = 0

    @property
    def load(self) -> int:
        return self.in_flight + self.other_load


class Replicas:
    """Servers of one judge, with their state.

    Args:
        urls: Base URLs.
        clock: Seconds since any moment.
    """

    def __init__(self, urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._warm: OrderedDict[str, set[str]] = OrderedDict()
        """Replicas that have read a prefix."""
        self._replicas = {
            url: _Replica(url, hashlib.blake2b(url.encode(), digest_size=32).digest()) for url in urls
        }

    def order(self, prefix: str, failed: Sequence[str] = ()) -> list[str]:
        """Return all URLs in the order in which a request with `prefix` tries them.

        Args:
            prefix: Beginning of the prompt.
            failed: Replica of each attempt that failed; the one with the fewest is tried first.
        """
        if len(self._replicas) == 1:
            return list(self._replicas)
        now = self._clock()
        present = [replica for replica in self._replicas.values() if replica.away_since is None]
        total = sum(one.load for one in present)
        mean = (total + 1) / max(1, len(present))
        warm = self._warm.get(prefix, set())

        def rank(one: _Replica) -> tuple[bool, bool, int, bool, bool, bytes]:
            bound = max(SMALL_LOAD, math.ceil(mean * (WARM_BALANCE if one.url in warm else BALANCE)))
            over = one.load >= bound or one.kv_usage >= FULL
            place = hashlib.blake2b(prefix.encode(), key=one.key, digest_size=32).digest()
            return (
                one.away_since is not None,
                one.rests_until > now,
                failed.count(one.url),
                over,
                one.url not in warm,
                place,
            )

        return [one.url for one in sorted(self._replicas.values(), key=rank)]

    def pause(self) -> float:
        """Return the seconds until a replica that answers may be asked; 0 if one may be asked now."""
        ends = [replica.rests_until for replica in self._replicas.values() if replica.away_since is None]
        return max(0.0, min(ends, default=0.0) - self._clock())

    def overload(self, url: str) -> EngineOverloaded | None:
        """Return the answer of `url` that asked for a pause, with what is left of it; None if it is over."""
        replica = self._replicas[url]
        left = replica.rests_until - self._clock()
        return EngineOverloaded(str(replica.overload), retry_after=left) if left > 0 else None

    def is_away(self, url: str) -> bool:
        """Check whether `url` did not answer and has not been checked since."""
        return self._replicas[url].away_since is not None

    @contextmanager
    def sending(self, url: str) -> Generator[None]:
        """Count a request to `url` as in flight while the block runs, and as failed if it could be repeated."""
        replica = self._replicas[url]
        replica.in_flight += 1
        try:
            yield
        except EngineError as error:
            replica.failures += error.retryable
            if isinstance(error, EngineUnreachable):
                self.record_outage(url)
            elif isinstance(error, EngineOverloaded):
                seconds = REST_SECONDS if error.retry_after is None else error.retry_after
                replica.rests_until = self._clock() + seconds
                replica.overload = error
            raise
        finally:
            replica.in_flight -= 1

    def reads(self, url: str, prefix: str) -> None:
        """Record that `url` reads `prefix` into its cache."""
        self._warm.setdefault(prefix, set()).add(url)
        self._warm.move_to_end(prefix)
        if len(self._warm) > REMEMBERED:
            self._warm.popitem(last=False)

    def record_reply(self, url: str, usage: Usage) -> None:
        """Count a reply of `url`."""
        replica = self._replicas[url]
        replica.requests += 1
        replica.prompt_tokens += usage.prompt_tokens
        replica.cached_tokens += usage.cached_tokens or 0

    def in_flight(self, url: str) -> int:
        """Return the number of our requests that `url` has not answered."""
        return self._replicas[url].in_flight

    def record_load(self, url: str, load: ServerLoad, in_flight: int) -> None:
        """Record the load in the metrics of `url`.

        Args:
            url: The replica.
            load: Its load.
            in_flight: Most of our requests that it may contain; what exceeds them belongs to other clients.
        """
        replica = self._replicas[url]
        replica.other_load = max(0, load.requests - in_flight)
        replica.kv_usage = load.kv_usage or 0.0

    def record_outage(self, url: str) -> None:
        """Record that `url` does not answer."""
        replica = self._replicas[url]
        if replica.away_since is None:
            replica.away_since = self._clock()
            replica.other_load, replica.kv_usage = 0, 0.0
            for warm in self._warm.values():  # a server that starts again has an empty cache
                warm.discard(url)

    def back(self, url: str) -> float:
        """Record that `url` answers and serves the same judge; return the seconds for which it was away."""
        replica = self._replicas[url]
        since, replica.away_since = replica.away_since, None
        seconds = 0.0 if since is None else self._clock() - since
        replica.seconds_away += seconds
        return seconds

    def use(self) -> tuple[ReplicaUse, ...]:
        """Return what each replica has done so far."""
        now = self._clock()
        return tuple(
            ReplicaUse(
                url=replica.url,
                requests=replica.requests,
                prompt_tokens=replica.prompt_tokens,
                cached_tokens=replica.cached_tokens,
                failures=replica.failures,
                seconds_away=replica.seconds_away
                + (0.0 if replica.away_since is None else now - replica.away_since),
                away=replica.away_since is not None,
            )
            for replica in self._replicas.values()
        )
