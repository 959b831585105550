"""By which ids people know questions."""

from transcript_mcp.assistant.protocol.shown_ids import ShownIds
from transcript_mcp.assistant.questions.values import Inquiry, Question

SEEN = ("hub/codex", "hub/claude")


def asked(scope: str, name: str) -> Inquiry:
    return Inquiry(Question(scope, name, "question", "Deploy?"), 1, 0.0, "waiting")


def test_people_tell_the_same_id_of_two_programs_apart() -> None:
    ids = ShownIds(frozenset(SEEN))
    shown = [ids.shown(asked(scope, "1")).question.id for scope in SEEN]
    assert shown[0] != shown[1]
    assert [ids.key_of(SEEN, each) for each in shown] == [("hub/codex", "1"), ("hub/claude", "1")]
    assert ids.key_of(SEEN, "1") is None


def test_an_id_that_imitates_another_programs_stays_its_own() -> None:
    ids = ShownIds(frozenset(SEEN))
    of_claude = ids.shown(asked("hub/claude", "1")).question.id
    imitated = asked("hub/codex", of_claude)
    assert ids.key_of(SEEN, ids.shown(imitated).question.id) == ("hub/codex", of_claude)


def test_who_sees_one_scope_sees_its_ids_as_they_are() -> None:
    ids, record = ShownIds(frozenset(SEEN)), asked("assistant/ada", "1.2")
    assert ids.shown(record) == record
    assert ids.key_of(("assistant/ada",), "1.2") == ("assistant/ada", "1.2")
