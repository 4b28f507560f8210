"""Kinds of report files: read, converted, or refused with the way to convert them."""

from __future__ import annotations

import pytest

from local_judge.documents import UnreadableReport
from local_judge.documents.kinds import markdown_of

PAGE = b"<!DOCTYPE html><p>It rose.</p>"


@pytest.mark.parametrize(
    ("content", "name", "markdown"),
    [
        (b"# R\n\nIt rose.", "q.md", b"# R\n\nIt rose."),
        (b"It rose.", "", b"It rose."),
        (b"", "q.md", b""),
        (PAGE, "q.html", b"It rose."),
        (PAGE, "q.md", b"It rose."),  # a saved page under another name, or in a row
        (b"\xef\xbb\xbf  <!-- saved from url=(0014)about:internet -->\n<HTML><p>It rose.", "", b"It rose."),
        ('<meta charset="iso-8859-1"><p>Zürich rose.'.encode("latin-1"), "q.htm", "Zürich rose.".encode()),
        (b"<p>It rose.</p>", "q.HTML", b"It rose."),
        # A link with no address; two notes of one name, of which one is that of the other's place.
        (b'<!DOCTYPE html><p>It rose<a href="http://[a#b">1</a>', "", b"It rose1"),
        (
            b'<html><p>A<a href="#x">n1</a> B<a href="#n1">n1</a></p><p id=x>one http://a.org</p><p id=n1>two',
            "",
            b"A[^n1] B[^n2]\n\n[^n1]: one http://a.org\n\n[^n2]: two",
        ),
        # Each comment doubled the time.
        (b"<!-- a -->\n" * 3000 + b"It rose.", "q.md", b"<!-- a -->\n" * 3000 + b"It rose."),
        # No other kind than text: HTML, LaTeX and PDF are its subject.
        (b"The tag <html> opens a page.", "q.md", b"The tag <html> opens a page."),
        (
            b"LaTeX begins with\n\n\\documentclass{article}",
            "",
            b"LaTeX begins with\n\n\\documentclass{article}",
        ),
        (b"A file begins with %PDF-1.7.", "q.txt", b"A file begins with %PDF-1.7."),
    ],
)
def test_kinds_that_are_read(content: bytes, name: str, markdown: bytes) -> None:
    assert markdown_of(content, name) == markdown


@pytest.mark.parametrize(
    ("content", "name", "remedy"),
    [
        (b"\\section{R}", "my thesis.tex", "pandoc 'my thesis.tex' --citeproc -s -o 'my thesis.html'"),
        (b"% draft\n\\documentclass{article}", "q.md", "pandoc q.md -f latex --citeproc -s -o q.html"),
        (b"PK\x03\x04...", "q.docx", "pandoc q.docx -s -o q.html"),
        (b"PK\x03\x04...", "q.md", "pandoc q.md -f docx"),
        (b"PK\x03\x04...", "q.xlsx", "q.jsonl"),
        (b"%PDF-1.7\n", "", "Word file"),
        (b"%PDF-1.7\n", "q.pdf", "Word file"),
        (b"id,report\n1,It rose.\n", "q.csv", "q.jsonl"),
        (b"{\\rtf1 It rose.}", "q.rtf", "pandoc q.rtf -s -o q.html"),
        (b"It rose.", "q.final", ".md"),
        (b"<html><body></body></html>", "", "no text"),
    ],
)
def test_kinds_that_are_refused(content: bytes, name: str, remedy: str) -> None:
    with pytest.raises(UnreadableReport) as caught:
        markdown_of(content, name)
    assert remedy in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
