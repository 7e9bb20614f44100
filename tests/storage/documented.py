"""The store that docs/extending.md shows, taken from its text: the example runs, and keeps the laws of stores."""

import re
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "extending.md"


def documented_store(folder):
    """Open the document's store in a folder."""
    pattern = r"`tornado/storage/sqlite_store\.py`:\n\n```python\n(.*?)^```$"
    (program,) = re.findall(pattern, DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names = {"__name__": "tornado.storage.sqlite_store", "__package__": "tornado.storage"}
    exec(compile(program, str(DOCUMENT), "exec"), names)
    return names["SqliteStore"](folder / "store.sqlite")
