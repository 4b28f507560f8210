"""A search server that fails: no failed search may count as one without results."""

from __future__ import annotations

from random import Random

from .trial import Trial
from .web import SEARCH_FAULTS


def search_web(trial: Trial) -> None:
    """Searches fail, each once or until the server is mended; then the same command runs again."""
    command = trial.command("search-web")
    site, rng = trial.bench.site, trial.rng
    share, kinds = rng.choice([0.2, 0.5, 1.0]), rng.sample(SEARCH_FAULTS, rng.choice([1, len(SEARCH_FAULTS)]))

    def fails(query: str) -> str | None:
        one = Random(f"{trial.seed} {query}")
        return one.choice(kinds) if one.random() < share else None

    site.fails = fails
    ended = trial.run(command.arguments)
    trial.done.append(f"{share:.0%} of the searches: {', '.join(kinds)}: {ended.state}")
    if ended.state == "done":
        trial.same_results(command, command.results(trial.cwd))
    outcome = "typed" if ended.state == "missing" else "refused" if ended.state == "refused" else "equal"
    answered = set(site.searched)
    site.reset()
    trial.ends_equal(command)
    trial.settle(outcome)
    again = answered & set(site.searched)
    if again:
        trial.violate(f"{len(again)} searches that were answered were sent again")
