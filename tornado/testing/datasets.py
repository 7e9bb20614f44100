"""The real graphs that answers are checked on, read into edge lists in the order of their files.

Read here on purpose without `tornado.ingest`, which is one of the things they check. Where the files are is the caller's
business.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from .edges import EdgeList


def college_messages(folder: Path) -> EdgeList:
    """Read `college-msg.txt.gz`: 59,835 messages between students in order of time, many between the same two; weight 1."""
    return _read(folder / "college-msg.txt.gz", separator=" ", weight_column=None)


def bitcoin_ratings(folder: Path) -> EdgeList:
    """Read `bitcoin-otc.csv.gz`: 35,592 ratings in order of time; the weight is the absolute rating, 1 to 10."""
    return _read(folder / "bitcoin-otc.csv.gz", separator=",", weight_column=2)


def epinions_trust(folder: Path) -> EdgeList:
    """Read `soc-epinions1.txt.gz`: 405,739 edges, who trusts whom; weight 1."""
    return _read(folder / "soc-epinions1.txt.gz", separator=" ", weight_column=None)


def _read(path: Path, *, separator: str, weight_column: int | None) -> EdgeList:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.replace(separator, " ").split() for line in lines if not line.startswith(("#", "%"))]
    src = np.array([int(row[0]) for row in rows], np.int64)
    dst = np.array([int(row[1]) for row in rows], np.int64)
    if weight_column is None:
        return EdgeList(src, dst, np.ones(len(rows)))
    return EdgeList(src, dst, np.array([abs(float(row[weight_column])) for row in rows]))
