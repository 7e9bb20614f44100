"""Benchmarks: each module asks one question, in its docstring, and answers it beside plain baselines of the same run.

``python -m benchmarks [--scale 16,20,22] [--smoke] [--only NAME]``; see `__main__.py`. `system.py` is the only file that
touches what is measured.
"""
