"""Core numbers over a live stream of edges: `tornado run core_number --edges links.csv`."""

from dataclasses import dataclass

from tornado import CoresCheck, CoresProgram


@dataclass(frozen=True)
class CoreNumber(CoresProgram):
    """The core number of every vertex of the simple undirected graph behind the stream; see `CoresProgram`."""

    def checker(self) -> CoresCheck:
        """By a peeling order."""
        return CoresCheck(self.most)
