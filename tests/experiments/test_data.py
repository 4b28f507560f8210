"""The texts that come with the experiments, and what is refused of them."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import pytest
from pydantic import BaseModel

from local_judge.experiments import affairs, arguments, topics
from local_judge.experiments.affairs import load_affairs
from local_judge.experiments.arguments import load_arguments
from local_judge.experiments.corruption import corruption
from local_judge.experiments.data_files import DataError
from local_judge.experiments.setup import with_defaults
from local_judge.experiments.topics import load_topics
from local_judge.runs.config import RunConfig


def test_there_are_15_pairs_2_affairs_and_6_pairs_of_reports() -> None:
    assert (len(load_topics()), len(load_affairs()), len(load_arguments())) == (15, 2, 6)
    kinds = [flaw.kind for argument in load_arguments() for flaw in argument.flaws]
    assert len(kinds) == 18 and len(set(kinds)) == 6


def test_all_hosts_are_reserved_ones() -> None:
    pages = [page for topic in load_topics() for page in topic.pages]
    pages += [page for affair in load_affairs() for page in affair.pages]
    pages += [argument.page for argument in load_arguments()]
    assert all(
        page.url.startswith("https://") and page.url.split("/")[2].endswith(".example") for page in pages
    )


def test_pages_are_short_enough_for_a_judge_on_a_processor() -> None:
    words = [len(page.text.split()) for topic in load_topics() for page in topic.pages]
    assert max(words) <= 80


def refused(monkeypatch: pytest.MonkeyPatch, module: ModuleType, entries: Sequence[BaseModel]) -> str:
    """What is said of entries that do not fit each other, loaded in the place of the package's own."""

    def stored(*_: object) -> Sequence[BaseModel]:
        return entries

    monkeypatch.setattr(module, "load_entries", stored)
    load = {topics: load_topics, affairs: load_affairs, arguments: load_arguments}[module]
    with pytest.raises(DataError) as said:
        load()
    return str(said.value)


def test_topics_that_do_not_fit_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    own = load_topics()
    assert "14 topics, not 15" in refused(monkeypatch, topics, own[:14])
    assert "id 'bats' stands twice" in refused(monkeypatch, topics, (*own[:14], own[0]))
    altered = own[0].model_copy(update={"true_claim": "Bats read."})
    assert "'Bats read.' stands 0 times in its text" in refused(monkeypatch, topics, (altered, *own[1:]))
    told = own[1].model_copy(
        update={"second_page": own[1].second_page.model_copy(update={"text": own[0].true_claim})}
    )
    assert "stands in https://aquarist-gazette.example" in refused(
        monkeypatch, topics, (own[0], told, *own[2:])
    )


def test_affairs_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    own = load_affairs()[0]
    fewer = own.model_copy(update={"pages": own.pages[:2]})
    assert "needs 3 pages of different days" in refused(monkeypatch, affairs, (fewer,))
    early = own.model_copy(update={"items": own.items[:2]})
    assert "some day brings no key information" in refused(monkeypatch, affairs, (early,))


def test_pairs_of_reports_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    own = load_arguments()
    assert "5 pairs, less than 6" in refused(monkeypatch, arguments, own[:5])
    single = own[5].model_copy(update={"flaws": own[5].flaws[:1]})
    assert "needs flaws of two kinds" in refused(monkeypatch, arguments, (*own[:5], single))


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
