"""`python -m dataagent_cli` is `dataagent`."""

import sys

from dataagent_cli.main import main

sys.exit(main())
