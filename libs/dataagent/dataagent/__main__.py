"""`python -m dataagent` is `dataagent`."""

from __future__ import annotations

import sys

from dataagent_cli.main import main

if __name__ == "__main__":
    sys.exit(main())
