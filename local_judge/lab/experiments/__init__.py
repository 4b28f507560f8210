"""Experiments with a known answer: reports altered on purpose, and the reaction of scores to them."""
