"""`local-judge demo`: the whole path on a short sample, with a judge that runs on any machine."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from indexes.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.claims.model import ClaimSet
from local_judge.cli.options import AsJson
from local_judge.demo.outcome import assess, load_planted, sample_folder
from local_judge.documents import parse_report
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.tables import claim_summary, outcome_lines, score_table, stdout, verdict_table
from local_judge.runs.config import RunConfig, load_config
from local_judge.runs.execute import load_scores
from local_judge.runs.inputs import load_reports
from local_judge.runs.job import Job, carry_out
from local_judge.runs.store import RunStore
from serving.presets import load_preset
from serving.weights import require_weights
