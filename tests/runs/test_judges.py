"""Who judges, and where they are asked."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from local_judge.base.errors import ConfigError
from local_judge.runs.execution.judges import is_reachable, judge_specs_of, open_engines, open_judges, say
from serving.engine import Engine
from serving.engines import ENGINES, Connection, EngineKind
from serving.engines.openai import OpenAIEngine
from serving.errors import PresetError
from serving.presets import Preset, load_preset

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


class EngineOfATest(ModuleType):
    """The module of an engine that asks its servers by another name."""

    @staticmethod
    def connect(preset: Preset, connection: Connection) -> Engine:
        return OpenAIEngine(connection.base_urls, "stub", context_tokens=preset.context_tokens)


async def test_an_engine_is_a_module_and_a_row_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "engine_of_a_test", EngineOfATest("engine_of_a_test"))
    preset = tmp_path / "mine.yaml"
    preset.write_text(
        "{description: d, model: m, licence: MIT, engine: mine, weights: {hub: o/m}, context_tokens: 4096}",
        encoding="utf-8",
    )
    with pytest.raises(
        PresetError, match=r"engine: no engine 'mine'; there are: vllm, openvino, transformers"
    ):
        load_preset(preset)
    with StubThread(StubPlan()) as usual, StubThread(StubPlan()) as other:
        kind = EngineKind("engine_of_a_test", needs_server=True, default_urls=(usual.url,))
        monkeypatch.setitem(ENGINES, "mine", kind)
        for base_urls, server in (([], usual), ([other.url], other)):
            specs = judge_specs_of([str(preset)], base_urls)
            assert is_reachable(specs[0])
            async with open_engines(specs) as engines:
                await engines["mine"].generate([], specs[0].preset.sampling)
            assert len(server.chats) == 1


def test_lines_about_a_judge_are_plain_and_left_out_by_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say("a pause (HTTP 503 \x1b[2J)")
    monkeypatch.setenv("LOCAL_JUDGE_QUIET", "1")
    say("a pause")
    assert capsys.readouterr().err == "a pause (HTTP 503  [2J)\n"
