"""The syntax of the search, and that nothing typed into it can break it."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from transcript_mcp.mail.search.query import (
    LONGEST_PHRASE,
    LONGEST_QUERY,
    MOST_LETTERS,
    MOST_TERMS,
    Both,
    Either,
    LetterQuery,
    Not,
    Term,
    parse,
)

NASTY = st.text(
    alphabet=st.one_of(
        st.sampled_from(list('"*()-:^+{}[]\\/\0\ud800\udfff“”（）＂＊ANDORT 发布窗口，。v2é\u0301𠮷')), st.characters()
    ),
    max_size=60,
)
SHAPED = st.lists(
    st.sampled_from(
        ["AND", "OR", "NOT", "NEAR(", "(", ")", '"', "*", "mig*", "*x", "foo:bar", "POL-358", "发布", "v2", "!!"]
    ),
    max_size=25,
).map(" ".join)


@pytest.fixture(scope="module")
def index() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE fts_messages USING fts5(subject, body_md, project, content='',"
        " tokenize='unicode61 remove_diacritics 2', prefix='2')"
    )
    return connection


def accepted(index: sqlite3.Connection, query: LetterQuery) -> bool:
    expression = query.match(7)
    if expression is None:
        return False
    index.execute("SELECT rowid FROM fts_messages WHERE fts_messages MATCH ?", (expression,)).fetchall()
    return True


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("plan users", Both((Term("plan"), Term("users")))),
        ('"build plan"', Term("build plan")),
        ("mig*", Term("mig*", prefix=True)),
        ("plan AND users NOT legacy", Both((Term("plan"), Term("users"), Not(Term("legacy"))))),
        ("a OR b c", Either((Term("a"), Both((Term("b"), Term("c")))))),
        ("a NOT b c", Both((Term("a"), Not(Term("b")), Term("c")))),
        ("a (b OR c)", Both((Term("a"), Either((Term("b"), Term("c")))))),
        ("NOT NOT a", Term("a")),
        ("NOT (NOT a)", Term("a")),
        ("and or not", Both((Term("and"), Term("or"), Term("not")))),
        ('"AND"', Term("AND")),
        ("POL-358", Term("POL-358")),
        ("foo:bar", Term("foo:bar")),
        ('"open quote', Term("open quote")),
        ("((a", Term("a")),
        ("a) b", Both((Term("a"), Term("b")))),
        ("main()", Term("main")),
        ("a a", Both((Term("a"),))),
        ("发布v2", Term("发 布 v2")),
        ("发布，窗口", Both((Term("发 布"), Term("窗 口")))),
        ("“发布 窗口”", Term("发 布 窗 口")),
        ("（ＡＰＩ）", Term("API")),
        ("发布v*", Term("发 布 v*", prefix=True)),
    ],
)
def test_queries_are_understood(typed: str, meant: object, index: sqlite3.Connection) -> None:
    query = parse(typed)
    assert (query.root, query.notes) == (meant, ())
    assert accepted(index, query)


@pytest.mark.parametrize(
    ("typed", "meant", "reason"),
    [
        ("AND", None, "operator"),
        ("", None, "no word"),
        ("()", None, "no word"),
        ("-> !!", None, "without letters or digits"),
        ("\0\ud800", None, "no word"),
        ("a OR", Term("a"), "operator"),
        ("NOT", None, "operator"),
        ("OR a", Term("a"), "operator"),
        ("a -> b", Both((Term("a"), Term("b"))), "without letters or digits"),
    ],
)
def test_what_cannot_be_meant_is_left_out_with_a_reason(typed: str, meant: object, reason: str) -> None:
    query = parse(typed)
    assert query.root == meant
    assert any(reason in note for note in query.notes)


def test_a_word_begun_in_chinese_needs_no_star() -> None:
    assert parse("发布*").root == Term("发 布 *")


def test_words_that_are_only_excluded_are_not_wanted() -> None:
    assert parse("a NOT (b OR NOT c) d*").terms() == [Term("a"), Term("d*", prefix=True)]


def test_a_query_that_only_excludes_finds_the_rest_of_the_project() -> None:
    assert parse("NOT x").match(7) == '((project : "p7") NOT ({subject body_md} : "x"))'


def test_the_name_of_a_project_in_the_index_is_no_word_of_its_messages() -> None:
    assert parse("p7").match(7) == '(project : "p7" AND {subject body_md} : "p7")'


def test_ten_thousand_parentheses_are_read(index: sqlite3.Connection) -> None:
    for typed in ("(" * 10_000 + "x" + ")" * 10_000, "(" * 400 + "x" + ")" * 400, "NOT (" * 190 + "x"):
        accepted(index, parse(typed))
    assert parse("(" * 400 + "x" + ")" * 400).root == Term("x")


def test_too_many_levels_fall_back_to_all_words(index: sqlite3.Connection) -> None:
    typed = "".join(f"w{level} {'OR' if level % 2 else 'AND'} (" for level in range(25)) + "end"
    query = parse(typed)
    assert accepted(index, query)
    assert query.root == Both((*(Term(f"w{level}") for level in range(25)), Term("end")))
    assert any("nested" in note for note in query.notes)


def test_the_deepest_tree_that_is_kept_suits_sqlite(index: sqlite3.Connection) -> None:
    for levels in range(1, 25):
        for operators in (("OR", "AND"), ("OR", "NOT"), ("OR NOT", "AND NOT")):
            right = "".join(f"w{level} {operators[level % 2]} (" for level in range(levels)) + "end"
            left = "(" * levels + "end" + "".join(f" {operators[level % 2]} w{level})" for level in range(levels))
            assert accepted(index, parse(right))
            assert accepted(index, parse(left))


def test_long_queries_are_cut_and_say_so(index: sqlite3.Connection) -> None:
    for typed in ("x" * 1_000_000, "发" * 1_000_000, "a OR " * 200_000, '"' * 1_000_000, "\ufdfa" * 1_000_000):
        query = parse(typed)
        accepted(index, query)
        assert any(str(LONGEST_QUERY) in note for note in query.notes)


def test_only_so_many_words_are_looked_for() -> None:
    query = parse(" ".join(f"w{n}" for n in range(100)))
    assert len(query.terms()) == MOST_TERMS
    assert any(str(MOST_TERMS) in note for note in query.notes)


def test_long_phrases_are_cut_and_say_so() -> None:
    for typed in ("发" * 17, '"' + "a " * 17 + '"', "-".join("a" * 17) + "*"):
        query = parse(typed)
        (term,) = query.terms()
        assert len([c for c in term.text if c.isalpha()]) == LONGEST_PHRASE
        assert not term.prefix
        assert any(str(LONGEST_PHRASE) in note for note in query.notes)
    assert parse("发" * 16).notes == ()


def test_only_a_few_beginnings_may_have_one_letter() -> None:
    query = parse("a* b* c* 发布d* e* fg*")
    assert [term.prefix for term in query.terms()] == [True, True, True, True, False, True]
    assert any(str(MOST_LETTERS) in note for note in query.notes)


TYPED = st.one_of(NASTY, SHAPED)


@examples(500, 10_000)
@given(TYPED)
def test_nothing_that_is_typed_raises(index: sqlite3.Connection, typed: str) -> None:
    query = parse(typed)
    assert accepted(index, query) or query.notes
