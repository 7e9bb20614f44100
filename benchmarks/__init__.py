"""Benchmarks: each module asks one question, in its docstring, and answers it beside plain baselines of the same run.

``python -m benchmarks [--only NAME] [--scale 16,20,22] [--smoke]``; see `__main__.py`. `system.py` is the only file that
touches what is measured in this process. What comes out lies in `results/`, and `docs/benchmarks.md` is generated from it.
"""
