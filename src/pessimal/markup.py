"""HTML from the templates of `pessimal.report`: every text that goes in is escaped."""

from __future__ import annotations

from typing import Any

from jinja2 import BaseLoader, Environment, PackageLoader, StrictUndefined


def templates(loader: BaseLoader, **options: Any) -> Environment:
    """Return templates whose blocks leave no lines and whose names must all be given."""
    return Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, **options
    )


_TEMPLATES = templates(PackageLoader("pessimal", "report"), autoescape=True)


def render(template: str, **values: object) -> str:
    """Fill a template; a name that it uses and that is not given is an error.

    Examples
    --------
    >>> page = render("templates/page.html.j2", title="a < b", lead='"quoted"', sections=[])
    >>> "<h1>a &lt; b</h1>" in page
    True
    """
    return _TEMPLATES.get_template(template).render(values)
