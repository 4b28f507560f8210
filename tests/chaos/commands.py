"""The long commands, on tiny inputs, and what of their work must be the same after any disturbance."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from indexes.verify import verify
from local_judge.demo.outcome import sample_folder
from tests.stub_server import StubPlan

from ..lab.qualification.broken import served
from ..stub_thread import answer, leaning, write_preset

CONCURRENCY = 4
"""Requests of one process under way."""

TIME_LIMIT = 3.0
"""Seconds that a judge has for one reply."""

REPORT = """# The mill

The retrofit connected 1,240 dwellings [1]. It was approved by eleven votes to four [2]. It cost a lot [2].

The works ended in October 2023 [1]. The lake supplies most of the heat. The pipes lose less than they did.

## References

[1] The renewal. https://heat.example/fernholt/renewal
[2] Minutes. https://council.example/minutes/2021-03-18
"""

QUALIFY = """verification: {claims: 8, grouped: false, folds: 2}
prompt_injection: {attacks: 1, pages: 1}
draws: 0
"""

NO_RESULT = re.compile(r"(?:^|/)(?:\.|lock$|ledger\.sqlite)|\.(?:lock|journal|partial)$|(?:^|/)journal")
"""Files of a run or sweep that are no results: replies, locks, journals and what is half written."""

BELIEVER = StubPlan(answer=answer, alternatives=leaning)

SWEEP = """reports: [reports]
tasks: tasks.jsonl
snapshot: snapshot
claims: {batch_sentences: 2, claims_per_call: 1}
protocols: [deer, fact]
settings: {deer: {parts: [verification]}}
sweep:
  judges: [stub.yaml]
  settings:
    default:
    scored: {claims: {method: scored}}
"""

Results = dict[str, bytes]


@dataclass(frozen=True)
class Command:
    """One command, run in a working directory of its own with relative paths."""

    name: str
    arguments: tuple[str, ...]
    results: Callable[[Path], Results]
    """Of a working directory; empty where there are none."""
    asks: bool = False
    """Asks the model server."""
    continues: bool = True
    """Whether the same command, killed, can be given again; else it may also refuse."""
    whole: bool = False
    """Whether its result is one file, which is complete once it is there."""
    starts_with: tuple[str, str] | None = None
    """The command of whose finished work it needs a copy, and the folder that is copied."""
    plan: StubPlan = field(default=BELIEVER)

    def prepare(self, cwd: Path, finished: Path | None) -> None:
        """Put what the command starts from into a new working directory."""
        cwd.mkdir(parents=True)
        if finished is not None and self.starts_with is not None:
            shutil.copytree(finished / self.starts_with[1], cwd / self.starts_with[1])


def write_inputs(folder: Path, urls: str) -> None:
    """The inputs of all commands."""
    reports = folder / "reports"
    reports.mkdir(parents=True)
    for name, text in (("a", REPORT), ("b", REPORT.replace("1,240", "1,250").replace("lake", "sea"))):
        (reports / f"{name}.md").write_text(text, encoding="utf-8")
    tasks = "".join(f'{{"id": "{name}", "task": "What is {name}?"}}\n' for name in "ab")
    (folder / "tasks.jsonl").write_text(tasks, encoding="utf-8")
    (folder / "config.yaml").write_text(
        "claims: {batch_sentences: 2, claims_per_call: 1}\n", encoding="utf-8"
    )
    (folder / "qualify.yaml").write_text(QUALIFY, encoding="utf-8")
    (folder / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    (folder / "urls.txt").write_text(urls, encoding="utf-8")
    (folder / "queries.txt").write_text(
        "".join(f"when does ice {n} form\n" for n in range(12)), encoding="utf-8"
    )
    (folder / "others.jsonl").write_text(
        '{"url": "https://other.example/1", "text": "The sea was calm. It stayed so for a year."}\n',
        encoding="utf-8",
    )
    import_pages(sample_folder() / "pages", folder / "snapshot", workers=0)
    import_pages(folder, folder / "others", pages=folder / "others.jsonl", workers=0)
    write_preset(folder, concurrency=CONCURRENCY, timeout=TIME_LIMIT)


RUN = """run {inputs}/reports --tasks {inputs}/tasks.jsonl --snapshot {inputs}/snapshot --judge {inputs}/stub.yaml
    --base-url {url} {inputs}/config.yaml --out run"""
WAIT = "--wait-for-server 1"
"""Minutes of the longest outage or pause."""
SCORED = "--method scored --protocol deer --set deer.parts=[verification]"
RACE = "--protocol race --set race.mode=pointwise --set race.criteria=static --set race.scoring=expected"
QUALIFYING = """judge qualify {inputs}/stub.yaml --base-url {url} --quick --config {inputs}/qualify.yaml
    --parts verification,prompt_injection --out out"""
BUNDLE = "bundle run --out run.ljz"
SEARCH = """snapshot search-web pages --queries {inputs}/queries.txt --searxng http://{host} --per-query 2
    --allow-host {host} --delay 0"""
FETCH = "snapshot fetch pages --urls {inputs}/urls.txt --allow-host {host} --delay 0"


def commands(inputs: Path, url: str, host: str) -> dict[str, Command]:
    """All commands by name."""

    def words(text: str) -> tuple[str, ...]:
        places = {"inputs": inputs, "url": url, "host": host, "sample": sample_folder()}
        return tuple(word.format_map(places) for word in text.split())

    run, snapshot = tree_of("run"), tree_of("snapshot")
    sweep = "sweep {inputs}/sweep.yaml --base-url {url} --out sweep"
    elsewhere = f"{RUN} {SCORED} --ledger ../ledger.sqlite {WAIT}"
    made, examined = ("import", "snapshot"), ("run", "run")
    listed = [
        Command("import", words("snapshot import {sample}/pages snapshot"), snapshot),
        Command("run", words(f"{RUN} --protocol deer --protocol fact {WAIT}"), run, asks=True),
        Command("run scored", words(f"{RUN} {SCORED} {RACE} {WAIT}"), run, asks=True),
        Command("run with a ledger elsewhere", words(elsewhere), run, asks=True),
        Command("sweep", words(f"{sweep} {WAIT}"), tree_of("sweep"), asks=True),
        Command("first shard", words(f"{sweep} {WAIT} --shard 1/2"), tree_of("sweep"), asks=True),
        Command(
            "second shard",
            words(f"{sweep} {WAIT} --shard 2/2"),
            tree_of("sweep"),
            asks=True,
            starts_with=("first shard", "sweep"),
        ),
        Command(
            "sweep merge",
            words("sweep {inputs}/sweep.yaml --merge --out sweep"),
            tree_of("sweep"),
            starts_with=("second shard", "sweep"),
        ),
        Command("qualify", words(QUALIFYING), qualified, asks=True, plan=served("truthful")),
        Command("fetch", words(FETCH), fetched),
        Command("search-web", words(SEARCH), fetched),
        Command(
            "bundle", words(BUNDLE), tree_of("run.ljz"), continues=False, whole=True, starts_with=examined
        ),
        Command(
            "merge", words("snapshot import {inputs}/snapshot {inputs}/others merged"), tree_of("merged")
        ),
        Command("index", words("snapshot index snapshot --k1 1.2"), snapshot, starts_with=made),
        Command(
            "wacz",
            words("snapshot export {inputs}/snapshot --wacz pages.wacz"),
            tree_of("pages.wacz"),
            continues=False,
            whole=True,
        ),
        Command("rescore", words("rescore run"), run, starts_with=examined),
        Command(
            "export csv",
            words("export run out --format csv"),
            tree_of("out"),
            continues=False,
            starts_with=examined,
        ),
        Command(
            "export deer",
            words("export run out --format deer"),
            tree_of("out"),
            continues=False,
            starts_with=examined,
        ),
    ]
    return {command.name: command for command in listed}


def tree_of(name: str) -> Callable[[Path], Results]:
    """The bytes of a file or of every result file of a folder, without the working directory, which run files hold."""

    def read(cwd: Path) -> Results:
        top = cwd / name
        paths = [top] if top.is_file() else sorted(top.rglob("*"))
        found = {str(path.relative_to(cwd)): path for path in paths if path.is_file()}
        return {
            place: path.read_bytes().replace(os.fsencode(cwd), b"cwd")
            for place, path in found.items()
            if NO_RESULT.search(place.partition("/")[2] or place) is None
        }

    return read


def qualified(cwd: Path) -> Results:
    """The files of a qualification without the seconds that calls took, which are measured."""
    found = tree_of("out")(cwd)
    kept = {
        name: content for name, content in found.items() if not name.startswith(("out/page.", "out/work/"))
    }
    return {name: _MEASURED.sub(b"", content) for name, content in kept.items()}


_MEASURED = re.compile(rb'"seconds": *[^,}\n]*')


def fetched(cwd: Path) -> Results:
    """Each page of a fetched snapshot without the time of its fetching, and whether the snapshot is whole."""
    if not (cwd / "pages").exists():
        return {}
    found = {"verified": str(verify(cwd / "pages").ok).encode()}
    for record in Snapshot.open(cwd / "pages").records():
        facts = (
            record.status,
            record.reason,
            record.http_status,
            record.title,
            record.raw_digest,
            record.text_digest,
            [(found_by.query, found_by.rank) for found_by in record.found_by],
        )
        found[record.url] = repr(facts).encode()
    return found
