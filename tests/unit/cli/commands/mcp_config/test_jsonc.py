"""What changes in a file of JSON is what has to; everything else stays as somebody wrote it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from nanobot_transcript.cli.commands.mcp_config.jsonc import CommentInTheWayError, bare, rewritten

WRITTEN = """\
// top
{
\t"theme": "dark", // mine
\t/* all of them */
\t"servers": {
\t\t"other": { "command": "x", "args": ["-a", "-b"] }, // theirs
\t},
}
// end
"""


def held(text: str, form: str = "jsonc") -> dict:
    return json.loads(bare(text, form))


def test_a_member_goes_to_the_end_of_its_object_in_the_style_of_the_file() -> None:
    document = held(WRITTEN)
    document["servers"]["ours"] = {"command": "y", "args": ["z"]}
    added = '\t\t"ours": {\n\t\t\t"command": "y",\n\t\t\t"args": [\n\t\t\t\t"z"\n\t\t\t]\n\t\t},\n'
    assert rewritten(WRITTEN, "jsonc", document) == WRITTEN.replace("// theirs\n", "// theirs\n" + added)


def test_a_value_is_replaced_where_it_stands() -> None:
    document = held(WRITTEN)
    document["servers"]["other"]["args"] = ["-c"]
    assert rewritten(WRITTEN, "jsonc", document) == WRITTEN.replace('["-a", "-b"]', '["-c"]')


@pytest.mark.parametrize(
    ("text", "document", "wanted"),
    [
        ("{}", {"a": {"b": 1}}, '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"a": {}}', {"a": {"b": 1}}, '{"a": {\n  "b": 1\n}}'),
        ('{"a": 1}', {"a": 1, "b": [2]}, '{"a": 1, "b": [2]}'),
        ('{\n    "a": 1\n}\n', {"a": 1, "b": {"c": 2}}, '{\n    "a": 1,\n    "b": {\n        "c": 2\n    }\n}\n'),
        ("{ // none\n}", {"a": 1}, '{ // none\n  "a": 1\n}'),
        ('{"a": 1 // one\n}', {"a": 1, "b": 2}, '{"a": 1, // one\n  "b": 2\n}'),
        ('{"a": 1,\n"b": 2,}', {"b": 2}, '{"b": 2,}'),
        ('{"a": 1, "b": 2, }', {"a": 1}, '{"a": 1, }'),
        ('{"a": 1,}', {}, "{}"),
        ('{"a": 1,}', {"b": 2}, '{\n  "b": 2\n}'),
        ('{"a": 1, "a": 2}', {"a": 3}, '{"a": 1, "a": 3}'),
        ('{"u": "a//b", "c": "/*"}', {"u": "a//b", "c": "x"}, '{"u": "a//b", "c": "x"}'),
        ('{"a": 1.50, "b": 1e3, "c": 2}', {"a": 1.5, "b": 1000.0, "c": 3}, '{"a": 1.50, "b": 1e3, "c": 3}'),
        ('{"\\u0061": "\\u00e9"}', {"a": "é", "b": "猫"}, '{"\\u0061": "\\u00e9", "b": "猫"}'),
        ('{\r\n\t"a": 1\r\n}\r\n', {"a": 1, "b": 2}, '{\r\n\t"a": 1,\r\n\t"b": 2\r\n}\r\n'),
        (" \n", {"a": 1}, '{\n  "a": 1\n}\n'),
    ],
)
def test_what_is_written_otherwise_stays_so(text: str, document: dict, wanted: str) -> None:
    assert rewritten(text, "jsonc", document) == wanted


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ('{"a": [1, // one\n2]}', {"a": [3]}),
        ('{"a": 1, // one\n"b": 2}', {"b": 2}),
        ('{"a": 1, /* two */ "b": 2}', {"a": 1}),
    ],
)
def test_a_comment_is_never_taken_out(text: str, document: dict) -> None:
    with pytest.raises(CommentInTheWayError):
        rewritten(text, "jsonc", document)


@pytest.mark.parametrize("form", ["json", "commented"])
@pytest.mark.parametrize("text", ["{'a': 1}", '{"a": 1,}', "[]", "1", "{", '{"a": "\n"}', "{} x", "/* {}"])
def test_what_the_form_does_not_allow_is_refused(text: str, form: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        rewritten(text, form, {"a": 2})


def test_comments_are_no_json_where_they_are_not_allowed() -> None:
    with pytest.raises(json.JSONDecodeError, match="line 1 column 3"):
        rewritten("{ // a\n}", "json", {"a": 1})


VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=6),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = some.dictionaries(some.text(max_size=3), VALUES, max_size=5)


@given(known=DOCUMENTS, wanted=DOCUMENTS, indent=some.sampled_from([None, 2, "\t"]))
def test_any_document_becomes_any_other(known: dict, wanted: dict, indent: str | None) -> None:
    text = json.dumps(known, indent=indent, ensure_ascii=False)
    assert held(rewritten(text, "json", wanted), "json") == wanted


@given(known=DOCUMENTS, kept=VALUES)
def test_what_is_put_beside_leaves_every_line_that_was_there(known: dict, kept: object) -> None:
    document = {**known, "kept": kept}
    text = json.dumps(document, indent=2)
    made = rewritten(text, "json", {**document, "new key": {"a": [1]}})
    before, after = text.splitlines(), made.splitlines()
    assert after[: len(before) - 2] == before[:-2]
    assert after[len(before) - 2] == before[-2] + ","
