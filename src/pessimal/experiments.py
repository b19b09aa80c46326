"""The former name of `pessimal.reproduction`; it still works, and says so."""

from pessimal.moved import forward

__getattr__ = forward("pessimal.experiments", "pessimal.reproduction")
