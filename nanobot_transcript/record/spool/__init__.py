"""The spool: this process writes messages to its own disk at once, and hands them on to a record over a network in the
background. So nobody waits for the network, and no message is lost while the record is away.
"""
