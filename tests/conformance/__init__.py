"""The official MCP conformance suite, against our hub (as a client) and our door (as a server)."""
