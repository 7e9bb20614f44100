"""What counting programs count, as plainly as LDBC Graphalytics writes it down (LCC): no order, no lists that meet."""

from itertools import permutations


def among_neighbours(edges, vertices):
    """How many neighbours every vertex has, and how many edges there are among them; `edges` are weights by source and target."""
    linked = {ends for ends, weights in edges.items() if weights and ends[0] != ends[1]}
    neighbours = {vertex: set() for vertex in vertices}
    for source, target in linked:
        neighbours[source].add(target)
        neighbours[target].add(source)
    return {
        vertex: (len(others), sum(pair in linked for pair in permutations(others, 2)))
        for vertex, others in neighbours.items()
    }


def clustering(edges, vertices):
    """The local clustering coefficient of every vertex."""
    return {
        vertex: inside / (count * (count - 1)) if count > 1 else 0.0
        for vertex, (count, inside) in among_neighbours(edges, vertices).items()
    }
