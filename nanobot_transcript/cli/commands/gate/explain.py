"""``gate explain``: why an agent answered or did not."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from nanobot_transcript.cli.commands.gate.mode import decided_by, who_decides
from nanobot_transcript.cli.terminal.chat_names import shown_name
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import retold, said
from nanobot_transcript.cli.terminal.message_names import chat_and_message, message_named, newest_of_a_person
from nanobot_transcript.cli.terminal.moments import local
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption, StoreOption, opened_record, read_settings
from nanobot_transcript.cli.terminal.output import console, emit_json, printable
from nanobot_transcript.errors import UnknownNameError
from nanobot_transcript.session_key import split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nanobot_transcript.cli.terminal.message_names import Named
    from nanobot_transcript.conversation.policy import Mode
    from nanobot_transcript.entry import Entry
    from nanobot_transcript.identity import AgentProfile
    from nanobot_transcript.record import Record
    from nanobot_transcript.relevance import Decision, RelevanceGate
    from nanobot_transcript.relevance.choice import ClaimOpen
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["explain"]

_FOUND = "stage {stage}, reason {reason}, score {score}"
_STRONGEST = 6
_TEXT = 80
_CORRECTED = {
    "intruded": "people said that it was not meant",
    "missed": "people asked it again by name: it was meant",
}
_OPEN = {
    True: "open: for nobody in particular, as far as can be told; one of the bots may claim it",
    False: "not open: its sender is a bot, names somebody, or was just talking with somebody; no bot may claim it",
}


def explain(
    chat: Annotated[
        str | None,
        typer.Argument(
            metavar="CHAT",
            help="Session key, chat id, or the beginning or end of one; optional if there is only one chat.",
            show_default=False,
        ),
    ] = None,
    message: Annotated[
        str | None,
        typer.Argument(
            metavar="MESSAGE",
            help="Id of the message, its beginning or end (at least 4 characters), or a piece of its text.",
            show_default=False,
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="Only this bot. Default: all bots of the store.")
    ] = None,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Replay a decision from the record, and explain it.

    Uses what was in the record before the message, and shows what was logged when it came. If the mode of the chat is
    not gate, the first line says who decides there.

    MESSAGE is an id, a piece of one (`tail --ids` shows them), or text: the newest message that contains it, a person's
    before a bot's. Without it, the newest message of a person is explained. A single argument is a chat if there is one
    of that name, else a message of the only chat.

    \b
    Example:
      nanobot-transcript gate explain
      nanobot-transcript gate explain oc_team
      nanobot-transcript gate explain oc_team dba21dcf --agent Alpha
      nanobot-transcript gate explain oc_team "the second one"
    """
    from nanobot_transcript.relevance import GateOptions, RelevanceGate
    from nanobot_transcript.relevance.gate_input import members

    settings = read_settings(config, store)
    claim_open = settings.turns.claim.answer
    gate = RelevanceGate(GateOptions(stale_after=settings.gate.stale_after, style=settings.gate.style))
    with opened_record(config, store) as record:
        opened = record.store
        key, name = chat_and_message(opened, chat, message)
        named = _named(opened, key, name)
        mode = settings.groups.policy.mode_of(split(key)[1])
        entry, history = _up_to(opened, key, named.message)
        known = members(opened, key, opened.scan(key))
        agents = _agents(known, agent)
        replayed = [_replayed(gate, record, key, entry, history, one, known, claim_open) for one in agents]
        if json:
            decider = {"mode": mode, "decided_by": decided_by(mode)}
            emit_json({"session_key": key, **decider, "message": entry, "decisions": replayed})
        else:
            _print_decisions(opened, key, named, mode, replayed)


def _named(store: "GroupTranscriptStore", key: str, name: str | None) -> "Named":
    return newest_of_a_person(store, key) if name is None else message_named(store, key, name, people_first=True)


def _up_to(store: "GroupTranscriptStore", key: str, message: "Entry") -> "tuple[Entry, list[Entry]]":
    """The message as it reads now, and what was recorded before it."""
    from nanobot_transcript.relevance.gate_input import up_to
    from nanobot_transcript.turns.addressees import ids_of

    found = up_to(store, key, min(ids_of(message)))
    if found is None:
        raise UsageError(
            said("The message was just recalled or erased in {chat}.", chat=key), hint=said("Try another one.")
        )
    return found


def _agents(members: "Sequence[AgentProfile]", name: str | None) -> "list[AgentProfile]":
    from nanobot_transcript.relevance.gate_input import bot_called

    bots = [member for member in members if member.kind == "bot"]
    if name is None:
        if not bots:
            raise UsageError(said("No bot has written here yet."), hint=said("Name the agent with --agent."))
        return bots
    try:
        return [bot_called(bots, name)]
    except UnknownNameError as error:
        raise UsageError(str(error), hint=error.hint) from error


def _replayed(
    gate: "RelevanceGate",
    record: "Record",
    key: str,
    message: "Entry",
    history: "list[Entry]",
    agent: "AgentProfile",
    members: "list[AgentProfile]",
    claim_open: "ClaimOpen",
) -> dict[str, Any]:
    decision = gate.decide(message, history, agent, members)
    features, reasons = gate.explain(message, history, agent, members)
    noted = record.decisions.read(key, message["message_id"])
    return {
        **_decision(decision, claim_open),
        "threshold": gate.threshold,
        "features": {name: round(value, 4) for name, value in features.items()},
        "reasons": [{"feature": name, "adds": round(value, 3)} for name, value in reasons[:_STRONGEST]],
        "noted": [record for record in noted if record.get("agent") == agent.name],
    }


def _decision(decision: "Decision", claim_open: "ClaimOpen") -> dict[str, Any]:
    from nanobot_transcript.relevance.choice import wants

    return {
        "agent": decision.agent,
        "respond": decision.respond and wants(decision, claim_open),
        "stage": decision.stage.value,
        "reason": decision.reason.value,
        "sentence": decision.sentence,
        "score": round(decision.score, 4),
        "open": decision.open,
        "first": decision.is_first,
    }


def _print_decisions(
    store: "GroupTranscriptStore", key: str, named: "Named", mode: "Mode", replayed: list[dict[str, Any]]
) -> None:
    _print_decider(mode)
    _print_message(store, key, named)
    for one in replayed:
        _print_replayed(one)


def _print_decider(mode: "Mode") -> None:
    sentence = who_decides(mode)
    if sentence is not None:
        console().print(sentence + said(" What the gate would say:") + "\n", soft_wrap=True)


def _print_message(store: "GroupTranscriptStore", key: str, named: "Named") -> None:
    message, how = named.message, said(", {how}", how=named.how) if named.how else ""
    text = " ".join(printable(message["content"]).split())
    shown = text[:_TEXT] + ("…" if len(text) > _TEXT else "")
    name = printable(shown_name(store, message))
    out = console()
    out.print(
        printable(said("{message} in {chat}{how}:", message=message["message_id"], chat=key, how=how)), soft_wrap=True
    )
    out.print(f"{local(message['ts']):%Y-%m-%d %H:%M} {name}: {shown}", soft_wrap=True)


def _print_replayed(one: dict[str, Any]) -> None:
    from nanobot_transcript.relevance.explanations import in_words

    out = console()
    out.print()
    told = said(
        "{agent} {verdict}: {why}", agent=printable(one["agent"]), verdict=_verdict(one), why=retold(one["sentence"])
    )
    out.print(told, soft_wrap=True)
    scored = one["stage"] == "score"
    counted = scored and one["reason"] not in ("open_question", "other_fits")  # they go by more than this bot's score
    needed = said(" (answers from {score})", score=f"{one['threshold']:.2f}") if counted else ""
    out.print(
        "  " + said(_FOUND, stage=one["stage"], reason=one["reason"], score=f"{one['score']:.2f}") + needed,
        soft_wrap=True,
    )
    if scored:
        if one["respond"] is not True:
            out.print(f"  {said(_OPEN[one['open']])}", soft_wrap=True)
        for reason in one["reasons"]:
            words = in_words(reason["feature"], one["features"][reason["feature"]])
            out.print(f"  {reason['adds']:+.2f}  {words}", soft_wrap=True)
    for record in one["noted"]:
        when = f"{local(record.get('ts') or 0):%Y-%m-%d %H:%M:%S}"
        out.print(printable(said("  logged {when}: {what}", when=when, what=_noted(record))), soft_wrap=True)
    if not one["noted"]:
        out.print(said("  nothing was logged when it came"), soft_wrap=True)


def _verdict(one: dict[str, Any]) -> str:
    if one["respond"] and not one["first"]:  # it claims the message only after those that fit better
        return said("answers if no better bot does")
    return said({True: "answers", False: "stays silent", None: "undecided"}[one["respond"]])


def _noted(record: dict[str, Any]) -> str:
    """What was decided, what became of the answer, or what people made of it."""
    from nanobot_transcript.relevance.decision import sentence_of

    if record.get("stage") == "correction":
        return said(_CORRECTED.get(str(record.get("reason")), "corrected by people"))
    if record.get("stage") in ("claim", "guard"):
        return retold(sentence_of(str(record.get("reason"))))
    if record.get("stage") == "answer":
        ended, why = str(record.get("reason")).replace("_", " "), record.get("why")
        return f"{ended}: {why}" if why else ended
    verdict = said({True: "was to answer", False: "stayed silent", None: "undecided"}.get(record.get("respond"), "?"))
    return verdict + said(", stage {stage}, reason {reason}", stage=record.get("stage"), reason=record.get("reason"))
