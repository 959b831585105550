"""Agent Mail: identities, mail, search and file claims for agents that work on the same code.

``messages``, ``agents``, ``claims`` and ``search`` are what happens; ``store`` is where mail is acknowledged, and
``archive`` carries it into git. Only ``server``, ``resources`` and the modules called ``tools`` know MCP.
"""
