"""The main language of a text.

Invariant: `und` unless script or function words decide clearly; no model, no random choice, the same
answer always.

Scripts that one major language owns decide alone. Latin text is told by counting function words, which
the languages listed share so little that a report's first page separates them.
"""

from __future__ import annotations

import re
from collections import Counter

_SAMPLE = 40_000
_SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("han", re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")),
    ("kana", re.compile(r"[\u3041-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7a3]")),
    ("cyrillic", re.compile(r"[\u0400-\u04ff]")),
    ("arabic", re.compile(r"[\u0620-\u06ff]")),
    ("he", re.compile(r"[\u05d0-\u05ea]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("th", re.compile(r"[\u0e01-\u0e4e]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("latin", re.compile(r"[A-Za-zÀ-ÖØ-öø-ƿ]")),
)
_FUNCTION_WORDS = {
    "en": "the of and to in is that for with was are this from by which be an it as on",
    "de": "der die das und ist nicht mit von den für auf im ein eine zu des sich auch werden dem",
    "fr": "le la les des et est une pour dans que qui sur du au par pas plus avec sont ce",
    "es": "el la los las de y que en un una por con para del es se su como más al",
    "it": "il di che e la per un una non sono con del della nel le gli anche più dei alla",
    "pt": "o a os as de e que em um uma por com para do da não se mais dos das",
    "nl": "de het een van en is dat op te in voor met niet zijn aan er ook door bij naar",
    "pl": "w i na z do się nie że jest to o jak przez od dla po są oraz co ale",
    "sv": "och att det som en på är av för med den till inte om ett har de var från kan",
    "tr": "ve bir bu için ile olarak da de daha olan gibi çok sonra kadar ancak ise değil en her veya",
    "vi": "và của là có được trong các cho không với một những này đã người để khi từ về như",
    "id": "yang dan di dengan untuk pada dari ini dalam tidak adalah itu oleh atau juga sebagai telah dapat",
}
_WORDS = {
    word: [code for code, words in _FUNCTION_WORDS.items() if word in words.split()]
    for word in {word for words in _FUNCTION_WORDS.values() for word in words.split()}
}
_WORD = re.compile(r"[^\W\d_]+")
_ADDRESS = re.compile(r"https?://\S+")


def detect_language(text: str) -> str:
    """ISO 639-1 code of the text's main language, `und` if it cannot be told."""
    sample = _ADDRESS.sub(" ", text[:_SAMPLE])
    letters = {name: len(pattern.findall(sample)) for name, pattern in _SCRIPTS}
    # One Han or kana character says about as much as a Latin word of four letters.
    weight = {
        name: count * (4 if name in ("han", "kana", "ko", "th") else 1) for name, count in letters.items()
    }
    total = sum(weight.values())
    if total < 20:
        return "und"
    if weight["han"] + weight["kana"] > total / 2:
        return "ja" if letters["kana"] * 10 > letters["han"] else "zh"
    script = max(weight, key=lambda name: weight[name])
    if weight[script] <= total / 2:
        return "und"
    if script == "cyrillic":
        return _cyrillic(sample)
    if script == "arabic":
        return "fa" if re.search(r"[پچژگ]", sample) else "ar"
    return _latin(sample) if script == "latin" else script


def _cyrillic(sample: str) -> str:
    if re.search(r"[іїєґІЇЄҐ]", sample):
        return "uk"
    return "ru" if re.search(r"[ыэёЫЭЁ]", sample) else "und"


def _latin(sample: str) -> str:
    counts: Counter[str] = Counter()
    words = [word.lower() for word in _WORD.findall(sample)]
    for word in words:
        for code in _WORDS.get(word, ()):
            counts[code] += 1
    if not counts:
        return "und"
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    code, best = ranked[0]
    second = ranked[1][1] if len(ranked) > 1 else 0
    return code if best >= max(3, 0.03 * len(words)) and best > 1.2 * second else "und"
