"""The official MCP conformance suite, against our hub (a client) and our endpoint (a server)."""
