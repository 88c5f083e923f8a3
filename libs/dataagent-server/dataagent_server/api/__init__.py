"""The HTTP routes."""

from dataagent_server.api.errors import error_response, install_error_handlers, status_of
from dataagent_server.api.streaming import EventStream

__all__ = ["EventStream", "error_response", "install_error_handlers", "status_of"]
