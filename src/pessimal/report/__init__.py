"""Sections of text, tables and figures, and the one self-contained page they end on."""

from pessimal.report.page import Plot, Section, Table, render_page, write_page

__all__ = ["Plot", "Section", "Table", "render_page", "write_page"]


def __getattr__(name: str) -> object:
    if name == "write_report":
        from warnings import warn  # noqa: PLC0415

        from pessimal.reproduction.report import write_report  # noqa: PLC0415

        words = "pessimal.report.write_report is now pessimal.reproduction.report.write_report"
        warn(words, FutureWarning, stacklevel=2)
        return write_report
    raise AttributeError(f"module 'pessimal.report' has no attribute {name!r}")
