"""What language a text is in, or that it cannot be told."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from indexes.text.language import detect_language

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "../shared/data"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The cat sat on the mat.", "en"),
        ("Das ist ein Haus am See.", "de"),
        ("Bonjour tout le monde, il fait beau aujourd'hui.", "fr"),
        ("O relatório foi publicado em São Paulo no ano passado.", "pt"),
        ("Сегодня в Москве прошёл сильный дождь, и улицы опустели.", "ru"),
        ("Сьогодні у Києві пройшов сильний дощ, і вулиці спорожніли.", "uk"),
        ("深度研究报告的论断应当能够追溯到来源。", "zh"),
        ("深度研究報告的論斷應當能夠追溯到來源。", "zh"),
        ("報告書の内容は出典までたどれるべきである。", "ja"),
        ("보고서의 주장은 출처까지 추적할 수 있어야 한다.", "ko"),
        ("تقول الحكومة إن الأسعار ارتفعت هذا العام بشكل كبير.", "ar"),
        ("THE CAT SAT ON THE MAT.", "en"),
        # Terms of another script do not decide.
        ("使用 Transformer 模型对研究报告进行评估，结果优于 GPT-4。", "zh"),
        ("The word 深度 means depth, and it is common in Chinese names of models.", "en"),
    ],
)
def test_languages(text: str, code: str) -> None:
    assert detect_language(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1234 5678 90",
        "深",
        "Intel",
        "https://example.org/a/long/address/in/words",
        "Microsoft Google Apple",
    ],
)
def test_what_cannot_be_told(text: str) -> None:
    assert detect_language(text) == "und"


def test_the_end_of_a_long_text_costs_and_changes_nothing() -> None:
    opening = "The report says where each of its claims was found, and by whom. " * 70
    assert detect_language(opening + "Das ist ein Haus am See. " * 100_000) == "en"


def test_the_model_is_loaded_by_who_asks_only() -> None:
    code = "import sys, indexes.text.language; sys.exit('py3langid' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.skipif(not DATA.is_dir(), reason="the real texts are not here")
def test_real_texts() -> None:
    """Every 50th encyclopedia lead whole and cut to a sentence's length; every real page with its known language."""
    with gzip.open(DATA / "wiki/summaries_en.jsonl.gz", "rt", encoding="utf-8") as lines:
        leads: list[str] = [json.loads(line)["text"] for number, line in enumerate(lines) if number % 50 == 0]
    assert {detect_language(lead) for lead in leads} == {"en"}
    cut = [detect_language(lead[:120]) for lead in leads]
    assert cut.count("en") / len(cut) >= 0.99  # of all 10,033: 0.994, and 0.002 wrong
    # As their lang attributes say, where they have one, but for a German page that claims to be English.
    counts: dict[str, int] = {}
    for line in (DATA / "pages/pages.jsonl").read_text(encoding="utf-8").splitlines():
        code = detect_language(json.loads(line)["text"])
        counts[code] = counts.get(code, 0) + 1
    assert counts == {"en": 109, "pt": 4, "ru": 3, "de": 1, "id": 1, "it": 1, "ja": 1}
