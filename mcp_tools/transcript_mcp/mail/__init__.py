"""Agent Mail: identities, mail, search and file claims for agents that work on the same code.

``messages``, ``agents``, ``claims`` and ``search`` have the rules; ``store`` is the database, in which mail is durable,
and ``archive`` copies it into git. Only ``server``, ``resources`` and the modules called ``tools`` know MCP.
"""
