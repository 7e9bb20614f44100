"""Which tests run one after another in one process of `make test`, which begin, and which have the machine for themselves.

A lane is what one process takes at once. A module is one, as its fixtures are for all of its tests; so are modules that want the same
server, which takes longer to start than to wait for. All that starts a Spark is one lane: two of them at a time leave nothing of two
cores.

The last lane is given out when no other process has a test left. It has what is promised within seconds of JVMs that start anew: they
want every core there is, and no load that is measured beside them says how much later they come.
"""

from xdist.scheduler import LoadScopeScheduling

ALONE = "alone"

# By how ids of tests begin; the longest lanes first, or the last one would run alone.
LANES = {
    # Those with a cluster: each of its executors is a JVM.
    "tests/spark/test_faults.py::test_nothing_is_lost_or_twice_when[an_executor": ALONE,
    "tests/spark/test_faults.py::test_nothing_is_lost_or_twice_when[the_driver_is_killed_before": ALONE,
    "tests/engine/test_on_spark.py::test_the_same_on_spark[local-cluster": ALONE,
    # These have one Spark and one broker.
    "tests/spark/test_kafka.py": "a Spark",
    "tests/spark/test_roads.py": "a Spark",
    "tests/spark/test_sink.py": "a Spark",
    "tests/spark/test_changes.py": "a Spark",
    "tests/spark/test_points.py": "a Spark",
    "tests/spark/test_archive.py": "a Spark",
    "tests/command/test_demo_kafka.py": "a Spark",
    "tests/spark/test_kills.py": "a Spark",
    # These start their own.
    "tests/engine/test_on_spark.py": "a Spark",
    "tests/spark/test_faults.py": "a Spark",
    "tests/kafka/": "a broker",
    "tests/compose/test_natively.py": "a broker",
    # Nothing is shared from here on but kernels, which whoever is first compiles. Neighbours want the same ones: they run one after
    # another while the other process has its Spark, for two that begin at once compile all of it twice.
    "tests/kinds/learning/test_templates.py": None,
    "tests/kinds/learning/test_dual_ascent.py": None,
    "tests/apps/test_learning_apps.py": None,
    "tests/kinds/learning/test_linear_loops.py": None,
    "tests/kinds/learning/test_linear_gap.py": None,
    "tests/kinds/learning/test_newton.py": None,
    "tests/apps/test_selective_apps.py": None,
    "tests/apps/test_absorbing_walk.py": None,
    "tests/kinds/test_conformance.py": None,
    # All of these have what the first ones compiled, or what nobody else wants.
    "tests/engine/test_faults.py": None,
    "tests/end_to_end/test_recovery.py": None,
    "tests/command/test_check.py": None,
    "tests/loops/test_session_twins.py": None,
    "tests/benchmarks/test_smoke.py": None,
    "tests/test_documents.py": None,
    "tests/loops/test_sabotage.py": None,
    "tests/loops/test_compile.py": None,
    "tests/loops/test_general_programs.py": None,
    "tests/kinds/rounds/test_loops.py": None,
    "tests/loops/test_fork_under_load.py": None,
    "tests/loops/test_simulation.py": None,
    "tests/intake/test_checkpoints.py": None,
    "tests/loops/test_stored_snapshots.py": None,
    "tests/query/test_streams.py": None,
}


def lane_of(test):
    """Return the lane of a test, by its id."""
    found = next((lane for start, lane in LANES.items() if test.startswith(start)), None)
    return found or test.partition("::")[0]


def place_of(test):
    """Return where a test stands among others; those of one place stay in the order they have."""
    if lane_of(test) == ALONE:
        return len(LANES) + 1
    places = enumerate(LANES)
    return next((place for place, start in places if test.startswith(start)), len(LANES))


class Lanes(LoadScopeScheduling):
    """Gives lanes to processes, in the order of the tests."""

    def __init__(self, config, log=None):
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def schedule(self):
        begins = self.collection is None
        super().schedule()
        if not begins:
            for node in self.nodes:
                self._reschedule(node)  # one that takes the place of another begins when it has two tests

    def mark_test_complete(self, node, item_index, duration=0):
        super().mark_test_complete(node, item_index, duration)
        if ALONE in self.workqueue:
            for other in self._others(node):
                self._reschedule(other)  # it may wait for this one to have nothing left

    def remove_node(self, node):
        """Give out again what a process had that died, without the test that it died of: the next one would, too."""
        units = self.assigned_work.pop(node).items()
        left = [(scope, test) for scope, unit in units for test, is_done in unit.items() if not is_done]
        if not left:
            return None
        for scope, test in left[1:]:
            self.workqueue.setdefault(scope, {})[test] = False
        for other in self.nodes:
            self._reschedule(other)
        return left[0][1]

    def _split_scope(self, nodeid):
        return lane_of(nodeid)

    def _reschedule(self, node):
        is_last = list(self.workqueue) == [ALONE]
        if is_last and any(not other.shutting_down for other in self._others(node)):
            node.shutdown()  # after what it has; another one takes the last lane
        else:
            super()._reschedule(node)

    def _assign_work_unit(self, node):
        if ALONE in self.workqueue:
            # What a process had that died comes back at the end.
            self.workqueue.move_to_end(ALONE)
        if next(iter(self.workqueue)) != ALONE or not any(
            self._pending_of(self.assigned_work[other]) for other in self._others(node)
        ):
            super()._assign_work_unit(node)

    def _others(self, node):
        return [other for other in self.nodes if other is not node]
