"""Programs in plain Python: gather, scatter and a state of their own, by the three-phase protocol as it is written."""
