"""`local-judge tasks draft`, `show`, `review` and `lint`: task data of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import RenderableType

from indexes.snapshot import Snapshot
from local_judge.agents.result import AgentLimits, Tally, write_evidence_gaps
from local_judge.base.errors import ConfigError
from local_judge.base.output import count
from local_judge.cli.help import AGENT
from local_judge.cli.judging import TasksFile
from local_judge.cli.options import (
    AsJson,
    MaxCalls,
    MaxTokens,
    MaxTurns,
    Options,
    SomeSnapshotDir,
    Tools,
    refuse,
    said,
    tools_named,
)
from local_judge.cli.output import print_json
from local_judge.cli.snapshot.look import AsOf, SearchMode, day
from local_judge.cli.tasks.asking import DraftOptions, ask_about, leave_drafts
from local_judge.cli.tasks.labelling import LabelOptions, label_texts
from local_judge.cli.tasks.reviewing import Shown, decision_of, review_rows, show_rows
from local_judge.reporting.drafts import (
    checklist_table,
    checklist_view,
    criteria_table,
    criteria_view,
    dimensions_table,
    dimensions_view,
    finding_line,
    guidance_table,
    guidance_view,
    unchecked_lines,
)
from local_judge.reporting.plans import coverage_lines, plan_table, plan_view, stand_line
from local_judge.reporting.topics import topic_notes, topic_table, topics_json
from local_judge.tasks import checklist_lint, plan_lint
from local_judge.tasks.checklist_draft import CHECKLIST_DRAFTS
from local_judge.tasks.checklist_lint import Linted, RuleText
from local_judge.tasks.checklists import CHECKLIST_KIND
from local_judge.tasks.criteria import CRITERIA_KIND
from local_judge.tasks.criteria_draft import CRITERIA_DRAFTS
from local_judge.tasks.dimensions import DIMENSIONS_KIND
from local_judge.tasks.dimensions_draft import DIMENSIONS_DRAFTS
from local_judge.tasks.drafting import Drafts
from local_judge.tasks.guidance import GUIDANCE_KIND
from local_judge.tasks.guidance_draft import DraftSettings, guidance_drafts
from local_judge.tasks.labels import label_file
from local_judge.tasks.load import load_tasks
from local_judge.tasks.plan_asking import PlanSettings, reply_tokens
from local_judge.tasks.plan_draft import plan_drafts
from local_judge.tasks.plans import (
    PLAN_KIND,
    PlanMethod,
    PlanRow,
    PlanTranscripts,
    all_coverage,
    all_evidence_gaps,
)
from local_judge.tasks.topics import (
    NEED_DRAFTS,
    TOPIC_DRAFTS,
    agreement_with_given,
    count_topics,
    need_file,
    topic_file,
    total_variation,
)
from local_judge.terminal import stdout

KindName = Literal["guidance", "criteria", "dimensions", "checklist", "plan"]
_KINDS = "Kind of data: guidance, criteria, dimensions, checklist, plan"
FilePath = Annotated[Path, typer.Argument(metavar="FILE", help="File written by `tasks draft` or by hand.")]
OneTask = Annotated[str | None, typer.Option("--task", help="Use only the task with this id.")]


def _view_plan(row: PlanRow, file: Path) -> RenderableType:
    transcript = PlanTranscripts(file).path(row.key)
    return plan_view(row, transcript if transcript.is_file() else None)


SHOWN: Mapping[KindName, Shown[Any]] = {
    "guidance": Shown(GUIDANCE_KIND, guidance_table, lambda row, _: guidance_view(row), ".md"),
    "criteria": Shown(CRITERIA_KIND, criteria_table, lambda row, _: criteria_view(row)),
    "dimensions": Shown(DIMENSIONS_KIND, dimensions_table, lambda row, _: dimensions_view(row)),
    "checklist": Shown(CHECKLIST_KIND, checklist_table, lambda row, _: checklist_view(row), ".txt"),
    "plan": Shown(PLAN_KIND, plan_table, _view_plan),
}
"""Kinds of data, and the views of their rows."""

_DRAFTS: Mapping[str, tuple[Drafts[Any], str]] = {
    "criteria": (CRITERIA_DRAFTS, "criteria"),
    "dimensions": (DIMENSIONS_DRAFTS, "dimensions"),
    "checklist": (CHECKLIST_DRAFTS, "a checklist"),
}
"""Drafts that need nothing but the task, and the name of a row in the last line."""

_PLAN = PlanSettings()


@dataclass(frozen=True, kw_only=True)
class GuidanceOptions(Options):
    """Options of drafting guidance."""

    evidence_tokens: Annotated[
        int,
        typer.Option(
            "--evidence-tokens",
            min=0,
            help="Of guidance: maximum tokens of passages from --snapshot per prompt.",
        ),
    ] = DraftSettings().evidence_tokens
    points: Annotated[
        int,
        typer.Option(
            "--points",
            min=1,
            max=30,
            help="Of guidance: maximum number of points; a small judge needs a small number.",
        ),
    ] = DraftSettings().points


@dataclass(frozen=True, kw_only=True)
class PlanOptions(Options):
    """Options of drafting plans."""

    method: Annotated[
        PlanMethod,
        typer.Option(
            "--method",
            help="Of a plan: source of key information: an `agent`, one `retrieval`, or the `request` alone.",
        ),
    ] = _PLAN.method
    items: Annotated[
        int,
        typer.Option("--items", min=0, max=30, help="Of a plan: maximum number of items of key information."),
    ] = _PLAN.items
    questions: Annotated[
        int,
        typer.Option("--questions", min=0, max=10, help="Of a plan: maximum number of reasoning questions."),
    ] = _PLAN.questions
    as_of: AsOf = None
    pages: Annotated[
        int,
        typer.Option(
            "--pages",
            min=0,
            max=40,
            help="Maximum number of pages to ask about individually after the agent.",
            rich_help_panel=AGENT,
        ),
    ] = _PLAN.pages
    turns: MaxTurns = _PLAN.limits.turns
    tokens: MaxTokens = _PLAN.limits.tokens
    calls: MaxCalls = _PLAN.limits.calls
    tokens_per_reply: Annotated[
        int | None,
        typer.Option(
            "--reply-tokens",
            min=16,
            help="Maximum number of tokens of one reply.",
            rich_help_panel=AGENT,
            show_default="enough for --items",
        ),
    ] = None
    tool: Tools = None
    mode: SearchMode = _PLAN.tools.mode

    def settings(self) -> PlanSettings:
        """Return the settings of the plans.

        Raises:
            ConfigError: there is nothing to draft, or a tool is unknown.
        """
        if not (self.items or self.questions):
            raise ConfigError("--items 0 and --questions 0: nothing to draft")
        reply = self.tokens_per_reply or reply_tokens(self.items)
        tools = tools_named(self.tool, _PLAN.tools.tools)
        changes = {"tools": tools, "mode": self.mode, "as_of": day(self.as_of)}
        return PlanSettings(
            method=self.method,
            items=self.items,
            questions=self.questions,
            pages=self.pages,
            limits=AgentLimits(turns=self.turns, tokens=self.tokens, calls=self.calls, reply_tokens=reply),
            tools=_PLAN.tools.model_copy(update=changes),
        )


def draft(
    kind: Annotated[
        Literal[KindName, "topic", "need"],
        typer.Argument(metavar="KIND", help=f"{_KINDS}, topic or need."),
    ],
    options: DraftOptions,
    guidance: GuidanceOptions,
    plan: PlanOptions,
    snapshot: SomeSnapshotDir = None,
) -> None:
    """Let the judge draft data of a kind for the tasks that have none.

    Guidance may quote passages of --snapshot; for plans, an agent searches it by default.
    need: whether a task needs deep research.
    """
    for name, own in (("guidance", guidance), ("plan", plan)):
        if kind != name and own != type(own)():
            raise ConfigError(f"draft {kind}: an option belongs to `tasks draft {name}`")
    if kind == "plan":
        _draft_plans(options, snapshot, plan.settings())
        return
    if kind == "guidance":
        settings = DraftSettings(evidence_tokens=guidance.evidence_tokens, points=guidance.points)
        drafts, row = guidance_drafts(Snapshot.open(snapshot) if snapshot else None, settings), "guidance"
    else:
        if snapshot is not None:
            raise ConfigError(f"draft {kind}: --snapshot belongs to `tasks draft guidance` and `plan`")
        if kind == "need":
            _draft_needs(options)
            return
        if kind == "topic":
            leave_drafts("a row", ask_about(options, topic_file(options.out), TOPIC_DRAFTS), options)
            return
        drafts, row = _DRAFTS[kind]
    leave_drafts(row, ask_about(options, SHOWN[kind].kind.file(options.out), drafts), options)


def _draft_needs(options: DraftOptions) -> None:
    """Decide which tasks need deep research, and print how many do."""
    file = need_file(options.out)
    outcome = ask_about(options, file, NEED_DRAFTS)
    rows = file.rows().values()
    kept = sum(row.kept for row in rows)
    counts = {"kept": kept, "dropped": len(rows) - kept}
    lines = [", ".join(f"{n} {word}" for word, n in counts.items())]
    leave_drafts("a row", outcome, options, lines=lines, data=counts)


def _draft_plans(options: DraftOptions, snapshot: Path | None, settings: PlanSettings) -> None:
    """Draft plans, and print their items and how much of what agents searched for is in the snapshot."""
    if snapshot is None:
        raise ConfigError("draft plan: give --snapshot DIR, which the agent searches")
    transcripts = PlanTranscripts(options.out)
    drafts = plan_drafts(Snapshot.open(snapshot), settings, transcripts.keep)
    outcome = ask_about(options, PLAN_KIND.file(options.out), drafts)
    rows, coverage = list(PLAN_KIND.file(options.out).rows().values()), _coverage(transcripts, options.out)
    counts = {
        "items": sum(len(row.key_information) for row in rows),
        "left_out": sum(len(row.left_out) for row in rows),
    }
    lines = [stand_line(rows), *coverage_lines(coverage)]
    leave_drafts("a plan", outcome, options, lines=lines, data={**counts, "coverage": coverage})


def _coverage(transcripts: PlanTranscripts, out: Path) -> dict[str, Tally]:
    """Write the evidence gaps of all agents next to the file, and return how much the snapshot covers."""
    results = transcripts.all()
    if not results:
        return {}
    write_evidence_gaps(out.with_name(f"{out.name}.evidence_gaps.jsonl"), all_evidence_gaps(results))
    return all_coverage(results)


def show(
    kind: Annotated[
        Literal[KindName, "topic"],
        typer.Argument(metavar="KIND", help=f"{_KINDS} or topic."),
    ],
    file: FilePath,
    other: Annotated[
        Path | None, typer.Argument(help="With topic: other tasks, to compare the shares of topics.")
    ] = None,
    task: OneTask = None,
    as_json: AsJson = False,
) -> None:
    """Print a table of the rows of a file, or with --task all details of one task.

    With topic: the distribution of the tasks of any file over topics, and how far a judge agrees with given topics.
    """
    if kind == "topic":
        refuse({"--task": task is not None}, kind)
        _show_topics(file, other, as_json)
    else:
        refuse({"OTHER": other is not None}, kind)
        show_rows(file, SHOWN[kind], task, as_json)


def _show_topics(file: Path, other: Path | None, as_json: bool) -> None:
    """Print the distribution of tasks over topics, and how far a judge agrees with given topics."""
    corpora = [count_topics(path) for path in (file, other) if path is not None]
    apart = total_variation(corpora[0].counts, corpora[1].counts) if len(corpora) == 2 else None
    agreement = agreement_with_given(file)
    if as_json:
        print_json(topics_json(corpora, apart, agreement))
        return
    stdout().print(topic_table(corpora))
    for note in topic_notes(corpora, apart, agreement):
        print(note)


def review(
    kind: Annotated[KindName, typer.Argument(metavar="KIND", help=f"{_KINDS}.")],
    file: FilePath,
    reviewer: Annotated[str, typer.Option("--reviewer", help="Name of the reviewer, stored with each row.")],
    options: LabelOptions,
    task: OneTask = None,
    accept: Annotated[bool, typer.Option("--accept", help="Accept the drafts without asking.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Reject the drafts without asking.")] = False,
    edit: Annotated[
        bool, typer.Option("--edit", help="Open each draft in $EDITOR, and accept what is saved.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Accept, edit or reject drafts. Each decision is stored at once.

    Without --task: all drafts without a decision. With --task: one task, even if it has a decision.
    With --labels: label requests and checklist items as in LiveResearchBench, appendix J, and print the agreement.
    """
    if options.labels is None:
        if options.label is not None or options.round is not None:
            raise ConfigError("--label and --next-round need --labels FILE")
        review_rows(file, SHOWN[kind], reviewer, task, decision_of(accept, reject, edit), as_json)
    elif kind != "checklist":
        raise ConfigError(f"review {kind}: --labels belongs to `tasks review checklist`")
    elif accept or reject or edit:
        raise ConfigError("--labels: labels decide on no draft; leave out --accept, --reject and --edit")
    else:
        labels = label_file(options.labels, file)
        label_texts(labels, said("--reviewer", reviewer), task, options, as_json)


def lint(
    kind: Annotated[
        Literal["checklist", "plan"],
        typer.Argument(metavar="KIND", help="Kind of data with rules: checklist or plan."),
    ],
    file: FilePath,
    tasks: TasksFile = None,
    snapshot: SomeSnapshotDir = None,
    as_json: AsJson = False,
) -> None:
    """Check checklists or plans against rules in code. The exit code is 1 if a rule is broken.

    --tasks adds requests that the file lacks. --snapshot adds a check of the quotations of plans.
    """
    if kind == "plan":
        requests = {} if tasks is None else {key: task.prompt for key, task in load_tasks(tasks).items()}
        opened = Snapshot.open(snapshot) if snapshot else None
        _leave_findings(kind, plan_lint.RULES, plan_lint.lint_file(file, requests, opened), as_json)
    elif snapshot is not None:
        raise ConfigError("lint checklist: --snapshot belongs to `tasks lint plan`")
    else:
        _leave_findings(kind, checklist_lint.RULES, checklist_lint.lint_file(file, tasks), as_json)


def _leave_findings(
    kind: KindName, rules: Mapping[str, RuleText], found: Mapping[str, Linted], as_json: bool
) -> None:
    """Print the findings by task, and end with exit code 1 if there are any."""
    n_findings = sum(len(linted.findings) for linted in found.values())
    if as_json:
        print_json(
            {
                "rules": {name: {"hard": rule.hard, "says": rule.says} for name, rule in rules.items()},
                SHOWN[kind].kind.several: [
                    {"task": task, **linted.model_dump(mode="json")} for task, linted in found.items()
                ],
            }
        )
    else:
        for task, linted in found.items():
            for finding in linted.findings:
                print(finding_line(task, finding))
        print(f"{count(n_findings, 'finding')} in {count(len(found), kind)}")
        print(f"rules: {', '.join(rules)}")
        for line in unchecked_lines({task: linted.unchecked for task, linted in found.items()}, kind):
            print(line)
    if n_findings:
        raise SystemExit(1)
