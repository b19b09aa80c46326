"""The former name of the paper's mixed-integer programs, now in `pessimal.bilevel`."""

from pessimal.moved import renamed

__getattr__ = renamed(
    __name__,
    {
        "MULTIPLIER_CAP": "pessimal.bilevel.MULTIPLIER_CAP",
        "SOLVERS": "pessimal.bilevel.backends.SOLVERS",
    },
)
