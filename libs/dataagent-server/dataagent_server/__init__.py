"""DataAgent over REST, SSE and WebSocket."""

from importlib.metadata import version

__version__ = version("dataagent-server")
