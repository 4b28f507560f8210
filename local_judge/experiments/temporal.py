"""Temporal decay: reports on the same affairs as of three days, judged by what is known on the last one.

After DREAM (arXiv 2602.18940), the controlled experiment on key-information coverage with knowledge cut-offs.

Invariant: a report states exactly the key information that was known on its day, and of the rest at most that it is
not known; so that the share that it covers is known:

    ideal coverage = key information known on that day / all, mean over the affairs
"""

from __future__ import annotations

from datetime import date, timedelta

from local_judge.errors import ConfigError
from local_judge.experiments.affairs import N_DAYS, Affair, KeyItem, load_affairs
from local_judge.experiments.model import Condition, Design, Expectation, Experiment, Trial
from local_judge.runs.inputs import RawReport
from local_judge.tasks.model import Checklist, KeyInformation, KeySource, Plan, Task

PROTOCOLS = ("dream", "liveresearchbench")
SETTINGS = {
    "dream": {"parts": ["key_information"]},
    "liveresearchbench": {"parts": ["coverage"]},
    "deer": {"parts": ["rubric"]},
    "deepresearcheval": {"parts": ["quality"]},
}
PAPER = (0.223, 0.448, 0.794)
"""Key-information coverage, oldest knowledge first."""
SOURCE = "DREAM: key-information coverage 79.4, 44.8 and 22.3 as the knowledge cut-off moves back; its tasks, not these"
LABELS = ("oldest", "middle", "latest")


def temporal(n_affairs: int | None = None) -> Experiment:
    """The experiment.

    Args:
        n_affairs: take the first so many; None for all.

    Raises:
        ConfigError: there are not so many.
    """
    known = load_affairs()
    if n_affairs is not None and not 1 <= n_affairs <= len(known):
        raise ConfigError(f"--topics {n_affairs}: there are {len(known)} affairs; take 1 to {len(known)}")
    affairs = known[:n_affairs]
    trials: list[Trial] = []
    reports: list[RawReport] = []
    shares: list[float] = []
    for place, label in enumerate(LABELS):
        covered: list[float] = []
        for affair in affairs:
            day = _days(affair)[place]
            name = f"{affair.id}-{place + 1}-{label}"
            missing = tuple(item.question for item in affair.items if affair.day(item) > day)
            trials.append(Trial(report=name, condition=label, unit=affair.id, planted=missing))
            task = _task(affair)
            text = _report(affair, day)
            reports.append(RawReport(name, text.encode(), task, f"reports/{name}.md", task_id=task.id))
            covered.append(1 - len(missing) / len(affair.items))
        shares.append(round(sum(covered) / len(covered), 9))
    design = Design(
        experiment="temporal",
        seed=None,
        conditions=tuple(
            Condition(id=label, label=label, x=float(place)) for place, label in enumerate(LABELS)
        ),
        trials=tuple(trials),
        expectations=_expectations(tuple(shares)),
    )
    pages = tuple(page for affair in known for page in affair.pages)
    today = max(_days(affair)[-1] for affair in known) + timedelta(days=1)
    return Experiment(design, tuple(reports), pages, PROTOCOLS, SETTINGS, today)


def _days(affair: Affair) -> list[date]:
    days = [page.published for page in affair.pages if page.published is not None]
    assert len(days) == N_DAYS
    return days


def _task(affair: Affair) -> Task:
    """With the key information as a plan, and as the checklist that another protocol goes by."""
    items = tuple(
        KeyInformation(id=f"k{number}", question=item.question, source=_source(affair, item))
        for number, item in enumerate(affair.items, 1)
    )
    return Task(
        id=affair.id,
        prompt=affair.request,
        plan=Plan(key_information=items, as_of=_days(affair)[-1]),
        checklist=Checklist.of(item.question for item in affair.items),
    )


def _source(affair: Affair, item: KeyItem) -> KeySource:
    page = affair.source(item)
    return KeySource(url=page.url, quote=item.statement, published=affair.day(item).isoformat())


def _report(affair: Affair, day: date) -> str:
    """What is known on a day, a sentence each with its source, and what is said to be open."""
    cited = [page for page in affair.pages if page.published is not None and page.published <= day]
    known = [
        f"{item.statement[:-1]} [{cited.index(affair.source(item)) + 1}]."
        for item in affair.items
        if affair.day(item) <= day
    ]
    unknown = [item.before for item in affair.items if affair.day(item) > day and item.before]
    parts = [f"# Report of {day}\n\n{affair.opening}", "## What is known\n\n" + " ".join(known)]
    if unknown:
        parts.append("## What is open\n\n" + " ".join(unknown))
    listed = "\n".join(f"[{number}] {page.title}. {page.url}" for number, page in enumerate(cited, 1))
    return "\n\n".join([*parts, f"## References\n\n{listed}"]) + "\n"


def _expectations(shares: tuple[float, ...]) -> tuple[Expectation, ...]:
    return (
        Expectation(
            protocol="dream",
            path="key_information",
            shape="rises",
            ideal=shares,
            scale=100.0,
            paper=PAPER,
            source=SOURCE,
        ),
        Expectation(protocol="liveresearchbench", path="coverage", shape="rises", ideal=shares, scale=100.0),
    )
