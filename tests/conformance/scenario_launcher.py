"""The program that the suite starts for each scenario: passes it to `client.py`, and waits.

A program of its own, and small, because the suite starts forty at once. Arguments: the socket, and
the address of the suite's server.
"""

import json
import os
import socket
import sys

request = {
    "scenario": os.environ.get("MCP_CONFORMANCE_SCENARIO", ""),
    "context": os.environ.get("MCP_CONFORMANCE_CONTEXT", ""),
    "url": sys.argv[-1],
}
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    connection.sendall(json.dumps(request).encode() + b"\n")
    problem = b"".join(iter(lambda: connection.recv(65536), b""))
sys.exit(problem.decode() or 0)
