"""A run's prompt, which grows at its end only.

Invariant: as long as nothing is dropped, each turn's message begins with all bytes of the message before it, so that a
server computes what is new and nothing else. What is dropped is results, oldest first, each replaced by one line; what
the judge thought and asked for stays.

Layout: the rules with the tools and the caller's task, which all runs of one kind have in common (`shared`), then the
material of this run, then turn by turn: the line that asks, the judge's reply, what it was answered.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from local_judge.judge.layout import Prompt, fence
from local_judge.judge.requests import sha256

DROPPED = "(This result is no longer shown, for want of room. Ask again if you need it.)"


@dataclass
class _Past:
    turn: int
    said: str
    """The line that asked, the reply and the title of the result."""
    result: str
    dropped: bool = False

    @property
    def text(self) -> str:
        return f"{self.said}\n{DROPPED if self.dropped else self.result}"


@dataclass
class History:
    """What has been said so far."""

    shared: str
    material: str
    past: list[_Past] = field(default_factory=list[_Past])

    def prompt(self, asking: str) -> Prompt:
        """The prompt of a turn; `asking` is its last line."""
        before = [self.material] if self.material else []
        own = "\n\n".join([*before, *(one.text for one in self.past), asking])
        return Prompt(shared=self.shared, own=own, prefix_key=f"agent:{sha256(self.shared)}")

    def add(self, turn: int, asking: str, reply: str, result: str) -> None:
        """A turn that has been taken."""
        said = f"{asking}\n\n{fence(reply, f'Turn {turn}, your reply:')}\n\nTurn {turn}, what it gave:"
        self.past.append(_Past(turn, said, result))

    @property
    def kept(self) -> int:
        """Results that are still shown."""
        return sum(not one.dropped for one in self.past)

    def drop(self) -> int:
        """Drop the oldest result that is still shown; the number of its turn."""
        oldest = next(one for one in self.past if not one.dropped)
        oldest.dropped = True
        return oldest.turn
