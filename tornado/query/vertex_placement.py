"""What a placement is that somebody names: a word, or the path of a file."""

from __future__ import annotations

from pathlib import Path
from typing import cast, get_args

from ..config import VertexPlacement
from ..errors import InvalidArgument
from ..graph import PlacedVertices


def placement_of(given: str | Path) -> VertexPlacement | PlacedVertices:
    """Return the placement of that name, or that a file has.

    Raises
    ------
    InvalidArgument
        When it is neither, or there is no placement in the file.
    """
    if given in get_args(VertexPlacement):
        return cast("VertexPlacement", given)
    # Imported late: `import tornado` loads this.
    from ..ingest.placement_file import read_placement

    path = Path(given)
    if not path.is_file():
        raise InvalidArgument(
            f"the placement is {str(given)!r}, but it must be one of {', '.join(get_args(VertexPlacement))}, or a file",
            hint="Leave it out, and the first edges decide. A file has rows vertex,part.",
        )
    ids, parts = read_placement(path)
    try:
        return PlacedVertices.of(ids, parts)
    except InvalidArgument as error:
        raise InvalidArgument(f"{path}: {error.message}", hint=error.hint) from error
