"""The reference of HTTP, as Markdown, from the description (OpenAPI) that a service gives of itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tornado
from tornado.query.http import HttpServer

_HEAD = """# HTTP reference

Made from what a service says at `GET /openapi.json`, where every field is described; `GET /docs` shows the same. How to ask, with
examples, is in [http.md](../http.md).
"""


def write_http_reference(target: Path) -> None:
    """Write the reference; nothing is written where it would be the same, so that a build has nothing to do again."""
    text = reference_of(_description())
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def reference_of(description: dict[str, Any]) -> str:
    """Return a section for each route, by tag."""
    routes: dict[str, list[str]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            tag = (operation.get("tags") or ["other"])[0]
            routes.setdefault(tag, []).append("\n".join(_section(method.upper(), path, operation)))
    parts = [_HEAD]
    for tag, sections in routes.items():
        parts += [f"## {tag.capitalize()}\n", *sections]
    return "\n".join(parts)


def _section(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"### `{method} {path}`\n"
    yield (operation.get("description") or operation.get("summary") or "").strip() + "\n"
    parameters = operation.get("parameters", [])
    if parameters:
        yield "| parameter | in | type | |\n| --- | --- | --- | --- |"
        for one in parameters:
            needed = "**needed.** " if one.get("required") else ""
            yield f"| `{one['name']}` | {one['in']} | {_type(one.get('schema', {}))} | {needed}{_line(one.get('description', ''))} |"
        yield ""
    body = operation.get("requestBody", {}).get("content", {})
    if body:
        yield "Body: " + ", ".join(f"`{kind}`" for kind in body) + "\n"
    answers = operation.get("responses", {})
    if answers:
        yield "| status | answer |\n| --- | --- |"
        for status, answer in sorted(answers.items()):
            yield f"| {status} | {_line(answer.get('description', ''))} |"
        yield ""


def _type(schema: dict[str, Any]) -> str:
    kinds = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    return " or ".join(
        ", ".join(f"`{value}`" for value in one["enum"])
        if "enum" in one
        else str(one.get("type", one.get("const", "any")))
        for one in kinds
    )


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _description() -> dict[str, Any]:
    import httpx

    with tornado.open("memory:", workers=1) as session:
        server: HttpServer = session.serve(port=0)
        found: dict[str, Any] = (
            httpx.get(f"{server.url}/openapi.json", trust_env=False).raise_for_status().json()
        )
    return found
