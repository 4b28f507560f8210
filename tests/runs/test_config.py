from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import ConfigError
from local_judge.runs.planning.config import RunConfig, parse_settings, settled
from local_judge.runs.planning.run_file import load_config

DEFAULTS = settled(RunConfig())


def load(tmp_path: Path, text: str, overrides: dict[str, Any] | None = None) -> RunConfig:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, overrides or {})


def test_nothing_given_is_the_defaults() -> None:
    assert load_config(None, {"protocols": None, "claims": {"method": None}}) == DEFAULTS


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        "reasks: 1\nclaims: {method: grouped, batch_sentences: 5}\n",
        {"protocols": None, "claims": {"method": "scored", "form": None}},
    )
    assert (config.reasks, config.protocols) == (1, ("deer",))
    assert (config.claims.method, config.claims.batch_sentences, config.claims.form) == ("scored", 5, "full")


@pytest.mark.parametrize("text", ["", "# nothing\n", "claims:\n", "claims: {}\n"])
def test_empty_files_and_sections_are_the_defaults(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text, {"claims": {"method": None}}) == DEFAULTS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sead: 1", "sead: unknown key"),
        ("claims: {metod: scored}", "claims.metod: unknown key; … claims.method?"),
        ("claims: {method: guess}", "claims.method: 'guess' … grouped, scored"),
        ("claims: {batch_sentences: 51}", "claims.batch_sentences … at most 50"),
        ("date: tomorrow", "date: 'tomorrow' … (YYYY-MM-DD)"),
        ("date: 5", "date: 5 … (YYYY-MM-DD)"),
        ("protocols: []", "protocols … empty"),
        ("claims: 5", "claims must be a mapping"),
        ("claims: [a]", "claims must be a mapping"),
        ("5", "expected a mapping of settings"),
        ("a: {b", "line 1: expected ',' or '}'"),
        ("a: 2001-99-99", "line 1: '2001-99-99' … (YYYY-MM-DD)"),
        ("reasks: 1\nreasks: 2", "line 2: the key 'reasks' appears twice"),
        ("\x00", "special characters are not allowed"),
    ],
)
def test_what_is_wrong_is_one_line_with_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, {"claims": {"method": None}})
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'config.yaml'}: ")
    assert re.search(re.escape(said).replace("…", ".*"), message)
    assert "\n" not in message


def test_a_wrong_option_is_named_as_one() -> None:
    with pytest.raises(ConfigError, match=r"^--method: 'guess' is not"):
        load_config(None, {"claims": {"method": "guess"}})


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_config(tmp_path / "none.yaml", {})


def test_settings_of_protocols_are_filled_in_and_checked(tmp_path: Path) -> None:
    config = load(
        tmp_path, "settings: {deer: {scale: 5}}", {"settings": parse_settings(["deer.mode=vanilla"])}
    )
    deer = config.settings["deer"]
    assert (deer["scale"], deer["mode"], deer["parts"]) == (5, "vanilla", ["verification", "rubric"])
    assert DEFAULTS.settings["deer"]["scale"] == 10
    for text, said in (
        ("{deer: {scale: 7}}", r"settings\.deer\.scale: 7 .*5, 10"),
        ("{deer: {scael: 5}}", r"settings\.deer\.scael: unknown setting; did you mean deer\.scale"),
        ("{deer: {parts: []}}", r"settings\.deer\.parts "),
        ("{race: {}}", r"settings\.race: not a protocol of this run"),
    ):
        with pytest.raises(ConfigError, match=said):
            load(tmp_path, f"settings: {text}")


def test_the_papers_evidence_is_one_word(tmp_path: Path) -> None:
    """DEER, appendix F: two passages of about 1,000 tokens for each claim, in calls of 20 claims."""
    claims = load(tmp_path, "settings: {deer: {evidence: paper}}").claims
    assert (claims.passages_per_claim, claims.passage_tokens, claims.evidence_tokens) == (2, 1000, None)
    assert [claims.shown_tokens(n) for n in (1, 20)] == [2_000, 40_000]
    assert DEFAULTS.claims.shown_tokens(20) == 6_000
    rubric = load(tmp_path, "settings: {deer: {evidence: paper, parts: [rubric]}}")
    assert rubric.claims == DEFAULTS.claims
    for text, said in (
        (
            "{evidence_tokens: 5000}",
            "deer.evidence=paper: sets claims.evidence_tokens to null; leave claims.evidence",
        ),
        (
            "{method: scored, view: near}",
            "claims: passage_tokens has no effect with the view near",
        ),
    ):
        with pytest.raises(ConfigError, match=said):
            load(tmp_path, f"settings: {{deer: {{evidence: paper}}}}\nclaims: {text}")
    with pytest.raises(ConfigError, match="evidence_tokens can be null only with passage_tokens"):
        load(tmp_path, "claims: {evidence_tokens: null}")


@pytest.mark.parametrize(
    "text", ["deer.scale", "scale=5", ".scale=5", "deer.=5", "deer.scale=[", "deer.scale=: :"]
)
def test_a_setting_is_a_path_and_a_value(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^--set ") as caught:
        parse_settings([text])
    assert "\n" not in str(caught.value)


def test_settings_are_laid_over_each_other() -> None:
    given = ["deer.parts=[rubric]", "deer.scale=5", "deer.scale=10", "deer.as_of=2026-01-05"]
    assert parse_settings(given) == {
        "deer": {"parts": ["rubric"], "scale": 10, "as_of": date(2026, 1, 5)},
    }


def test_null_of_the_command_line_undoes_what_a_file_sets(tmp_path: Path) -> None:
    text = "settings: {deer: {as_of: 2024-01-01}}"
    assert load(tmp_path, text).settings["deer"]["as_of"] == "2024-01-01"
    undone = load(tmp_path, text, {"settings": parse_settings(["deer.as_of=null"])})
    assert undone.settings["deer"]["as_of"] is None
    with pytest.raises(ConfigError, match=r"--set deer\.scale: null .*5, 10"):
        load(tmp_path, text, {"settings": parse_settings(["deer.scale="])})
    one = load(tmp_path, "", {"settings": parse_settings(["deer.parts=rubric"])})
    assert one.settings["deer"]["parts"] == ["rubric"]


def test_a_setting_of_endless_depth_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"--set 'deer\.a\.a.*…: expected PROTOCOL\.KEY=VALUE"):
        parse_settings(["deer" + ".a" * 20_000 + "=1"])
