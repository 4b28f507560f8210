"""Plain-language summary of a judge's results on the sample.

Invariant: the summary states the limits of the demo's small judge, does not call any other judge small, and lists the
commands for a larger judge.
"""

from __future__ import annotations

from collections.abc import Iterator

from local_judge.demo.outcome import Outcome
from local_judge.demo.run import JUDGE as DEMO_JUDGE
from local_judge.terminal import safe


def planted_lines(outcome: Outcome, judge: str) -> Iterator[str]:
    """Yield lines for the terminal."""
    yield f"[bold]{outcome.caught} of {outcome.planted} planted alterations caught[/bold]" + (
        f"; {outcome.unjudged} statements without a verdict" if outcome.unjudged else ""
    )
    for sentence in outcome.missed:
        yield f"  missed: {safe(sentence)}"
    yield f"[bold]{len(outcome.called_wrong)} of {outcome.true_claims} true claims called wrong[/bold]"
    for claim in outcome.called_wrong:
        yield f"  called wrong: {safe(claim)}"
    yield (
        f"{judge} is a small judge: it demonstrates the process, but its verdicts are not reliable enough to publish."
        if judge == DEMO_JUDGE
        else f"So few statements show that {judge} works, but not how reliable it is."
    )
    yield (
        "With a GPU:\n"
        "  local-judge judge up qwen3-14b --detach\n"
        "  local-judge run REPORTS --snapshot SNAPSHOT --judge qwen3-14b --out RUN"
    )
