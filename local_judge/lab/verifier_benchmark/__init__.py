"""Benchmark of verifiers on claims that people have labelled: files, answers, figures and tables."""
