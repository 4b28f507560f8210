"""What users get wrong, and what servers do: one clear line and a non-zero exit, or a typed failure in the results."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from indexes.search.local import MODEL_PACKAGE
from indexes.snapshot import Snapshot
from local_judge.cli.ending import ASKS_AGAIN
from local_judge.judge.judge import Judge
from local_judge.runs.execution.job import Job, run_job
from local_judge.runs.execution.judges import JudgeSpec
from local_judge.runs.planning.config import RunConfig, settled
from local_judge.runs.planning.inputs import load_reports
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.store import RunStore
from serving.engines import PERSISTENT
from serving.presets import load_preset
from tests.stub_server import Fault, StubPlan

from ..stub_thread import StubThread, answer, write_preset
from .conftest import REPORT, Command, Ended, finish, start

Run = Callable[..., Ended]


@pytest.fixture
def run(command: Command, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path) -> Run:
    """Runs reports against the credulous judge."""

    def go(*reports: Path, **changed: str | Path) -> Ended:
        options = {"snapshot": snapshot, "judge": preset, "base-url": server.url, "out": tmp_path / "run"}
        named = {**options, **{name.replace("_", "-"): value for name, value in changed.items()}}
        given = [part for name, value in named.items() for part in (f"--{name}", value)]
        return command("run", *reports, *given, "--set", "deer.parts=[verification]", "--json")

    return go


def records(ended: Ended) -> list[dict[str, Any]]:
    return json.loads(ended.out)["cases"]


UNREADABLE = [
    ("empty", b""),
    ("blank", b" \n\t\n"),
    ("binary", bytes(range(256)) * 8),
    ("image", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
    ("not_utf8", "Über den Dächern.".encode("latin-1")),
]


@pytest.mark.parametrize(("name", "content"), UNREADABLE)
def test_an_unreadable_report_is_one_line_of_check(
    command: Command, tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / f"{name}.md"
    path.write_bytes(content)
    ended = command("text", "check", path)
    assert ended.code == 1
    assert ended.line().startswith("local-judge: ")


def test_unreadable_reports_are_failures_of_their_own_and_stop_no_other(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    for name, content in UNREADABLE:
        (folder / f"{name}.md").write_bytes(content)
    (folder / "good.md").write_text(REPORT, encoding="utf-8")
    ended = run(folder)
    assert ended.code == 3
    assert ended.line().startswith("Missing: 5 of 6 reports. `local-judge show ")
    by_id = {record["id"]: record for record in records(ended)}
    assert by_id.pop("good")["status"] == "done"
    assert {record["status"] for record in by_id.values()} == {"unreadable"}
    assert all(record["detail"].startswith(str(folder)) for record in by_id.values())


@pytest.mark.parametrize("system", [None, "alder"])
def test_an_unreadable_report_is_not_shown_with_scores_of_others(
    run: Run, command: Command, tmp_path: Path, system: str | None
) -> None:
    rows = [
        {"id": name, "report": text, "system": system} for name, text in (("good", REPORT), ("blank", " "))
    ]
    (tmp_path / "reports.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert run(tmp_path / "reports.jsonl").code == 3
    good, blank = (command("show", tmp_path / "run", "--report", name) for name in ("good", "blank"))
    assert (good.code, blank.code) == (0, 0), blank
    assert "10.00" in good.out and "10.00" not in blank.out


def test_poor_reports_are_evaluated(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "no_citations.md").write_text("The mill opened in 1974. It is blue.", encoding="utf-8")
    (folder / "references_only.md").write_text(
        "## References\n\n[1] The renewal. https://heat.example/fernholt/renewal\n", encoding="utf-8"
    )
    (folder / "unknown_language.md").write_text(
        "Tá an muileann gorm [1]. Osclaíodh é i 1974.\n\n## References\n\n[1] https://heat.example/fernholt/renewal\n",
        encoding="utf-8",
    )
    ended = run(folder)
    assert (ended.code, ended.err) == (0, "")
    assert [record["status"] for record in records(ended)] == ["done"] * 3


@pytest.mark.parametrize("unit", ["word ", "[1] ", "`", "a[b](c) ", "<p>", "link:a[", "http://", " \n"])
def test_five_megabytes_in_one_line_are_parsed_or_refused(
    command: Command, tmp_path: Path, unit: str
) -> None:
    path = tmp_path / "long.md"
    path.write_text(unit * (5_000_000 // len(unit)), encoding="utf-8")
    ended = command("text", "check", path, "--sentences", "--json")
    assert ended.code in (0, 1)
    if ended.code:
        assert ended.line().startswith("local-judge: ")


def test_a_report_far_too_long_is_a_typed_failure(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "long.md"
    path.write_text("The lake rose by one metre. " * 9_000, encoding="utf-8")
    ended = run(path)
    assert ended.code == 3
    claims = tmp_path / "run/claims.jsonl"
    kinds = {failure["failure"]["kind"] for failure in json.loads(claims.read_text())["extraction_failures"]}
    assert kinds == {"report_too_long"}


def test_ids_given_twice(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "reports.jsonl"
    path.write_text('{"id": 7, "article": "One."}\n{"id": "7", "article": "Two."}\n')
    ended = run(path)
    assert ended.code == 1
    assert ended.line() == f"local-judge: report id '7' appears twice: in {path}:1 and in {path}:2"
    assert not (tmp_path / "run").exists()


def altered(snapshot: Path, out: Path) -> Path:
    for path in sorted(snapshot.rglob("*")):
        if path.is_file():
            (out / path.relative_to(snapshot)).parent.mkdir(parents=True, exist_ok=True)
            (out / path.relative_to(snapshot)).write_bytes(path.read_bytes())
    return out


def test_snapshots_that_are_none(run: Run, report: Path, snapshot: Path, tmp_path: Path) -> None:
    missing = run(report, snapshot=tmp_path / "nowhere")
    assert missing.code == 1
    assert (
        missing.line() == f"local-judge: no snapshot at {tmp_path}/nowhere; make one with `snapshot import`"
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "is not a snapshot" in run(report, snapshot=empty).line()
    wrong = altered(snapshot, tmp_path / "wrong")
    manifest = json.loads((wrong / "manifest.json").read_text())
    manifest["digest"] = "0" * 64
    (wrong / "manifest.json").write_text(json.dumps(manifest))
    assert "says digest 000000000000 but its contents give" in run(report, snapshot=wrong).line()
    assert not (tmp_path / "run").exists()


def test_an_altered_page_ends_the_run_in_one_line(
    run: Run, report: Path, snapshot: Path, tmp_path: Path
) -> None:
    wrong = altered(snapshot, tmp_path / "wrong")
    data = (wrong / "texts.utf8").read_bytes()
    (wrong / "texts.utf8").write_bytes(data.replace(b"e", b"E"))
    ended = run(report, snapshot=wrong)
    assert ended.code == 1
    assert "was altered; run `snapshot verify`" in ended.line()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("claims: {metod: scored}", r"claims\.metod: unknown key.* claims\.method"),
        ("seed: 1", "seed: unknown key"),
        ("claims: {threshold: 2}", r"claims\.threshold .* less than 1 \(got 2\)"),
        ("claims: 5", r"claims must be a mapping .*\(got 5\)"),
        ("- a", "expected a mapping"),
        ("a: [", "expected the node content"),
        ("a: 2001-99-99", "'2001-99-99' .*YYYY-MM-DD"),
        ("protocols: [deeer]", "no protocol 'deeer'.* deepresearcheval, deer"),
    ],
)
def test_wrong_configs(run: Run, report: Path, tmp_path: Path, text: str, said: str) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(text)
    ended = run(report, config)
    assert ended.code == 1
    assert re.search(said, ended.line())
    assert not (tmp_path / "run/manifest.json").exists()


def test_an_empty_section_of_a_config_is_its_defaults(run: Run, report: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("claims:\n  # method: scored\n")
    assert run(report, config).code == 0


def test_what_is_not_there_or_not_for_this(run: Run, report: Path, snapshot: Path, tmp_path: Path) -> None:
    """Missing reports, presets, directories of something else, addresses that are none."""
    assert "nothing.md: no such file" in run(tmp_path / "nothing.md").line()
    folder = tmp_path / "folder"
    folder.mkdir()
    assert "no reports in" in run(folder).line()
    assert "preset 'qwen9'" in run(report, judge="qwen9").line()
    assert "no preset file" in run(report, judge="./qwen9.yaml").line()
    assert re.search("not empty .*--out$", run(report, out=tmp_path).line())
    assert "manifest.json" in run(report, out=snapshot).line()
    assert not (snapshot / "ledger.sqlite").exists()
    assert "cannot be the directory of a run; choose another --out" in run(report, out=report).line()
    assert re.search(r"'http://\[::1' .* base URL", run(report, base_url="http://[::1").line())
    assert re.search("'localhost:8000' .* base URL", run(report, base_url="localhost:8000").line())
    assert run(report, ledger=report).line().endswith("this file is not a ledger; name another path")


def test_a_preset_without_its_server_or_its_weights(command: Command, report: Path, snapshot: Path) -> None:
    for judge, said in (("qwen3-8b", "`local-judge judge up qwen3-8b`"),):
        ended = command(
            *("run", report, "--snapshot", snapshot, "--judge", judge, "--out", report.parent / "run"),
            *("--set", "deer.parts=[verification]"),
        )
        assert ended.code == 1
        assert said in ended.line()


def test_a_rubric_needs_tasks_and_verification_a_snapshot(
    command: Command, report: Path, snapshot: Path, tmp_path: Path
) -> None:
    given = ["run", report, "--judge", "qwen3-8b", "--out", tmp_path / "out"]
    ended = command(*given, "--snapshot", snapshot)
    assert ended.line().startswith("local-judge: deer: report 'mill' has no task; ")
    assert "give --tasks, " in ended.line() and ended.line().endswith(": --set deer.parts=[verification]")
    assert "give --snapshot" in command(*given, "--set", "deer.parts=[verification]").line()
    assert (
        command(*given, "--set", "deer.part=[rubric]")
        .line()
        .endswith("--set deer.part: unknown setting; did you mean deer.parts?")
    )
    assert (
        command(*given, "--set", "deer")
        .line()
        .startswith("local-judge: --set 'deer': expected PROTOCOL.KEY=VALUE")
    )
    assert not (tmp_path / "out").exists()


def test_directories_that_are_no_runs(command: Command, snapshot: Path, tmp_path: Path) -> None:
    no_run = "not a run; `local-judge run` makes one"
    other = "its manifest.json is not the manifest of a run; choose another directory"
    a_file = tmp_path / "report.md"
    a_file.write_text("# A report")
    for name, of_a_snapshot in (("show", other), ("rescore", no_run)):
        says = {
            tmp_path / "nowhere": "no such folder",
            tmp_path: no_run,
            snapshot: of_a_snapshot,
            a_file: no_run,
        }
        for folder, lacks in says.items():
            ended = command(name, folder)
            assert ended.code == 1
            assert ended.line() == f"local-judge: {folder}: {lacks}"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{}", "`claim` and `url`"),
        ('{"claim": "\\ud800", "url": "https://a.example"}', "`claim` and `url`"),
        ('{"claim": "A.", "url": "nonsense"}', "nonsense"),
        ('{"claim": "A.", "url": "https://a.example", "id": [1]}', "id [1] must be"),
        ("[1]", "a JSON object"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("", ": no "),
    ],
)
def test_claim_files(
    command: Command, preset: Path, snapshot: Path, tmp_path: Path, line: str, said: str
) -> None:
    claims = tmp_path / "claims.jsonl"
    claims.write_text(line)
    given = [
        "--snapshot",
        snapshot,
        "--judge",
        preset,
        "--ledger",
        tmp_path / "l.sqlite",
        "--base-url",
        "http://127.0.0.1:1",
    ]
    ended = command("verify", claims, *given)
    assert ended.code == 1
    assert said in ended.line()
    assert str(claims) in ended.line()


# --- servers -------------------------------------------------------------------------------------------------

FAULTS = {
    "500": "server_error",
    "503": "overloaded",
    "hang": "timeout",
    "drop": "unreachable",
    "cut": "unreachable",
    "truncated": "malformed",
    "empty": "malformed",
    "text": "malformed",
    "wrong": "malformed",
}
ATTEMPTS = dict.fromkeys(FAULTS, 5) | {"hang": 2}
"""How often one call is sent; a time limit that was run into costs most, and is tried least."""


class Met(NamedTuple):
    """What became of a run against servers that fail."""

    folder: Path
    records: dict[str, CaseRecord]
    servers: dict[str, StubThread]
    down: Ended


class Silent(AbstractContextManager[Any]):
    """Shows no progress."""

    def __init__(self, judges: Mapping[str, Judge], n_reports: int) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def one_done(self) -> None: ...


@pytest.fixture(scope="module")
def met(tmp_path_factory: pytest.TempPathFactory, snapshot: Path) -> Iterator[Met]:
    """One run for each fault and one without a server, side by side: they spend their time waiting to try again.

    Each server misbehaves for as long as one call is tried, and then answers.
    """
    folder = tmp_path_factory.mktemp("faults")
    (folder / "mill.md").write_text(REPORT, encoding="utf-8")
    (folder / "impatient").mkdir()
    preset, impatient = write_preset(folder), write_preset(folder / "impatient", timeout=3.0)

    async def one(kind: str, server: StubThread) -> CaseRecord:
        store = RunStore(folder / kind)
        # The guard is one for the whole process, and these runs overlap.
        job = Job(
            load_reports([folder / "mill.md"]),
            Snapshot.open(snapshot),
            [JudgeSpec(load_preset(impatient if kind == "hang" else preset), (server.url,))],
            settled(RunConfig(settings={"deer": {"parts": ["verification"]}})),
            store,
            store.ledger,
            offline=False,
            # With patience, a pause that a server asks for is no attempt.
            persistence=PERSISTENT._replace(wait_seconds=0.0) if kind == "503" else PERSISTENT,
        )
        [record] = await run_job(job, Silent)
        return record

    async def all_of_them(servers: dict[str, StubThread]) -> list[CaseRecord]:
        return await asyncio.gather(*(one(kind, server) for kind, server in servers.items()))

    with ExitStack() as stack:
        servers = {
            kind: stack.enter_context(
                StubThread(StubPlan(answer=answer, faults=(Fault(kind),) * ATTEMPTS[kind]))
            )
            for kind in FAULTS
        }
        given = ["run", "mill.md", "--snapshot", snapshot, "--judge", preset, "--out", "down"]
        given += ["--set", "deer.parts=[verification]"]
        process = start(*given, "--base-url", "http://127.0.0.1:9", cwd=folder)
        found = asyncio.run(all_of_them(servers))
        yield Met(folder, dict(zip(FAULTS, found, strict=True)), servers, finish(process))


@pytest.mark.parametrize(("kind", "failure"), FAULTS.items())
def test_a_server_that_fails_is_a_failure_of_its_kind(met: Met, kind: str, failure: str) -> None:
    record, url = met.records[kind], met.servers[kind].url
    assert (record.status, record.n_sentences_failed, record.n_verdicts_failed) == ("done", 2, 0)
    assert len(met.servers[kind].chats) == ATTEMPTS[kind]
    claims = json.loads((met.folder / kind / "claims.jsonl").read_text())
    found = [entry["failure"] for entry in claims["extraction_failures"]]
    assert {entry["kind"] for entry in found} == {failure}
    assert all(url in entry["detail"] for entry in found)


def test_a_server_that_is_down_is_one_line(met: Met) -> None:
    assert met.down.code == 1
    assert met.down.line().startswith("local-judge: nothing answers at http://127.0.0.1:9/v1; start")
    assert not (met.folder / "down/manifest.json").exists()


@pytest.mark.parametrize("kind", ["500", "empty"])
def test_the_same_command_asks_again_for_what_failed(
    met: Met, kind: str, command: Command, snapshot: Path
) -> None:
    server, folder = met.servers[kind], met.folder
    given = ["--snapshot", snapshot, "--judge", folder / "stub.yaml", "--base-url", server.url]
    given += ["--set", "deer.parts=[verification]"]
    ended = command("run", folder / "mill.md", *given, "--out", folder / kind, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert [record["n_sentences_failed"] for record in records(ended)] == [0]
    assert len(server.chats) == ATTEMPTS[kind] + 5


@pytest.mark.parametrize(
    ("content", "kind"),
    [("I would rather not.", "invalid_reply"), ("", "invalid_reply"), ('{"9": 1}', "incomplete")],
)
def test_a_model_that_answers_nonsense_is_a_typed_failure(
    run: Run, report: Path, tmp_path: Path, content: str, kind: str
) -> None:
    with StubThread(StubPlan(content=content)) as server:
        ended = run(report, base_url=server.url)
        # Both sentences together twice, then each alone.
        assert len(server.chats) == 4
    assert ended.code == 3
    assert re.match(r"Missing: 2 of .* answers \(", ended.line())
    claims = tmp_path / "run/claims.jsonl"
    failures = json.loads(claims.read_text())["extraction_failures"]
    assert {failure["failure"]["kind"] for failure in failures} == {kind}


def test_a_server_of_another_model_is_one_line(run: Run, report: Path) -> None:
    with StubThread(StubPlan(model="other")) as server:
        ended = run(report, base_url=server.url)
    assert ended.code == 1
    assert ended.line().endswith("does not serve 'stub'; it serves other")


def test_a_page_that_was_not_rated_is_a_missing_answer(run: Run, report: Path, tmp_path: Path) -> None:
    with StubThread(StubPlan(answer=answer, top_logprobs=())) as server:
        ended = run(report, base_url=server.url)
        assert ended.code == 3
        assert re.match(r"Missing: 2 of .* answers\. Repeat", ended.line())
        assert [record["n_pages_unrated"] for record in records(ended)] == [2]
        config = tmp_path / "config.yaml"
        config.write_text("claims: {reliability: false}")
        assert run(report, config, base_url=server.url, out=tmp_path / "other").code == 0


def test_a_mistake_cannot_write_on_the_terminal(command: Command, tmp_path: Path) -> None:
    """One line, whatever the name that it quotes holds."""
    ended = command("text", "check", f"{tmp_path}/\x1b[31mred\u202e\nsecond.md")
    assert ended.code == 1
    assert " [31mred  second.md: no such file" in ended.line()


def test_missing_verdicts_are_told_and_kept_apart(
    command: Command, preset: Path, snapshot: Path, tmp_path: Path
) -> None:
    claims = tmp_path / "claims.jsonl"
    claims.write_text('{"claim": "A.", "url": "https://heat.example/fernholt/renewal"}\n')
    with StubThread(StubPlan(content="no JSON")) as server:
        given = ["--snapshot", snapshot, "--judge", preset, "--base-url", server.url]
        ended = command("verify", claims, *given, "--ledger", tmp_path / "l.sqlite", "--json")
    assert ended.code == 3
    row = json.loads(ended.out)
    assert ended.line().startswith("Missing: 1 of 1 verdicts (the reply does not have the form asked for). ")
    assert ended.line().endswith(": use another judge.")
    assert (row["label"], row["failure"]["kind"]) == (None, "invalid_reply")
    # A server that cuts prompts: nothing is stored, so that the same command asks again once it does not.
    answer = '{"1": {"quote": "", "rationale": "", "label": "supported"}}'
    for reads, code in ((100, 3), (None, 0)):
        with StubThread(StubPlan(content=answer, vllm=False, reads=reads)) as server:
            given = ["--snapshot", snapshot, "--judge", preset, "--base-url", server.url]
            ended = command("verify", claims, *given, "--ledger", tmp_path / "cut.sqlite", "--json")
        assert ended.code == code
        if reads:
            assert json.loads(ended.out)["failure"]["kind"] == "prompt_cut"
            assert "Raise" in ended.line() and "vLLM: --max-model-len" in ended.line()
            assert ended.line().endswith("repeat the command.")
    with StubThread(StubPlan(content="", reasoning=answer, vllm=False)) as server:
        given = ["--snapshot", snapshot, "--judge", preset, "--base-url", server.url]
        ended = command("verify", claims, *given, "--ledger", tmp_path / "parser.sqlite", "--json")
    failure = json.loads(ended.out)["failure"]
    assert (failure["kind"], failure["attempts"]) == ("in_reasoning", 1)  # a second call would be the same
    assert "--reasoning-parser" in ended.line()
    with StubThread(
        StubPlan(content='{"1": {"quote": "", "label": "supported"}}', top_logprobs=())
    ) as server:
        given = ["--snapshot", snapshot, "--judge", preset, "--base-url", server.url, "--terse"]
        ended = command("verify", claims, *given, "--ledger", tmp_path / "m.sqlite", "--json")
    assert ended.code == 3
    assert ended.line() == (f"Missing: 0 of 1 verdicts and the reliability of 1 page. {ASKS_AGAIN}")
    assert [json.loads(ended.out)[key] for key in ("label", "reliable")] == ["supported", None]


def test_a_missing_ranker_is_noticed_before_the_first_call(
    command: Command,
    tmp_path: Path,
    snapshot: Path,
    report: Path,
    preset: Path,
    server: StubThread,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, MODEL_PACKAGE, None)  # as without the extra `dense`
    file = tmp_path / "eval.yaml"
    keys = {
        "reports": [str(report)],
        "snapshot": str(snapshot),
        "judges": [str(preset)],
        "protocols": ["fact"],
    }
    file.write_text(
        json.dumps({**keys, "claims": {"ranker": "dense"}, "out": str(tmp_path / "run")}), encoding="utf-8"
    )
    line = command("run", file, "--base-url", server.url).line()
    assert re.search("dense search needs .*package", line)
    assert server.chats == []
