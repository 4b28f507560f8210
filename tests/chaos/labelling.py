"""Kills of the labelling page's server between and while it writes labels."""

from __future__ import annotations

import http.client
import json
import re
import time
from typing import Any, get_args
from urllib.parse import parse_qs, urlsplit

from local_judge.runs.results.labels import HumanLabel

from .process import Process
from .trial import Trial

N_LABELS = 60
"""Maximum number of labels sent to one server, of a few claims, so that most replace others."""


def labels(trial: Trial) -> None:
    """A person labels claims, and the server is killed; every label that it acknowledged is in the file."""
    trial.bench.prepare(trial.bench.commands["rescore"], trial.cwd)
    stored: dict[int, str] = {}
    unsure: tuple[int, str] | None = None
    for _ in range(trial.rng.randint(1, 3)):
        env = {"CHAOS_KILL_AT": str(trial.rng.randint(1, 150))} if trial.rng.random() < 0.6 else {}
        process = trial.start(_command(trial), env)
        page = _Page(trial, process)
        if page.listens:
            _check(trial, page, stored, unsure)
            unsure = None
            for _ in range(trial.rng.randint(1, N_LABELS)):
                number, label = trial.rng.randrange(page.n_claims), trial.rng.choice(get_args(HumanLabel))
                if not page.post(number, label):
                    unsure = (number, label)
                    break
                stored[number] = label
        process.kill()
        trial.ended(process.finish(), killed=True)
        trial.done.append(f"killed with {len(stored)} labels{' at a change of a file' if env else ''}")
    process = trial.start(_command(trial))
    page = _Page(trial, process)
    _check(trial, page, stored, unsure)
    for number in range(page.n_claims):
        page.post(number, "supported")
    process.kill()
    trial.ended(process.finish(), killed=True)
    corrected = trial.run(("results", "correct", "run", "--labels", "labels.jsonl"))
    if corrected.state != "done":
        trial.violate(f"complete labels are not read: {corrected.brief()}")


def _command(trial: Trial) -> tuple[str, ...]:
    snapshot = str(trial.bench.inputs / "snapshot")
    return ("lab", "label", "run", "--snapshot", snapshot, "--annotator", "ada", "--out", "labels.jsonl")


def _check(trial: Trial, page: _Page, stored: dict[int, str], unsure: tuple[int, str] | None) -> None:
    """Compare the labels that a new server reads; the label that was sent at the kill may be among them."""
    present = {number: label for number, label in enumerate(page.labels()) if label is not None}
    if unsure is not None and present.get(unsure[0]) == unsure[1]:
        stored[unsure[0]] = unsure[1]
    if present != stored:
        trial.violate(f"labels {stored} were acknowledged, {present} are there")


class _Page:
    """The labelling page of a process; it may end before it listens."""

    def __init__(self, trial: Trial, process: Process) -> None:
        self.n_claims, self.listens = 0, False
        self._trial = trial
        deadline = time.monotonic() + 60
        while process.runs() and time.monotonic() < deadline:
            line = re.search(r"^(\d+) claims? to label at (\S+)$", process.printed(), re.MULTILINE)
            if line is not None:
                url = urlsplit(line[2])
                self.n_claims, self._port = int(line[1]), url.port
                self._token = parse_qs(url.query)["token"][0]
                self.listens = True
                return
            time.sleep(0.02)

    def labels(self) -> list[str | None]:
        """Return the label of each claim."""
        if not self.listens:
            self._trial.violate("the labelling page does not start")
        answer = self._ask("GET", "/labels") if self.listens else None
        return answer["labels"] if answer else []

    def post(self, number: int, label: str) -> bool:
        """Send a label; return whether it was acknowledged."""
        return self._ask("POST", "/label", {"number": number, "label": label}) is not None

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer; None if the server was killed."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"X-Token": self._token})
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        if answer.status != 200:
            self._trial.violate(f"{method} {path}: {answer.status} {content[:200]!r}")
        return json.loads(content)
