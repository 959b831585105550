"""Threads in short."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from transcript_mcp.mail.messages.summary import Summary, summarize


def thread(*said: tuple[str, str] | str) -> list[dict[str, Any]]:
    """Messages m0, m1, … of (sender, body); a body alone is A's and B's in turns."""
    parts = [each if isinstance(each, tuple) else ("AB"[n % 2], each) for n, each in enumerate(said)]
    return [
        {"id": f"m{n}", "from_agent": sender, "subject": "Plan", "body_md": body, "created_ts": 100.0 + n}
        for n, (sender, body) in enumerate(parts)
    ]


def texts(summary: Summary, name: str) -> list[str]:
    return [each["text"] for each in summary[name]]  # type: ignore[literal-required]


def one(name: str, *said: tuple[str, str] | str) -> list[str]:
    return texts(summarize(thread(*said)), name)


def test_it_says_who_wrote_how_often_and_when() -> None:
    summary = summarize(thread(("Green", "a"), ("Blue", "b"), ("Green", "c"))[::-1])
    assert summary["participants"] == [{"name": "Green", "messages": 2}, {"name": "Blue", "messages": 1}]
    assert (summary["messages"], summary["first_ts"], summary["last_ts"]) == (3, 100.0, 102.0)
    assert summary["subject"] == "Plan"


def test_an_empty_thread_has_an_empty_summary() -> None:
    summary = summarize([], include_examples=True)
    assert (summary["messages"], summary["first_ts"], summary["key_points"]) == (0, None, [])


@pytest.mark.parametrize(
    "body",
    [
        "We decided to ship on Friday.",
        "Decision: ship on Friday",
        "We will use PostgreSQL.",
        "Agreed, the old route stays.",
        "我们决定周五发布。",
        "方案定为先迁移再发布",
        "结论：采用方案二",
        "## Decisions\n- Friday it is",
        "We decided not to ship v2.1 yet.",
    ],
)
def test_decisions_are_told(body: str) -> None:
    assert len(one("decisions", body)) == 1


@pytest.mark.parametrize(
    "body",
    [
        "Nothing was said.",
        "We have not decided yet.",
        "It is undecided.",
        "Have we decided?",
        "If we agreed on that, fine.",
        "还没决定。",
        "是否采用方案二？",
        "我不同意",
        "> We decided to ship",
        "```\nwe decided\n```",
    ],
)
def test_what_is_not_settled_is_no_decision(body: str) -> None:
    assert one("decisions", body) == []


@pytest.mark.parametrize(
    ("body", "task", "owner"),
    [
        ("- [ ] write the migration", "write the migration", None),
        ("1. [ ] write it", "write it", None),
        ("TODO: add an index", "TODO: add an index", None),
        ("see TODO(BlueLake) add an index", "see TODO(BlueLake) add an index", "BlueLake"),
        ("@BlueLake please review users.py. Thanks!", "@BlueLake please review users.py.", "BlueLake"),
        ("@BlueLake could you review it?", "@BlueLake could you review it?", "BlueLake"),
        ("Please rebase.", "Please rebase.", None),
        ("请在周三前完成回滚演练。", "请在周三前完成回滚演练。", None),
        ("需要补一个索引", "需要补一个索引", None),
        ("待办：补索引", "待办：补索引", None),
        ("麻烦 @蓝湖 看一下迁移脚本", "麻烦 @蓝湖 看一下迁移脚本", "蓝湖"),
        ("麻烦看一下迁移脚本好吗？", "麻烦看一下迁移脚本好吗？", None),
        ("请 Green 确认", "请 Green 确认", "Green"),
        ("## Action items\n\n- index", "index", None),
        ("下一步：\n- 补索引", "补索引", None),
    ],
)
def test_what_is_to_do_is_told_with_its_owner(body: str, task: str, owner: str | None) -> None:
    (action,) = summarize(thread(("Green", body)))["action_items"]
    assert (action["text"], action["owner"], action["done"]) == (task, owner, False)
    assert (action["from"], action["message_id"]) == ("Green", "m0")


@pytest.mark.parametrize(
    "body",
    [
        "@BlueLake was here",
        "It is on my todo list",
        "申请已经通过评审",
        "邀请大家",
        "请问窗口是几点？",
        "不需要回滚",
        "是否需要回滚？",
        "> please review",
        "```\nTODO: x\n```",
        "~~~~\n```\nTODO: x\n~~~\n~~~~",
        "## TODO",
    ],
)
def test_what_only_looks_like_a_task_is_none(body: str) -> None:
    assert one("action_items", body) == []


def test_a_box_that_is_ticked_later_is_done() -> None:
    (first, second) = summarize(thread("- [ ] index\n- [ ] route", "- [x] Index"))["action_items"]
    assert (first["text"], first["done"]) == ("route", False)
    assert (second["text"], second["done"], second["message_id"]) == ("index", True, "m0")


@pytest.mark.parametrize(
    "said",
    [
        ("Which window do we use for the release?", "The release window is Wednesday."),
        ("Is it safe?", "Yes, tests pass."),
        ("Who reviews?", "> Who reviews?\n\nGreenCastle does."),
        ("Who reviews the index?", "> reviews the index?\n\nGreenCastle does."),
        ("发布窗口是几点？", "窗口是周三晚上八点，发布两小时。"),
        ("能合并吗", "可以"),
        ("Which port?", "hm, what?", "no idea", "port 8765"),
        ("Questions: who owns the migration?", "I own the migration."),
    ],
)
def test_answered_questions_are_not_open(said: tuple[str, ...]) -> None:
    assert said[0] not in one("open_questions", *said)


@pytest.mark.parametrize(
    "said",
    [
        ("Which window do we use for the release?",),
        ("Which window do we use for the release?", "I pushed the migration."),
        ("发布窗口是几点？", "我合并了脚本。"),
        ("窗口是几点呢", "什么窗口？"),
        ("Is the index there?", ("A", "The index and more questions.")),
        ("Is the index there?", "> Is the index there?"),
    ],
)
def test_questions_without_an_answer_are_open(said: tuple[Any, ...]) -> None:
    assert said[0] in one("open_questions", *said)


def test_a_reply_to_a_message_with_one_question_answers_it() -> None:
    messages = thread("Which port?", "8765")
    messages[1]["reply_to"] = "m0"
    assert summarize(messages)["open_questions"] == []


def test_points_are_headings_items_and_weighty_sentences_and_stand_in_one_list_only() -> None:
    body = "Here is the flow. It is long.\n\n## Routes\n- GET /api/users\n\n注意：旧接口月底下线。\nWe agreed on REST."
    assert one("key_points", body) == ["Routes", "GET /api/users", "注意：旧接口月底下线。"]
    assert one("key_points", "Here is the flow v2.1 of users.py. It is long.") == ["Here is the flow v2.1 of users.py."]


def test_pictures_in_the_text_take_no_room() -> None:
    picture = f"![flow](data:image/webp;base64,{'TODO' * 20_000}=)"
    summary = summarize(thread(f"{picture}\n\nTODO: index"), include_examples=True)
    assert texts(summary, "action_items") == ["TODO: index"]
    assert summary["examples"][0]["excerpt"] == "![flow](-) TODO: index"


def test_examples_are_short_and_only_on_request() -> None:
    messages = thread(*["x" * 1000, *["talk"] * 20, "We decided it.", *["talk"] * 20, "the end"])
    assert summarize(messages)["examples"] == []
    examples = summarize(messages, include_examples=True)["examples"]
    assert len(examples) == 5
    assert {"m0", "m21", "m42"} <= {each["message_id"] for each in examples}
    assert examples[0]["excerpt"].endswith("…")
    assert len(examples[0]["excerpt"]) == 240


def test_the_summary_is_bounded_and_says_what_was_left_out() -> None:
    bodies = [(f"Agent{n}", f"- [ ] task {n}\n- point {n}\nWe decided {n}. Why not {n} {n}?") for n in range(3000)]
    summary = summarize(thread(*bodies), include_examples=True)
    assert summary["messages"] == 3000
    assert summary["left_out"]["participants"] == 2950
    assert summary["left_out"]["decisions"] == 1980
    assert summary["action_items"][-1]["text"] == "task 2999"
    assert len(json.dumps(summary)) < 40_000


HOSTILE = [
    "data:" * 200_000 + ";base64,",
    "data:image/png;a=b;a=b;a=b;a=b;" * 30_000 + ";base64,",
    "data:a;base64," * 70_000,
    "." * 1_000_000 + "x",
    "!?" * 500_000 + "a",
    "@" * 1_000_000,
    "TODO(" * 200_000,
    "- [ ] " * 170_000,
    "`" * 1_000_000,
    "~~~\n" * 250_000,
    "```\n" * 250_000 + "x",
    ">" * 1_000_000,
    "> \n" * 300_000,
    " " * 1_000_000 + "x",
    "not be " * 150_000 + "decided",
    "没" * 1_000_000 + "决定",
    "请" * 1_000_000,
    "a?\n" * 330_000,
    "why b?\n" * 140_000,
    "#" * 1_000_000,
    "\n" * 1_000_000,
    "\0\ud800" * 500_000,
]


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_of_a_megabyte_are_read_in_time(body: str) -> None:
    summary = summarize(thread(body, body, body), include_examples=True)
    assert len(json.dumps(summary)) < 100_000


SIGNS = list("aT?!.。？请需要待办决定@#>`~- []x\n1)没")


@examples(100, 1000)
@given(st.lists(st.text(alphabet=st.sampled_from(SIGNS), max_size=80), max_size=5))
def test_no_text_raises(bodies: list[str]) -> None:
    json.dumps(summarize(thread(*bodies), include_examples=True))
