"""Experiments with a known answer, by which a judge is judged: reports altered on purpose, and what scores do."""
