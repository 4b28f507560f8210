"""The same report in the styles of many producers: the same claims, pages and scores."""

from __future__ import annotations

from pathlib import Path

from indexes.snapshot import Snapshot
from local_judge.runs.execution.execute import execute
from local_judge.runs.planning.config import RunConfig
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.records import load_scores
from local_judge.runs.storage.store import RunStore

from ..scripted_judge import MakeJudge

URLS = [
    "https://heat.example/fernholt/renewal",
    "https://plant.example/lake-heat-pump",
    "https://gazette.example/2022/opening-day",
]
SENTENCES = [
    "The retrofit connected 1,240 dwellings in the town",
    "The heat pump has a capacity of 6.2 megawatts",
    "A crowd came to see it when it opened",
]
NUMBERED = "{n}. Page {n}, {url}\n"
BRACKETED = "[{n}] Page {n}. {url}\n\n"
STYLES = {
    "brackets": (" [{n}].", "## References", BRACKETED),
    "linked number": (" [[{n}]]({url}).", "## References", BRACKETED),
    "words of a link": (" ([page {n}]({url})).", "## References", BRACKETED),
    "glued": (".{n}", "#### **Works cited**", NUMBERED),
    "spaced": (" {n}.", "#### **Obras citadas**", NUMBERED),
    "anchors": (" [{n}](#ref{n}).", "## References", '{n}. <a id="ref{n}"></a>Page. {url}\n'),
    "raised anchors": ('.<sup><a href="#fn{n}">{n}</a></sup>', "<ol>", '<li id="fn{n}">Page <a href="{url}">it</a></li>\n'),  # noqa: E501
    "escaped list": (" [{n}].", "## Kilder", "{n}\\. Page {n} {url}\n\n"),
    "quoted list": (" [{n}].", "**Viitteet**", "> {n}. Page {n} [{url}]({url})\n"),
    "headings as entries": (" [{n}].", "## Sources", "### [{n}] Page {n}\n\n{url}\n\n"),
    "unknown title": (" [{n}].", "## Citované zdroje", NUMBERED),
    "table": (" [{n}].", "| No. | Page |\n|---|---|", "| {n} | {url} |\n"),
    "footnotes": (".[^{n}]", "", "[^{n}]: Page {n}. {url}\n\n"),
    "carets in brackets": (" [^{n}^].", "## References", BRACKETED),
    "carets": ("^{n}^.", "## Literatur", NUMBERED),
    "TeX": ("$^{{{n}}}$.", "", BRACKETED),
    "keys": (r" \cite{{k{n}}}.", r"\begin{thebibliography}{9}", "\\bibitem{{k{n}}} Page. \\url{{{url}}}\n"),
    "words before numbers": (" (Source {n}).", "## Sources", NUMBERED),
    "elements": (' <qwen:cite id="id_{n}">A crowd of 90.</qwen:cite>.', "References:", "[{n}]. {url}\n\n"),
    "circled": ("{circled}.", "## Sources", NUMBERED),
    "numbers with a capital": (" [No. {n}].", "## References", NUMBERED),
    "blanks in brackets": (" [ {n} ].", "REFERENCES", "[ {n} ] Page. {url}\n\n"),
    "signs": ("※{n}.", "Notes", "※{n} Page {url}\n\n"),
    "notes of a page": (".{n}", "Endnotes", "{n} Page of the town, {url}\n\n"),
    "links back": (r".[\[{n}\]](#_ftn{n})", "", "[\\[{n}\\]](#_ftnref{n}) Page, {url}\n\n"),
    "keys twice": (" [[{n}]].", "### Quellen", "[[{n}]] [Page]({url})\n\n"),
    "caret and number": (" [^{n}^][{n}].", "", '[{n}]: {url} "Page"\n\n'),
    "linked numbers in HTML": (' <a href="{url}">[{n}]</a>.', "## References", BRACKETED),
    "links of a chat": (" <{url}|page {n}>.", "## References", BRACKETED),
    "divisions of pandoc": (" ([Page](#ref-k{n})).", "# References {#bib}", "::: {{#ref-k{n} .csl-entry}}\nPage. <{url}>.\n:::\n\n"),  # noqa: E501
    "images and formulas": (" ![][image1] $[2]$ [{n}].", "[image1]: <data:image/png;base64,AA>\n", BRACKETED),
}  # fmt: skip
UNLISTED = {
    "no list": (" [{n}].", "", ""),
    "tool without sources": (".【50741679584544{n}†L1-L2】", "", ""),
    "tool that lost its controls": (". citeturn0search{n}", "", ""),
    "elements without sources": ('. <x:cite id="{n}">Words of the source.</x:cite>', "", ""),
    "glued, no list": (".{n}", "", ""),
    "unknown brackets": (" ⟦Q{n}⟧.", "## Sources", "- Page {n}: {url}\n"),
    "unknown brackets and title": (" ⟦Q{n}⟧.", "## Dove ho letto", "Page {n}: {url}\n\n"),
    "braces": (" {{{n}}}.", "## Sources", "{{{n}}} Page {url}\n\n"),
    "braces and title": (" {{{n}}}.", "## Dove ho letto", "{{{n}}} Page {url}\n\n"),
    "hashes": (" #{n}.", "## Sources", "#{n}: Page {url}\n\n"),
    "entries without addresses": (" [{n}].", "## References", "[{n}] Kim, J. Page {n}. Journal, 2020.\n\n"),
}


def written(mark: str, title: str, entry: str) -> bytes:
    def fill(form: str, n: int) -> str:
        return form.format(n=n, url=URLS[n - 1], circled="①②③"[n - 1])

    body = " ".join(sentence + fill(mark, n) for n, sentence in enumerate(SENTENCES, 1))
    gap = "\n" if title[:1] in ("|", "<", "\\") else "\n\n"
    return f"# The retrofit\n\n{body}\n\n{title}{gap}{''.join(fill(entry, n) for n in (1, 2, 3))}".encode()


async def test_the_same_report_in_any_style_has_the_same_scores(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    reports = [RawReport(name, written(*style), None, f"{name}.md") for name, style in STYLES.items()]
    judge, _ = make_judge()
    store = RunStore(tmp_path / "run")
    config = RunConfig(protocols=("fact", "deer"), settings={"deer": {"parts": ["verification"]}})
    records = await execute(reports, judge, snapshot, config, store)
    assert {record.status for record in records} == {"done"}
    scores = {
        (row.case, row.protocol, row.profile): row.scores for row in load_scores(store, ["fact", "deer"])
    }
    controls = {key[1:]: value for key, value in scores.items() if key[0] == "brackets"}
    # Two of three pages support their sentences; the third is dead.
    assert controls["fact", "paper"][0].score.value == 2 / 3
    assert [key for key, value in scores.items() if value != controls[key[1:]]] == []


async def test_a_style_that_is_not_read_is_named_and_leaves_the_scores_open(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    styles = {"brackets": STYLES["brackets"], **UNLISTED}
    reports = [RawReport(name, written(*style), None, f"{name}.md") for name, style in styles.items()]
    store = RunStore(tmp_path / "run")
    config = RunConfig(protocols=("fact", "deer"), settings={"deer": {"parts": ["verification"]}})
    records = await execute(reports, make_judge()[0], snapshot, config, store)
    problems = {record.id: {problem.kind for problem in record.problems} for record in records}
    assert [name for name, found in problems.items() if not found] == ["brackets"]
    scores = {
        (row.case, (row.protocol, row.profile, root.id)): root.score
        for row in load_scores(store, ["fact", "deer"])
        for root in row.scores
        if root.id != "unknown"
    }
    for (style, of), found in scores.items():
        control = scores["brackets", of].value
        assert control is not None
        if style != "brackets":
            place = f"{style}, {of}: {found!r}"
            assert found.value is None and found.low is not None and found.high is not None, place
            # The scores of entries that are read as statements are wrong, and without a value.
            assert "entries_in_text" in problems[style] or found.low < control + 1e-9 < found.high + 2e-9, (
                place
            )
