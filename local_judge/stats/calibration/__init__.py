"""Reliability of a judge's probabilities: separation, calibration and thresholds, over folds by page."""
