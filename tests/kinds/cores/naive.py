"""Core numbers by their definition, and the laws that estimates keep on their way there: written down plainly, for small graphs."""


def neighbours(edges, vertices):
    """Who is next to whom in the simple undirected graph of some edges: weights by (source, target)."""
    found = {vertex: set() for vertex in vertices}
    for (source, target), weights in edges.items():
        if weights and source != target:
            found[source].add(target)
            found[target].add(source)
    return found


def core_numbers(near, most=0):
    """Who is left when everybody with fewer than k neighbours has gone has k or more."""
    found, left, number = dict.fromkeys(near, 0), set(near), 0
    while left:
        number += 1
        while goes := {vertex for vertex in left if len(near[vertex] & left) < number}:
            left -= goes
        found |= dict.fromkeys(left, number)
    return {vertex: min(number, most) if most else number for vertex, number in found.items()}


def supported(near, estimates, vertex):
    """The greatest h such that h of the neighbours have h or more."""
    others = sorted((estimates[other] for other in near[vertex]), reverse=True)
    return sum(estimate >= place for place, estimate in enumerate(others, start=1))


def liftable_sets(near, estimates, most):
    """Sets of neighbours of one level, in which each has more neighbours in the set and above than the level says."""
    for level in sorted(set(estimates.values())):
        above = {vertex for vertex in near if estimates[vertex] > level}
        members = {vertex for vertex in near if estimates[vertex] == level < most}
        while goes := {vertex for vertex in members if len(near[vertex] & (members | above)) <= level}:
            members -= goes
        while members:
            reached, grows = set(), {members.pop()}
            while grows:
                reached |= grows
                grows = {other for vertex in grows for other in near[vertex]} & members
                members -= grows
            yield reached
