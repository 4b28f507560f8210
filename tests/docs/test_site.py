"""The documentation site: it builds, and its command reference is that of the commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.command_reference import reference

ROOT = Path(__file__).resolve().parents[2]


def test_the_command_reference_is_current() -> None:
    # If this fails, run scripts/docs.
    assert (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8") == reference()


def test_the_site_builds_without_a_broken_link(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("index.html"))
    assert len(pages) > 30
    assert "https://fonts" not in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
