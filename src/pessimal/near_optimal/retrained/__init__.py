"""Near-optimal sets of any estimator, explored by training it again: found, not proved."""
