"""Rules of robots.txt (RFC 9309).

Invariant: no page is asked for before its origin's robots.txt was read in this run, and no robots.txt is asked for
twice. Absent (4xx, or redirects without end): all is allowed. Unavailable (no connection, 5xx): nothing is.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from protego import Protego

from indexes.fetch.client import Answer
from indexes.fetch.faults import FetchFault, Refused, TooMuch
from indexes.fetch.politeness import Asker
from indexes.fetch.settings import FetchSettings
from indexes.fetch.target import Target, target

REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5  # RFC 9309, 2.3.1.2
_AGENT = re.compile(r"\s*user(?:-|\s+)?agent(?:\s*:|\s)([^#]*)", re.IGNORECASE)
"""A line that names a user agent, in each form that Protego reads."""
_OTHER = "other agents"


@dataclass(frozen=True)
class _Rules:
    rules: Protego | None
    """None: all is allowed."""
    fault: FetchFault | None = None
    """Fault because of which nothing is allowed."""


class Robots:
    """The rules of every origin that was asked for."""

    def __init__(self, asker: Asker, settings: FetchSettings) -> None:
        self._asker, self._settings = asker, settings
        self._known: dict[str, _Rules] = {}
        self._reading: dict[str, asyncio.Lock] = {}

    async def check(self, asked: Target) -> None:
        """Return if this may be asked for.

        Raises:
            FetchFault: it may not; the reason says whether by a rule or because robots.txt was unavailable.
        """
        origin = asked.origin
        async with self._reading.setdefault(origin, asyncio.Lock()):
            if origin not in self._known:
                self._known[origin] = await self._read(origin)
        known = self._known[origin]
        if known.fault is not None:
            raise type(known.fault)(str(known.fault))  # again: a raised error gathers tracebacks
        if known.rules is not None and not known.rules.can_fetch(asked.url, self._settings.product):
            raise Refused("robots.txt does not allow it")

    async def _read(self, origin: str) -> _Rules:
        try:
            answer = await self._follow(target("/robots.txt", f"{origin}/"))
        except TooMuch as fault:
            return _Rules(None, Refused(f"robots.txt cannot be read ({fault}), so nothing may be asked for"))
        except FetchFault as fault:
            return _Rules(None, fault)
        if answer is None or 300 <= answer.exchange.status < 500:
            return _Rules(None)
        if answer.exchange.status >= 500:
            reason = (
                f"robots.txt answers HTTP {answer.exchange.status}, so nothing may be asked for (RFC 9309)"
            )
            return _Rules(None, Refused(reason))
        text = answer.head[: self._settings.robots_bytes].decode("utf-8", "replace")
        rules = await asyncio.to_thread(_parse, text, self._settings.product)
        delay = rules.crawl_delay(self._settings.product)
        if delay is not None:
            gate = self._asker.gate(target(origin).host)
            gate.delay = max(gate.delay, min(delay, self._settings.max_crawl_delay))
            gate.pause(gate.delay)
        return _Rules(rules)

    async def _follow(self, asked: Target) -> Answer | None:
        """The answer after redirects; None where they do not end or lead nowhere."""
        for _ in range(_MAX_REDIRECTS + 1):
            answer = await self._asker.ask(asked)
            location = answer.header("location")
            if answer.exchange.status not in REDIRECTS:
                return answer
            if location is None:
                return None
            asked = target(location, asked.url, longest=self._settings.max_url)
        return None


def _parse(text: str, product: str) -> Protego:
    """Parse rules, with one name for all agents but ours: Protego copies a group's rules to each name of the group."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if (agent := _AGENT.match(line)) and (name := agent[1].strip().lower()):
            plain = name if name == "*" else name.replace("*", "")
            ours = plain == "*" or (plain and product.lower().startswith(plain))
            lines[number] = f"User-agent: {plain if ours else _OTHER}"
    return Protego.parse("\n".join(lines))
