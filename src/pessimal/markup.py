"""HTML from the templates of `pessimal.report`: every text that goes in is escaped."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

_TEMPLATES = Environment(
    loader=PackageLoader("pessimal", "report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, **values: object) -> str:
    """Fill a template; a name that it uses and that is not given is an error.

    Examples
    --------
    >>> page = render("templates/page.html.j2", title="a < b", lead='"quoted"', sections=[])
    >>> "<h1>a &lt; b</h1>" in page
    True
    """
    return _TEMPLATES.get_template(template).render(values)
