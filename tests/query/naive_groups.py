"""The names of groups written down plainly, a vertex at a time: what `tornado.query.group_names` is compared with."""


def first(labels):
    """Return the name of each vertex's group in a first answer; labels by vertex."""
    return dict(labels)


def following(labels_before, names_before, labels):
    """Return the name of each vertex's group in the answer after another one."""
    old, new = _members(labels_before), _members(labels)
    names = {}
    for label, members in new.items():
        origin = _largest({before: members & others for before, others in old.items()})
        if origin is not None:
            others = {after: old[origin] & parts for after, parts in new.items()}
            if _largest(others) == label:
                names[label] = names_before[min(old[origin])]
    holders = {name: label for label, name in names.items()}
    for label in new:
        if label not in names:
            name = label
            while name in holders:
                name = holders[name]
            names[label] = name
    assert len(set(names.values())) == len(names), "two groups have one name"
    return {vertex: names[label] for vertex, label in labels.items()}


def turnings(names_before, names):
    """Return the splits and the merges between two answers, each as (kind, from, into, sizes), the largest part first."""
    old, new = _members(names_before), _members(names)
    found = []
    for kind, groups, others in (("split", old, new), ("merge", new, old)):
        for name, members in sorted(groups.items()):
            parts = [(other, members & theirs) for other, theirs in others.items() if members & theirs]
            parts.sort(key=lambda part: (-len(part[1]), min(part[1])))
            if len(parts) > 1:
                ends = [name], [other for other, _ in parts]
                found.append(
                    (kind, *(ends if kind == "split" else ends[::-1]), [len(shared) for _, shared in parts])
                )
    return found


def _members(labels):
    members = {}
    for vertex, label in labels.items():
        members.setdefault(label, set()).add(vertex)
    return members


def _largest(parts):
    """Return whose part is the largest, of equal ones whose has the least vertex; None where all are empty."""
    there = [(-len(part), min(part), whose) for whose, part in parts.items() if part]
    return min(there)[2] if there else None
