"""The documentation site, built by Sphinx: `sphinx-build -W --keep-going -n -b html docs OUT`.

In: docs/*.md, which GitHub shows too, and the docstrings of the package. Out: pages that load nothing from elsewhere.
"""

from __future__ import annotations

import inspect
import os
import re
from typing import TYPE_CHECKING, Any

import merm
from docutils import nodes
from docutils.parsers.rst import Directive

from sitemap_reader import __version__
from sitemap_reader.client.options import ReaderOptions

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "sitemap-reader"
author = "the sitemap-reader contributors"
version = release = __version__
REPOSITORY = "https://github.com/sitemap-reader/sitemap-reader"
REVISION = os.environ.get("READTHEDOCS_GIT_IDENTIFIER", "main")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
smartquotes = False  # two hyphens are an option
highlight_language = "text"
default_role = "code"  # as the docstrings are written

# --- pages ---
myst_heading_anchors = 3  # the anchors that GitHub gives to headings
myst_fence_as_directive = ["mermaid"]
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = "$ "

suppress_warnings = ["misc.highlighting_failure"]  # excerpts of XML and JSON, with dots for the rest; crontab

# --- the API ---
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
maximum_signature_line_length = 80

# --- links ---
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*")]  # types in signatures: of other libraries, or not public
linkcheck_anchors_ignore_for_url = [r"https://github\.com/"]  # drawn by scripts
linkcheck_ignore = [r"https?://([\w.-]+\.)?example(\.com|\.org)?\b", r"http://(localhost|127\.0\.0\.1)"]

# --- HTML ---
html_theme = "furo"
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", "")
html_title = f"sitemap-reader {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "source_repository": REPOSITORY,
    "source_branch": "main",
    "source_directory": "docs/",
}

# Colours of merm -> variables of the theme, which are others in dark mode.
COLOURS = {
    "white": "background-primary",
    "#ECECFF": "background-secondary",
    "#9370DB": "brand-primary",
    "#333333": "foreground-primary",
}


class Mermaid(Directive):
    """Draws a flowchart when the site is built; its colours are those of the theme."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        picture = merm.render_diagram("\n".join(self.content))
        for colour, variable in COLOURS.items():
            picture = picture.replace(colour, f"var(--color-{variable})")
        return [nodes.raw("", f'<div class="mermaid">{picture}</div>', format="html")]


def shorten_signature(
    app: Sphinx, what: str, name: str, obj: object, options: object, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Leaves out keywords that the docstring lists, and metadata of types."""
    signature = signature and re.sub(r"(?:~?typing\.)?Annotated\[([^\[\],]+), [^\]]+\]", r"\1", signature)
    if signature and "\nKeywords:" in (inspect.getdoc(obj) or ""):
        signature = re.sub(r"\*, .*\)$", "**keywords)", signature)
    return signature, returns


def set_keywords(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Docstrings end with a list of keywords: their types become code, and SitemapReader's are listed there only."""
    if "Keywords:" not in lines:
        return
    start = lines.index("Keywords:") + 1
    keywords: dict[str, list[str]] = {}
    for line in lines[start:]:
        if line.startswith("    ") and line[4] != " ":
            keyword = line.strip()
            keywords[keyword] = []
        elif line.strip():
            keywords[keyword].append(line.strip())
    shared = [each for each in keywords if each.partition(":")[0] in ReaderOptions.__annotations__]
    is_reader = name == "sitemap_reader.SitemapReader"
    lines[start:] = [""]
    for keyword in keywords:
        if is_reader or keyword not in shared:
            lines += [f"``{keyword}``", f"   {' '.join(keywords[keyword])}"]
    if shared and not is_reader:
        lines += ["", "Also the keywords of :class:`~sitemap_reader.SitemapReader`."]
    lines += [""]


def link_to_repository(app: Sphinx, name: str, content: list[str]) -> None:
    """Links from a page to files outside docs/ lead to GitHub."""
    content[0] = re.sub(r"\]\(\.\./", f"]({REPOSITORY}/blob/{REVISION}/", content[0])


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("mermaid", Mermaid)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-process-docstring", set_keywords)
    app.connect("source-read", link_to_repository)
    return {"parallel_read_safe": True}
