"""A chat platform of its own, as another package would bring it: rooms on a server, JSON lines over TCP.

It has little in common with Feishu: every id is a number in text form, and messages are counted in each room; a mention
is a number, too, and does not say whether a person or a bot is meant; bots are not told what bots say; there is no
history, no edit, no recall and no card. ``server`` is the platform itself and imports nothing of the product; the rest
connects it.
"""
