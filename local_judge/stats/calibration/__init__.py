"""How far a judge's probabilities can be believed: separation, calibration, thresholds, over folds by page."""
