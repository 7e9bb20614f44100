"""The site of the documents: `make docs` builds it with Sphinx into build/site, from the same files that are read in the repository.

The source is the repository itself, so links between documents mean the same here and there, and what a document links to that is no
document (a program, a result of a benchmark) is put beside the pages as it is. The references of HTTP, command line and Python are
made from the code at each build, and tutorials from the notebooks that the tests run.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE)]

from http_reference import write_http_reference  # noqa: E402  the path comes first
from pygments.lexers.special import TextLexer  # noqa: E402  the path comes first
from sphinx.application import Sphinx  # noqa: E402  the path comes first
from tutorials import write_tutorials  # noqa: E402  the path comes first

import tornado  # noqa: E402

project = "tornado-loops"
author = "the authors of tornado-loops"
version = release = tornado.__version__

root_doc = "docs/site/index"
include_patterns = ["*.md", "docs/*.md", "docs/site/*.md", "docs/site/*.rst", "tests/README.md"]
exclude_patterns = [
    ".*",
    "build",
    "dist",
    "**/__pycache__",
    "tornado",
    "apps",
    "benchmarks",
    "deploy",
    "*.egg-info",
]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
suppress_warnings = [
    "myst.header",  # a document begins with what its reader needs, in whatever order
    "toc.not_included",  # documents for those who work on the code are linked to, and not in the menu
]

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
napoleon_google_docstring = False
napoleon_use_ivar = True  # fields of a dataclass are described once, by its docstring
autodoc_typehints = (
    "none"  # the docstrings say dtypes and shapes, and the signatures would say it a second time
)
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"tornado-loops {version}"
html_show_copyright = False
html_copy_source = False
pygments_style = "default"
pygments_dark_style = "monokai"


def setup(app: Sphinx) -> None:
    """Write what is made from the code, before Sphinx reads it; diagrams are shown as they are written, since what draws them is elsewhere."""
    app.add_lexer("mermaid", TextLexer)
    app.connect("config-inited", lambda _app, _config: write_http_reference(HERE / "http-reference.md"))
    app.connect("config-inited", lambda _app, _config: write_tutorials(HERE))
