"""The notebooks as pages of the site: text as it is, cells of code as blocks. What they answer is seen where they are run."""

from __future__ import annotations

import json
from pathlib import Path

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def write_tutorials(folder: Path) -> None:
    """Write a page for each notebook; nothing is written where it would be the same."""
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        target = folder / f"tutorial-{notebook.stem}.md"
        text = page_of(notebook)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def page_of(notebook: Path) -> str:
    """Return a notebook as Markdown; where it can be had whole stands behind its title."""
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    title, _, first = parts[0].partition("\n")
    where = f"[This notebook](../notebooks/{notebook.name}) is run by the tests, beside a service, in Jupyter's kernel."
    return "\n\n".join([title, where, first.strip(), *parts[1:]]) + "\n"
