"""What goes over the line: the messages of the protocol, calls over HTTP, and the socket of the page."""
