"""Files of a run: findings, scores, manifest, seal."""
