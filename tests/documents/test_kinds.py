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
        (b"<h1>R</h1><p>It rose.</p><p>It fell.</p>", "q.md", b"# R\n\nIt rose.\n\nIt fell."),
        (
            b"<p align=center>R</p>\n<p>A</p>\n<p>B</p>\n\n# It rose.",
            "q.md",
            b"<p align=center>R</p>\n<p>A</p>\n<p>B</p>\n\n# It rose.",
        ),
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
        # Markdown that quotes other markups, or looks like them.
        *(
            (text, "q.md", text)
            for text in (
                b"Use\n\n```\n\\section{A}\n== B ==\n{{c|d}}\n```\n\nor `[[https://a.example][A]]`.",
                b"==Important==\n\nIt rose [[1]](https://a.example) and [[Note|it]].",
                b"# Mill\n\n[1] It rose.\n\n\\begin{thebibliography}{9}\n\\bibitem{a} A\n",
                b"Total\n=====\n\nIt rose [1], **so** '''it''' says.\n\n[1] A https://a.example",
                b"{It rose} [1], and [2].",
            )
        ),
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
        (b'{"cells": [], "nbformat": 4}', "q.md", "pandoc q.md -f ipynb"),
        (b'{"report": "It rose."}', "q.txt", "q.jsonl"),
        (b'<?xml version="1.0"?><article>It rose.</article>', "q.txt", ".xml"),
        (b"{\\rtf1\\ansi It rose.}", "", "pandoc REPORT.rtf -s"),
        (
            b"== Mill ==\n'''It''' rose.<ref>{{cite web|url=https://a.example}}</ref>\n",
            "q.txt",
            "pandoc q.txt -f mediawiki",
        ),
        (b"== Mill ==\r\nIt rose [https://a.example A].\r\n", "q.md", "-f mediawiki"),
        (
            b"= Mill\n:toc:\n\n== Rise\n\nIt rose https://a.example[A].\n",
            "q.md",
            "asciidoctor q.md -o q.html",
        ),
        (b"It rose.", "q.adoc", "asciidoctor q.adoc -o q.html"),
        (b"#+TITLE: Mill\n#+AUTHOR: Kim\n\n* Rise\nIt rose.\n", "q.txt", "-f org"),
        (b"* Rise\nIt rose [[https://a.example][A]] [fn:1].\n", "q.txt", "-f org"),
        (b"Mill\n====\n\nIt rose `A <https://a.example>`_.\n", "q.txt", "-f rst"),
        (b".. contents::\n\nIt rose [1]_.\n", "q.txt", "-f rst"),
        (b"It rose [1]_.\n\n.. [1] A https://a.example\n", "q.md", "-f rst"),
        (b"\\section{Mill}\n\nIt rose \\cite{kim}.\n", "q.md", "-f latex --citeproc"),
        (b'#set page("a4")\n\n= Mill\n\nIt rose @kim.\n', "q.txt", "-f typst"),
        (b"h1. Mill\n\nIt rose [A|https://a.example].\n", "q.txt", "-f jira"),
        (b"<html><body></body></html>", "", "no text"),
    ],
)
def test_kinds_that_are_refused(content: bytes, name: str, remedy: str) -> None:
    with pytest.raises(UnreadableReport) as caught:
        markdown_of(content, name)
    assert remedy in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
