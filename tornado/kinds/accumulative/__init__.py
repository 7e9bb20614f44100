"""Programs whose values are sums over what their producers announce: PageRank and its kin; see `program.py`."""
