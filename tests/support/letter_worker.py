"""What a test of sending lets another process do: ``python -m support.letter_worker ACTION '{"option": ...}'``."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from support.letterbox import BACKEND
from support.worker import ready, say

from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.values import Draft


def send_many(store: str, name: str, to: list[str], count: int) -> dict[str, Any]:
    """Register and send as fast as it goes; the ids and what became of inboxes read in between."""
    mail = AgentMail(store)
    ready()
    sender = mail.register_agent(BACKEND, name).agent
    for other in to:
        mail.register_agent(BACKEND, other)
    ids = [mail.send(BACKEND, sender, Draft(f"{name} {number}", "text", to=to)).id for number in range(count)]
    return {"ids": ids, "received": len(mail.inbox(sender))}


def send_same(store: str, key: str) -> str:
    """Send the same message as everybody else, as the same agent."""
    mail = AgentMail(store)
    sender = mail.acting(BACKEND, "Sender")
    ready()
    return mail.send(BACKEND, sender, Draft("Build 7 failed", "log", to=["Receiver"], idempotency_key=key)).id


def send_forever(store: str, name: str, first: int, ack: str) -> None:
    """Send numbered messages, each under its own key, until killed; note each id once it was accepted."""
    mail = AgentMail(store)
    sender = mail.acting(BACKEND, name)
    notes = os.open(ack, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    ready()
    number = first
    while True:
        key = f"{name}-{number}"
        sent = mail.send(BACKEND, sender, Draft(key, "text " * 100, to=["Receiver"], cc=[name], idempotency_key=key))
        os.write(notes, f"{key} {sent.id}\n".encode())
        number += 1


ACTIONS: dict[str, Callable[..., Any]] = {action.__name__: action for action in (send_forever, send_many, send_same)}

if __name__ == "__main__":
    say(ACTIONS[sys.argv[1]](**json.loads(sys.argv[2])))
