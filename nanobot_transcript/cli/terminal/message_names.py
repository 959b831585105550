"""Messages as people name them: by an id, a piece of one, or what they say."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from nanobot_transcript.cli.terminal.chat_names import chat_keys, one_chat
from nanobot_transcript.cli.terminal.command_hints import again
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import retold, said
from nanobot_transcript.cli.terminal.output import listed
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import UnknownNameError
from nanobot_transcript.store.names import in_words, one_called

if TYPE_CHECKING:
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["SHORT", "Named", "chat_and_message", "message_named", "newest_of_a_person", "short_id"]

SHORT: Final = 8
"""The characters of a short id."""
_LEAST: Final = 4
_LISTED: Final = 10
_PAGE: Final = 100


class Named(NamedTuple):
    """A message, and how it was found where that is more than its id: in words, for a sentence."""

    message: Entry
    how: str = ""


def short_id(message_id: str) -> str:
    """The end of an id, which tells messages apart; their beginnings are often the same.

    >>> short_id("om_dc13264520392913993dd051dba21dcf")
    'dba21dcf'
    """
    return message_id[-SHORT:]


def chat_and_message(store: "GroupTranscriptStore", first: str | None, second: str | None) -> tuple[str, str | None]:
    """The session key and the name of a message that the arguments ``[CHAT] [MESSAGE]`` mean.

    One argument is a chat where a chat is called so, else a message of the only chat. Raises UsageError.
    """
    if first is None or second is not None:
        return one_chat(store, first), second
    keys = chat_keys(store, None)
    try:
        return one_called(first, keys, store.members.title_of), None
    except UnknownNameError as error:
        if len(keys) == 1:
            return keys[0], first
        raise UsageError(
            str(error), hint=f"{retold(error.hint)}{said(' Give the chat first, then the message.')}"
        ) from error


def message_named(store: "GroupTranscriptStore", key: str, name: str, *, people_first: bool = False) -> Named:
    """The message with this id, else the one whose id begins or ends so, else the newest one that says so; with
    ``people_first`` a person's before a bot's, which often quotes it.

    A piece of an id has at least four characters. Raises UsageError when there is none, or several have such an id.
    """
    from nanobot_transcript.identity import is_person
    from nanobot_transcript.turns.addressees import ids_of  # that room takes a while to import

    exact = store.get(key, name)
    if exact is not None:
        return Named(exact)
    found = list(_with_piece(store, key, name)) if len(name) >= _LEAST else []
    if len(found) > 1:
        sentence = said("Several messages have an id that begins or ends with {name}.", name=in_words(name))
        raise UsageError(sentence, hint=_hint(found))
    if found:
        return Named(found[0])
    saying = [hit.entry for hit in store.search(name, key, _PAGE) if ids_of(hit.entry)]
    persons = next(filter(is_person, saying), None) if people_first else None
    if persons is not None:
        return Named(persons, said("the newest message of a person with {text}", text=in_words(name)))
    if not saying:
        raise _no_message(key, name)
    return Named(saying[0], said("the newest message with {text}", text=in_words(name)))


def _no_message(key: str, name: str) -> UsageError:
    short = said("Give at least {count} characters of an id. ", count=_LEAST) if len(name) < _LEAST else ""
    gone = said(
        "Text must match as it was written, upper and lower case too. `{tail}` shows what is there, with ids; recalled "
        "messages are gone.",
        tail=again("tail --ids", key),
    )
    sentence = said("There is no message {name} in {chat}.", name=in_words(name), chat=key)
    return UsageError(sentence, hint=f"{short}{gone}")


def newest_of_a_person(store: "GroupTranscriptStore", key: str) -> Named:
    """The newest message that a person wrote. Raises UsageError when nobody did."""
    from nanobot_transcript.identity import is_person
    from nanobot_transcript.turns.addressees import ids_of

    cursor, full = None, True
    while full:
        page = store.read_back(key, cursor, _PAGE)
        for entry in reversed(page.entries):
            if is_person(entry) and ids_of(entry):
                return Named(entry, said("the newest message of a person"))
        cursor, full = page.cursor, len(page.entries) == _PAGE
    raise UsageError(
        said("No person has written in {chat} yet.", chat=key),
        hint=said("To explain a bot's message, give its id after the chat."),
    )


def _with_piece(store: "GroupTranscriptStore", key: str, piece: str) -> Iterator[Entry]:
    from nanobot_transcript.turns.addressees import ids_of

    for entry in store.scan(key):
        if any(one.startswith(piece) or one.endswith(piece) for one in ids_of(entry)):
            yield entry


def _hint(found: list[Entry]) -> str:
    ids = listed(in_words(entry["message_id"] or "") for entry in found[-_LISTED:])
    more = said(" and {count} older ones", count=len(found) - _LISTED) if len(found) > _LISTED else ""
    return said("Give more of one of: {ids}{more}.", ids=ids, more=more)
