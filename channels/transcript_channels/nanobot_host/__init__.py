"""The nanobot plugin: records a group's messages, and gives each turn what the others said.

nanobot finds it through the entry point ``nanobot.tools``; see ``plugin.GroupTranscriptTool``. This is the only
room that imports nanobot, and only ``plugin``, ``install`` and ``seams`` do.
"""

__all__: list[str] = []
