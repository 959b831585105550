"""Agent Mail: identities, mail, search and file claims for agents that work on the same code.

The core (everything but ``server`` and ``tools``) knows nothing of MCP. ``database`` is where mail is acknowledged;
``archiver`` carries it into git.
"""
