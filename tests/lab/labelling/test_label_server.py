"""The server of the labelling page, asked as a browser and as other pages ask it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from indexes.errors import DigestMismatch
from indexes.snapshot import Snapshot
from local_judge.base.errors import InputError
from local_judge.claims.model import Claim, Verdict
from local_judge.documents.model import Span
from local_judge.lab.labelling.server import LabelServer
from local_judge.lab.labelling.session import LabelItem, LabelSession
from local_judge.runs.results.labels import ClaimLabel, VerdictOfRun, draw_sample, load_labels
from local_judge.runs.storage.records import CaseRecord

URL = "https://heat.example/fernholt/renewal"


def verdict(n: int) -> VerdictOfRun:
    claim = Claim(
        id=f"L1.S{n}.1",
        text=f"The boilers were replaced in {2000 + n}.",
        sentence=f"L1.S{n}",
        span=Span(start=0, end=1),
        type="A",
    )
    return VerdictOfRun(
        CaseRecord(id="mill", key="k", status="done"),
        claim,
        Verdict(claim=claim.id, url=URL, label="supported", method="scored"),
    )


VERDICTS = [verdict(n) for n in range(5)]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "labels.jsonl"


@pytest.fixture
def server(snapshot: Snapshot, out: Path) -> Iterator[LabelServer]:
    made = LabelServer(LabelSession(VERDICTS, snapshot, "ada", out))
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def ask(
    server: LabelServer, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def test_a_claim_is_labelled_and_the_file_is_written_at_once(server: LabelServer, out: Path) -> None:
    token = {"X-Token": server.token}
    status, _, body = ask(server, "GET", "/item?number=1", **token)
    item = json.loads(body)
    assert (status, item["claim"], item["label"]) == (200, "The boilers were replaced in 2001.", None)
    # The marked spans are in the page; the judge's verdict is not told.
    assert item["marks"] and all(0 <= start < end <= len(item["text"]) for start, end in item["marks"])
    assert "verdict" not in item and "supported" not in body.decode()
    given = {"number": 1, "label": "contradicted", "note": "another year"}
    assert ask(server, "POST", "/label", given, **token)[0] == 200
    assert load_labels([out]) == [
        ClaimLabel(
            report="mill",
            claim="L1.S1.1",
            url=URL,
            text="The boilers were replaced in 2001.",
            label="contradicted",
            annotator="ada",
            note="another year",
            seed=0,
            sample=5,
            number=1,
        )
    ]
    assert json.loads(ask(server, "GET", "/labels", **token)[2])["labels"] == [
        *(None, "contradicted", None, None, None)
    ]


def test_a_second_label_replaces_the_first(server: LabelServer, out: Path) -> None:
    for label in ("supported", "partial"):
        ask(server, "POST", "/label", {"number": 0, "label": label}, **{"X-Token": server.token})
    assert [one.label for one in load_labels([out])] == ["partial"]


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/", {}),
        ("GET", "/labels", {"X-Token": "guess"}),
        ("GET", "/item?number=0", {}),
        ("POST", "/label", {}),
        ("GET", "/labels", {"Host": "attacker.example"}),
    ],
)
def test_other_pages_and_hosts_get_nothing(
    server: LabelServer, out: Path, method: str, path: str, headers: dict[str, str]
) -> None:
    if "Host" in headers:
        headers = {**headers, "X-Token": server.token}
    body = {"number": 0, "label": "supported"} if method == "POST" else None
    assert ask(server, method, path, body, **headers)[0] == 403
    assert not out.exists()


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "supported",
        {"number": 9, "label": "supported"},
        {"number": -1, "label": "supported"},
        {"number": True, "label": "supported"},
        {"number": 0, "label": "yes"},
        {"number": 0, "label": ["supported"]},
        {"number": 0, "label": "supported", "note": 1},
        {"number": 0, "label": "supported", "note": "x" * 20_000},
        {"number": 0, "label": "supported", "note": "\ud800"},
    ],
)
def test_what_is_no_label_is_refused(server: LabelServer, out: Path, body: Any) -> None:
    assert ask(server, "POST", "/label", body, **{"X-Token": server.token})[0] == 400
    assert list(out.parent.glob(f"*{out.name}*")) == []  # not half a file either


def test_a_page_that_was_altered_is_an_error_of_the_server(
    server: LabelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def altered(number: int) -> LabelItem:
        raise DigestMismatch("pages.jsonl: altered")

    monkeypatch.setattr(server.session, "item", altered)
    status, _, body = ask(server, "GET", "/item?number=0", **{"X-Token": server.token})
    assert (status, json.loads(body)) == (500, {"error": "pages.jsonl: altered"})


def test_the_page_allows_only_its_own_files(server: LabelServer) -> None:
    path = urlsplit(server.url)
    status, headers, body = ask(server, "GET", f"{path.path}?{path.query}")
    assert status == 200 and b"<script src=" in body and b"innerHTML" not in body
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
    assert b"innerHTML" not in ask(server, "GET", "/page.js")[2]
    assert ask(server, "GET", "/../labels.jsonl", **{"X-Token": server.token})[0] == 404
    assert ask(server, "GET", "/item?number=x", **{"X-Token": server.token})[0] == 404


def test_labels_of_others_stay_in_the_file(snapshot: Snapshot, out: Path) -> None:
    # Both are open at the same time.
    first, second = (LabelSession(VERDICTS, snapshot, name, out) for name in ("ada", "bob"))
    first.set(0, "supported")
    second.set(0, "unsupported")
    assert [(one.annotator, one.label) for one in load_labels([out])] == [
        ("ada", "supported"),
        ("bob", "unsupported"),
    ]
    assert LabelSession(VERDICTS, snapshot, "ada", out).labels[0] == "supported"


def test_two_windows_of_one_annotator_keep_each_others_labels(snapshot: Snapshot, out: Path) -> None:
    first, second = (LabelSession(VERDICTS, snapshot, "ada", out) for _ in range(2))
    first.set(0, "supported")
    second.set(1, "unsupported")
    first.set(2, "partial")
    second.set(2, "contradicted")
    assert [one.label for one in load_labels([out])] == ["supported", "unsupported", "contradicted"]
    assert second.labels[:3] == ["supported", "unsupported", "contradicted"]


def test_labels_of_the_session_are_written_again_if_the_file_is_deleted(
    snapshot: Snapshot, out: Path
) -> None:
    LabelSession(VERDICTS, snapshot, "ada", out).set(0, "supported")
    session = LabelSession(VERDICTS, snapshot, "ada", out)
    session.set(1, "partial")
    out.unlink()
    session.set(1, "unsupported")
    assert session.labels == ["supported", "unsupported", None, None, None]
    assert LabelSession(VERDICTS, snapshot, "ada", out).labels == session.labels


def test_the_sample_is_random_and_the_same_for_all(snapshot: Snapshot) -> None:
    many = [verdict(n) for n in range(200)]
    first, again = draw_sample(many, 20, 7), draw_sample(list(reversed(many)), 20, 7)
    assert [one.unit for one in first] == [one.unit for one in again]
    assert [one.unit for one in draw_sample(many, 20, 8)] != [one.unit for one in first]
    # A larger sample with the same seed begins with the smaller one.
    assert [one.unit for one in draw_sample(many, 30, 7)][:20] == [one.unit for one in first]
    with pytest.raises(InputError, match="no verdicts"):
        draw_sample([], 20, 7)
