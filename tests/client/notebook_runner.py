"""Run by the environment of notebooks, which has Jupyter and no tornado-loops: executes one and writes it with its outputs."""

import sys


def main(source, target):
    # The environment of the tests has neither, and looks for doctests here.
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(source, as_version=4)
    try:
        NotebookClient(notebook, timeout=120, startup_timeout=300, kernel_name="python3").execute()
    finally:
        nbformat.write(notebook, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
