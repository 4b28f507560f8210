"""The data files of the experiments: the package's, the user's own, and what is refused of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_judge.base.errors import InputError
from local_judge.lab.experiments.corruption import CLAIM_PAIRS, corruption, load_topics
from local_judge.lab.experiments.model import Experiment
from local_judge.lab.experiments.reasoning import ARGUMENT_PAIRS, load_arguments, reasoning
from local_judge.lab.experiments.run import with_defaults, with_files
from local_judge.lab.experiments.temporal import TIMELINES, load_timelines, temporal
from local_judge.runs.planning.config import RunConfig
from local_judge.tasks.files import TaskFiles

Change = Callable[[list[dict[str, Any]]], object]


def test_there_are_as_many_as_in_the_paper() -> None:
    assert (len(load_topics()), len(load_timelines()), len(load_arguments())) == (15, 20, 10)
    kinds = [flaw.kind for argument in load_arguments() for flaw in argument.flaws]
    assert len(kinds) == 30 and len(set(kinds)) == 6


def test_all_hosts_are_reserved_ones() -> None:
    pages = [page for topic in load_topics() for page in topic.pages]
    pages += [page for timeline in load_timelines() for page in timeline.pages]
    pages += [argument.page for argument in load_arguments()]
    assert all(
        page.url.startswith("https://") and page.url.split("/")[2].endswith(".example") for page in pages
    )


def test_pages_are_short_enough_for_a_judge_on_a_processor() -> None:
    words = [len(page.text.split()) for topic in load_topics() for page in topic.pages]
    assert max(words) <= 80


def test_no_sentence_about_an_unknown_matter_says_what_is_known_later() -> None:
    for timeline in load_timelines():
        for item in timeline.items:
            assert item.before is None or item.before not in [one.statement for one in timeline.items]


def entries_of(path: Path) -> list[dict[str, Any]]:
    return yaml.safe_load(path.read_text())


def refused(tmp_path: Path, packaged: Path, change: Change) -> str:
    """What is said of the package's file after a change, without the path."""
    entries = entries_of(packaged)
    change(entries)
    path = tmp_path / "own.yaml"
    path.write_text(json.dumps(entries, default=str))  # JSON is YAML, and has no aliases
    load = {CLAIM_PAIRS: load_topics, TIMELINES: load_timelines, ARGUMENT_PAIRS: load_arguments}
    with pytest.raises(InputError) as said:
        load[packaged](path)
    message = str(said.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    return message.removeprefix(f"{path}: ")


PAIRS: list[tuple[Change, str]] = [
    (lambda own: own.append(own[0]), "id 'bats' occurs twice"),
    (
        lambda own: own[0].update(true_claim="Bats read."),
        "bats: 'Bats read.' occurs 0 times in its text, not once",
    ),
    (
        lambda own: own[1]["second_page"].update(text=own[0]["true_claim"]),
        "bats: 'Bats can see with their eyes.' also occurs in https://aquarist-gazette.example/training-a-goldfish",
    ),
    (lambda own: own[0].update(colour="red"), "entry 1: colour: unknown key"),
    (lambda own: own[2].pop("matter"), "entry 3: matter is missing"),
    (lambda own: own[0]["true_page"].update(url="bats"), "entry 1: true_page.url: "),
    (lambda own: own[0].update(id="../bats"), "entry 1: id must have the form"),
    (lambda own: own.clear(), "expected a list"),
]


@pytest.mark.parametrize(("change", "said"), PAIRS)
def test_claim_pairs_that_cannot_be_used_are_refused(tmp_path: Path, change: Change, said: str) -> None:
    assert refused(tmp_path, CLAIM_PAIRS, change).startswith(said)


BAD_TIMELINES: list[tuple[Change, str]] = [
    (lambda own: own[0]["pages"][1].pop("published"), "tide: https://coast-engineering"),
    (lambda own: own[0].update(items=own[0]["items"][:2]), "tide: a day adds no key information"),
    (
        lambda own: own[0]["items"][0].update(statement="Nobody voted."),
        "tide: 'Nobody voted.' occurs 0 times",
    ),
    (
        lambda own: own[1]["pages"][1].update(published=own[1]["pages"][0]["published"]),
        "orchard: has pages of 2 days, tide of 3; all need the same number",
    ),
]


@pytest.mark.parametrize(("change", "said"), BAD_TIMELINES)
def test_timelines_that_cannot_be_used_are_refused(tmp_path: Path, change: Change, said: str) -> None:
    assert refused(tmp_path, TIMELINES, change).startswith(said)


REPORTS: list[tuple[Change, str]] = [
    (lambda own: own[0].update(flaws=[]), "entry 1: flaws must not be"),
    (
        lambda own: own[0]["flaws"][0].update(sound="Nobody was hurt."),
        "speed-limit: 'Nobody was hurt.' occurs 0 times",
    ),
    (lambda own: own[0]["flaws"][0].update(kind="rude"), "entry 1: flaws.0.kind: 'rude' is not"),
]


@pytest.mark.parametrize(("change", "said"), REPORTS)
def test_pairs_of_reports_that_cannot_be_used_are_refused(tmp_path: Path, change: Change, said: str) -> None:
    assert refused(tmp_path, ARGUMENT_PAIRS, change).startswith(said)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"- {a: 1, a: 2}", "not YAML: "), (b"\xff", "not UTF-8"), (b"a: 1", "expected a list of entries")],
)
def test_what_is_no_list_in_yaml_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        load_topics(path)
    with pytest.raises(InputError, match="no such file"):
        load_topics(tmp_path / "none.yaml")


def test_an_own_file_makes_another_experiment(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    own = entries_of(TIMELINES)[0]
    # Two days of three: the items of the middle one are left out with its page.
    page = own["pages"].pop(1)
    own["items"] = [item for item in own["items"] if item["statement"] not in page["text"]]
    path.write_text(yaml.safe_dump([own]))
    made = temporal(data=path)
    assert [condition.label for condition in made.design.conditions] == ["day-2", "day-1"]
    # Of seven items two are known on the first day.
    first = made.design.expectations[0]
    assert (first.ideal, first.ideal_change) == ((1.0, 0.285714286), pytest.approx(-5 / 7))
    assert made.design.texts_sha256 != temporal(1).design.texts_sha256


@pytest.mark.parametrize(
    ("packaged", "make"), [(CLAIM_PAIRS, corruption), (TIMELINES, temporal), (ARGUMENT_PAIRS, reasoning)]
)
def test_the_papers_figures_stand_beside_the_packages_data_alone(
    tmp_path: Path, packaged: Path, make: Callable[..., Experiment]
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(packaged.read_text())
    ours, own = make(), make(data=path)
    assert any(one.paper or one.paper_change for one in ours.design.expectations)
    assert not any(one.paper or one.paper_change or one.source for one in own.design.expectations)


def test_files_are_joined_to_the_tasks(tmp_path: Path) -> None:
    path = tmp_path / "references.jsonl"
    path.write_text('{"id": "speed-limit", "article": "Another report."}\n')
    made = with_files(reasoning(2), TaskFiles(references=(path,)))
    texts = [task.references[0].text for task in made.tasks]
    assert texts[0] == "Another report." and texts[1].startswith("The trial drew lots")
    assert made.design == reasoning(2).design


def test_what_is_set_goes_before_what_an_experiment_chooses() -> None:
    given = RunConfig(
        protocols=("deepresearcheval", "fact"), settings={"deepresearcheval": {"facts": {"passages": 3}}}
    )
    made = with_defaults(corruption(), given)
    assert made.protocols == ("deepresearcheval", "fact")
    assert made.settings == {
        "deepresearcheval": {
            "parts": ["facts"],
            "facts": {"statements": "shared", "method": "search", "passages": 3},
        }
    }
    # Nothing else is set: DEER, which alone scores reliability, is not run.
    assert (made.claims.extraction, made.claims.reliability) == ("sentences", False)
    assert with_defaults(corruption(), RunConfig()).protocols[0] == "dream"


def test_race_compares_where_every_task_has_a_reference(tmp_path: Path) -> None:
    assert with_defaults(reasoning(), RunConfig()).settings["race"] == {
        "criteria": "static",
        "mode": "reference",
    }
    own = entries_of(ARGUMENT_PAIRS)[:2]
    own[0].pop("reference")
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(own))
    assert with_defaults(reasoning(data=path), RunConfig()).settings["race"]["mode"] == "pointwise"
