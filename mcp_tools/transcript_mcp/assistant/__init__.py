"""Agent Assistant: an agent asks a person, waits for minutes or days, and gets the answer.

``questions`` has the rules and the storage (and knows neither HTTP nor MCP), ``protocol`` what other programs and the
page speak, ``tools`` what agents call, ``adapter`` the same over stdio.
"""
