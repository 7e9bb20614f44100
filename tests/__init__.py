"""The tests are one package, so that they can share oracles (`tests.oracle`) whatever else is installed."""
