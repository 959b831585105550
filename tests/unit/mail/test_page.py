"""What goes on in a project: its threads, the one written to last first."""

from support.letterbox import BACKEND, FRONTEND, Letterbox
from unit.mail.conftest import on_both

from transcript_mcp.mail import page
from transcript_mcp.mail.page import RecentThread
from transcript_mcp.mail.values import Draft, LetterPage


def threads(
    box: Letterbox, project: str = BACKEND, limit: int = 100, before: str | None = None
) -> LetterPage[RecentThread]:
    key = box.mail.project(project).id
    return box.mail.reader.read(lambda db: page.conversations(db, key, limit, before), LetterPage())


@on_both
def test_a_thread_is_where_its_newest_message_is_and_names_all_who_wrote(box: Letterbox) -> None:
    first = box.send(subject="Plan")
    alone = box.send(subject="Lunch")
    named = box.send(subject="Named", thread_id="TKT-1")
    box.mail.reply(box.red, first.id, Draft(body="Yes."))
    last = box.mail.reply(box.green, first.id, Draft(body="Then do it."))
    found = threads(box)
    assert [(each.id, each.subject, each.messages, each.senders) for each in found] == [
        (first.id, "Plan", 3, ("GreenCastle", "RedStone")),
        ("TKT-1", "Named", 1, ("GreenCastle",)),
        (alone.id, "Lunch", 1, ("GreenCastle",)),
    ]
    assert [each.newest.id for each in found] == [last.id, named.id, alone.id]


def test_threads_of_another_project_do_not_count_even_under_the_same_name(box: Letterbox) -> None:
    here = box.send(subject="Here", thread_id="TKT-1")
    there = box.mail.send(FRONTEND, box.blue, Draft("There", "text", to=["BlueLake"], thread_id="TKT-1"))
    assert [(each.newest.id, each.messages) for each in threads(box)] == [(here.id, 1)]
    assert [(each.newest.id, each.messages) for each in threads(box, FRONTEND)] == [(there.id, 1)]


@on_both
def test_every_thread_is_on_one_page_though_mail_arrives_between_them(box: Letterbox) -> None:
    names = [f"T-{number}" for number in range(7)]
    for name in names * 2:
        box.send(thread_id=name)
    seen: list[str] = []
    page = threads(box, limit=3)
    assert page.more == 4
    while True:
        seen += [each.id for each in page]
        if not page.more:
            break
        box.send(thread_id="T-6")
        page = threads(box, limit=3, before=page.before)
    assert seen == names[::-1]
