"""Published prompts through the project and through the published code: equal messages, and equal scores.

Both ask the same recorder, which answers by a rule from the messages alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.lab.labelled.load import evidence_snapshot, load_sets
from local_judge.protocols.deer.rubric.load import load_rubric
from local_judge.protocols.deer.verification.original_prompts import EFFORT
from local_judge.protocols.deer.verification.original_verification import TOKENS
from tests.stub_server import StubPlan

from ..originals import run_original
from ..protocols.race.race_cases import REFERENCE, ROW
from ..stub_thread import StubThread, write_preset
from .conftest import Command

ORIGINALS = Path(__file__).parents[3] / "shared" / "originals"
ARTICLE = (
    "# The mill {braces} {{kept}}\r\n\r\nIt cost 8 million [1]. The town paid 2 million, and “a bank” the rest [2].\n\n"
    + "The mill was built in 1911, and rebuilt after the flood of 1954, when the weir had to be raised as well.\n\n"
    + "## References\n\n[1] https://a.example/mill\n[2] https://b.example/bank\n"
)
Answer = Callable[[Mapping[str, Any]], str]


def sent(server: StubThread) -> list[str]:
    """The messages of all calls, as JSON, in an order that does not depend on time."""
    return sorted(json.dumps(one.json["messages"], ensure_ascii=False) for one in server.chats)


def write(path: Path, *rows: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def scores(command: Command, run: Path, *more: str) -> dict[str, float | None]:
    """Return the root scores of the only report by the published formulas."""
    shown = json.loads(command("show", run, "--profile", "upstream", "--json", *more).out)
    [report] = [row for row in shown["scores"] if row["profile"] == "upstream"]
    return {one["id"]: one["score"]["value"] for one in report["scores"]}


def race_answer(asked: Mapping[str, Any]) -> str:
    """Cleans an article by removing its marks; scores each criterion by its length, in a fenced block."""
    text: str = asked["messages"][-1]["content"]
    if "<criteria_list>" not in text:
        return text[text.index("# The mill") :].replace(" [1]", "").partition("## Ref")[0]
    listed = json.loads(text.partition("<criteria_list>\n")[2].partition("</criteria_list>")[0])
    found = {
        dimension: [
            {
                "criterion": one["criterion"].upper() if number == 1 else one["criterion"],
                "analysis": f"“{one['explanation']}”",
                "article_1_score": 5 + len(one["criterion"]) / 7,
                "article_2_score": f"{5 + len(one['explanation']) / 9}",
            }
            for number, one in enumerate(criteria)
        ]
        for dimension, criteria in listed.items()
    }
    found["readability"].append({"criterion": "Tone", "article_1_score": 9, "article_2_score": 1})
    return f"Here it is.\n```json\n{json.dumps(found, ensure_ascii=False)}\n```\n"


def odd_race_answer(asked: Mapping[str, Any]) -> str:
    """Names a criterion that is none and another one twice, in one dimension, and has no entry in another."""
    if "<criteria_list>" not in asked["messages"][-1]["content"]:
        return race_answer(asked)
    found = json.loads(race_answer(asked).partition("```json")[2].partition("```")[0])
    found["insight"][0]["criterion"] = "Reasons"
    found["insight"].append({**found["insight"][1], "article_1_score": 2})
    found["instruction_following"] = []
    return json.dumps(found)


@pytest.mark.parametrize(
    ("language", "answer", "code"),
    [("en", race_answer, 0), ("zh", race_answer, 0), ("en", odd_race_answer, 3)],
)
def test_race(
    command: Command,
    tmp_path: Path,
    language: str,
    answer: Answer,
    code: int,
) -> None:
    root = ORIGINALS / "drb"
    task = {"id": 900, "prompt": ROW["prompt"]}
    data, original = tmp_path / "data", tmp_path / "original"
    query = write(data / "prompt_data/query.jsonl", {**task, "language": language})
    criteria = write(data / "criteria_data/criteria.jsonl", ROW)
    reference = write(data / "test_data/cleaned_data/reference.jsonl", {**task, "article": REFERENCE})
    reports = write(data / "test_data/raw_data/ada.jsonl", {**task, "article": ARTICLE})
    with StubThread(StubPlan(answer=answer)) as server:
        run_original(
            *(root / "deepresearch_bench_race.py", tmp_path, "ada", f"--only_{language}"),
            *("--output_dir", original),
            recorder=server.url,
        )
        theirs = sent(server)
    assert len(theirs) == 2
    [row] = [json.loads(line) for line in (original / "raw_results.jsonl").read_text().splitlines()]

    run = tmp_path / "run"
    with StubThread(StubPlan(answer=answer)) as server:
        options = (
            *("run", reports, "--tasks", query, "--criteria", criteria, "--references", reference),
            *(
                "--protocol",
                "race",
                "--judge",
                write_preset(tmp_path),
                "--base-url",
                server.url,
                "--out",
                run,
            ),
            *("--prompts", f"original={root}"),
        )
        assert "cleaning=code: not in the published code" in command(*options).line()
        ended = command(*options, "--set", "race.cleaning=judge")
        assert ended.code == code, ended.err
        assert sent(server) == theirs
    found = scores(command, run)
    for name in ("comprehensiveness", "insight", "instruction_following", "readability"):
        assert found[name] == 100 * row[name]
    assert found["overall"] == 100 * row["overall_score"]
    assert command("export", run, tmp_path / "exported", "--format", "race").code == 0
    assert json.loads((tmp_path / "exported/raw_results.jsonl").read_text(encoding="utf-8")) == row
    assert (
        "race: with the published prompts of DeepResearch Bench (revision 214741e474a5, SHA-256 " in ended.out
    )
    manifest = json.loads((run / "manifest.json").read_text())
    prompts = manifest["protocols"]["race"]["original_prompts"]
    assert (prompts["project"], prompts["revision"]) == (
        "DeepResearch Bench",
        (root / "COMMIT").read_text().strip(),
    )


LAKE, RENEWAL = "https://example.org/lake", "https://example.org/renewal"


def fact_answer(asked: Mapping[str, Any]) -> str:
    """Extracts four citations, two of which say the same; supports facts with an odd number of characters."""
    text: str = asked["messages"][-1]["content"]
    if "<statements>" in text:
        listed = text.partition("<statements>\n")[2].partition("\n</statements>")[0].splitlines()
        results = ["supported" if len(line) % 2 else "unsupported" for line in listed]
        if "page two" in text:
            results[-1] = "unknown"
        numbered = [{"idx": number, "result": result} for number, result in enumerate(results, 1)]
        numbered[0]["idx"] = len(results) if "It cost 8" in listed[0] else 99  # another's number, or none's
        return f"```json\n{json.dumps(numbered)}\n```"
    if "\n1. " in text and "ref_idx" not in text:
        return "[1, 3]"
    facts = (
        ("It cost [8 million](https://example.org/lake).", LAKE, 1),
        ("It cost 8 million.", LAKE, "1"),
        ("The town paid \\> 2 million.", LAKE, 1),
        ("A bank paid the rest.", RENEWAL, 0),
    )
    return json.dumps([{"fact": fact, "ref_idx": key, "url": url} for fact, url, key in facts]).replace(
        "\\\\>", "\\>"
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_fact(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    root = ORIGINALS / "drb"
    folder = tmp_path / "pages"
    folder.mkdir()
    for name in ("lake", "renewal"):
        (folder / f"{name}.md").write_text(
            f"# The {name}\n\nIt cost 8 million. {{page}} two.\n", encoding="utf-8"
        )
    write(
        folder / "pages.jsonl",
        *({"url": url, "file": f"{url.rpartition('/')[2]}.md"} for url in (LAKE, RENEWAL)),
    )
    import_pages(folder, tmp_path / "snapshot", workers=0)
    pages = Snapshot.open(tmp_path / "snapshot")
    shown = {
        url: {"title": pages.page(url).title, "content": pages.page(url).text} for url in (LAKE, RENEWAL)
    }
    (tmp_path / "pages.json").write_text(json.dumps(shown), encoding="utf-8")
    task = {"id": 7, "prompt": "What did the mill cost?"}
    query = write(tmp_path / "query.jsonl", {**task, "language": language})
    reports = write(tmp_path / "ada.jsonl", {**task, "article": ARTICLE})
    steps = {"extract": reports, "deduplicate": "", "scrape": "", "validate": ""}
    before = reports
    with StubThread(StubPlan(answer=fact_answer)) as server:
        for step in steps:
            out = tmp_path / f"{step}.jsonl"
            asking = () if step == "scrape" else ("--query_data_path", query)
            run_original(
                *(
                    root / f"utils/{step}.py",
                    tmp_path,
                    "--raw_data_path",
                    before,
                    "--output_path",
                    out,
                    *asking,
                ),
                recorder=server.url,
                project=root,
                module=f"utils.{step}",
            )
            before = out
        result = tmp_path / "fact_result.txt"
        run_original(
            *(root / "utils/stat.py", tmp_path, "--input_path", before, "--output_path", result),
            recorder=server.url,
            project=root,
            module="utils.stat",
        )
        theirs = sent(server)
    assert len(theirs) == 4
    numbers = dict(line.split(": ") for line in result.read_text().splitlines())

    run = tmp_path / "run"
    with StubThread(StubPlan(answer=fact_answer)) as server:
        options = (
            *("run", reports, "--tasks", query, "--snapshot", tmp_path / "snapshot", "--protocol", "fact"),
            *("--judge", write_preset(tmp_path), "--base-url", server.url, "--out", run),
            *("--prompts", f"original={root}"),
        )
        assert "give --set fact.claims=own" in command(*options).line()
        ended = command(*options, "--set", "fact.claims=own")
        assert ended.code == 0, ended.err
        assert sent(server) == theirs
    found = scores(command, run)
    assert found["citation_accuracy"] == float(numbers["valid_rate"])
    assert found["effective_citations"] == float(numbers["total_valid_citations"])
    assert found["citations"] == float(numbers["total_citations"])


def deer_answer(asked: Mapping[str, Any]) -> str:
    """Scores each item by the length of its path; one does not apply, and one score is written as a text."""
    system: str = asked["messages"][0]["content"]
    paths = [path for path, _ in load_rubric(None).items() if f'"{path[1]}"' in system]
    scores: dict[str, Any] = {}
    for number, path in enumerate(paths):
        below = scores
        for step in path[:-1]:
            below = below.setdefault(step, {})
        score = (
            "N/A" if number == 3 else str(len(path[1]) % 10 or 1) if number == 4 else (7 * number) % 10 + 1
        )
        below[path[-1]] = {"description": f"“{path}”", "score": score}
    return f"```json\n{json.dumps({'scores': scores}, ensure_ascii=False)}\n```"


def test_deer_rubric(command: Command, tmp_path: Path) -> None:
    root, data = ORIGINALS / "deer", tmp_path / "data"
    (data / "1").mkdir(parents=True)
    (data / "1/query.md").write_text("What did the mill {cost}?", encoding="utf-8")
    (data / "1/core_criteria.md").write_text("- Names the {cost}.\n- Names “who” paid.", encoding="utf-8")
    (data / "1/ada_1.md").write_text(ARTICLE, encoding="utf-8", newline="\n")
    with StubThread(StubPlan(answer=deer_answer)) as server:
        run_original(
            *(
                root / "run_report_evaluation.py",
                tmp_path,
                "--prefix",
                "ada",
                "--samples",
                "1",
                "--root",
                data,
            ),
            *("--output_dir", tmp_path / "original"),
            recorder=server.url,
        )
        theirs = sent(server)
    assert len(theirs) == 5
    result = json.loads((tmp_path / "original/ada/others/0001.json").read_text(encoding="utf-8"))

    run = tmp_path / "run"
    with StubThread(StubPlan(answer=deer_answer)) as server:
        options = (
            *("run", data, "--tasks", data, "--protocol", "deer", "--judge", write_preset(tmp_path)),
            *("--base-url", server.url, "--out", run, "--prompts", f"original={root}"),
        )
        # Both parts: the extraction of claims would be asked before the rubric.
        bare = write(tmp_path / "tasks.jsonl", {"id": "1", "prompt": "What did it cost?"})
        pages = tmp_path / "pages"
        pages.mkdir()
        (pages / "mill.md").write_text("The mill cost 8 million.\n", encoding="utf-8")
        write(pages / "pages.jsonl", {"url": "https://town.example/mill", "file": "mill.md"})
        import_pages(pages, tmp_path / "snapshot", workers=0)
        without = (*options[:2], "--snapshot", tmp_path / "snapshot", "--tasks", bare, *options[4:])
        assert (
            command(*without)
            .line()
            .endswith("its task has no guidance, which the published prompts show; give --guidance")
        )
        assert sent(server) == []
        ended = command(*options, "--set", "deer.parts=[rubric]")
        assert ended.code == 0, ended.err
        assert sent(server) == theirs
    assert command("export", run, tmp_path / "exported", "--format", "deer").code == 0
    [file] = (tmp_path / "exported").rglob("others/0001.json")
    exported = json.loads(file.read_text(encoding="utf-8"))
    for key in ("scores", "element_avgs", "criteria_avgs", "score_avgs", "score"):
        assert exported[key] == result[key]


def deer_claims_answer(asked: Mapping[str, Any]) -> str:
    """Makes each sentence a claim, of a class by its citations; supports claims by the parity of their length."""
    text: str = asked["messages"][-1]["content"]
    if asked["messages"][0]["role"] == "system":
        claims: list[dict[str, Any]] = []
        for line in text.partition("# Target Sentences\n\n")[2].splitlines():
            label, _, sentence = line.partition(": ")
            marks = re.findall(r"\[(\d)\]", sentence)
            claims.append(
                {
                    "position": label,
                    "claim": re.sub(r" \[\d\]", "", sentence) + f" {{{label}}}",
                    "claim_type": "A" if marks else "C" if "raised" in sentence else "E",
                    "rationale": "“So.”",
                    "numeric": any(map(str.isdigit, sentence)),
                    "citations": [f"[{mark}]" for mark in marks],
                    "implicit_citations": None,
                    "cross_references": ["L3.S1"] if "raised" in sentence else [],
                    "other": 1,
                }
            )
        return json.dumps({"claims": claims}, ensure_ascii=False)
    listed = text.partition("# claims:\n")[2].partition("\n\n# Context:")[0].splitlines()
    menu = ("supported", "conflict", "supported", "not_supported")
    results = [
        {"claim_index": number, "explanation": "So.", "result": menu[number % 4]}
        for number, _ in enumerate(listed, 2)
    ]
    for number, one in enumerate(results, 1):
        one["claim_index"] = number
    told = {"reliable": "mill" in text, "reliable_explanation": "", "results": results}
    return json.dumps(told)


def test_deer_verification(command: Command, tmp_path: Path) -> None:
    root, data, scratch = ORIGINALS / "deer", tmp_path / "data", tmp_path / "scratch"
    urls = {name: f"https://{name}.example/{name}" for name in ("mill", "bank", "gone")}
    body = "".join(
        f"## Part {{{part}}}\n\nIt cost {part} million [{part % 3 + 1}]. The town paid in {part + 1900}.\nA bank paid "
        f"as well [2].\n\n- The weir had to be raised.\n- Nobody “knows” why.\n\n"
        for part in range(1, 8)
    )
    references = "".join(f"[{number}] {url}\n" for number, url in enumerate(urls.values(), 1))
    (data / "1").mkdir(parents=True)
    (data / "1/query.md").write_text("What did the mill cost?", encoding="utf-8")
    (data / "1/ada_1.md").write_text(f"# The mill\n\n{body}## References\n\n{references}", encoding="utf-8")
    folder = tmp_path / "pages"
    folder.mkdir()
    for name in ("mill", "bank"):
        (folder / f"{name}.md").write_text(f"# The {name}\n\nIt cost 8 million. {{page}}\n", encoding="utf-8")
    write(
        folder / "pages.jsonl",
        *({"url": urls[name], "file": f"{name}.md"} for name in ("mill", "bank")),
    )
    import_pages(folder, tmp_path / "snapshot", workers=0)
    pages = Snapshot.open(tmp_path / "snapshot")
    (scratch / "cache").mkdir(parents=True)
    for name, url in urls.items():
        text = pages.page(url).text if name != "gone" else "Failed to fetch it: 404"
        (scratch / f"cache/{hashlib.md5(url.encode()).hexdigest()}.md").write_text(text, encoding="utf-8")
    with StubThread(StubPlan(answer=deer_claims_answer)) as server:
        run_original(
            *(root / "run_information_verification.py", scratch, "--prefix", "ada", "--root", data),
            *("--output_root", tmp_path / "original"),
            recorder=server.url,
        )
        theirs = sent(server)
    assert len(theirs) == 5  # 35 sentences in two calls; up to 20 claims of a page in one
    result = json.loads((tmp_path / "original/ada/fact/0001.json").read_text(encoding="utf-8"))

    run = tmp_path / "run"
    with StubThread(StubPlan(answer=deer_claims_answer)) as server:
        options = (
            *("run", data, "--tasks", data, "--protocol", "deer", "--judge", write_preset(tmp_path)),
            *("--base-url", server.url, "--out", run, "--prompts", f"original={root}"),
            *("--set", "deer.parts=[verification]", "--snapshot", tmp_path / "snapshot"),
        )
        assert "claims.form=terse: not in the published code" in command(*options, "--terse").line()
        ended = command(*options)
        assert ended.code == 0, ended.err
        assert sent(server) == theirs
    audited = command("audit", run)  # findings follow from the replies
    assert audited.code == 0, audited.out
    assert command("export", run, tmp_path / "exported", "--format", "deer").code == 0
    [file] = (tmp_path / "exported").rglob("fact/0001.json")
    exported = json.loads(file.read_text(encoding="utf-8"))
    for key in ("score_avgs", "criteria_avgs", "scores"):
        assert exported[key] == result[key]


DEER_DRIVER = """
import asyncio, json, sys
from types import SimpleNamespace
from info_verification.claim_verifier import verify_claim_from_url_async
for page in json.load(open(sys.argv[1], encoding="utf-8")):
    claims = [SimpleNamespace(claim=text) for text in page["claims"]]
    asyncio.run(verify_claim_from_url_async(claims, page["text"], page["url"], limit_tokens=False))
"""
"""Calls the published verification for given claims."""


def labelled_claims(folder: Path) -> tuple[Path, list[dict[str, Any]]]:
    """Labelled claims about two pages, one of them in Chinese, and the claims by page as published code gets them."""
    texts = ("It cost 8 million. {page} “two”.", "\u78e8\u574a\u4e8e 1911 \u5e74\u5efa\u6210\u3002")
    claims = (
        ("It cost 8 million.", "It cost {nine} million.", "A bank paid."),
        ("\u78e8\u574a\u5efa\u4e8e 1911 \u5e74\u3002", "\u78e8\u574a\u5efa\u4e8e 1912 \u5e74\u3002"),
    )
    rows = [
        {"claim": claim, "evidence": text, "label": "unsupported" if number else "supported"}
        for text, own in zip(texts, claims, strict=True)
        for number, claim in enumerate(own)
    ]
    path = write(folder / "mill.jsonl", *rows)
    with evidence_snapshot(load_sets([path])) as pages:
        shown = [pages.page(row.page) for row in load_sets([path])]
    by_url = {page.url: page for page in shown}
    return path, [
        {"url": url, "title": page.title, "text": page.text, "claims": own}
        for (url, page), own in zip(by_url.items(), claims, strict=True)
    ]


def benchmark(command: Command, given: Path, server: StubThread, root: Path, protocol: str) -> dict[str, Any]:
    out = given.with_name("benchmark.json")
    ended = command(
        *("lab", "benchmark-verifier", given, "--judge", write_preset(given.parent)),
        *("--base-url", server.url, "--verifier", protocol, "--prompts", f"original={root}"),
        *("--ledger", given.with_name("ledger.sqlite"), "--out", out, "--resamples", "10"),
    )
    assert ended.code == 0, ended.err
    assert re.search(rf"{protocol}: published prompt of .* \(revision [0-9a-f]{{12}}, SHA-256 ", ended.out)
    return json.loads(out.read_text(encoding="utf-8"))


def test_fact_on_given_claims(command: Command, tmp_path: Path) -> None:
    root = ORIGINALS / "drb"
    given, pages = labelled_claims(tmp_path)
    rows = [
        {
            "id": number,
            "citations_deduped": {
                page["url"]: {
                    "facts": page["claims"],
                    "url_content": f"{page['title']}\n\n\n\n{page['text']}",
                }
            },
        }
        for number, page in enumerate(pages, 1)
    ]
    scraped = write(tmp_path / "scraped.jsonl", *rows)
    query = write(tmp_path / "query.jsonl", {"id": 1, "language": "en"}, {"id": 2, "language": "zh"})
    with StubThread(StubPlan(answer=fact_answer)) as server:
        run_original(
            *(root / "utils/validate.py", tmp_path, "--raw_data_path", scraped, "--query_data_path", query),
            *("--output_path", tmp_path / "validated.jsonl"),
            recorder=server.url,
            project=root,
            module="utils.validate",
        )
        theirs = sent(server)
    assert len(theirs) == 2
    validated = (tmp_path / "validated.jsonl").read_text(encoding="utf-8").splitlines()
    results = [
        one["result"]
        for line in validated
        for page in json.loads(line)["citations_deduped"].values()
        for one in page["validate_res"]
    ]
    with StubThread(StubPlan(answer=fact_answer)) as server:
        found = benchmark(command, given, server, root, "fact")
        assert sent(server) == theirs
    labels = [one["label"] for one in found["answers"]["fact"]]
    assert labels == ["supported" if one == "supported" else "not_found" for one in results]
    assert {"supported", "not_found"} == set(labels)
    assert found["original_prompts"]["fact"]["revision"] == (root / "COMMIT").read_text().strip()


def test_deer_on_given_claims(command: Command, tmp_path: Path) -> None:
    root = ORIGINALS / "deer"
    given, pages = labelled_claims(tmp_path)
    driver = write(tmp_path / "driver.py")
    driver.write_text(DEER_DRIVER, encoding="utf-8")
    (tmp_path / "given.json").write_text(json.dumps(pages), encoding="utf-8")
    with StubThread(StubPlan(answer=deer_claims_answer)) as server:
        run_original(driver, tmp_path, tmp_path / "given.json", recorder=server.url, project=root)
        theirs = sent(server)
        asked = {
            (one.json["max_completion_tokens"], one.json["reasoning_effort"], one.json.get("temperature"))
            for one in server.chats
        }
    assert len(theirs) == 2
    assert asked == {(TOKENS, EFFORT, None)}
    with StubThread(StubPlan(answer=deer_claims_answer)) as server:
        found = benchmark(command, given, server, root, "deer")
        assert sent(server) == theirs
    # The menu of the answer, from its third place: supported, not_supported, supported; it begins anew on each page.
    labels = [one["label"] for one in found["answers"]["deer"]]
    assert labels == ["supported", "not_found", "supported", "supported", "not_found"]


LRB_DRIVER = """
import asyncio, json, sys
from liveresearchbench.graders import ChecklistGrader, PairwiseGrader, PointwiseGrader
given = json.load(open(sys.argv[1], encoding="utf-8"))
query, report, model = given["query"], open(sys.argv[2], encoding="utf-8").read(), ("openai", "stub")
checklist, pointwise, pairwise = ChecklistGrader(), PointwiseGrader(), PairwiseGrader()
async def main():
    return {
        "presentation": await checklist.grade_async(query, report, "presentation", *model),
        "coverage": await checklist.grade_async(query, report, "coverage", *model, checklists=given["checklist"]),
        "consistency": await pointwise.grade_async(query, report, "consistency", *model),
        "citation": await pointwise.grade_async(query, report, "citation", *model),
        "depth": await pairwise.compare_depth_async(query, report, given["reference"], *model),
    }
print(json.dumps(asyncio.run(main())))
"""
"""Calls the published graders as the published batch evaluator does."""


def lrb_answer(asked: Mapping[str, Any]) -> str:
    """Meets every other item, finds two issues, and prefers the report that is shown first."""
    text: str = asked["messages"][-1]["content"]
    ids = re.findall(r"^- ([pq][0-9]+): ", text, re.MULTILINE)
    if ids:
        scored = {id: {"score": number % 2, "justification": f"“{id}”"} for number, id in enumerate(ids)}
        return json.dumps({"evaluations": scored})
    if "REPORT A" in text:
        marks = dict.fromkeys(("granularity", "insight", "critique", "evidence", "density"), 3)
        better = {**marks, "insight": 5}
        scored = {"A": {**better, "total": 17}, "B": {**marks, "total": 15}}
        flaws = {"A": [], "B": ["Thin."]}
        winner = "A" if text.index("It cost 8 million") < text.index("It cost 9 million") else "tie"
        return json.dumps({"winner": winner, "scores": scored, "justification": "So.", "major_flaws": flaws})
    score = 90 if "Citation" in text else 70
    issues = ["“8 million” against 9.", "No source."]
    return json.dumps({"specific_issues": issues, "total_issues": 2, "score": score, "justification": "So."})


def test_liveresearchbench(command: Command, tmp_path: Path) -> None:
    root = ORIGINALS / "lrb"
    driver, report = tmp_path / "driver.py", tmp_path / "ada" / "qid_7_report.md"
    driver.write_text(LRB_DRIVER, encoding="utf-8")
    report.parent.mkdir()
    report.write_bytes(ARTICLE.encode())
    checklist = ["Does the report say {what} it cost?", "Does it say who paid?", "Does it say when?"]
    given = {"query": "What did the mill {cost}?", "checklist": checklist, "reference": REFERENCE}
    (tmp_path / "given.json").write_text(json.dumps(given), encoding="utf-8")
    with StubThread(StubPlan(answer=lrb_answer)) as server:
        told = run_original(
            driver, tmp_path, tmp_path / "given.json", report, recorder=server.url, project=root
        )
        theirs = sent(server)
    assert len(theirs) == 6
    result = json.loads(told.splitlines()[-1])

    tasks = write(tmp_path / "tasks.jsonl", {"id": "7", "prompt": given["query"]})
    checklists = write(
        tmp_path / "checklists.jsonl", {"id": "7", "prompt": given["query"], "checklist": checklist}
    )
    reports = write(
        tmp_path / "reports.jsonl", {"id": "7", "task_id": "7", "article": ARTICLE, "system": "ada"}
    )
    references = write(
        tmp_path / "references.jsonl", {"id": "7", "prompt": given["query"], "article": REFERENCE}
    )
    run = tmp_path / "run"
    with StubThread(StubPlan(answer=lrb_answer)) as server:
        options = (
            *("run", reports, "--tasks", tasks, "--checklists", checklists, "--references", references),
            *("--protocol", "liveresearchbench", "--judge", write_preset(tmp_path), "--base-url", server.url),
            *("--out", run, "--prompts", f"original={root}", "--set"),
        )
        assert (
            "accuracy has no published prompts"
            in command(*options, "liveresearchbench.parts=[accuracy]", "--date", "2026-01-01").line()
        )
        options = (*options, f"liveresearchbench.parts=[{','.join(result)}]")
        assert "give --date" in command(*options).line()
        without = (
            *options[:2],
            *options[8:-1],
            "liveresearchbench.parts=[consistency]",
            "--date",
            "2026-01-01",
        )
        assert (
            command(*without)
            .line()
            .endswith("it has no task, whose request the published prompts show; give --tasks")
        )
        # The day on which the published graders have asked.
        [day] = set(re.findall(r"\b[A-Z][a-z]+ \d\d, 20\d\d\b", json.dumps(theirs)))
        date = datetime.strptime(day, "%B %d, %Y").replace(tzinfo=UTC).date()
        ended = command(*options, "--date", date.isoformat())
        assert ended.code == 0, ended.err
        assert sent(server) == theirs
    found = scores(command, run)
    assert found["presentation"] == result["presentation"]["summary"]["average_pass_rate"] == 50
    assert found["coverage"] == pytest.approx(
        result["coverage"]["summary"]["percentage_addressed"], abs=1e-12
    )
    assert (found["consistency"], found["citation"]) == (70, 90)
    assert (result["consistency"]["score"], result["citation"]["score"]) == (70, 90)
    winners = [result["depth"][f"winner_comparison_{number}"] for number in (1, 2)]
    assert (winners, found["depth"]) == (["evaluated_model", "tie"], 100)


def dre_answer(asked: Mapping[str, Any]) -> str:
    """Drafts two dimensions and three criteria of each; scores each criterion by its length."""
    text: str = asked["messages"][0]["content"]
    assert (asked["temperature"], asked["max_tokens"]) == (0.1, 8192)
    if "<criteria_of_one_dimension_json>" in text:
        shown = text.partition("<criteria_of_one_dimension_json>\n")[2]
        listed = json.loads(shown.partition("\n</criteria_of_one_dimension_json>")[0])
        scored = [
            {
                "criterion": one["criterion"],
                "analysis": "“So.”",
                "report_score_0_to_10": f"{len(one['criterion']) % 9}.25",
            }
            for one in reversed(listed)
        ]
        return f"<json_output>\n{json.dumps(scored, ensure_ascii=False)}\n</json_output>"
    if "<additional_meta_dimensions_json>" in text:
        names = (
            "Coverage",
            "insight",
            "Instruction Following",
            "clarity",
            "Cost {plan}",
            "Flood-risk",
            "Other",
        )
        weights = {name: 0.05 * number for number, name in enumerate(names, 1)}
        return f"<analysis>So.</analysis>\n<json_output>\n{json.dumps(weights)}\n</json_output>"
    asked_about = re.search(r"For the \*\*(.+)\*\* dimension", text)
    if asked_about is not None:
        criteria = [
            {
                "criterion": f"{asked_about[1]}: {what}",
                "explanation": f"“{what}” {{x}}",
                "weight": 0.2 * number,
            }
            for number, what in enumerate(("sums", "payers of it", "years"), 1)
        ]
        return f"I weigh.\n```json\n{json.dumps(criteria, ensure_ascii=False)}\n```"
    named = [
        {"meta_dimension_name": "Cost {plan}", "definition": "“Who” pays?", "why": 1},
        {"meta_dimension_name": "Flood-risk", "definition": "How often?"},
    ]
    return f"```json\n{json.dumps(named)}\n```"


def test_deepresearcheval_quality(command: Command, tmp_path: Path) -> None:
    root = ORIGINALS / "dre"
    project, data = root / "point_quality", tmp_path / "data"
    prompt = "What did the mill {cost}?"
    tasks = write(data / "input_queries/query.jsonl", {"id": 7, "prompt": prompt})
    write(data / "method_results/ada/7.json", {"entries": [{"response": ARTICLE}]})
    settings = {
        "data_dir": str(data),
        "target_models": ["ada"],
        "evaluator_model": {"name": "stub", "api_type": "openai"},
        "evaluation": {"cache_dir": str(tmp_path / "cache"), "max_workers": 2},
        "output": {"results_file": str(tmp_path / "outputs/results.json")},
    }
    config = write(tmp_path / "config.json", settings)
    with StubThread(StubPlan(answer=dre_answer)) as server:
        run_original(
            *(project / "example_pointwise_usage.py", tmp_path, "--config", config),
            recorder=server.url,
            project=project,
        )
        theirs = sent(server)
    assert len(theirs) == 14  # dimensions, weights, six times criteria, six times scores
    found = json.loads((tmp_path / "outputs/results.json").read_text(encoding="utf-8"))["query_results"]["7"]
    result = found["model_results"]["ada"]["final_scores"]

    run = tmp_path / "run"
    reports = write(tmp_path / "ada.jsonl", {"id": 7, "prompt": prompt, "article": ARTICLE})
    with StubThread(StubPlan(answer=dre_answer)) as server:
        options = (
            *(
                "run",
                reports,
                "--tasks",
                tasks,
                "--protocol",
                "deepresearcheval",
                "--judge",
                write_preset(tmp_path),
            ),
            *("--base-url", server.url, "--out", run, "--prompts", f"original={root}"),
        )
        assert "give --set deepresearcheval.parts=[quality]" in command(*options).line()
        options = (*options, "--set", "deepresearcheval.parts=[quality]")
        assert (
            "quality.calls=task: not in the published code"
            in command(*options, "--set", "deepresearcheval.quality.calls=task").line()
        )
        ended = command(*options)
        assert ended.code == 0, ended.err
        assert sent(server) == theirs
    assert scores(command, run)["quality"] == result["total_weighted_score"]
    assert command("export", run, tmp_path / "exported", "--format", "deepresearcheval").code == 0
    exported = json.loads((tmp_path / "exported/quality_results.json").read_text(encoding="utf-8"))
    ours = exported["query_results"]["7"]
    assert ours["all_criteria"] == found["all_criteria"]
    assert ours["dimension_weights"] == {
        name: weight for name, weight in found["dimension_weights"].items() if name != "other"
    }
    [report] = ours["model_results"].values()
    assert report["final_scores"] == result

    again = tmp_path / "again"  # dimensions of the task: only scores are asked for
    with StubThread(StubPlan(answer=dre_answer)) as server:
        ended = command(
            *(*options, "--base-url", server.url, "--out", again),
            *("--dimensions", tmp_path / "outputs/results.json"),
        )
        assert ended.code == 0, ended.err
        assert sent(server) == [one for one in theirs if "<criteria_of_one_dimension_json>" in one]
