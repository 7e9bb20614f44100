"""The edges from one vertex to another, at one version of the graph: by the shorter of the two lists that they stand in."""

import numba as nb

from .graves_kernel import grave_at


@nb.njit(cache=True, nogil=True)
def weights_between(graph, version, producers, consumers, first, counts, weights):
    """Write the weights of all edges from row ``producers[i]`` to row ``consumers[i]``, from pair `first` on; returns (next pair, written).

    A pair is written whole or not at all, for want of room in `weights`; `counts` gets how many edges each has.
    """
    written = 0
    for pair in range(first, producers.size):
        producer, consumer = producers[pair], consumers[pair]
        before = written
        by_consumer = graph.in_length[consumer] < graph.out_length[producer]
        start = graph.in_start[consumer] if by_consumer else graph.out_start[producer]
        length = graph.in_length[consumer] if by_consumer else graph.out_length[producer]
        for place in range(start, start + length):
            slot = place
            if by_consumer:
                if graph.in_producer[place] != producer:
                    continue
                slot = graph.out_start[producer] + graph.in_position[place]
            elif graph.edge_consumer[place] != consumer:
                continue
            if graph.edge_born[slot] <= version:
                if written == weights.size:
                    return pair, before
                weights[written] = graph.edge_weight[slot]
                written += 1
        grave = grave_at(graph, graph.buried_in[consumer], version)
        while grave >= 0:
            if graph.grave_producer[grave] == producer and graph.grave_born[grave] <= version:
                if written == weights.size:
                    return pair, before
                weights[written] = graph.grave_weight[grave]
                written += 1
            grave = grave_at(graph, graph.grave_next_in[grave], version)
        counts[pair] = written - before
    return producers.size, written
