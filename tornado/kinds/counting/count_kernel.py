"""The compiled loops of counting: neighbours in lists, who of two comes first, and where two lists meet.

Every triangle of the simple undirected graph is found once, where two of its vertices a and b with a before b have their lists meet:
those of a and of b of the neighbours that come behind them. With vertices in the order of their degrees such a list has at most
sqrt(2 m) entries, so all triangles take O(m^1.5) steps (Chiba and Nishizeki 1985; Latapy 2008, algorithm "forward").

Lists of vertex v are the entries starts[v] .. starts[v + 1], in the order of ids. All arrays belong to one worker.
"""

import numba as nb
import numpy as np

from .stand_in import value


@nb.njit(cache=True, nogil=True)
def count_entries(holders, offsets):
    """Count, behind the place of each vertex, the entries it holds."""
    for i in range(len(holders)):
        offsets[holders[i] + 1] += 1


@nb.njit(cache=True, nogil=True)
def place_entries(holders, others, directions, following, to_others, to_directions):
    """Write entries to the places of those who hold them."""
    for i in range(len(holders)):
        place = following[holders[i]]
        to_others[place] = others[i]
        to_directions[place] = directions[i]
        following[holders[i]] = place + 1


@nb.njit(cache=True, nogil=True)
def settle_lists(offsets, others, directions, holders, starts, first, position, fuel):
    """Sort the lists from a vertex on and leave out who is there again, in place; return (next vertex, its place).

    What was vertex v's from offsets[v] on is from starts[v] on, with the directions of all edges between both.
    """
    v = first
    while v < len(offsets) - 1 and fuel > 0:
        begin, end = offsets[v], offsets[v + 1]
        starts[v] = position
        order = np.argsort(others[begin:end])
        ids, bits = others[begin:end][order], directions[begin:end][order]
        for at in range(len(ids)):
            if at > 0 and ids[at] == ids[at - 1]:
                directions[position - 1] |= bits[at]
            else:
                others[position] = ids[at]
                directions[position] = bits[at]
                holders[position] = v
                position += 1
        fuel -= end - begin + 1
        v += 1
    return v, position


@nb.njit(cache=True)
def place_of(others, first, stop, vertex):
    """The entry of a vertex in a list, -1 where there is none."""
    while first < stop:
        middle = (first + stop) // 2
        if others[middle] < vertex:
            first = middle + 1
        elif others[middle] > vertex:
            stop = middle
        else:
            return middle
    return -1


@nb.njit(cache=True, nogil=True)
def hear_degrees(rows, senders, numbers, starts, others, degrees):
    """Take in how many neighbours the neighbours of own vertices have."""
    for i in range(len(rows)):
        if rows[i] >= 0:
            place = place_of(others, starts[rows[i]], starts[rows[i] + 1], senders[i])
            if place >= 0:
                degrees[place] = numbers[i]


@nb.njit(cache=True, nogil=True)
def list_behind(
    starts, others, degrees, counted, ids, behind_starts, behind_others, behind_counted, behind_places, first, position, fuel
):  # fmt: skip
    """Write, from a vertex on, the neighbours that come behind it; return (next vertex, its place)."""
    v = first
    while v < len(ids) and fuel > 0:
        behind_starts[v] = position
        degree = starts[v + 1] - starts[v]
        for place in range(starts[v], starts[v + 1]):
            if degrees[place] > degree or (degrees[place] == degree and others[place] > ids[v]):
                behind_others[position] = others[place]
                behind_counted[position] = counted[place]
                behind_places[position] = place
                position += 1
        fuel -= degree + 1
        v += 1
    return v, position


@nb.njit(cache=True, nogil=True)
def meet_lists(
    ids, bounds, of_list, others, counted, rows, starts, neighbours, behind_starts, behind_others, behind_counted, behind_places,
    edges, owed, first, fuel,
):  # fmt: skip
    """Have lists of other vertices meet those of the own ones that are in them, from an entry on; return the next entry.

    Parameters
    ----------
    ids, bounds, others, counted
        Vertices a, and the neighbours that come behind each: the entries bounds[i] .. bounds[i + 1].
    of_list, rows
        Of each entry, which list it is of, and the number of its vertex b where that is an own one, else -1.
    starts, neighbours
        All neighbours of own vertices.
    edges
        Written: edges among the neighbours of own vertices, as far as they are found here.
    owed
        Written: of each neighbour, how many edges among its neighbours were found here.
    """
    j = first
    while j < len(others) and fuel > 0:
        b = rows[j]
        fuel -= 1
        if b >= 0:
            x, x_stop = bounds[of_list[j]], bounds[of_list[j] + 1]
            y, y_stop = behind_starts[b], behind_starts[b + 1]
            fuel -= (x_stop - x) + (y_stop - y)
            of_a, of_b = 0, 0
            while x < x_stop and y < y_stop:
                c, other = others[x], behind_others[y]
                if c == other:  # a neighbour of both: what is between two counts for the third
                    of_a += behind_counted[y]
                    of_b += counted[x]
                    owed[behind_places[y]] += counted[j]
                # Not by branches: nobody could guess which way they go.
                x += np.int64(c <= other)
                y += np.int64(other <= c)
            if of_a > 0:
                edges[b] += of_b
                place = place_of(neighbours, starts[b], starts[b + 1], ids[of_list[j]])
                if place >= 0:
                    owed[place] += of_a
        j += 1
    return j


@nb.njit(cache=True, nogil=True)
def hear_edges(rows, numbers, edges):
    """Take in edges among the neighbours of own vertices that were found elsewhere."""
    for i in range(len(rows)):
        if rows[i] >= 0:
            edges[rows[i]] += numbers[i]


@nb.njit(cache=True, nogil=True)
def worths(starts, edges, values, parameters):
    """Write the values of all vertices."""
    for v in range(len(values)):
        values[v] = value(starts[v + 1] - starts[v], edges[v], *parameters)
