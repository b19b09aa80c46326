"""Sections of text, tables and figures, and the one self-contained page they end on."""

from pessimal.moved import renamed
from pessimal.report.page import Plot, Section, Table, render_page, write_page

__all__ = ["Plot", "Section", "Table", "render_page", "write_page"]

__getattr__ = renamed(__name__, {"write_report": "pessimal.reproduction.report.write_report"})
