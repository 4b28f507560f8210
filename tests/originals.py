"""Running the published projects' own scripts on our files.

Invariant: what a script computes is its own; only packages that do not touch its numbers are replaced: a clock
(`pandas`), a progress bar (`tqdm`), a package whose import needs a key of a web service (`utils`), and a client of one
(`openai`), whose use ends the script. With a recorder, the clients of web services (`google.genai`, `openai`,
`litellm`) send their messages to it unchanged, as chat completions, and `requests` reads pages from `pages.json`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

STUBS = {
    "openai.py": (
        "class OpenAI:\n"
        "    def __init__(self, **settings): pass\n"
        "    def __getattr__(self, name): raise SystemExit('the script asks its judge')\n"
    ),
    "pandas.py": "from datetime import datetime as Timestamp\n",
    "tqdm.py": "def tqdm(rows):\n    return rows\n",
    "utils.py": "from io_utils import load_jsonl\n",  # the script's neighbour has the function itself
}


CLIENTS = {
    "recorder.py": (
        "import json, os, urllib.request\n"
        "class Dot(dict):\n"
        "    __getattr__ = dict.get\n"
        "def chat(messages, **settings):\n"
        "    body = json.dumps({'model': 'stub', 'messages': messages, **settings}).encode()\n"
        "    to = urllib.request.Request(os.environ['RECORDER'] + '/chat/completions', body,\n"
        "                                {'Content-Type': 'application/json'})\n"
        "    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(to) as reply:\n"
        "        return json.load(reply, object_hook=Dot)\n"
    ),
    "google/genai/__init__.py": (
        "from recorder import Dot, chat\n"
        "class Client:\n"
        "    def __init__(self, **settings): self.models = self\n"
        "    def generate_content(self, model, contents, config=None):\n"
        "        reply = chat([{'role': one['role'], 'content': one['parts'][0]['text']} for one in contents])\n"
        "        return Dot(text=reply.choices[0].message.content)\n"
    ),
    "google/genai/types.py": "GenerateContentConfig = ThinkingConfig = dict\n",
    "openai.py": (
        "import asyncio\n"
        "from recorder import Dot, chat\n"
        "class OpenAI:\n"
        "    def __init__(self, **settings):\n"
        "        self.chat = Dot(completions=self)\n"
        "    def create(self, model, messages, **settings):\n"
        "        if 'max_completion_tokens' in settings:\n"
        "            settings['max_tokens'] = settings['max_completion_tokens']\n"
        "        sent = ('temperature', 'max_tokens')\n"
        "        return chat(messages, **{name: settings[name] for name in sent if name in settings})\n"
        "class AsyncOpenAI(OpenAI):\n"
        "    async def create(self, model, messages, **settings):\n"
        "        return await asyncio.to_thread(chat, messages)\n"
    ),
    "litellm.py": (
        "import asyncio\n"
        "from recorder import chat\n"
        "def get_supported_openai_params(model): return ['max_completion_tokens', 'reasoning_effort']\n"
        "async def acompletion(model, messages, **settings):\n"
        "    sent = ('temperature', 'max_tokens', 'max_completion_tokens', 'reasoning_effort')\n"
        "    kept = {name: settings[name] for name in sent if name in settings}\n"
        "    return await asyncio.to_thread(lambda: chat(messages, **kept))\n"
    ),
    "requests.py": (
        "import json, types\n"
        "def get(url, headers):\n"
        "    pages = json.load(open('pages.json'))\n"
        "    page = {'url': url, 'description': '', **pages[url.removeprefix('https://r.jina.ai/')]}\n"
        "    return types.SimpleNamespace(status_code=200, json=lambda: {'data': page})\n"
    ),
    "nltk.py": ("import re\ndef sent_tokenize(text): return re.split(r'(?<=[.!?])\\s+', text)\n"),
    "retry.py": "def retry(**settings): return lambda function: function\n",
    "tiktoken.py": (
        "import types\n"
        "def get_encoding(name): return types.SimpleNamespace(encode=str.split, decode=' '.join)\n"
    ),
    "aiofiles.py": (
        "import contextlib\n"
        "@contextlib.asynccontextmanager\n"
        "async def open(*given, **settings):\n"
        "    with __builtins__['open'](*given, **settings) as file:\n"
        "        async def read(): return file.read()\n"
        "        yield types.SimpleNamespace(read=read)\n"
        "import types\n"
    ),
    "crawl4ai.py": "AsyncWebCrawler = BrowserConfig = CrawlerRunConfig = None\n",
    "datasets.py": "def load_dataset(*names): raise SystemExit('the script loads a data set')\n",
    "dotenv.py": "def load_dotenv(*files): pass\n",
    "tqdm.py": (
        "class tqdm:\n"
        "    def __init__(self, rows=(), **settings): self.rows = rows\n"
        "    def __iter__(self): return iter(self.rows)\n"
        "    def __enter__(self): return self\n"
        "    def __exit__(self, *error): pass\n"
        "    def update(self, n): pass\n"
    ),
}
"""Stand-ins for clients: each sends the messages that it is given."""


KEYS = ("GEMINI_API_KEY", "JINA_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY")
"""Environment variables without which published code does not start."""


def run_original(
    script: Path,
    scratch: Path,
    *args: str | Path,
    recorder: str = "",
    project: Path | None = None,
    module: str = "",
) -> str:
    """Run a published script in a process of its own, in `scratch`, and return what it prints.

    Args:
        script: of the copy of the published project; the test is skipped where it is absent.
        scratch: where stand-ins for its packages are written, and what it writes to no named place.
        args: of its command line.
        recorder: address of a chat server that answers its clients; none for a script that asks nothing.
        project: folder of the copy of the published project, if the script imports from it.
        module: name of the script as a module of the project, for one that has to be run as `python -m`.

    Raises:
        AssertionError: it ended with an error, which the message quotes.
    """
    if not script.is_file() or not (project or script).exists():
        pytest.skip(f"no published code at {script}")
    stubs = scratch / "stubs"
    stubs.mkdir(exist_ok=True)
    for name, text in (CLIENTS if recorder else STUBS).items():
        (stubs / name).parent.mkdir(parents=True, exist_ok=True)
        (stubs / name).write_text(text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, *(("-m", module) if module else (str(script),)), *map(str, args)],
        cwd=scratch,
        env={
            **os.environ,
            **dict.fromkeys(KEYS if recorder else (), "none"),
            "RECORDER": recorder,
            "PYTHONPATH": os.pathsep.join([str(stubs), str(project or "")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUTF8": "1",
        },
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
