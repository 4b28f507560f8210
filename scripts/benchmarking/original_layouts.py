"""Calls of the published projects about one report, by the texts in a checkout of each.

Invariant: fixed texts, their order and the division into calls are those of the checkout, read when this runs; nothing
of them is stored. What varies (report, request, pages, claims, search results) is what this project's own run showed
its judge.

    deer    claims of 20 sentences per call, verification per page, five calls for the rubric
    drb     FACT: extraction, deduplication and validation per page; RACE: cleaning, and one comparison
    lrb     four calls for one criterion each, two comparisons in depth, and one call per claim and cited page, which
            only its paper has, in the words of `CITATION_CHECK`
    dre     one call per dimension of quality; segmentation, then an agent per segment, with one search per statement

Left out: DREAM, which publishes no prompts, the tools in the agent's system text, its longer search results, and calls
about the task alone.
"""

from __future__ import annotations

import ast
import json
import re
import runpy
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from local_judge.documents import parse_report
from local_judge.ledger.ledger import Trace
from scripts.benchmarking.one_token import Chat
from scripts.benchmarking.six_protocols import CHECKLIST, DIMENSIONS, GUIDANCE
from serving.types import Message

CITATION_CHECK = (
    "You check the accuracy of citations in a research report. You are shown one claim and the page that the report "
    "cites for it. The citation is accurate if the page gives the information that the claim states; it is inaccurate "
    "if the page does not have it, says something else, or leaves a part of the claim open. What you know from "
    "elsewhere does not count.\n\n"
    'Think it through before you decide. Answer with a JSON object: "reasoning", in which you weigh the claim against '
    'the page, and "accurate", true or false.\n'
)
"""Text of LiveResearchBench's check of a citation, in this project's words."""
CLAIMS_PER_CALL = SENTENCES_PER_CALL = 20
Conversation = list[Chat]
"""Prompts of which each is asked when the one before it has been answered."""
Step = list[Conversation]
"""Conversations that are independent of each other."""


class CitedPage(NamedTuple):
    """A page as the judge read it, and the claims that cite it."""

    url: str
    text: str
    claims: list[str]


class Lookup(NamedTuple):
    """Search for a statement, and what it gave."""

    segment: str
    statement: str
    found: str


class Shown(NamedTuple):
    """Texts that vary in the prompts about one report."""

    request: str
    report: str
    reference: str
    pages: list[CitedPage]
    lookups: list[Lookup]


def shown_in(traces: Sequence[Trace], request: str, report: str, reference: str) -> Shown:
    """Return what the prompts of a run of all six protocols showed."""
    pages: dict[str, CitedPage] = {}
    lookups: list[Lookup] = []
    for trace in traces:
        own = trace.prompt.own
        if trace.prompt.prefix_key.startswith("page:") and (listed := fenced_text(own, "Claims:")):
            text = fenced_text(trace.prompt.shared, "Page:")
            page = pages.setdefault(
                text, CitedPage(text.split("\n", 1)[0].removeprefix("Address: "), text, [])
            )
            page.claims.extend(line.split(". ", 1)[1] for line in listed.splitlines())
        given = re.search(r"^Turn 1, what it gave:\n(.*)\n\nTurn 2 of", own, re.DOTALL | re.MULTILINE)
        if given is not None and (statement := fenced_text(own, "Statement:")):
            segment = fenced_text(own, "Part of the report that the statements are from:")
            lookups.append(Lookup(segment, statement.removeprefix("[s1] "), given[1]))
    return Shown(request, report, reference, list(pages.values()), sorted(lookups))


def fenced_text(text: str, title: str) -> str:
    """Return the text in the fence under a title line; empty if there is none."""
    found = re.search(rf"^{re.escape(title)}\n(`{{3,}})\n(.*?)\n\1$", text, re.DOTALL | re.MULTILINE)
    return "" if found is None else found[2]


def original_steps(originals: Path, shown: Shown) -> dict[str, list[Step]]:
    """Return the calls of each project, in the order of its programs.

    Raises:
        OSError: a file of the checkout is missing.
        KeyError: a file lacks a text.
    """
    return {
        "deer": list(_deer(originals / "deer", shown)),
        "drb": list(_drb(originals / "drb", shown)),
        "lrb": list(_lrb(originals / "lrb" / "liveresearchbench" / "criteria", shown)),
        "dre": list(_dre(originals / "dre", shown)),
    }


def _deer(folder: Path, shown: Shown) -> Iterator[Step]:
    document = parse_report(shown.report.encode())
    body = [one for one in document.sentences if document.blocks[one.block].role == "body"]
    lines = [f"{one.label}: {one.text}" for one in body]
    system = (folder / "prompts" / "claim_classification_v10.txt").read_text(encoding="utf-8")
    yield [
        [
            _chat(
                f"# Report Excerpt\n\n{document.labelled(None)}\n\n# Target Sentences\n\n" + "\n".join(some),
                system,
            )
        ]
        for some in _batches(lines, SENTENCES_PER_CALL)
    ]
    template = (folder / "prompts" / "claim_verification_v2.txt").read_text(encoding="utf-8")
    yield [
        [_chat(template.format(url=page.url, claims=_numbered(some), context=page.text))]
        for page in shown.pages
        for some in _batches(page.claims, CLAIMS_PER_CALL)
    ]
    prompts = runpy.run_path(str(folder / "prompts" / "prompt_report.py"))
    guided = ("request_fulfillment", "analytical_soundness", "structural_coherence")
    asked = [(name, (shown.request, shown.report, GUIDANCE)) for name in guided]
    asked += [(name, (shown.request, shown.report)) for name in ("format_style", "information_ethics")]
    rubric = [prompts[f"get_prompt_{name}"](*given) for name, given in asked]
    yield [[_chat(user, system)] for system, user in rubric]


def _drb(folder: Path, shown: Shown) -> Iterator[Step]:
    utils, prompts = folder / "utils", folder / "prompt"
    yield [[_chat(_text(utils / "extract.py", "prompt_template_en").format(report_text=shown.report))]]
    same = _text(utils / "deduplicate.py", "prompt_template_en")
    yield [
        [_chat(same.format(statements=_numbered(one.claims)))] for one in shown.pages if len(one.claims) > 1
    ]
    check = _text(utils / "validate.py", "prompt_template_en")
    yield [[_chat(check.format(reference=one.text, statements=_numbered(one.claims)))] for one in shown.pages]
    cleaning = _text(prompts / "clean_prompt.py", "clean_article_prompt_en")
    yield [[_chat(cleaning.format(article=shown.report))]]
    scoring = _text(prompts / "score_prompt_en.py", "generate_static_score_prompt")
    articles = {"article_1": shown.report, "article_2": shown.reference}
    yield [[_chat(scoring.format(task_prompt=shown.request, **articles))]]


def _lrb(folder: Path, shown: Shown) -> Iterator[Step]:
    def made(name: str, *more: object) -> tuple[str, str]:
        module = runpy.run_path(str(folder / f"{name}.py"))
        return module[f"create_{name}_prompt"](shown.request, shown.report, *more)

    asked = [made("presentation"), made("coverage", CHECKLIST), made("consistency"), made("citation")]
    yield [[_chat(user, system)] for system, user in asked]
    depth = runpy.run_path(str(folder / "depth.py"))
    pairs = [(shown.report, shown.reference), (shown.reference, shown.report)]
    system = depth["create_depth_comparison_prompt"]()
    yield [[_chat(depth["create_depth_user_prompt"](shown.request, *pair), system)] for pair in pairs]
    yield [
        [_chat(f"Claim: {claim}\n\nPage:\n{page.text}", CITATION_CHECK)]
        for page in shown.pages
        for claim in page.claims
    ]


def _dre(folder: Path, shown: Shown) -> Iterator[Step]:
    scoring = _text(
        folder / "point_quality" / "deepresearcharena" / "prompts" / "pointwise_prompts.py", "SCORING_PROMPT"
    )
    listed = [
        [{name: one[name] for name in ("criterion", "explanation")} for one in dimension["criteria"]]
        for dimension in DIMENSIONS
    ]
    values = {"task_prompt": shown.request, "report": shown.report}
    criteria = [json.dumps(one, ensure_ascii=False, indent=2) for one in listed]
    yield [[_chat(scoring.format(criteria_of_one_dimension_json=one, **values))] for one in criteria]
    facts = folder / "factual_eval"
    script = facts / "apps" / "run-agent" / "fact_check.py"
    yield [[_chat(shown.report, _text(script, "system_prompt"))]]
    miroflow = facts / "libs" / "miroflow" / "src" / "miroflow"
    texts = runpy.run_path(str(miroflow / "utils" / "prompt_utils.py"))
    system = texts["generate_mcp_system_prompt"](datetime(2026, 1, 1, tzinfo=UTC), [])
    system += texts["generate_agent_specific_system_prompt"]("main")
    task = _text(miroflow / "prebuilt" / "orchestrator.py", "task_guidence")
    ending: str = texts["generate_agent_summarize_prompt"]("", agent_type="main")
    agents: Step = []
    for segment, lookups in groupby(shown.lookups, key=lambda one: one.segment):
        past = f"[user_query start]>>>\n{shown.request}\n[part_start]>>>\n{segment}\n[part_end]>>>\n{task}"
        turns = [_chat(past, system)]
        for one in lookups:
            past += f"\n\n{one.statement}\n\n{one.found}"
            turns.append(_chat(past, system))
        agents.append([*turns, _chat(f"{past}\n\n{ending}", system)])
    yield agents


def _text(path: Path, name: str) -> str:
    """Return the text that a file of Python assigns to a name, without running it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if name in targets and isinstance(node.value.value, str):
                return node.value.value
    raise KeyError(f"{path}: assigns no text to {name}")


def _chat(user: str, system: str = "") -> Chat:
    before = (Message(role="system", content=system),) if system else ()
    return (*before, Message(role="user", content=user))


def _batches(some: Sequence[str], size: int) -> list[Sequence[str]]:
    return [some[start : start + size] for start in range(0, len(some), size)]


def _numbered(some: Sequence[str]) -> str:
    return "\n".join(f"{number}. {one}" for number, one in enumerate(some, 1))
