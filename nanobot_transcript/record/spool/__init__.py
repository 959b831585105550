"""The spool: what a process records is kept on its own disk at once, and handed on to a record over a network behind
it, so that nobody who brings a message waits for the network, and none is lost while it is away.
"""
