"""``pessimal reproduce``: run the paper's studies, or go on where they stopped."""


def reproduce() -> None:
    """Run the paper's studies, and go on where an earlier run stopped.

    Example: pessimal reproduce limited-data --quick --out results
    """
    raise NotImplementedError
