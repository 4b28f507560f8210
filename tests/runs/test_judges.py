"""Who judges, and where they are asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_judge.base.errors import ConfigError
from local_judge.runs.execution.judges import judge_specs_of, open_judges

from ..stub_thread import PRESET, StubPlan, StubThread


def write(folder: Path, name: str, extra: str = "") -> str:
    path = folder / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(PRESET.format(concurrency=8, timeout=5.0) + extra, encoding="utf-8")
    return str(path)


def test_a_url_belongs_to_the_judge_that_it_names(tmp_path: Path) -> None:
    files = [write(tmp_path, name) for name in ("a", "b", "c")]
    judge_specs = judge_specs_of(files, ["b=http://b/v1", "http://all/v1", "b=http://b2/v1"])
    assert [(judge_spec.name, judge_spec.base_urls) for judge_spec in judge_specs] == [
        ("a", ("http://all/v1",)),
        ("b", ("http://b/v1", "http://b2/v1")),
        ("c", ("http://all/v1",)),
    ]
    (alone,) = judge_specs_of(files[:1], ["http://x/v1?a=b", "http://y/v1"])
    assert alone.base_urls == ("http://x/v1?a=b", "http://y/v1")
    assert judge_specs_of(["qwen3-8b", "qwen3-8b-thinking"], [])[1].name == "qwen3-8b-thinking"


def test_what_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    one, same_name = write(tmp_path, "a"), write(tmp_path / "other", "a")
    with pytest.raises(ConfigError, match=r"--base-url z=http://z/v1: no judge 'z'; there are: a"):
        judge_specs_of([one], ["z=http://z/v1"])
    for judges in ([one, one], [one, same_name]):
        with pytest.raises(ConfigError, match="several judges are called 'a'"):
            judge_specs_of(judges, [])
    with pytest.raises(ConfigError, match="a folder is named after the judge"):
        judge_specs_of([one, write(tmp_path, "..a b")], [])
    with pytest.raises(ConfigError, match="no judge was given"):
        judge_specs_of([], [])


async def test_judges_share_a_ledger_and_no_two_are_the_same(tmp_path: Path) -> None:
    files = [
        write(tmp_path, "a"),
        write(tmp_path, "warm", "sampling: {temperature: 0.5}\nthreshold: 0.7\n"),
        write(tmp_path, "copy"),
    ]
    with StubThread(StubPlan()) as server:
        judge_specs = judge_specs_of(files[:2], [server.url])
        async with open_judges(judge_specs, ledger=tmp_path / "l.sqlite", reasks=1) as judges:
            assert list(judges) == ["a", "warm"]
            assert judges["a"].ledger is judges["warm"].ledger
            assert [judge.settings.sampling.temperature for judge in judges.values()] == [0.0, 0.5]
            assert [judge.settings.threshold for judge in judges.values()] == [0.5, 0.7]
        with pytest.raises(
            ConfigError, match="judges 'a' and 'copy' are the same model with the same sampling"
        ):
            async with open_judges(
                judge_specs_of(files, [server.url]), ledger=tmp_path / "l.sqlite", reasks=1
            ):
                pass
