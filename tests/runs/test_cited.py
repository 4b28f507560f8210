"""Which addresses a snapshot has to hold."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.runs.execution.cited import collect_urls

DATA = Path(__file__).resolve().parents[2] / "../shared/data/reports"

REPORT = """# Ice

The lake froze in January [1]. Ferries stopped [2], as [the harbour](https://harbour.test/log?day=3#top) says.
See also https://bare.test/x。

## References

[1] Lake survey. https://survey.test/2024/
[2] doi:10.1000/ABC
[3] Not cited. http://www.uncited.test
"""


def test_all_that_a_report_cites_or_lists_as_written(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(REPORT, encoding="utf-8")
    found = collect_urls([tmp_path / "a.md"])
    assert sorted(found.urls) == [
        "http://www.uncited.test",
        "https://bare.test/x",
        "https://doi.org/10.1000/abc",
        "https://harbour.test/log?day=3#top",
        "https://survey.test/2024/",
    ]
    assert found.unreadable == ()


def test_an_unreadable_report_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "b.md").write_text(REPORT, encoding="utf-8")
    found = collect_urls([tmp_path])
    assert len(found.urls) == 5
    assert [one.place for one in found.unreadable] == [str(tmp_path / "a.md")]


def test_addresses_anywhere_in_a_task_file(tmp_path: Path) -> None:
    row = {
        "id": 1,
        "prompt": "Compare https://one.test/a with the figures at www.two.test/b.",
        "sources": [{"url": " https://three.test/c?d=e ", "n": 3}, "https://four.test/f"],
        "note": "no address, doi nor link",
        "https://key.test/": "keys are names",
    }
    lines = tmp_path / "tasks.jsonl"
    lines.write_text(json.dumps(row) + "\n", encoding="utf-8")
    whole = tmp_path / "tasks.json"
    whole.write_text(json.dumps([row]), encoding="utf-8")
    wanted = ("https://one.test/a", "www.two.test/b", "https://three.test/c?d=e", "https://four.test/f")
    assert collect_urls(tasks=[lines]).urls == wanted
    assert collect_urls(tasks=[whole, lines]).urls == wanted


def test_a_list_of_addresses(tmp_path: Path) -> None:
    path = tmp_path / "urls.txt"
    path.write_text(
        "\ufeff# pages\nhttps://a.test/x#y\n\n  https://b.test/  \nhttps://a.test/x#y\n", encoding="utf-8"
    )
    assert collect_urls(lists=[path]).urls == ("https://a.test/x#y", "https://b.test/")


def test_the_links_beside_a_report_of_deepresearcheval(tmp_path: Path) -> None:
    entry = {
        "query": "q",
        "response": "A text [1] of which the numbers lead nowhere.",
        "deep_research_sources": "Sources[one.test First](https://one.test/a)[two.test Second](https://two.test/b)",
    }
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"query_id": 7, "entries": [entry]}), encoding="utf-8")
    assert collect_urls([path]).urls == ("https://one.test/a", "https://two.test/b")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("x.json", b"{", "not JSON"),
        ("x.jsonl", b"[1]\n", "a JSON object"),
        ("x.jsonl", b"\xff", "not UTF-8"),
    ],
)
def test_a_broken_task_file_is_said(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=why):
        collect_urls(tasks=[tmp_path / name])


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    for more in ({"tasks": [tmp_path / "no.json"]}, {"lists": [tmp_path / "no.txt"]}):
        with pytest.raises(InputError, match="no such file"):
            collect_urls(**more)
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    with pytest.raises(InputError, match=r"not UTF-8 \(byte 3\)"):
        collect_urls(lists=[tmp_path / "latin.txt"])
    with pytest.raises(InputError, match="name at least one"):
        collect_urls()


@pytest.mark.skipif(not DATA.is_dir(), reason="the real reports are not here")
def test_real_exports_list_their_links_beside_the_text() -> None:
    """Every `](address)` of the list that each of the three exports has beside its text is collected."""
    paths = sorted((DATA / "dre").glob("deep_research_*.json"))
    listed: set[str] = set()
    for path in paths:
        sources = json.loads(path.read_bytes())["entries"][0]["deep_research_sources"]
        listed |= set(re.findall(r"\]\((https?://[^\s()]+)\)", sources))
    assert len(listed) > 300
    assert listed <= set(collect_urls(paths).urls)
    assert collect_urls(tasks=[DATA / "drb/query.jsonl", DATA / "dre/query.jsonl"]).urls == ()
