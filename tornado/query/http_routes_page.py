"""`/`: the page of the service, from files of the package; they load nothing from elsewhere, and a policy header holds them to it.

The files have an address with the hash of all of them, so a browser keeps them as long as they are the same, and never mixes those of two
versions. They tell nobody anything: what the page shows it asks for like any client.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from .page_bundle import VENDOR, bundle, squeezed
from .problems import Problem, ProblemError

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Vary": "Accept-Encoding",
}
_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
ENTRY: Final = "app.js"
_BUILD: Final = b"{{build}}"


@dataclass(frozen=True, slots=True)
class PageFiles:
    """The files of the page.

    Attributes
    ----------
    build : str
        A hash of all of them.
    plain, compressed : dict
        Their content by path, as browsers get it: the modules of the page are one.
    """

    build: str
    plain: dict[str, bytes]
    compressed: dict[str, bytes]


@cache
def page_files() -> PageFiles:
    """Return the files of the page; read once in a process."""
    found = dict(sorted(_files(resources.files(__package__).joinpath("static", "page"), "")))
    digest = hashlib.sha256()
    for path, content in found.items():
        digest.update(b"%d %b %d %b" % (len(path), path.encode(), len(content), content))
    build = digest.hexdigest()[:16]
    own = {
        path: text.decode()
        for path, text in found.items()
        if path.endswith(".js") and not path.startswith(VENDOR)
    }
    plain = {path: text for path, text in found.items() if path not in own}
    plain[ENTRY] = bundle(own, ENTRY).encode()
    plain["page.css"] = squeezed(plain["page.css"].decode()).encode()
    plain["index.html"] = plain["index.html"].replace(_BUILD, build.encode())
    return PageFiles(build, plain, {path: gzip.compress(content, mtime=0) for path, content in plain.items()})


def page_routes(files: PageFiles) -> APIRouter:
    """Return the routes of the page."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def index(request: Request) -> Response:
        return _answer(files, "index.html", request, "no-cache")

    @router.get("/page/{build}/{path:path}")
    async def file(request: Request, build: str, path: str) -> Response:
        if path not in files.plain:
            raise ProblemError(
                Problem(404, "not-found", "Not found", f"the page has no file {path[:100]!r}", hint="Open /.")
            )
        # Of another version: the browser must not keep this under the name of that.
        is_ours = build == files.build
        return _answer(files, path, request, "public, max-age=31536000, immutable" if is_ours else "no-store")

    return router


def _answer(files: PageFiles, path: str, request: Request, kept: str) -> Response:
    tag = f'"{files.build}"'
    headers = _HEADERS | {"Cache-Control": kept, "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    content = files.plain[path]
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        content = files.compressed[path]
    return Response(content, media_type=_TYPES[path.rpartition(".")[2]], headers=headers)


def _files(folder: Traversable, above: str) -> list[tuple[str, bytes]]:
    found = []
    for one in folder.iterdir():
        if one.is_dir():
            found += _files(one, f"{above}{one.name}/")
        elif one.name.rpartition(".")[2] in _TYPES:
            found.append((above + one.name, one.read_bytes()))
    return found
