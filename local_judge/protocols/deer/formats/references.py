"""How DEER's published code reads a list of references.

Invariant: the same mapping from index to URL as the code, mistakes included. A report is parsed by
`local_judge.documents`; this is for comparing with the code's own findings.
"""

from __future__ import annotations

import re

PATTERNS: tuple[re.Pattern[str], ...] = (
    # 1. Title <https://...>
    re.compile(r"(\d+)\..*?<(https?://[^>]+)>"),
    # 1. Title (https://...): greedy up to the last ")" before a "]", so that it can swallow the entries below
    # it
    re.compile(r"^(\d+)\..*?\((https?://[^\]]+)\)", re.MULTILINE),
    # [1] Title https://...: up to the next blank, closing punctuation included
    re.compile(r"\[([-\d]+)\][^\n]*?(https?://\S+)"),
)


def extract_references(text: str) -> dict[str, str]:
    """Index -> URL, one URL for each index.

    The patterns are tried in order; what one has matched is cut out before the next; a later match replaces
    an earlier one of the same index.
    """
    found: dict[str, str] = {}
    for pattern in PATTERNS:
        found.update((match[1], match[2]) for match in pattern.finditer(text))
        text = pattern.sub("", text)
    return found
