"""Near-optimal sets of linear models with a smooth loss and a quadratic penalty."""
