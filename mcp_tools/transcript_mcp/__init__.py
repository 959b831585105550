"""MCP servers over the group's record: transcript, mailboxes and what serves them. Made for any MCP client."""
