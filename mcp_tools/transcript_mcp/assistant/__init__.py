"""Agent Assistant: an agent asks a person, waits for minutes or days, and gets the answer.

``questions`` is what happens and where it is kept (it knows neither HTTP nor MCP), ``protocol`` how other programs
reach it, ``tools`` what agents call, ``adapter`` how they do over stdio.
"""
