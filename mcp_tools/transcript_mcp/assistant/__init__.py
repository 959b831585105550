"""Agent Assistant: an agent asks a person, waits for minutes or days, and gets the answer.

``proto`` are the messages that go over the line, ``service`` is what happens (it knows neither HTTP nor MCP), ``store``
where it is kept, ``connect`` and ``sockets`` how other programs reach it, ``tools`` what agents call.
"""
