"""Commands to a running simulator as JSON objects, and what happens on it as JSON objects."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transcript_channels.simulator.changes import Notice
from transcript_channels.simulator.simulator import FeishuSimulator
from transcript_channels.simulator.world import App, Chat, Member, Message, Person, Push

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["CommandError", "Console", "describe"]

JSON = dict[str, Any]


class CommandError(ValueError):
    """A command that cannot be done; the text says why."""


class Console:
    """Does commands: ``{"do": "say", "from": "Ada", "text": "hello @Alpha"}`` and so on.

    Apps, people and groups are named by their names (or ids); without ``chat`` the first group is meant.
    """

    def __init__(self, feishu: FeishuSimulator) -> None:
        self._feishu = feishu
        self._commands: dict[str, Callable[[JSON], Awaitable[JSON]]] = {
            "say": self._say,
            "send_file": self._send_file,
            "private": self._private,
            "edit": self._edit,
            "recall": self._recall,
            "react": self._react,
            "press": self._press,
            "push_again": self._push_again,
            "messages": self._messages,
            "who": self._who,
            "add_app": self._add_app,
            "add_person": self._add_person,
            "add_group": self._add_group,
            "grant": self._grant,
            "revoke": self._revoke,
            "drop": self._drop,
            "fail": self._fail,
            "clear_faults": self._clear_faults,
            "quota": self._quota,
            "expire_tokens": self._expire_tokens,
        }

    @property
    def names(self) -> list[str]:
        """The commands there are."""
        return sorted(self._commands)

    async def do(self, command: JSON) -> JSON:
        """Do one command and return its result. Raises CommandError."""
        handler = self._commands.get(str(command.get("do", "")))
        if handler is None:
            raise CommandError(f"unknown command {command.get('do')!r}; there are: {', '.join(self.names)}, quit")
        try:
            return await handler(command)
        except KeyError as error:
            raise CommandError(f"{command['do']} needs {error.args[0]!r}") from error
        except (TypeError, ValueError, TimeoutError) as error:
            raise CommandError(str(error)) from error

    async def _say(self, command: JSON) -> JSON:
        message = await self._feishu.say(
            self._chat(command),
            self._member(command["from"]),
            command["text"],
            msg_type=command.get("msg_type", "text"),
            reply_to=self._message(command["reply_to"]) if command.get("reply_to") else None,
            in_thread=bool(command.get("in_thread")),
            wait=bool(command.get("wait")),
        )
        return describe_message(message)

    async def _send_file(self, command: JSON) -> JSON:
        path = Path(command["path"])
        try:
            data = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}") from error
        chat, sender = self._chat(command), self._member(command["from"])
        return describe_message(await self._feishu.send_file(chat, sender, data, path.name, wait=False))

    async def _private(self, command: JSON) -> JSON:
        person, app = self._person(command["from"]), self._app(command["to"])
        wait = bool(command.get("wait"))
        return describe_message(await self._feishu.say_private(person, app, command["text"], wait=wait))

    async def _edit(self, command: JSON) -> JSON:
        message = self._message(command["message_id"])
        await self._feishu.edit(message, command["text"])
        return describe_message(message)

    async def _recall(self, command: JSON) -> JSON:
        message = self._message(command["message_id"])
        await self._feishu.recall(message, wait=False)
        return describe_message(message)

    async def _react(self, command: JSON) -> JSON:
        message = self._message(command["message_id"])
        await self._feishu.react(message, self._member(command["from"]), command.get("emoji", "THUMBSUP"))
        return describe_message(message)

    async def _press(self, command: JSON) -> JSON:
        message, person = self._message(command["message_id"]), self._person(command["from"])
        push = await self._feishu.press(message, person, command.get("value") or {})
        return {**describe_push(push), "response": push.response}

    async def _push_again(self, command: JSON) -> JSON:
        pushes = await self._feishu.push_again(self._message(command["message_id"]), wait=False)
        return {"pushes": [describe_push(push) for push in pushes]}

    async def _messages(self, command: JSON) -> JSON:
        return {"messages": [describe_message(one) for one in self._feishu.messages(self._chat(command))]}

    async def _who(self, command: JSON) -> JSON:
        del command
        return {
            "apps": [describe_app(app) for app in self._feishu.apps],
            "people": [describe_person(person, self._feishu.apps) for person in self._feishu.people],
            "chats": [describe_chat(chat) for chat in self._feishu.chats],
        }

    async def _add_app(self, command: JSON) -> JSON:
        app = self._feishu.add_app(command["name"], app_id=command.get("app_id"), app_secret=command.get("app_secret"))
        return describe_app(app)

    async def _add_person(self, command: JSON) -> JSON:
        return describe_person(self._feishu.add_person(command["name"]), self._feishu.apps)

    async def _add_group(self, command: JSON) -> JSON:
        members = [self._member(name) for name in command["members"]]
        return describe_chat(self._feishu.add_group(command["name"], members))

    async def _grant(self, command: JSON) -> JSON:
        app = self._app(command["app"])
        app.grant(*command["scopes"])
        return {"app": app.name, "scopes": sorted(app.scopes)}

    async def _revoke(self, command: JSON) -> JSON:
        app = self._app(command["app"])
        app.revoke(*command["scopes"])
        return {"app": app.name, "scopes": sorted(app.scopes)}

    async def _drop(self, command: JSON) -> JSON:
        app = self._app(command["app"]) if command.get("app") else None
        return {"dropped": len(await self._feishu.drop_connections(app))}

    async def _fail(self, command: JSON) -> JSON:
        options = {key: value for key, value in command.items() if key not in ("do", "id", "route", "app")}
        app = self._app(command["app"]) if command.get("app") else None
        fault = self._feishu.fail(command["route"], app=app, **options)
        return {"route": fault.route, "times": fault.times}

    async def _clear_faults(self, command: JSON) -> JSON:
        del command
        self._feishu.clear_faults()
        return {}

    async def _quota(self, command: JSON) -> JSON:
        self._feishu.quota = command["left"]
        return {"left": self._feishu.quota}

    async def _expire_tokens(self, command: JSON) -> JSON:
        self._feishu.expire_tokens(self._app(command["app"]) if command.get("app") else None)
        return {}

    def _chat(self, command: JSON) -> Chat:
        wanted = command.get("chat")
        for chat in self._feishu.chats:
            if wanted in (chat.name, chat.chat_id) or (wanted is None and chat.kind == "group"):
                return chat
        raise CommandError(f"there is no chat {wanted!r}" if wanted else "there is no group yet")

    def _member(self, name: str) -> Member:
        for member in [*self._feishu.people, *self._feishu.apps]:
            if name in (member.name, member.key):
                return member
        raise CommandError(f"there is nobody called {name!r}")

    def _person(self, name: str) -> Person:
        member = self._member(name)
        if not isinstance(member, Person):
            raise CommandError(f"{name!r} is an app, not a person")
        return member

    def _app(self, name: str) -> App:
        for app in self._feishu.apps:
            if name in (app.name, app.app_id):
                return app
        raise CommandError(f"there is no app {name!r}")

    def _message(self, message_id: str) -> Message:
        try:
            return self._feishu.message(message_id)
        except KeyError as error:
            raise CommandError(f"there is no message {message_id!r}") from error


def describe(notice: Notice) -> JSON:
    """A notice as one JSON object with ``event`` for its kind."""
    subject = notice.subject
    if isinstance(subject, Message):
        return {"event": notice.kind, **describe_message(subject), **notice.details}
    if isinstance(subject, Push):
        return {"event": notice.kind, **describe_push(subject)}
    if notice.kind == "call":
        app = subject.app.name if subject.app else None
        return {
            "event": "call",
            "app": app,
            "route": f"{subject.method} {subject.path}",
            "status": subject.status,
            "code": subject.code,
        }
    app = getattr(subject, "app", None)
    return {"event": notice.kind, "app": app.name if app else None}


def describe_message(message: Message) -> JSON:
    """A message for people and programs."""
    return {
        "message_id": message.message_id,
        "chat": message.chat.name,
        "chat_id": message.chat.chat_id,
        "chat_type": message.chat.kind,
        "from": message.sender.name,
        "sender_type": "bot" if isinstance(message.sender, App) else "user",
        "msg_type": message.msg_type,
        "text": message.text,
        "thread_id": message.thread_id,
        "reply_to": message.parent.message_id if message.parent else None,
        "finished": message.finished,
        "recalled": message.recalled,
        "create_time": message.created_ms,
    }


def describe_push(push: Push) -> JSON:
    """An event on its way to an app."""
    return {
        "app": push.app.name,
        "event_type": push.event_type,
        "message_id": push.message.message_id if push.message else None,
        "state": push.state,
        "code": push.ack_code,
        "attempts": len(push.attempts),
    }


def describe_app(app: App) -> JSON:
    """An app with its credentials."""
    return {
        "name": app.name,
        "app_id": app.app_id,
        "app_secret": app.app_secret,
        "open_id": app.bot_open_id,
        "connections": len(app.connections),
    }


def describe_person(person: Person, observers: list[App]) -> JSON:
    """A person with all their ids."""
    return {
        "name": person.name,
        "union_id": person.union_id,
        "user_id": person.user_id,
        "open_ids": {app.app_id: person.open_id(app) for app in observers},
    }


def describe_chat(chat: Chat) -> JSON:
    """A chat and who is in it."""
    return {
        "name": chat.name,
        "chat_id": chat.chat_id,
        "chat_type": chat.kind,
        "members": [member.name for member in chat.members],
    }
