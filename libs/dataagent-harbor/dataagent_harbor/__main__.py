"""`python -m dataagent_harbor`."""

import sys

from dataagent_harbor.cli import main

sys.exit(main())
