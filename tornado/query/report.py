"""The page as one file that needs no service: its scripts, its styles, and what was observed, inside one HTML document.

Modules are put in as `data:` addresses that an import map names, so the file works wherever it is opened, also from a disk; a policy in it
forbids every request. Left out on purpose: what draws graphs, since answers are the service's.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

from .formats import json_bytes

POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:"
)
LEFT_OUT: Final = frozenset({"vendor/sigma.js", "vendor/graphology.js", "vendor/uplot.js"})

_IMPORT: Final = re.compile(rb"""((?:from|import)\s*\(?\s*)(["'])(\.{1,2}/[^"']+)\2""")
_DOCUMENT: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="color-scheme" content="light dark">
<meta name="build" content="{build}">
<title>Report · tornado-loops</title>
<style>{style}</style>
<script type="importmap">{modules}</script>
<script type="application/json" id="report">{content}</script>
<script>{charts}</script>
</head>
<body>
<div id="page"></div>
<script type="module">import "page/app.js";</script>
</body>
</html>
"""


def report(files: Mapping[str, bytes], build: str, content: Mapping[str, Any]) -> bytes:
    """Return the document.

    Parameters
    ----------
    files : mapping
        The files of the page, by path.
    build : str
        Which version of them it is.
    content : mapping
        What was observed, as JSON content: `now`, `lines` and `questions`, and where and when.
    """
    modules = {
        f"page/{path}": "data:text/javascript;base64," + base64.b64encode(_bare(path, text)).decode()
        for path, text in files.items()
        if path.endswith(".js") and path not in LEFT_OUT
    }
    return _DOCUMENT.format(
        policy=POLICY,
        build=build,
        style="".join(files[path].decode() for path in ("vendor/uplot.css", "page.css")),
        modules=_inside(json_bytes({"imports": modules})),
        content=_inside(json_bytes(content)),
        charts=files["vendor/uplot.js"].decode(),
    ).encode()


def _bare(path: str, text: bytes) -> bytes:
    """A module whose imports have names that do not depend on where it is."""
    folder = path.rpartition("/")[0]

    def named(found: re.Match[bytes]) -> bytes:
        target = found[3].decode().removeprefix("./")
        return b"%b%bpage/%b%b" % (
            found[1],
            found[2],
            (f"{folder}/{target}" if folder else target).encode(),
            found[2],
        )

    return _IMPORT.sub(named, text)


def _inside(content: bytes) -> str:
    """JSON that ends no element of HTML."""
    return content.decode().replace("<", "\\u003c")
