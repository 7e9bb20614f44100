"""Run by the environment of notebooks, which has Jupyter and no tornado-loops: executes one and writes it with its outputs."""

import sys

import nbformat
from nbclient import NotebookClient

source, target = sys.argv[1:]
notebook = nbformat.read(source, as_version=4)
try:
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
finally:
    nbformat.write(notebook, target)
