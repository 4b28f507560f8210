"""Record everything that a change of structure must not change: `scripts/freeze FOLDER [--against FOLDER]`.

Six reports of three systems are judged by all protocols under several settings, by one, two and three judges whose
answers vary with the request alone and fail at a tenth of them. What is recorded of each run: the keys of all replies
(a key is a digest of the prompt, the schema and the sampling), the scores of every profile, what `show`, `verticals`,
`rank`, `agree` and `stats` print, and the files of all exports. With `--against`, names what differs from an earlier
record and ends with 1. Needs neither a model nor a network.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import io
import json
import math
import random
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any, cast

from local_judge.cli import main as local_judge
from local_judge.demo.outcome import sample_folder
from tests.cli.every_command import answering
from tests.stub_replies import fill
from tests.stub_server import StubPlan
from tests.stub_thread import PRESET, StubThread

FAILING = 0.1
"""Share of the requests that get no answer in the asked form, or no probabilities."""
TOLERANCE = 1e-12
"""Relative, of numbers that are compared: sums in another order differ in their last bits."""
SHOWN = 6
"""Differences of a file that are printed."""
JUDGES = ("ada", "bea", "cy")
SYSTEMS = ("lake", "mill", "sea")
TASKS = {"cost": "What did the renewal cost, and who paid?", "vote": "How was the renewal decided?"}
FILES = ("guidance", "criteria", "dimensions", "checklists", "plans")
"""Drafts of the judge for the tasks."""
COMMANDS = {"checklists": "checklist", "plans": "plan"}

RUNS: dict[str, tuple[int, str]] = {
    "one": (1, ""),
    "two": (2, "--set race.order=shared"),
    "three": (3, ""),
    "scored": (1, "--method scored --set race.scoring=expected --set race.mode=pointwise"),
    "near": (2, "--method scored --view near --set race.mode=vanilla"),
    "terse": (1, "--terse --set race.criteria=static --set race.mode=pointwise --set deer.scale=5"),
    "own": (1, "--set fact.claims=own --set race.positions=both --set deer.guidance=none"),
    "upstream": (2, "--set deer.guidance=upstream"),
}
"""Number of judges, and other options of `run`."""
SCORES = {
    "deer": "overall",
    "fact": "citation_accuracy",
    "race": "overall",
    "liveresearchbench": "coverage",
    "dream": "citation/attribution",
    "deepresearcheval": "quality",
}
"""The score by which reports are ranked and compared with people's ratings."""
PROTOCOLS = tuple(SCORES)
PARTS = (
    '--set liveresearchbench.parts=["presentation","coverage","consistency","citation","accuracy","depth"]'
)
EXPORTS = ("csv", *(name for name in PROTOCOLS if name != "dream"))


def varied(value: Any, schema: Mapping[str, Any], rng: random.Random) -> Any:
    """`value` with other labels, numbers and truth values that the schema admits."""
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "const" in schema or "anyOf" in schema or "oneOf" in schema:
        return value
    match schema.get("type"):
        case "object":
            below = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {}))
            return {key: varied(one, below.get(key, {}), rng) for key, one in value.items()}
        case "array":
            return [varied(one, schema.get("items", {}), rng) for one in value]
        case "integer":
            least = int(schema.get("minimum", 0))
            return rng.randint(least, int(schema.get("maximum", least + 10)))
        case "number":
            least = float(schema.get("minimum", 0.0))
            return round(rng.uniform(least, float(schema.get("maximum", least + 10.0))), 2)
        case "boolean":
            return rng.random() < 0.7
        case _:
            return value


def plan(name: str) -> StubPlan:
    """Return the script of the judge `name`."""

    def seeded(asked: Mapping[str, Any], purpose: str) -> random.Random:
        body = json.dumps([asked["messages"], asked.get("seed")])
        return random.Random(hashlib.sha256(f"{name} {purpose} {body}".encode()).digest())

    def answer(asked: Mapping[str, Any]) -> str:
        rng = seeded(asked, "answer")
        if rng.random() < FAILING:
            return "I would rather not."
        schema = asked.get("response_format", {}).get("json_schema", {}).get("schema", {})
        try:
            said = varied(json.loads(answering(asked)), schema, rng)
        except (
            AssertionError,
            AttributeError,
        ):  # a question that the sample judge of the tests does not know
            said = varied(json.loads(fill(asked)), schema, rng)
        return json.dumps(said, ensure_ascii=False)

    def alternatives(asked: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
        rng = seeded(asked, "alternatives")
        if rng.random() < FAILING:
            return (("Perhaps", -0.1),)
        scale = "Article:" in asked["messages"][-1]["content"]
        weights = {
            option: rng.random() + 1e-3 for option in (map(str, range(11)) if scale else ("Yes", "No"))
        }
        return tuple((option, math.log(weight / sum(weights.values()))) for option, weight in weights.items())

    return StubPlan(model=name, answer=answer, alternatives=alternatives)


def command(*words: str | Path) -> str:
    """Return the output of a command, with its exit status as the first line."""
    out, errors = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors), _arguments(*map(str, words)):
        try:
            local_judge()
        except SystemExit as end:
            code = end.code or 0
    return f"{code}\n{errors.getvalue() if code else ''}{out.getvalue()}"


@contextlib.contextmanager
def _arguments(*words: str) -> Generator[None]:
    before = sys.argv
    sys.argv = ["local-judge", *words]
    try:
        yield
    finally:
        sys.argv = before


def write_reports(path: Path) -> None:
    """Reports of all systems on all tasks: the sample report, each with other sentences left out and other figures."""
    text = (sample_folder() / "report.md").read_text(encoding="utf-8")
    rows: list[dict[str, str]] = []
    for system in SYSTEMS:
        for task, request in TASKS.items():
            rng = random.Random(f"{system} {task}")
            lines = [line for line in text.split("\n\n") if line.startswith(("#", "[")) or rng.random() < 0.8]
            report = "\n\n".join(lines).replace("1,240", f"1,2{rng.randint(10, 99)}")
            rows.append(
                {
                    "id": f"{system}-{task}",
                    "task_id": task,
                    "task": request,
                    "system": system,
                    "report": report,
                }
            )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def record(out: Path, work: Path) -> None:
    """Judge, show and export everything; what comes out goes into files under `out`."""
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(StubThread(plan(name))) for name in JUDGES}
        steady = stack.enter_context(StubThread(StubPlan(model="steady", answer=answering)))
        for name in (*JUDGES, "steady"):
            preset = PRESET.format(concurrency=8, timeout=60.0).replace("model: stub", f"model: {name}")
            (work / f"{name}.yaml").write_text(preset, encoding="utf-8")
        write_reports(work / "reports.jsonl")
        tasks = "".join(json.dumps({"id": id, "prompt": request}) + "\n" for id, request in TASKS.items())
        (work / "tasks.jsonl").write_text(tasks, encoding="utf-8")
        references = "".join(
            json.dumps(
                {
                    "id": id,
                    "article": f"# {request}\n\nThe canton paid for it [1].\n\n[1] https://heat.example/",
                }
            )
            + "\n"
            for id, request in TASKS.items()
        )
        (work / "references.jsonl").write_text(references, encoding="utf-8")
        command("snapshot", "import", sample_folder() / "pages", work / "snapshot")
        asking = ("--judge", work / "steady.yaml", "--base-url", steady.url)
        given: list[str | Path] = ["--references", work / "references.jsonl"]
        for kind in FILES:
            drafts = work / f"{kind}.jsonl"
            words = (
                "tasks",
                COMMANDS.get(kind, kind),
                "draft",
                work / "tasks.jsonl",
                *asking,
                "--out",
                drafts,
            )
            pages = ("--snapshot", work / "snapshot") if kind in ("guidance", "plans") else ()
            printed = command(*words, *pages)
            if not printed.startswith("0"):
                raise SystemExit(f"{kind}: {printed}")
            shutil.copy(drafts, out / drafts.name)
            given += [f"--{kind}", drafts]
        for name, (n_judges, more) in RUNS.items():
            print(name, file=sys.stderr)
            run = work / "runs" / name
            words = [
                "run",
                work / "reports.jsonl",
                "--snapshot",
                work / "snapshot",
                "--out",
                run,
                *given,
                *more.split(),
            ]
            for judge in JUDGES[:n_judges]:
                words += ["--judge", work / f"{judge}.yaml", "--base-url", f"{judge}={servers[judge].url}"]
            for protocol in PROTOCOLS:
                words += ["--protocol", protocol]
            record_run(run, out / name, command(*words, *PARTS.split()))


def record_run(run: Path, out: Path, printed: str) -> None:
    """Everything that one run gives."""
    out.mkdir()
    if not (run / "scores").is_dir():
        raise SystemExit(printed)
    with contextlib.closing(sqlite3.connect(run / "ledger.sqlite")) as ledger:
        keys = [key for (key,) in ledger.execute("SELECT key FROM requests ORDER BY key")]
    (out / "keys.txt").write_text("\n".join(map(str, keys)) + "\n", encoding="utf-8")
    shutil.copytree(run / "scores", out / "scores")
    ratings = "report,annotator,score\n" + "".join(
        f"{system}-{task},{who},{(len(system) * 7 + len(task) * place) % 10}\n"
        for system in SYSTEMS
        for task in TASKS
        for place, who in enumerate(("eve", "flo"), 2)
    )
    (run.parent / "ratings.csv").write_text(ratings, encoding="utf-8")
    shown: dict[str, Sequence[str | Path]] = {
        "show": ("show", run),
        "verticals": ("show", run, "--verticals"),
    }
    for protocol in PROTOCOLS:
        for profile in ("paper", "upstream"):
            which = ("--protocol", protocol, "--profile", profile)
            score = ("--score", SCORES[protocol])
            shown |= {
                f"rank-{protocol}-{profile}": ("results", "rank", run, *which, "--resamples", "20", *score),
                f"agree-{protocol}-{profile}": (
                    "results",
                    "agree",
                    run.parent / "ratings.csv",
                    run,
                    *which,
                    *score,
                    "--resamples",
                    "20",
                ),
                f"length-{protocol}-{profile}": ("results", "stats", "length", run, *which),
            }
    for name, words in shown.items():
        text = command(*words, "--json").replace(str(run.parent), "")
        (out / f"{name}.json").write_text(text, encoding="utf-8")
    for kind in EXPORTS:
        said = command("export", run, out / kind, "--format", kind)
        (out / f"export-{kind}.txt").write_text(
            said.replace(str(out), "").replace(str(run.parent), ""), encoding="utf-8"
        )


def differences(before: Path, after: Path) -> Iterator[str]:
    """Return the differences, file by file: JSON and CSV by value, numbers to `TOLERANCE`; others by line."""
    names = {path.relative_to(top) for top in (before, after) for path in top.rglob("*") if path.is_file()}
    for name in sorted(names):
        texts = [
            (top / name).read_text(encoding="utf-8") if (top / name).is_file() else None
            for top in (before, after)
        ]
        if texts[0] == texts[1]:
            continue
        if texts[0] is None or texts[1] is None:
            yield f"{name}: only {'after' if texts[0] is None else 'before'}"
            continue
        values = [read_values(name.suffix, text) for text in texts if text is not None]
        if None not in values:
            found = list(unequal("", *values))
            if found:
                yield "\n".join([f"{name}: {len(found)} values differ", *found[:SHOWN]])
            continue
        lines = unified_diff(texts[0].splitlines(), texts[1].splitlines(), lineterm="", n=0)
        yield "\n".join([f"{name}: differs", *(line[:200] for line in list(lines)[2 : 2 + SHOWN])])


def read_values(suffix: str, text: str) -> Any:
    """The values of a file; None where it is neither JSON, JSON Lines nor CSV. A first line may be an exit status."""
    body = text.split("\n", 1)[1] if suffix == ".json" and text[:2] == "0\n" else text
    try:
        if suffix == ".csv":
            return [list(row) for row in csv.reader(io.StringIO(body))]
        if suffix == ".jsonl":
            return [json.loads(line) for line in body.splitlines()]
        return json.loads(body) if suffix == ".json" else None
    except ValueError:
        return None


def unequal(path: str, before: object, after: object) -> Iterator[str]:
    """The places where two values differ, as `path: before -> after`."""
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        for key in sorted(old.keys() | new.keys()):
            if key not in new or key not in old:
                yield f"{path}/{key}: only {'before' if key in old else 'after'}"
            else:
                yield from unequal(f"{path}/{key}", old[key], new[key])
        return
    if isinstance(before, list) and isinstance(after, list):
        olds, news = cast("list[Any]", before), cast("list[Any]", after)
        if len(olds) == len(news):
            for place, (one, other) in enumerate(zip(olds, news, strict=True)):
                yield from unequal(f"{path}/{place}", one, other)
            return
    if not same(cast("object", before), cast("object", after)):
        yield f"{path}: {str(cast('object', before))[:80]} -> {str(cast('object', after))[:80]}"


def same(before: object, after: object) -> bool:
    """Equality, of numbers and of texts that are numbers up to the last bits."""
    if before == after:
        return True
    try:
        return math.isclose(float(str(before)), float(str(after)), rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except (TypeError, ValueError):
        return False


def main() -> int:
    """Record, and compare where something to compare with is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="new or empty")
    parser.add_argument("--against", type=Path, help="an earlier record")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if any(args.folder.iterdir()):
        raise SystemExit(f"{args.folder}: is not empty")
    with tempfile.TemporaryDirectory() as work:
        record(args.folder, Path(work))
    if args.against is None:
        return 0
    found = list(differences(args.against, args.folder))
    print("\n".join(found) or "no difference")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
