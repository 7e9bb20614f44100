"""The accumulative loop on one worker, in plain Python: what `row_kernel` and `push_kernel` do, one edge and one vertex at a time."""

from collections import deque


class NaiveLoop:
    """Sums, announced shares and out-weights by vertex, and who waits to announce."""

    def __init__(self, damping, theta):
        self.damping = damping
        self.theta = theta
        self.heard, self.share, self.weight, self.degree = {}, {}, {}, {}
        self.queue = deque()

    def name(self, vertex):
        for column in (self.heard, self.share, self.weight):
            column.setdefault(vertex, 0.0)
        self.degree.setdefault(vertex, 0)

    def target(self, vertex):
        return 1.0 + self.damping * self.heard[vertex]

    def residual(self, vertex):
        if not self.degree[vertex]:
            return 0.0
        return self.target(vertex) - self.share[vertex] * self.weight[vertex]

    def consider(self, vertex):
        if (
            self.degree[vertex]
            and abs(self.residual(vertex)) > self.theta * self.degree[vertex]
            and vertex not in self.queue
        ):
            self.queue.append(vertex)

    def hear(self, vertex, change):
        self.heard[vertex] += change
        self.consider(vertex)

    def add(self, source, target, weight):
        """The edge is in the graph already; a weight of 0 is none."""
        if weight == 0:
            return
        first = not self.degree[source]
        self.degree[source] += 1
        self.weight[source] += weight
        if first:
            self.share[source] = 1.0 / self.weight[source]  # its base
        self.consider(source)
        self.hear(target, weight * self.share[source])

    def remove(self, source, target, weight):
        if weight == 0:
            return
        self.hear(target, -weight * self.share[source])
        self.degree[source] -= 1
        self.weight[source] -= weight
        if not self.degree[source]:
            self.weight[source] = self.share[source] = 0.0
        self.consider(source)

    def announce(self, edges):
        """Until nobody waits; `edges` has the (consumer, weight) of each producer, in the order of its list."""
        announced = 0
        while self.queue:
            vertex = self.queue.popleft()
            if not self.degree[vertex] or abs(self.residual(vertex)) <= self.theta * self.degree[vertex]:
                continue
            before = self.share[vertex]
            self.share[vertex] = self.target(vertex) / self.weight[vertex]
            announced += 1
            for consumer, weight in edges.get(vertex, []):
                self.hear(consumer, weight * (self.share[vertex] - before))
        return announced
