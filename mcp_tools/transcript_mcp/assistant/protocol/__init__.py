"""The wire protocol: its messages, calls over HTTP, and the page's WebSocket."""
