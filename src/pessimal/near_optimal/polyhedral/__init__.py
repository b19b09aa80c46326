"""The exact worst case: the largest validation loss over the near-optimal models of a box."""
