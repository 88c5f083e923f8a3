"""`python -m dataagent_server` is `dataagent-server`."""

from dataagent_server.cli import main

if __name__ == "__main__":
    main()
