"""The IO bridge: inputs for agents that wait, and their outputs, between MCP tools and a small HTTP interface."""
