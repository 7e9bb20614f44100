"""The modules of the page as one, which a browser asks for once, and which is a quarter smaller when it is compressed.

Each module becomes a function that is called once, after those that it imports, and returns what it exports. Guarantees: what is not
understood is an error, never a page that does something else. Left out on purpose: all of the language that the page does not use (other
forms of import and export, circles of modules); modules of others stay what they are, and are imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ..errors import InternalError

VENDOR: Final = "vendor/"

_IMPORT: Final = re.compile(r'^import (\{[^}]*\}|\w+) from "\./([\w/]+\.js)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async function|function|class|const) (\w+))", re.MULTILINE)
_LEFT: Final = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
# Neither indentation nor comments that are lines.
_NOT_SENT: Final = re.compile(r"^[ \t]*// [^\n]*\n|^[ \t]+", re.MULTILINE)


def bundle(modules: Mapping[str, str], entry: str) -> str:
    r"""Return a module and all that it imports as one.

    Parameters
    ----------
    modules : mapping
        Their texts by path.
    entry : str
        The path of the one that is begun with.

    Raises
    ------
    InternalError
        When one has an import or export of a form that is not known, or modules import each other in a circle.

    Examples
    --------
    >>> print(bundle({"a.js": 'import {b} from "./b.js";\nb();\n', "b.js": "export const b = () => 1;\n"}, "a.js"))
    const $b = (() => {
    const b = () => 1;
    return {b};
    })();
    const $a = (() => {
    const {b} = $b;
    b();
    return {};
    })();
    """
    done: dict[str, str] = {}
    foreign: dict[str, None] = {}
    _add(modules, entry, done, foreign, ())
    imports = [f'import * as {_name(path)} from "./{path}";' for path in foreign]
    return "\n".join([*imports, *done.values()])


def squeezed(text: str) -> str:
    """Return a script or style without what only its readers need."""
    return _NOT_SENT.sub("", text)


def _add(
    modules: Mapping[str, str],
    path: str,
    done: dict[str, str],
    foreign: dict[str, None],
    above: tuple[str, ...],
) -> None:
    if path in done:
        return
    if path in above:
        raise InternalError(f"modules of the page import each other: {' → '.join((*above, path))}")
    if path.startswith(VENDOR):
        foreign.setdefault(path)
        return
    text = modules[path]
    for found in _IMPORT.finditer(text):
        _add(modules, found[2], done, foreign, (*above, path))
    exported = ", ".join(found[2] for found in _EXPORT.finditer(text))
    body = _EXPORT.sub(r"\1", _IMPORT.sub(_taken, text))
    if (left := _LEFT.search(body)) is not None:
        raise InternalError(
            f"the module {path} of the page has a line of a form that is not known: {left[0]}"
        )
    done[path] = f"const {_name(path)} = (() => {{\n{squeezed(body)}return {{{exported}}};\n}})();"


def _taken(found: re.Match[str]) -> str:
    name = _name(found[2])
    return (
        f"const {found[1]} = {name};\n"
        if found[1].startswith("{")
        else f"const {found[1]} = {name}.default;\n"
    )


def _name(path: str) -> str:
    return "$" + re.sub(r"\W", "_", path.removesuffix(".js"))
