"""`tornado …` and `python -m tornado …`: the command line, see `tornado/command`."""

from __future__ import annotations

import sys

from .command import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
