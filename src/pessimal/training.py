"""The former name of `pessimal.near_optimal`; it still works, and says so."""

from pessimal.moved import forward

__getattr__ = forward("pessimal.training", "pessimal.near_optimal")
