"""Engine for clusters that take batch jobs only: requests are written to a file, and answers are read from files.

The files have the batch format of OpenAI and vLLM, with one JSON object per line:

    {"custom_id": "…", "method": "POST", "url": "/v1/chat/completions", "body": {…}}
    {"custom_id": "…", "response": {"status_code": 200, "body": {…}}, "error": null}

Invariants: a body is the one that would be sent over HTTP, and its answer is read by the same rules; `custom_id` is a
digest of the body and of everything that identifies the judge, so that an answer belongs to one request of one judge. A
request that has no usable answer yet is a `PlannedCall`, and is in the next file.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic_core import to_json

from serving.engines.asgi import BASE_URL, AppClient
from serving.engines.openai import OpenAIEngine
from serving.engines.wire import ChatReply, VersionReply, parse
from serving.errors import BadEndpoint, EngineError, EngineFault, MalformedReply, PlannedCall, WrongModel
from serving.http import Answer, refusal
from serving.launch import LOCAL, command, environment
from serving.presets import Preset
from serving.weights import checkpoint

CHAT = "/v1/chat/completions"

_RESULTS = re.compile(r"results-(\d{1,9})\b.*\.jsonl")
_SERVER_ONLY = ("--host", "--port", "--uvicorn-log-level")
"""Options of the server that vLLM's batch program does not have."""


class Line(NamedTuple):
    """Place of one answer."""

    path: Path
    number: int
    offset: int

    def __str__(self) -> str:
        return f"{self.path}:{self.number}"


class Requests(NamedTuple):
    """File of requests that have no usable answer yet."""

    path: Path
    results: Path
    """File in which their answers are expected."""
    calls: int


class BatchFolder:
    """Client that answers chat completions from files, and everything else from vLLM's application without a model.

    Args:
        folder: Folder of `requests-N.jsonl` and `results-N.jsonl`, made if absent.
        app: vLLM's application.
        identity: Everything that identifies the judge apart from the version of vLLM.
        attempts: Maximum number of answers to one request; an error that a retry may help is final after the last.

    Raises:
        BadEndpoint: The folder cannot be made or read.
    """

    def __init__(self, folder: Path, app: AppClient, identity: Mapping[str, Any], attempts: int) -> None:
        self.unreadable: list[Line] = []
        """Lines that are no answers, such as the last one of a job that was killed."""
        self._folder = folder
        self._app = app
        self._identity = json.dumps(identity, sort_keys=True)
        self._attempts = attempts
        self._version: str | None = None
        self._waiting: dict[str, Any] = {}
        """Bodies of requests without a usable answer, by `custom_id`."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._last, self._answers = self._read_folder()
        except OSError as error:
            raise BadEndpoint(
                f"{folder}: cannot be read ({error.strerror}); check path and rights"
            ) from error

    async def aclose(self) -> None:
        """End vLLM's application."""
        await self._app.aclose()

    async def get(self, url: str) -> Answer:
        """Return what the application answers."""
        return await self._app.get(url)

    async def get_soon(self, url: str) -> Answer:
        """Return what the application answers."""
        return await self._app.get_soon(url)

    async def answers(self, url: str) -> bool:
        """Check whether the application answers."""
        return await self._app.answers(url)

    async def post(self, url: str, body: bytes) -> Answer:
        """Return the answer to a chat completion from the files, or what the application answers.

        Raises:
            PlannedCall: There is no usable answer yet.
            EngineError: The answer is a failure, for the last time or for good.
        """
        if not url.endswith(CHAT):
            return await self._app.post(url, body)
        asked: dict[str, Any] = json.loads(body)
        asked = {name: value for name, value in asked.items() if name not in ("stream", "stream_options")}
        key = await self._custom_id(asked)
        found = self._answers.get(key, [])
        latest: EngineError | None = None
        for line in reversed(found):  # a job that ran twice may have failed once
            try:
                return self._answer(key, line)
            except EngineError as error:
                latest = latest or error
        if latest is not None and (not latest.retryable or len(found) >= self._attempts):
            raise latest
        self._waiting[key] = asked
        raise PlannedCall(f"batch: call {key[:12]} has no answer yet")

    @asynccontextmanager
    async def stream(self, url: str, body: bytes) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Iterate over the lines of the answer, which comes in one piece."""
        answer = await self.post(url, body)

        async def lines() -> AsyncIterator[bytes]:
            yield answer.body

        yield lines()

    def write(self) -> Requests | None:
        """Write the requests without a usable answer to the next file; None if there are none.

        The file replaces that of a round without results. Requests are in the order of their bodies, so that those
        with the same beginning are next to each other.
        """
        path, results = (self._folder / f"{kind}-{self._last + 1}.jsonl" for kind in ("requests", "results"))
        if not self._waiting:
            path.unlink(missing_ok=True)
            return None
        rows = sorted((to_json(body), key) for key, body in self._waiting.items())
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            for body, key in rows:
                head = {"custom_id": key, "method": "POST", "url": CHAT}
                file.write(to_json(head)[:-1] + b',"body":' + body + b"}\n")
        partial.replace(path)
        return Requests(path, results, len(rows))

    async def _custom_id(self, asked: Mapping[str, Any]) -> str:
        if self._version is None:
            answer = await self._app.get(BASE_URL.removesuffix("/v1") + "/version")
            self._version = parse(VersionReply, answer.url, answer.body).version
        digest = sha256(f"{self._version}\n{self._identity}\n".encode())
        digest.update(to_json(asked))
        return digest.hexdigest()

    def _read_folder(self) -> tuple[int, dict[str, list[Line]]]:
        """Return the number of the last file of results, and the places of all answers, oldest first."""
        found = {path: _RESULTS.fullmatch(path.name) for path in self._folder.iterdir()}
        files = sorted((int(match[1]), path.name, path) for path, match in found.items() if match)
        answers: dict[str, list[Line]] = {}
        for _, _, path in files:
            for line, text in _lines(path):
                key = _object(text).get("custom_id")
                if isinstance(key, str):
                    answers.setdefault(key, []).append(line)
                elif text.strip():
                    self.unreadable.append(line)
        return max((number for number, _, _ in files), default=0), answers

    def _answer(self, key: str, line: Line) -> Answer:
        with line.path.open("rb") as file:
            file.seek(line.offset)
            said = _object(file.readline())
        response, error = said.get("response"), said.get("error")
        if said.get("custom_id") != key:
            raise MalformedReply(f"{line} was changed since it was read; run the command again")
        if not isinstance(response, dict):
            raise EngineFault(f"{line} is no answer ({json.dumps(error)[:300]}); look at the job's log")
        given = cast("dict[str, Any]", response)
        status, body = given.get("status_code"), _encoded(line, given.get("body"))
        if not isinstance(status, int) or not 200 <= status < 600:
            raise MalformedReply(f"{line} has no status; check that vLLM's batch program wrote it")
        if status != 200:
            raise refusal(str(line), status, {}, _encoded(line, error) if error is not None else body)
        parse(ChatReply, str(line), body)
        fingerprint = str(cast("dict[str, Any]", given["body"]).get("system_fingerprint"))
        if fingerprint.startswith("vllm-") and not fingerprint.startswith(f"vllm-{self._version}-"):
            raise WrongModel(
                f"{line} was written by {fingerprint[:60]}, and this environment has vLLM {self._version}; use one "
                "version for the job and for this command"
            )
        return Answer(str(line), body)


class BatchEngine(OpenAIEngine):
    """Engine whose calls are answered by batch jobs.

    Args:
        files: Requests and answers.
        preset: Preset of the judge.
        settings: Settings of `OpenAIEngine`.
    """

    def __init__(self, files: BatchFolder, preset: Preset, **settings: Any) -> None:
        super().__init__([BASE_URL], preset.model, max_attempts=1, client=lambda: files, **settings)
        self.files = files
        self.preset = preset


def job_command(preset: Preset, requests: Requests) -> str:
    """Return the shell command that answers a file of requests with vLLM's batch program.

    Raises:
        PresetError: The preset is not for vLLM.
        WeightsMissing: The weights are not on this machine.
    """
    options = command(preset, model=checkpoint(preset))[3:]  # without the interpreter and the module
    for name in _SERVER_ONLY:
        place = options.index(name)
        del options[place : place + 2]
    program = ["python", "-m", "vllm.entrypoints.openai.run_batch"]
    files = ["-i", str(requests.path), "-o", str(requests.results)]
    settings = ["env", *(f"{name}={value}" for name, value in environment(preset, LOCAL).items())]
    return shlex.join([*settings, *program, *files, *options])


def _encoded(line: Line, value: object) -> bytes:
    """Return a part of an answer as JSON; half a surrogate pair stays an escape, which readers refuse."""
    try:
        return json.dumps(value).encode("ascii")
    except (ValueError, RecursionError):
        raise MalformedReply(f"{line} is nested too deeply; look at the job's log") from None


def _lines(path: Path) -> Iterator[tuple[Line, bytes]]:
    with path.open("rb") as file:
        offset = 0
        for number, text in enumerate(file, 1):
            yield Line(path, number, offset), text
            offset += len(text)


def _object(text: bytes) -> dict[str, Any]:
    """Return a line as a JSON object; an empty one if it is none."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
