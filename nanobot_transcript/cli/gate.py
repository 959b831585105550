"""``gate``: why an agent answered or did not, and how good the gate is on labelled logs."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nanobot_transcript.cli.gate_mode import decided_by, who_decides
from nanobot_transcript.cli.message_names import chat_and_message, message_named, newest_of_a_person
from nanobot_transcript.cli.moments import local
from nanobot_transcript.cli.naming import shown_name
from nanobot_transcript.cli.options import ConfigOption, JsonOption, StoreOption, opened_record, read_settings
from nanobot_transcript.cli.output import amount, console, emit_json, notice, printable, progress_bar
from nanobot_transcript.cli.problems import UsageError
from nanobot_transcript.cli.tables import print_table
from nanobot_transcript.errors import NothingFoundError, UnknownNameError
from nanobot_transcript.session_key import split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nanobot_transcript.cli.message_names import Named
    from nanobot_transcript.conversation.policy import Mode
    from nanobot_transcript.entry import Entry
    from nanobot_transcript.identity import AgentProfile
    from nanobot_transcript.record import Record
    from nanobot_transcript.relevance import Decision, RelevanceGate
    from nanobot_transcript.relevance.evaluation.run import Evaluation
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["app"]

_STRONGEST = 6
_TEXT = 80
_OPEN = {
    True: "open: for nobody in particular, as far as can be told; one of the bots may claim it",
    False: "not open: its sender is a bot, names somebody, or was just talking with somebody; no bot may claim it",
}

app = typer.Typer(
    name="gate",
    help="Who should answer: explain one decision, or measure the gate.\n\n\b\nExample:\n"
    "  nanobot-transcript gate explain oc_team",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class _Format(StrEnum):
    IRC = "irc"


@app.command()
def explain(
    chat: Annotated[
        str | None,
        typer.Argument(
            metavar="CHAT",
            help="Session key, chat id, or the beginning of one; not needed where there is just one chat.",
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
        str | None, typer.Option("--agent", metavar="NAME", help="Only for this bot, instead of all of the store.")
    ] = None,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Replay a decision from the record, and say why it fell so.

    Uses what stood in the record before the message, and shows what was noted when it came. Says first who decides in
    the chat, where its mode is not gate.

    MESSAGE is looked for as an id, then as a piece of one (`tail --ids` shows them), then as text: the newest message
    that contains it. Without it, the newest message of a person. A single argument is a chat if one is called so, else
    a message of the only chat.

    \b
    Example:
      nanobot-transcript gate explain
      nanobot-transcript gate explain oc_team
      nanobot-transcript gate explain oc_team dba21dcf --agent Alpha
      nanobot-transcript gate explain oc_team "the second one"
    """
    from nanobot_transcript.relevance import GateOptions, RelevanceGate
    from nanobot_transcript.relevance.profiles import members

    settings = read_settings(config, store)
    gate = RelevanceGate(GateOptions(stale_after=settings.gate.stale_after, threshold=settings.gate.threshold))
    with opened_record(config, store) as record:
        opened = record.store
        key, name = chat_and_message(opened, chat, message)
        named = message_named(opened, key, name) if name is not None else newest_of_a_person(opened, key)
        mode = settings.groups.policy.mode_of(split(key)[1])
        entry, history = _up_to(opened, key, named.message)
        known = members(opened, key, opened.scan(key))
        agents = _agents(known, agent)
        replayed = [_replayed(gate, record, key, entry, history, one, known) for one in agents]
        if json:
            decider = {"mode": mode, "decided_by": decided_by(mode)}
            emit_json({"session_key": key, **decider, "message": entry, "decisions": replayed})
        else:
            _print_decisions(opened, key, named, mode, replayed)


@app.command("eval")
def evaluate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of labelled logs.", show_default=False)],
    form: Annotated[_Format, typer.Option("--format", metavar="FORMAT", help="Form of the logs: irc.")] = _Format.IRC,
    json: JsonOption = False,
) -> None:
    """Measure the gate on labelled logs, beside simple rules.

    For each labelled message and each member who spoke lately: is it meant for them? "No nick" counts only where the
    member is not named in the text. Exit code 1: there is nothing to decide about.

    \b
    Example:
      nanobot-transcript gate eval --format irc logs/
    """
    from nanobot_transcript.relevance import RelevanceGate
    from nanobot_transcript.relevance.evaluation.irc import read_logs
    from nanobot_transcript.relevance.evaluation.run import evaluate as evaluated

    logs = read_logs(folder)
    with progress_bar("Deciding") as advance:
        made = evaluated(logs, RelevanceGate(), advance)
    if not made.decisions:
        sentence = f"There is nobody to decide about in {folder}: {amount(made.messages, 'labelled message')}."
        raise NothingFoundError(sentence, hint="Somebody else must have said two of the 100 lines before one of them.")
    if json:
        emit_json(made.document())
    else:
        _print_evaluation(made)


def _up_to(store: "GroupTranscriptStore", key: str, message: "Entry") -> "tuple[Entry, list[Entry]]":
    """The message as it reads now, and what was recorded before it."""
    from nanobot_transcript.relevance.profiles import up_to
    from nanobot_transcript.turns.speakers import ids_of

    found = up_to(store, key, min(ids_of(message)))
    if found is None:
        raise UsageError(f"The message was taken back or erased from {key} just now.", hint="Try another one.")
    return found


def _agents(members: "Sequence[AgentProfile]", name: str | None) -> "list[AgentProfile]":
    from nanobot_transcript.relevance.profiles import bot_called

    bots = [member for member in members if member.kind == "bot"]
    if name is None:
        if not bots:
            raise UsageError("No bot has written here yet.", hint="Name the agent with --agent.")
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
) -> dict[str, Any]:
    decision = gate.decide(message, history, agent, members)
    features, reasons = gate.explain(message, history, agent, members)
    noted = record.decisions.read(key, message["message_id"])
    return {
        **_decision(decision),
        "threshold": gate.threshold,
        "features": {name: round(value, 4) for name, value in features.items()},
        "reasons": [{"feature": name, "adds": round(value, 3)} for name, value in reasons[:_STRONGEST]],
        "noted": [record for record in noted if record.get("agent") == agent.name],
    }


def _decision(decision: "Decision") -> dict[str, Any]:
    return {
        "agent": decision.agent,
        "respond": decision.respond,
        "stage": decision.stage.value,
        "reason": decision.reason.value,
        "sentence": decision.sentence,
        "score": round(decision.score, 4),
        "open": decision.open,
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
        console().print(f"{sentence} What the gate would say:\n", soft_wrap=True)


def _print_message(store: "GroupTranscriptStore", key: str, named: "Named") -> None:
    message, how = named.message, f", {named.how}" if named.how else ""
    text = " ".join(printable(message["content"]).split())
    shown = text[:_TEXT] + ("…" if len(text) > _TEXT else "")
    name = printable(shown_name(store, message))
    out = console()
    out.print(printable(f"{message['message_id']} in {key}{how}:"), soft_wrap=True)
    out.print(f"{local(message['ts']):%Y-%m-%d %H:%M} {name}: {shown}", soft_wrap=True)


def _print_replayed(one: dict[str, Any]) -> None:
    from nanobot_transcript.relevance.words import in_words

    out = console()
    verdict = {True: "answers", False: "stays silent", None: "undecided"}[one["respond"]]
    out.print()
    out.print(f"{printable(one['agent'])} {verdict}: {one['sentence']}", soft_wrap=True)
    scored = one["stage"] == "score"
    needed = f" (answers from {one['threshold']:.2f})" if scored else ""
    out.print(f"  stage {one['stage']}, reason {one['reason']}, score {one['score']:.2f}{needed}", soft_wrap=True)
    if scored:
        if one["respond"] is not True:
            out.print(f"  {_OPEN[one['open']]}", soft_wrap=True)
        for reason in one["reasons"]:
            words = in_words(reason["feature"], one["features"][reason["feature"]])
            out.print(f"  {reason['adds']:+.2f}  {words}", soft_wrap=True)
    for record in one["noted"]:
        when = f"{local(record.get('ts') or 0):%Y-%m-%d %H:%M:%S}"
        out.print(printable(f"  noted {when}: {_noted(record)}"), soft_wrap=True)
    if not one["noted"]:
        out.print("  nothing was noted when it came", soft_wrap=True)


def _noted(record: dict[str, Any]) -> str:
    """What was decided, or what became of the answer."""
    if record.get("stage") == "answer":
        ended, why = str(record.get("reason")).replace("_", " "), record.get("why")
        return f"{ended}: {why}" if why else ended
    verdict = {True: "was to answer", False: "stayed silent", None: "undecided"}.get(record.get("respond"), "?")
    return f"{verdict}, stage {record.get('stage')}, reason {record.get('reason')}"


def _print_evaluation(made: "Evaluation") -> None:
    summary = f"{amount(made.messages, 'message')}, {amount(made.decisions, 'decision')}"
    console().print(f"{summary}, {made.ms_per_decision:.3f} ms each", soft_wrap=True)
    heads = ("precision", "recall", "F1", "95 %")
    for title, scores in (("all decisions", made.all), ("no nick", made.no_nick)):
        rows = [
            [name.replace("_", " "), f"{one.p:.3f}", f"{one.r:.3f}", f"{one.f1:.3f}", f"{one.low:.3f}-{one.high:.3f}"]
            for name, one in scores.items()
        ]
        print_table([title, *heads], rows, right=heads, shorten=title)
    if made.mentions:
        notice(f"Of {made.mentions} members rightly named, the gate answers for {made.mentions_answered}.")
