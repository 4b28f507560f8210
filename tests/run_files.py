"""Results of runs as bytes, to compare two runs."""

from __future__ import annotations

from pathlib import Path


def run_files(folder: Path) -> dict[str, bytes]:
    """Return the files of a run, or of all runs below a folder, by path.

    Manifests, which name the command, run files, whose paths are absolute, and ledgers are left out.
    """
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not path.name.startswith(("manifest.json", "ledger.sqlite"))
        and path.suffix != ".yaml"
    }
