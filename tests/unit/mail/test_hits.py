"""Finding messages: which ones, in which order, and what is shown of them."""

import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.engines import engine_of
from support.examples import examples

from nanobot_transcript.sql.contract import Sql
from nanobot_transcript.sql.location import Shelf
from transcript_mcp.mail.messages.boxes import MOST_FOUND
from transcript_mcp.mail.search.hits import Hit, Hits, search
from transcript_mcp.mail.store import MailStore, index_messages

Text = tuple[str, str]
Fits = Callable[[list[list[str]]], bool]

APART = re.compile("[\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")


class Post:
    """Projects 1 and 2 with messages in them."""

    def __init__(self, folder: Path, engine: Any = None) -> None:
        self.database = MailStore.on(Shelf(folder, engine)).opened(5)
        self.texts: dict[str, Text] = {}
        self.words: dict[str, list[list[str]]] = {}
        self.database.write(
            lambda connection: connection.executemany(
                "INSERT INTO projects VALUES (?, ?, ?, 0, '{}')", [(n, f"/p{n}", f"p{n}") for n in (1, 2)]
            )
        )

    def put(self, subject: str, body: str, project: int = 1) -> str:
        return self.put_all([(subject, body)], project)[0]

    def put_all(self, texts: list[Text], project: int = 1) -> list[str]:
        ids = [f"m{len(self.texts) + n}" for n in range(len(texts))]
        rows = [
            (id_, project, *text, "GreenCastle", float(n), "normal", 0, "[]", "{}")
            for n, (id_, text) in enumerate(zip(ids, texts, strict=True), len(self.texts))
        ]

        def work(db: Sql) -> None:
            last = db.execute("SELECT coalesce(max(seq), 0) FROM messages").fetchone()[0]
            db.executemany(
                "INSERT INTO messages (id, project_id, subject, body_md, from_agent, created_ts, importance,"
                " ack_required, attachments_json, recipients_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            index_messages(db, last)

        self.database.write(work)
        if project == 1:
            self.texts.update(zip(ids, texts, strict=True))
        return ids

    def find(self, query: str, limit: int = MOST_FOUND, project: int = 1) -> Hits:
        return search(self.database, project, query, limit)

    def ids(self, query: str) -> list[str]:
        return [hit["id"] for hit in self.find(query).hits]

    def snippet(self, query: str, body: str, subject: str = "subject") -> str:
        self.put(subject, body)
        hit: Hit = self.find(query, 1).hits[0]
        return hit["snippet"]


@pytest.fixture(params=["sqlite", "postgres"])
def post(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Post]:
    post = Post(tmp_path, request.getfixturevalue("engine") if request.param == "postgres" else None)
    yield post
    post.database.close()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Post]:
    """Three hundred messages of few words in both languages, so that every query finds some and misses some."""
    folder = tmp_path_factory.mktemp("full")
    if request.param == "sqlite":
        yield filled(Post(folder))
        return
    with engine_of(request.getfixturevalue("cluster")) as engine:
        yield filled(Post(folder, engine))


def filled(post: Post) -> Post:
    rnd = random.Random(5)
    words = ["plan", "Plans", "users", "user", "migrate", "migration", "POL-358", "café", "v2", "API", "and", "a_b"]
    words += [
        "发布",
        "窗口",
        "布",
        "发",
        "周三，",
        "回滚。",
        "ガス",
        "カ",
        "𠮷野",
        "ｖ２",
        "发布v2",
        "(x)",
        "->",
        "**b**",
    ]
    texts = [
        (" ".join(rnd.choices(words, k=2)), rnd.choice(["", " ", "\n"]).join(rnd.choices(words, k=rnd.randint(1, 7))))
        for _ in range(300)
    ]
    post.put_all(texts)
    post.put_all(texts[:50], project=2)
    post.words = {id_: [plain(tokens(part)) for part in text] for id_, text in post.texts.items()}
    return post


def tokens(text: str) -> list[str]:
    """The words of a text, found in another way than the index does."""
    plain = APART.sub(lambda found: f" {found.group()} ", unicodedata.normalize("NFKC", text))
    words = "".join(c if c.isalnum() else " " for c in plain).split()
    return [word if APART.match(word) else "".join(unicodedata.normalize("NFD", word)[:99]).lower() for word in words]


def plain(words: list[str]) -> list[str]:
    return [word if APART.match(word) else "".join(c for c in word if not unicodedata.combining(c)) for word in words]


def has(text: list[str], phrase: list[str], *, prefix: bool) -> bool:
    for start in range(len(text) - len(phrase) + 1):
        here = text[start : start + len(phrase)]
        if here == phrase or (prefix and here[:-1] == phrase[:-1] and here[-1].startswith(phrase[-1])):
            return True
    return False


def leaf(typed: str, *, prefix: bool = False) -> tuple[str, Fits]:
    phrase = plain(tokens(typed))
    prefix = prefix and not APART.match(phrase[-1])
    return typed + ("*" if prefix else ""), lambda texts: any(has(text, phrase, prefix=prefix) for text in texts)


def phrase(typed: str) -> tuple[str, Fits]:
    return f'"{typed}"', leaf(typed)[1]


def combined(parts: tuple[tuple[str, Fits], tuple[str, Fits], str]) -> tuple[str, Fits]:
    (left, fits_left), (right, fits_right), operator = parts
    typed = f"({left}) {operator} ({right})"
    if operator == "OR":
        return typed, lambda texts: fits_left(texts) or fits_right(texts)
    if operator == "NOT":
        return typed, lambda texts: fits_left(texts) and not fits_right(texts)
    return typed, lambda texts: fits_left(texts) and fits_right(texts)


def inverted(part: tuple[str, Fits]) -> tuple[str, Fits]:
    typed, fits = part
    return f"NOT ({typed})", lambda texts: not fits(texts)


WORDS = ["plan", "USERS", "user", "pol-358", "358", "cafe", "CAFÉ", "v2", "ｖ２", "ａｐｉ", "absent", "a_b", "b"]
CHINESE = ["发", "布", "发布", "布发", "窗口", "发布v2", "回滚", "周三", "ガ", "カ", "𠮷", "发布窗口"]
LEAVES = st.one_of(
    st.sampled_from(WORDS + CHINESE).map(leaf),
    st.sampled_from(["mig", "p", "us", "migration", "plan", "发布v", "发布"]).map(
        lambda typed: leaf(typed, prefix=True)
    ),
    st.sampled_from(["plan users", "plan plans", "发布 v2", "周三 回滚", "api and", "发布，窗口", "v2 发"]).map(phrase),
)
QUERIES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner, st.sampled_from(["AND", "OR", "NOT", ""])).map(combined), inner.map(inverted)
    ),
    max_leaves=6,
)


@examples(150, 5000)
@given(QUERIES)
def test_the_index_agrees_with_looking_at_every_message(full: Post, query: tuple[str, Fits]) -> None:
    typed, fits = query
    expected = [id_ for id_, words in full.words.items() if fits(words)]
    assert full.ids(typed) == expected[::-1][:MOST_FOUND]


TYPED = st.text(
    alphabet=st.one_of(st.sampled_from(list('planusermig358发布窗口v2é*"() ANDORT-:，“”\0\ud800')), st.characters()),
    max_size=60,
)


@examples(300, 10_000)
@given(TYPED)
def test_whatever_is_typed_is_answered(full: Post, typed: str) -> None:
    found = full.find(typed, 5)
    assert len(found.hits) <= 5
    assert all(hit["snippet"].count("**") % 2 == 0 for hit in found.hits)


def test_the_newest_come_first_and_no_more_than_asked(post: Post) -> None:
    ids = post.put_all([("plan", f"number {n}") for n in range(30)])
    assert post.ids("plan") == ids[::-1]
    assert [hit["id"] for hit in post.find("plan", 3).hits] == ids[:-4:-1]
    assert len(post.find("plan", -5).hits) == 1
    assert len(post.find("plan", 10**9).hits) == 30


def test_a_message_is_described(post: Post) -> None:
    post.put("Build plan", "for /api/users")
    assert post.find("users").hits == [
        {
            "id": "m0",
            "thread_id": None,
            "subject": "Build plan",
            "from": "GreenCastle",
            "created_ts": 0.0,
            "importance": "normal",
            "snippet": "for /api/**users**",
        }
    ]


def test_other_projects_are_not_searched(post: Post) -> None:
    post.put("plan", "p1 p2", project=2)
    assert post.ids("plan") == post.ids("p1") == post.ids("NOT other") == []
    assert len(post.find("plan", project=2).hits) == 1


def test_a_store_without_a_file_has_no_messages(tmp_path: Path) -> None:
    database = MailStore(tmp_path / "none").opened(1)
    assert search(database, 1, "plan", 5) == Hits([], ())
    assert not (tmp_path / "none").exists()


def test_an_empty_answer_says_why(post: Post) -> None:
    post.put("plan", "-> here")
    found = post.find("->")
    assert found.hits == []
    assert any("no word" in note for note in found.notes)


def test_what_is_only_excluded_leaves_the_rest(post: Post) -> None:
    post.put_all([("one", "legacy"), ("two", "new")])
    assert post.ids("NOT legacy") == ["m1"]


@pytest.mark.parametrize("post", ["sqlite"], indirect=True)  # elsewhere there are no triggers, and nobody does this
def test_changed_and_removed_messages_are_found_as_they_are(post: Post) -> None:
    post.put_all([("one", "发布ｖ２"), ("two", "𠮷野家")])
    for statement in ("UPDATE messages SET body_md = '回滚' WHERE id = 'm0'", "DELETE FROM messages WHERE id = 'm1'"):
        post.database.write(lambda sql, statement=statement: sql.execute(statement))
    assert post.ids("发布v2") == post.ids("𠮷") == []
    assert post.ids("回滚") == ["m0"]


@pytest.mark.parametrize(
    ("query", "body", "snippet"),
    [
        ("plan", "The Plan, and the plans.", "The **Plan**, and the plans."),
        ("pla*", "The Plan, and the plans.", "The **Plan**, and the **plans**."),
        ('"build plan"', "a build, plan of build plans", "a **build, plan** of build plans"),
        ("发布", "我们周三发布，窗口两小时", "我们周三**发布**，窗口两小时"),
        ("布", "发布布告", "发**布布**告"),
        ("发布v2", "周三发布v2，不是发布v21", "周三**发布v2**，不是发布v21"),
        ("v2", "发布v2版", "发布**v2**版"),
        ("cafe", "Cafe\u0301 or café", "**Café** or **café**"),
        ("POL-358", "see POL-358.", "see **POL-358**."),
        ("v2", "ｖ２ is out", "**ｖ２** is out"),
        ("カ", "ガカ", "ガ**カ**"),
        ("plan NOT x", "plan **bold** *i* a*b", "**plan** bold *i* a*b"),
        ("plan", "**plan**\n\n- [ ] two   lines", "**plan** - [ ] two lines"),
        ("NOT absent", "the *beginning*", "the *beginning"),
    ],
)
def test_the_words_are_marked(post: Post, query: str, body: str, snippet: str) -> None:
    assert post.snippet(query, body) == snippet


def test_words_of_the_subject_are_marked_there(post: Post) -> None:
    assert post.snippet("plan", "nothing here", subject="Build plan") == "Build **plan**"


def test_long_texts_are_cut_round_the_word(post: Post) -> None:
    english = post.snippet("needle", "hay " * 1000 + "needle " + "hay " * 1000)
    assert english.startswith("…hay ")
    assert english.endswith(" hay…")
    assert "hay **needle** hay" in english
    chinese = post.snippet("霹雳", "我们需要回滚" * 500 + "霹雳" + "数据库" * 1000)
    assert "回滚**霹雳**数据" in chinese
    assert len(english) < 250
    assert len(chinese) < 250


def test_a_word_far_into_a_text_is_found_if_not_shown(post: Post) -> None:
    assert post.snippet("needle", "hay " * 50_000 + "needle").startswith("hay hay")


def test_pictures_in_the_text_are_neither_found_nor_shown(post: Post) -> None:
    picture = f"![flow](data:image/webp;base64,needle/{'A' * 60_000}==)"
    assert post.snippet("plan", f"{picture} the plan") == "![flow](-) the **plan**"
    assert post.ids("needle") == []


def test_a_phrase_longer_than_a_snippet_is_cut(post: Post) -> None:
    phrase = "发布" * 300
    snippet = post.snippet(phrase, f"前 {phrase} 后")
    assert snippet.startswith("前 **发布")
    assert snippet.endswith("…")
    assert snippet.count("**") == 2
