"""Bundles and audits: a run is verified without its judge, and a single changed byte is found."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from indexes.zips import MOST_BYTES
from local_judge.api import evaluate
from local_judge.runs.planning.config import laid_over
from local_judge.runs.proof.bundle import INDEX, MOST_READ
from local_judge.runs.storage.items import Index, digest_of, index_of
from local_judge.runs.storage.seal import content_digest, sealed_as, unsealed
from local_judge.runs.storage.store import MANIFEST, RunStore, rendered
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer, leaning, write_preset
from .conftest import REPORT, Command, Ended

RUN = ("--protocol", "deer", "--protocol", "fact", "--set", "deer.parts=[verification]")


@pytest.fixture
def run(
    command: Command, report: Path, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> Path:
    """A run of one report."""
    where = ("--judge", preset, "--base-url", server.url, "--snapshot", snapshot, "--out", tmp_path / "run")
    assert command("run", report, *where, *RUN).code == 0
    return tmp_path / "run"


def checks(ended: Ended) -> dict[str, dict[str, Any]]:
    assert ended.out, ended.err
    return {check["name"]: check for check in json.loads(ended.out)["checks"]}


def statuses(ended: Ended) -> dict[str, str]:
    return {name: check["status"] for name, check in checks(ended).items()}


ALL_OK = dict.fromkeys(("digests", "inputs", "scores", "findings", "quotations"), "ok")


def packed(command: Command, run: Path, *options: str) -> Path:
    out = run.with_name("run.ljz")
    ended = command("bundle", run, "-o", out, *options)
    assert ended.code == 0, ended.err
    return out


def test_a_bundle_is_verified_where_nothing_else_is(
    command: Command, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = packed(command, run)
    alone = tmp_path / "elsewhere" / "run.ljz"
    alone.parent.mkdir()
    bundle.rename(alone)
    shutil.rmtree(run)
    (tmp_path / "mill.md").unlink()
    ended = command("audit", alone, "--json")
    assert ended.code == 0, ended.out
    assert statuses(ended) == ALL_OK
    assert checks(ended)["quotations"]["n"] >= 2
    assert list(alone.parent.iterdir()) == [alone]


def test_equal_runs_have_equal_bundles(command: Command, run: Path) -> None:
    first = packed(command, run).read_bytes()
    run.with_name("run.ljz").unlink()
    assert packed(command, run).read_bytes() == first
    assert command("bundle", run, "-o", run.with_name("run.ljz")).line().endswith("choose another file")


def test_each_of_20_changed_bytes_in_a_bundle_is_found(command: Command, run: Path) -> None:
    bundle = packed(command, run)
    whole = bundle.read_bytes()
    rng = random.Random(7)
    named = 0
    for place in sorted(rng.sample(range(len(whole)), 20)):
        changed = bytearray(whole)
        changed[place] = (changed[place] + rng.randrange(1, 256)) % 256
        bundle.write_bytes(changed)
        ended = command("audit", bundle, "--json")
        assert ended.code == 1, place
        named += ended.out != "" and len(checks(ended)["digests"]["problems"]) > 1
    assert named > 10  # besides the whole file's digest, most are pinned to one file


def test_each_of_20_changed_bytes_in_a_run_is_found(command: Command, run: Path) -> None:
    files = [path for path in sorted(run.rglob("*")) if path.is_file() and path.suffix in (".json", ".jsonl")]
    places = [(path, place) for path in files for place in range(path.stat().st_size)]
    rng = random.Random(11)
    for path, place in rng.sample(places, 20):
        before = path.read_bytes()
        changed = bytearray(before)
        changed[place] = (changed[place] + rng.randrange(1, 256)) % 256
        path.write_bytes(changed)
        ended = command("audit", run)
        path.write_bytes(before)
        name = path.relative_to(run).as_posix()
        assert ended.code == 1 and name in ended.out + ended.err, (name, place)
    assert command("audit", run, "--json").code == 0


def test_a_blank_in_the_manifest_counts(command: Command, run: Path) -> None:
    """The seal covers the manifest's values, not its white space."""
    path = run / MANIFEST
    path.write_bytes(path.read_bytes().replace(b"\n", b" ", 1))
    ended = command("audit", run, "--json")
    assert statuses(ended) == ALL_OK | {"digests": "failed"}


def resealed(run: Path, name: str, change: Mapping[str, str]) -> None:
    """Change words of a file of a run, and seal the run again, as someone who cheats would."""
    path = run / name
    text = path.read_text(encoding="utf-8")
    for old, new in change.items():
        assert old in text, (name, old)
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    manifest = unsealed(json.loads((run / MANIFEST).read_bytes()))
    files = json.loads((run / MANIFEST).read_bytes())["seal"]["files"] | {name: digest_of(path.read_bytes())}
    if index_of(name) in files:
        index = Index.of(path).content
        (run / index_of(name)).write_bytes(index)
        files[index_of(name)] = digest_of(index)
    RunStore(run).write_json(MANIFEST, sealed_as(manifest, files))
    assert content_digest(manifest)


def repacked(bundle: Path, change: Mapping[str, bytes]) -> None:
    """Write a bundle again with files changed or added, and with new digests, as someone who cheats would."""
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()} | dict(change)
    index = json.loads(files.pop(INDEX))
    index["files"] = {name: digest_of(content) for name, content in files.items()}
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {INDEX: json.dumps(index).encode(), **files}.items():
            archive.writestr(name, content)
        archive.comment = b"sha256:" + 64 * b"0"
    whole = bundle.read_bytes()[:-71]
    bundle.write_bytes(whole + b"sha256:" + digest_of(whole).encode())


@pytest.mark.parametrize("name", ["notes.jsonl", "run/notes.txt", "pages/notes.txt"])
def test_a_file_that_belongs_to_no_part_of_a_bundle_is_named(command: Command, run: Path, name: str) -> None:
    bundle = packed(command, run)
    repacked(bundle, {name: b"{}"})
    ended = command("audit", bundle, "--json")
    assert ended.code == 1
    assert f"{name}: belongs to no part of a bundle" in checks(ended)["digests"]["problems"]


def test_another_digest_of_the_snapshot_is_named(command: Command, run: Path) -> None:
    bundle = packed(command, run)
    with zipfile.ZipFile(bundle) as archive:
        manifest = json.loads(archive.read(f"run/{MANIFEST}"))
    files, right, wrong = manifest["seal"]["files"], manifest["snapshot"], "0" * 64
    changed = sealed_as(unsealed(manifest) | {"snapshot": wrong}, files)
    repacked(bundle, {f"run/{MANIFEST}": rendered(changed).encode()})
    ended = command("audit", bundle, "--json")
    assert ended.code == 1
    assert checks(ended)["inputs"]["problems"] == [
        f"{MANIFEST}: other snapshot: {wrong} in the run, {right} here"
    ]


def test_a_bundle_without_a_reply_that_its_run_used_is_wrong(command: Command, run: Path) -> None:
    bundle = packed(command, run)
    with zipfile.ZipFile(bundle) as archive:
        calls = archive.read("calls.jsonl").splitlines(keepends=True)
    repacked(bundle, {"calls.jsonl": b"".join(calls[1:])})
    ended = command("audit", bundle, "--json")
    assert statuses(ended) == ALL_OK | {"findings": "failed"}
    assert checks(ended)["findings"]["problems"] == ["calls.jsonl: replies for 1 report are missing"]


def one(run: Path, pattern: str) -> str:
    (path,) = run.glob(pattern)
    return path.relative_to(run).as_posix()


def test_a_score_that_does_not_follow_from_the_findings_is_named(command: Command, run: Path) -> None:
    resealed(run, "scores/fact.jsonl", {'"value":1.0': '"value":0.5', '"low":1.0': '"low":0.5'})
    ended = command("audit", run, "--json")
    assert ended.code == 1
    assert statuses(ended) == ALL_OK | {"scores": "failed"}
    assert checks(ended)["scores"]["problems"] == ["scores/fact.jsonl: does not follow from the findings"]


def test_a_verdict_that_does_not_follow_from_the_replies_is_named(command: Command, run: Path) -> None:
    name = "claims.jsonl"
    resealed(run, name, {'"label":"supported"': '"label":"partial"'})
    ended = command("audit", run, "--json")
    assert statuses(ended) == ALL_OK | {"findings": "failed"}
    (problem,) = checks(ended)["findings"]["problems"]
    assert problem.startswith(f"{name} (of 'mill'): does not follow from the replies (verdicts.")


def test_an_index_that_does_not_follow_from_its_file_is_named(command: Command, run: Path) -> None:
    index = (run / "claims.index").read_text()
    resealed(run, "claims.index", {index[-10:]: "0" * 9 + "\n"})
    ended = command("audit", run, "--json")
    assert statuses(ended)["digests"] == "failed"
    assert "claims.index: does not follow from claims.jsonl" in checks(ended)["digests"]["problems"]


def test_a_quotation_that_is_not_in_its_page_is_named(command: Command, run: Path) -> None:
    name = "claims.jsonl"
    resealed(run, name, {'"start":': '"start":1'})
    ended = command("audit", run, "--json")
    assert statuses(ended)["quotations"] == "failed"
    assert "is not at its place in https://" in checks(ended)["quotations"]["problems"][0]


def test_inputs_that_are_not_the_run_s_are_named(command: Command, run: Path, report: Path) -> None:
    report.write_text(REPORT.replace("1,240", "1,340"), encoding="utf-8")
    ended = command("audit", run, "--json")
    assert statuses(ended)["inputs"] == "failed" and "other reports" in checks(ended)["inputs"]["problems"][0]
    assert "other reports" in command("bundle", run, "-o", run.with_name("other.ljz")).line()
    report.unlink()
    ended = command("audit", run, "--json")
    assert (ended.code, json.loads(ended.out)["status"]) == (4, "not checked")
    assert command("audit", run, "--strict").code == 1
    left = dict.fromkeys(("inputs", "findings", "quotations"), "not checked")
    assert statuses(ended) == ALL_OK | left
    assert "--reports" in checks(ended)["inputs"]["note"]
    assert "--reports" in command("bundle", run, "-o", run.with_name("other.ljz")).line()


def test_another_snapshot_at_the_recorded_place_is_not_compared(
    command: Command, run: Path, snapshot: Path, tmp_path: Path
) -> None:
    pages, other = tmp_path / "pages.jsonl", tmp_path / "other"
    pages.write_text('{"url": "https://a.example/", "text": "Another page."}\n', encoding="utf-8")
    assert command("snapshot", "import", pages, other).code == 0
    sealed = json.loads((run / MANIFEST).read_bytes())
    manifest = laid_over(unsealed(sealed), {"run": {"snapshot": str(other)}})
    RunStore(run).write_json(MANIFEST, sealed_as(manifest, sealed["seal"]["files"]))
    ended = command("audit", run, "--json")
    left = dict.fromkeys(("inputs", "findings", "quotations"), "not checked")
    assert (ended.code, statuses(ended)) == (4, ALL_OK | left)
    assert f"{other} holds another snapshot" in checks(ended)["inputs"]["note"]
    assert "holds another snapshot" in command("bundle", run, "-o", tmp_path / "new.ljz").line()
    assert statuses(command("audit", run, "--snapshot", snapshot, "--json")) == ALL_OK
    assert statuses(command("audit", run, "--snapshot", other, "--json"))["inputs"] == "failed"


@pytest.mark.parametrize(
    "change", [{"python": "2.7"}, {"context_tokens": {"stub": 10**6}}, {"code": "0" * 64}]
)
def test_what_a_manifest_only_records_is_listed(command: Command, run: Path, change: dict[str, Any]) -> None:
    sealed = json.loads((run / MANIFEST).read_bytes())
    manifest = laid_over(unsealed(sealed), change)
    RunStore(run).write_json(MANIFEST, sealed_as(manifest, sealed["seal"]["files"]))
    (key,) = change
    assert key in json.loads(command("audit", run, "--json").out)["recorded"]
    shown = command("audit", run).out.splitlines()[-1]
    assert shown.startswith("recorded, not checked: ") and key in shown


def test_a_run_file_that_changes_later_changes_nothing(
    command: Command, report: Path, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    """Settings come from the manifest: neither the run file nor the preset is opened again."""
    file, out = tmp_path / "eval.yaml", tmp_path / "run"
    settings = (
        f"reports: [{report.name}]\njudges: [./{preset.name}]\nsnapshot: {snapshot}\nprotocols: [fact]\n"
    )
    file.write_text(settings, encoding="utf-8")
    assert command("run", file, "--base-url", server.url, "--out", out).code == 0
    file.write_text(
        settings.replace("fact", "race, fact") + "claims: {batch_sentences: 2}\n", encoding="utf-8"
    )
    preset.write_text(preset.read_text(encoding="utf-8") + "context_tokens: 512\n", encoding="utf-8")
    assert statuses(command("audit", out, "--json")) == ALL_OK
    file.unlink()
    preset.unlink()
    assert statuses(command("audit", out, "--json")) == ALL_OK


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        ({"prompts": "0" * 64}, {"inputs", "findings"}),
        ({"protocols": {"fact": {"version": "99"}}}, {"inputs", "findings"}),
        ({"context_tokens": {"stub": 64}}, {"findings"}),
        ({"context_tokens": {"other": 64}}, {"inputs"}),
        ({"local_judge": "9.9.9"}, {"inputs"}),
        ({"run": {"date": "2020-01-01"}}, {"inputs"}),  # belongs to `config`
        ({"run": {"judges": ["one", "two"]}}, {"inputs"}),
        ({"verified_by": "me"}, {"inputs"}),
        ({"code": "0" * 64, "prompts": "0" * 64}, set[str]()),
    ],
)
def test_a_manifest_that_is_forged_and_sealed_again_is_not_taken(
    command: Command, run: Path, change: dict[str, Any], failed: set[str]
) -> None:
    """What contradicts the version that the manifest names is wrong; what another version made is not checked."""
    bundle = packed(command, run)
    sealed = json.loads((run / MANIFEST).read_bytes())
    manifest = laid_over(unsealed(sealed), change)
    store = RunStore(run)
    store.write_json(MANIFEST, sealed_as(manifest, sealed["seal"]["files"]))
    repacked(bundle, {f"run/{MANIFEST}": (run / MANIFEST).read_bytes()})
    for where in (run, bundle):
        ended = command("audit", where, "--json")
        found = {name for name, status in statuses(ended).items() if status == "failed"}
        assert found == failed, (where, checks(ended))
        assert ended.code == (1 if failed else 4)


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        ({"judges": [{"calibrations": [{"id": "0" * 64}]}]}, {"findings"}),
        ({"seal": {"problems": {"mill": []}}}, {"digests"}),
        ({"run": {"select": [{"systems": ["other"]}]}}, {"inputs"}),
        ({"imported": {"format": "deer", "sha256": "0"}}, {"inputs"}),
    ],
)
def test_a_forged_manifest_of_a_bundle_is_not_taken(
    command: Command, run: Path, change: dict[str, Any], failed: set[str]
) -> None:
    """Calibrations follow from the ledger, unread reports from `cases.jsonl`; no other reports were selected."""
    bundle = packed(command, run)
    sealed = json.loads((run / MANIFEST).read_bytes())
    judge = {**sealed["judges"][0], **change.get("judges", [{}])[0]}
    manifest = laid_over(unsealed(sealed), {key: change[key] for key in change.keys() - {"judges", "seal"}})
    manifest["judges"] = [judge]
    made = sealed_as(manifest, sealed["seal"]["files"])
    made["seal"] |= change.get("seal", {})
    repacked(bundle, {f"run/{MANIFEST}": rendered(made).encode()})
    ended = command("audit", bundle, "--json")
    assert {name for name, status in statuses(ended).items() if status == "failed"} == failed, checks(ended)
    assert ended.code == 1


@pytest.mark.parametrize(
    "change", [{"context_tokens": None}, {"protocols": {"fact": None}}, {"extractor": 5}]
)
def test_a_manifest_of_another_shape_is_refused_in_one_line(
    command: Command, run: Path, change: dict[str, Any]
) -> None:
    sealed = json.loads((run / MANIFEST).read_bytes())
    RunStore(run).write_json(MANIFEST, sealed_as({**unsealed(sealed), **change}, sealed["seal"]["files"]))
    assert "damaged" in command("audit", run).line()


def test_a_bundle_that_is_marked_as_public_and_holds_texts_is_named(command: Command, run: Path) -> None:
    bundle = packed(command, run)
    with zipfile.ZipFile(bundle) as opened:
        index = json.loads(opened.read(INDEX))
    repacked(bundle, {INDEX: json.dumps({**index, "public": True}).encode()})
    ended = command("audit", bundle, "--json")
    assert ended.code == 1
    assert "public" in checks(ended)["digests"]["problems"][0]


def test_a_ledger_without_a_reply_is_named(command: Command, run: Path) -> None:
    with closing(sqlite3.connect(run / "ledger.sqlite")) as ledger:
        ledger.execute("DELETE FROM replies WHERE rowid = (SELECT min(rowid) FROM replies)")
        ledger.commit()
    ended = command("audit", run, "--json")
    assert statuses(ended) == ALL_OK | {"findings": "not checked"}
    assert checks(ended)["findings"]["note"].startswith("1 of 1 report not checked: the ledger lacks replies")
    assert "lacks replies" in command("bundle", run, "-o", run.with_name("run.ljz")).line()


def test_a_moved_input_is_named_with_an_option(
    command: Command, run: Path, report: Path, snapshot: Path
) -> None:
    moved = report.rename(report.with_name("moved.md"))
    assert statuses(command("audit", run, "--reports", moved, "--json"))["inputs"] == "failed"  # another id
    (run.with_name("there")).mkdir()
    moved.rename(run.with_name("there") / "mill.md")
    ended = command("audit", run, "--reports", run.with_name("there"), "--json")
    assert statuses(ended) == ALL_OK


def test_a_run_of_the_python_interface_is_packed_with_its_reports(
    command: Command, report: Path, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    evaluate(
        report,
        judge=preset,
        base_url=server.url,
        snapshot=snapshot,
        protocols="fact",
        out=run,
        progress=False,
    )
    bundle = packed(command, run)
    assert statuses(command("audit", bundle, "--json")) == ALL_OK


def test_the_run_of_the_demo_is_packed(command: Command, preset: Path, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    with StubThread(StubPlan(answer=answer, alternatives=leaning)) as server:
        ended = command("demo", "--judge", preset, "--base-url", server.url, "--out", out)
    assert ended.code == 0, ended.err
    assert command("bundle", out / "run", "-o", tmp_path / "demo.ljz").code == 0
    assert statuses(command("audit", tmp_path / "demo.ljz", "--json")) == ALL_OK


def test_a_report_that_repeats_itself_is_no_bomb(
    command: Command, report: Path, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    report.write_text(REPORT + "\n" + 1_200_000 * "=" + "\n", encoding="utf-8")
    where = ("--judge", preset, "--base-url", server.url, "--snapshot", snapshot, "--out", tmp_path / "run")
    command("run", report, *where, "--protocol", "fact")
    bundle = packed(command, tmp_path / "run")
    assert statuses(command("audit", bundle, "--json")) == ALL_OK


def test_a_run_that_looked_up_no_page_is_verified(
    command: Command, report: Path, snapshot: Path, preset: Path, server: StubThread, tmp_path: Path
) -> None:
    report.write_text("# Heat\n\nThe works took two years. They cost 30 million crowns.\n", encoding="utf-8")
    where = ("--judge", preset, "--base-url", server.url, "--snapshot", snapshot, "--out", tmp_path / "run")
    command("run", report, *where, *RUN)
    assert statuses(command("audit", packed(command, tmp_path / "run"), "--json")) == ALL_OK


def test_a_run_without_a_finished_report_has_a_page_and_no_bundle(command: Command, run: Path) -> None:
    manifest = json.loads((run / MANIFEST).read_bytes())
    (run / MANIFEST).write_text(json.dumps(unsealed(manifest)), encoding="utf-8")
    (run / "cases.jsonl").unlink()
    shutil.rmtree(run / "scores")
    ended = command("report", run, "-o", run.with_name("page.html"))
    assert ended.code == 0, ended.err
    assert "not finished" in command("bundle", run, "-o", run.with_name("run.ljz")).err


def test_a_public_bundle_has_no_page_and_no_prompt(command: Command, run: Path, snapshot: Path) -> None:
    whole, public = packed(command, run), run.with_name("public.ljz")
    assert command("bundle", run, "--public", "-o", public).code == 0
    sentence = "The building stands"
    assert sentence_of(whole) > sentence_of(public) == 0, sentence
    ended = command("audit", public, "--json")
    assert ended.code == 4, ended.out
    assert statuses(ended) == ALL_OK | dict.fromkeys(("findings", "quotations"), "not checked")
    assert "left out" in checks(ended)["findings"]["note"]


def sentence_of(bundle: Path) -> int:
    """Number of bytes of page texts and prompts in a bundle."""
    with zipfile.ZipFile(bundle) as archive:
        names = [name for name in archive.namelist() if name.endswith((".utf8", "texts.jsonl"))]
        return sum(archive.getinfo(name).file_size for name in names)


def test_failures_of_a_server_do_not_count_as_changes(
    command: Command, report: Path, snapshot: Path, tmp_path: Path
) -> None:
    broken = StubPlan(answer=lambda asked: "no json" if "Sentences:" not in str(asked) else answer(asked))
    preset = write_preset(tmp_path)
    with StubThread(broken) as server:
        where = (
            "--judge",
            preset,
            "--base-url",
            server.url,
            "--snapshot",
            snapshot,
            "--out",
            tmp_path / "run",
        )
        assert command("run", report, *where, *RUN).code == 3
    bundle = packed(command, tmp_path / "run")
    assert statuses(command("audit", bundle, "--json")) == ALL_OK


def test_several_judges_and_scored_verdicts_replay(
    command: Command, report: Path, snapshot: Path, tmp_path: Path
) -> None:
    first = write_preset(tmp_path)
    second = first.with_name("other.yaml")
    second.write_text(first.read_text().replace("model:", "sampling: {seed: 7}\nmodel:"))
    with StubThread(StubPlan(answer=answer, alternatives=leaning)) as server:
        where = (
            "--base-url",
            server.url,
            "--snapshot",
            snapshot,
            "--out",
            tmp_path / "run",
            "--method",
            "scored",
        )
        judges = ("--judge", first, "--judge", second)
        assert command("run", report, *judges, *where, *RUN).code == 0
    assert statuses(command("audit", packed(command, tmp_path / "run"), "--json")) == ALL_OK


def test_agents_search_the_whole_snapshot_of_a_bundle(
    command: Command, report: Path, snapshot: Path, tmp_path: Path
) -> None:
    with StubThread(StubPlan(answer=answer, alternatives=leaning)) as server:
        where = ("--judge", write_preset(tmp_path), "--base-url", server.url, "--snapshot", snapshot)
        parts = ("--protocol", "dream", "--set", "dream.parts=[factuality]", "--out", tmp_path / "run")
        ended = command("run", report, *where, *parts)
        assert ended.code in (0, 3), ended.err
    bundle = packed(command, tmp_path / "run")
    assert statuses(command("audit", bundle, "--json")) == ALL_OK
    assert (
        "leave out --public"
        in command("bundle", tmp_path / "run", "--public", "-o", tmp_path / "p.ljz").line()
    )


def hostile(path: Path) -> Iterator[tuple[str, Path]]:
    """Archives that are not unpacked, each with a word of the reason."""

    def archive(
        name: str, *entries: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED
    ) -> Path:
        with zipfile.ZipFile(path / name, "w", method) as file:
            for entry, content in entries:
                if isinstance(entry, zipfile.ZipInfo):
                    entry.compress_type = method
                file.writestr(entry, content)
        return path / name

    for number, name in enumerate(
        ("../evil", "/etc/passwd", "run/../../evil", "run\\evil", "run/.hidden", "run/")
    ):
        yield "not a name", archive(f"name{number}.ljz", (name, b"x"))
    link = zipfile.ZipInfo("run/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    yield "link", archive("link.ljz", (link, b"/etc/passwd"))
    yield "packed more than", archive("bomb.ljz", ("run/zeros", b"\0" * 50_000_000))
    yield "compressed in a way", archive("lzma.ljz", ("run/a", b"x"), method=zipfile.ZIP_LZMA)
    yield "no bundle.json", archive("empty.ljz", ("run/a", b"x"))
    yield "bundle.json is damaged", archive("index.ljz", ("bundle.json", b"{}"))
    with pytest.warns(UserWarning, match="Duplicate name"):
        yield "stands twice", archive("twice.ljz", ("run/a", b"x"), ("run/a", b"y"))
    (path / "text.ljz").write_text("no archive")
    yield "damaged", path / "text.ljz"
    (path / "sparse.ljz").touch()
    os.truncate(path / "sparse.ljz", 200 << 30)
    yield "not read", path / "sparse.ljz"  # not hashed, which takes minutes
    yield "no such file", path / "none.ljz"


def test_hostile_archives_are_refused_in_one_line(command: Command, tmp_path: Path) -> None:
    for reason, path in hostile(tmp_path):
        ended = command("audit", path)
        assert ended.code == 1 and reason in ended.line(), (reason, ended)
    assert not (tmp_path.parent / "evil").exists()


@pytest.mark.parametrize(
    ("name", "size"), [("calls.jsonl", MOST_READ + 1), ("pages/texts.utf8", MOST_BYTES + 1)]
)
def test_an_archive_that_says_it_is_huge_is_not_unpacked(
    command: Command, run: Path, name: str, size: int
) -> None:
    bundle = packed(command, run)
    with zipfile.ZipFile(bundle) as archive:
        entries = archive.infolist()
    huge = bundle.with_name("huge.ljz")
    with zipfile.ZipFile(huge, "w") as archive:
        for entry in entries:
            archive.writestr(entry.filename, b"x")
        archive.getinfo(name).file_size = archive.getinfo(name).compress_size = size
    assert "not unpacked" in command("audit", huge).line()
