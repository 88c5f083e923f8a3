"""Other people's MCP servers, and our hub to use them with: for tests and benchmarks."""
