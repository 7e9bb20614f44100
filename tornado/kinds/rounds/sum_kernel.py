"""How a vertex's next value is made of those of its neighbours where they share what they have, and it has the sum of its shares.

In place of `tally_kernel`. A cell at round k holds what each edge that begins at the vertex carries of what that had at round k - 1, so
whoever hears it need not know how many edges those are. At round 0 stands what the vertex has at first. A vertex at which no edge
begins keeps what it has for itself.
"""

import numba as nb

from .stand_in import coefficients


@nb.njit(cache=True)
def begin_hearing(loop, most):
    """Begin with nothing heard, however much is going to be."""
    loop.gathered[0] = 0.0 * most


@nb.njit(cache=True)
def hear_value(loop, value):
    """A neighbour's share along one edge."""
    loop.gathered[0] += value


@nb.njit(cache=True)
def finish_hearing(loop, row, number):
    """The share of each edge that begins at the vertex, of what it has a round before."""
    had = loop.value[row] if number == 1 else loop.gathered[0]
    return had / max(1, loop.degree[row])


@nb.njit(cache=True, nogil=True)
def weigh_rounds(result, kept, vertices, parameters):
    """Write what each round counts for in an answer."""
    coefficients(result, kept, vertices, *parameters)
