"""Exports of results: the same numbers in every format, and hostile text that stays text."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from indexes.making.importing import import_pages
from local_judge.api import Run, evaluate, load
from local_judge.base.errors import RunError, UserError
from local_judge.base.output import Table
from local_judge.demo.outcome import sample_folder
from local_judge.reporting.formats import FORMATS, export_results
from local_judge.reporting.leaderboard import as_html, as_latex, as_markdown
from local_judge.runs.results.tables import COLUMNS
from local_judge.runs.storage.store import RunStore
from tests.stub_server import StubPlan

from ..page.hostile import STRINGS, hostile_run
from ..stub_thread import StubThread, answer, write_preset

parquet: Any = import_module("pyarrow.parquet")

REPORT = """It connected 1,240 dwellings [1]. It was approved by eleven votes [2].

[1] https://heat.example/fernholt/renewal

[2] https://council.example/minutes/2021-03-18
"""
FORMULA = '=HYPERLINK("https://evil.example","a")'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of three reports of two systems, one with a hostile name, by two protocols."""
    folder = tmp_path_factory.mktemp("formats")
    import_pages(sample_folder() / "pages", folder / "snapshot", workers=0)
    reports = [
        {"id": "a", "system": "ada", "report": REPORT, "task": "One?"},
        {"id": "b", "system": "ada", "report": REPORT.replace("[1].", "."), "task": "Two?"},
        {"id": "c", "system": FORMULA, "report": REPORT, "task": "One?"},
    ]
    with StubThread(StubPlan(answer=answer)) as server:
        return evaluate(
            reports,
            judge=write_preset(folder),
            base_url=server.url,
            snapshot=folder / "snapshot",
            protocols=["fact", "liveresearchbench"],
            settings={"liveresearchbench": {"parts": ["presentation", "consistency"]}},
            out=folder / "run",
            progress=False,
        )


def exported(run: Run, tmp_path: Path, format: str) -> Path:
    export_results(RunStore(run.path), tmp_path / format, format)
    return tmp_path / format


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_csv_and_parquet_have_the_tables_of_the_python_interface(run: Run, tmp_path: Path) -> None:
    by_csv, by_parquet = exported(run, tmp_path, "csv"), exported(run, tmp_path, "parquet")
    for name in ("scores", "systems", "claims", "items"):
        expected = run.records(name)
        table = parquet.read_table(by_parquet / f"{name}.parquet")
        assert table.column_names == list(COLUMNS[name])
        rows: list[dict[str, Any]] = table.to_pylist()
        for row in rows:
            if "replies" in row:
                row["replies"] = tuple(row["replies"])
        assert rows == expected
        read = rows_of(by_csv / f"{name}.csv")
        assert list(read[0]) == list(COLUMNS[name]) and len(read) == len(expected)
        for row, wanted in zip(read, expected, strict=True):
            for key, value in wanted.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    assert float(row[key]) == value
                elif value is None:
                    assert row[key] == ""


def test_no_cell_of_a_csv_file_is_a_formula(run: Run, tmp_path: Path) -> None:
    out = exported(run, tmp_path, "csv")
    systems = {row["system"] for row in rows_of(out / "systems.csv")}
    assert systems == {"ada", f"'{FORMULA}"}
    for path in out.iterdir():
        for row in csv.reader(path.read_text(encoding="utf-8").splitlines()):
            assert not any(cell.startswith(("=", "+", "@", "\t", "\r")) for cell in row)


def test_claims_and_items_say_what_a_reader_looks_for() -> None:
    wanted = {"text", "quotation", "rationale", "url", "system", "task", "report", "judge"}
    assert wanted | {"verdict", "confidence"} <= COLUMNS["claims"].keys()
    assert wanted | {"label", "value", "protocol"} <= COLUMNS["items"].keys()


BOARD = Table("fact (paper profile)", ("system",), ("A & B_c", "reports", "sources read", "answers missing"))
for name in ("[x] 100% #1", r"a|b\c`d`<script>alert(1)</script>", "${x}^~\u202e\x1b[31m\n| y |"):
    BOARD.add_row(name, "0.50\n(0.25 to 0.75)\n80.0 % known", "3", "–", "0")
NOTES = ("* by the rule",)


KINDS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "br", "small", "p"}


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[str, str]] = set()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.seen |= {(tag, name) for name, _ in attrs} or {(tag, "")}


def test_names_are_text_in_html() -> None:
    page = as_html(BOARD, NOTES)
    tags = Tags()
    tags.feed(page)
    kinds = {tag for tag, _ in tags.seen}
    assert kinds == KINDS
    assert {name for _, name in tags.seen} == {"", "scope"}
    assert "\u202e" not in page and "\x1b" not in page
    assert "<td>0.50<br><small>(0.25 to 0.75)</small><br><small>80.0 % known</small></td>" in page


def test_hostile_texts_are_text_in_notebooks_and_tables(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    longest = csv.field_size_limit(2**24)  # a text of 150,000 characters is among them
    request.addfinalizer(lambda: csv.field_size_limit(longest))
    hostile = load(hostile_run(tmp_path)[0])
    shown = [
        hostile._repr_html_(),  # pyright: ignore[reportPrivateUsage]
        (exported(hostile, tmp_path, "html") / "leaderboard.html").read_text(encoding="utf-8"),
        MarkdownIt("commonmark", {"html": True})
        .enable("table")
        .render((exported(hostile, tmp_path, "markdown") / "leaderboard.md").read_text(encoding="utf-8")),
    ]
    for page in shown:
        tags = Tags()
        tags.feed(page)
        assert len(hostile.records("reports")) > 60 and page.count("<tr") > 60
        assert {tag for tag, _ in tags.seen} <= {*KINDS, "strong"}
        assert {name for _, name in tags.seen} <= {"", "scope", "style"}  # `style` aligns Markdown's cells
        assert all(character.isprintable() or character in "\n" for character in page)
    for path in exported(hostile, tmp_path, "csv").iterdir():
        for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")):
            assert not any(cell.startswith(("=", "+", "@")) for cell in row)
            assert not any("\x1b" in cell or "\x00" in cell for cell in row)
    table = hostile.claims()
    assert set(STRINGS) == set(table["text"])  # unchanged


def test_names_are_text_in_markdown() -> None:
    table = as_markdown(BOARD, NOTES)
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len(rows) == 5
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    page = parser.render(table)
    assert "<script" not in page and "<code" not in page and page.count("<td") == 15
    assert "a|b\\c`d`&lt;script&gt;" in page


def test_names_are_text_in_latex() -> None:
    table = as_latex(BOARD, NOTES)
    assert r"{[}x] 100\% \#1 & 0.50 (0.25 to 0.75) 80.0 \% known & 3 & -- & 0 \\" in table
    assert r"a|b\textbackslash{}c`d`\textless{}script\textgreater{}" in table
    assert r"\$\{x\}\textasciicircum{}\textasciitilde{}" in table
    for line in table.splitlines():  # no row has more cells than the table
        assert line.replace(r"\&", "").count("&") in (0, 4)
    assert r"\toprule" in table and r"\bottomrule" in table and "A \\& B\\_c" in table


def test_the_leaderboard_has_the_values_of_the_systems(run: Run, tmp_path: Path) -> None:
    values = {
        (row["system"], row["path"]): f"{row['value']:.2f}"
        for row in run.records("systems")
        if row["value"] is not None
    }
    page = (exported(run, tmp_path, "markdown") / "leaderboard.md").read_text(encoding="utf-8")
    (ada,) = [line for line in page.splitlines() if line.startswith("| ada ")]
    for path in ("citation_accuracy", "presentation", "consistency"):
        assert values["ada", path] in ada


def test_inspect_opens_the_log(run: Run, tmp_path: Path) -> None:
    log = pytest.importorskip("inspect_ai.log", reason="inspect-ai is not installed")
    out = exported(run, tmp_path, "inspect")
    (info,) = log.list_eval_logs(str(out))
    read = log.read_eval_log(info)
    assert read.status == "success" and read.eval.model
    scores = {score.name: score.metrics for score in read.results.scores}
    systems = {(row["system"], row["path"]): row["value"] for row in run.records("systems")}
    assert scores["fact/citation_accuracy"]["ada"].value == systems["ada", "citation_accuracy"]
    assert {sample.id for sample in read.samples} == {"a", "b", "c"}
    assert all(sample.scores for sample in read.samples)
    log.write_eval_log(read, str(tmp_path / "again.eval"))  # the other format accepts it too
    assert log.read_eval_log(str(tmp_path / "again.eval")).results == read.results


def test_the_log_is_the_same_for_the_same_run(run: Run, tmp_path: Path) -> None:
    one, two = (exported(run, tmp_path / name, "inspect") for name in ("one", "two"))
    (first,), (second,) = list(one.iterdir()), list(two.iterdir())
    assert first.name == second.name and first.read_bytes() == second.read_bytes()
    samples = json.loads(first.read_bytes())["samples"]
    assert [claim["claim"] for claim in samples[0]["metadata"]["claims"]]
    assert all(math.isfinite(score["value"]) for sample in samples for score in sample["scores"].values())


def test_a_missing_package_is_named_with_its_extra(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("local_judge.base.errors.import_module", missing)
    with pytest.raises(UserError, match=r"needs the extra `frames`: pip install"):
        exported(run, tmp_path, "parquet")
    assert not (tmp_path / "parquet").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_is_overwritten(run: Run, tmp_path: Path, format: str) -> None:
    (tmp_path / format).mkdir()
    (tmp_path / format / "mine.txt").write_text("mine")
    with pytest.raises(RunError, match=f"{format}: not an empty"):
        exported(run, tmp_path, format)
