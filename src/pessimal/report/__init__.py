"""Tables, figures and one self-contained page, made from stored rows alone."""

from pessimal.report.page import render_page, write_page
from pessimal.report.parts import Plot, Section, Table
from pessimal.report.studies import SECTIONS, write_report

__all__ = ["SECTIONS", "Plot", "Section", "Table", "render_page", "write_page", "write_report"]
