"""What clients are told about a function's parameters, and what becomes of what they send."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import pytest
from pydantic import BaseModel, Field

from transcript_mcp.sdk import Context
from transcript_mcp.sdk.signature import ArgumentsError, Signature, output_schema


class Filter(BaseModel):
    """Nested, with a field whose name is a word of JSON schema."""

    title: str
    limit: int | None = None


def send(
    receiver: Annotated[str, Field(description="To whom.")],
    title: Annotated[str | None, Field(description="One line.")] = None,
    limit: Annotated[int, Field(description="How many.", ge=1, le=5)] = 3,
    tags: Annotated[list[str] | None, Field(description="Words.")] = None,
    box: Annotated[Literal["inbox", "outbox"], Field(description="Where.")] = "inbox",
    run_as: Annotated[str | None, Field(alias="runAs", description="As whom.")] = None,
    filters: Annotated[list[Filter] | None, Field(description="Which.")] = None,
    options: Annotated[dict[str, Any] | None, Field(description="More.")] = None,
) -> None:
    """Sends."""


SEND = Signature(send)
GIVEN_NOTHING = {
    "title": None,
    "limit": 3,
    "tags": None,
    "box": "inbox",
    "run_as": None,
    "filters": None,
    "options": None,
}


def refusal(**arguments: Any) -> str:
    with pytest.raises(ArgumentsError) as caught:
        SEND.parse(arguments)
    return str(caught.value)


def test_an_optional_text_is_told_as_a_plain_string() -> None:
    assert SEND.schema["properties"]["title"] == {"type": "string", "description": "One line."}


def test_the_schema_names_types_limits_defaults_and_what_is_required() -> None:
    properties = SEND.schema["properties"]
    assert properties["limit"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 5,
        "default": 3,
        "description": "How many.",
    }
    assert properties["box"]["enum"] == ["inbox", "outbox"]
    assert properties["tags"] == {"type": "array", "items": {"type": "string"}, "description": "Words."}
    assert "runAs" in properties
    assert "run_as" not in properties
    assert SEND.schema["required"] == ["receiver"]
    assert SEND.schema["type"] == "object"


def test_no_generated_title_is_told_but_a_parameter_may_be_called_title() -> None:
    nested = SEND.schema["$defs"]["Filter"]
    assert "title" not in SEND.schema
    assert nested["properties"]["title"] == {"type": "string"}
    assert nested["properties"]["limit"] == {"type": "integer"}
    assert "title" not in nested


def test_what_is_given_arrives_and_the_rest_has_its_default() -> None:
    assert SEND.parse({"receiver": "bo", "runAs": "ada"}) == {"receiver": "bo", **GIVEN_NOTHING, "run_as": "ada"}


def test_null_for_an_optional_argument_counts_as_not_given() -> None:
    given = {"receiver": "bo", "limit": None, "box": None, "tags": None}
    assert SEND.parse(given) == {"receiver": "bo", **GIVEN_NOTHING}


def test_null_for_a_required_argument_is_an_error() -> None:
    assert refusal(receiver=None) == "The argument receiver is null. It should be a valid string."


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"limitt": 1}, "There is no argument limitt. Did you mean limit?"),
        ({"run_as": "nobody"}, "There is no argument run_as. Did you mean runAs?"),
        ({"reciever": None}, "There is no argument reciever. Did you mean receiver?"),
        (
            {"xyz": "because"},
            "There is no argument xyz. There are: receiver, title, limit, tags, box, runAs, filters, options.",
        ),
        ({"lim it": 1}, 'There is no argument "lim it". Did you mean limit?'),
    ],
)
def test_an_argument_that_there_is_not_is_refused_and_the_nearest_named(given: dict[str, Any], sentence: str) -> None:
    assert refusal(receiver="bo", **given) == sentence
    with pytest.raises(ArgumentsError) as caught:
        SEND.check_names(given)
    assert str(caught.value) == sentence


def test_a_misspelled_argument_is_named_beside_the_one_that_is_missing_and_those_that_are_wrong() -> None:
    assert refusal(reciever="bo", limit=9).splitlines() == [
        "There is no argument reciever. Did you mean receiver?",
        "The argument receiver is missing (To whom.)",
        "The argument limit is 9. It should be less than or equal to 5.",
    ]


def test_what_a_host_adds_to_each_call_is_let_through() -> None:
    def nothing() -> None:
        """Takes nothing."""

    assert Signature(nothing).parse({"toolCallId": "call_0", "_meta": {}}) == {}


def test_a_tool_without_arguments_takes_none() -> None:
    def nothing() -> None:
        """Takes nothing."""

    with pytest.raises(ArgumentsError, match=r"There is no argument limit: it takes none\."):
        Signature(nothing).parse({"limit": 1})


def test_what_a_host_puts_into_the_envelope_is_no_argument() -> None:
    assert SEND.parse({"receiver": "bo", "_meta": {"progressToken": 1}}) == {"receiver": "bo", **GIVEN_NOTHING}


def test_of_thousands_of_unknown_arguments_a_few_are_named() -> None:
    said = refusal(receiver="bo", **{f"{'x' * 1000}{number}": 1 for number in range(10_000)})
    assert len(said.splitlines()) == 5
    assert len(said) < 2000


def test_clients_are_told_that_there_are_no_further_arguments() -> None:
    assert SEND.schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("tags", '["a", "b"]', ["a", "b"]),
        ("options", '{"deep": [1]}', {"deep": [1]}),
        ("filters", '[{"title": "x"}]', [Filter(title="x")]),
        ("limit", "4", 4),
    ],
)
def test_values_may_come_as_text(name: str, text: str, value: object) -> None:
    assert SEND.parse({"receiver": "bo", name: text})[name] == value


def test_text_that_looks_like_json_stays_text_where_text_is_wanted() -> None:
    assert SEND.parse({"receiver": '["bo"]', "title": "{}"})["title"] == "{}"


def test_an_error_names_the_argument_the_value_and_what_is_expected() -> None:
    assert refusal(receiver="bo", limit=9) == "The argument limit is 9. It should be less than or equal to 5."
    assert refusal(receiver="bo", box="trash") == "The argument box is \"trash\". It should be 'inbox' or 'outbox'."
    assert refusal(receiver="bo", tags=["a", 7]) == "The argument tags[1] is 7. It should be a valid string."
    assert refusal(receiver="bo", filters=[{}]) == "The argument filters[0].title is missing"


def test_a_missing_argument_is_explained() -> None:
    assert refusal() == "The argument receiver is missing (To whom.)"


def test_all_wrong_arguments_are_named_at_once() -> None:
    assert len(refusal(limit="many", box=1).splitlines()) == 3


def test_a_long_value_is_not_repeated_in_full() -> None:
    assert len(refusal(receiver="bo", limit="x" * 10_000)) < 250


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[1,", '"a"', "1" * 10_000])
def test_text_that_is_no_list_is_refused_as_it_is(text: str) -> None:
    assert "tags" in refusal(receiver="bo", tags=text)


def test_arguments_may_be_left_out_altogether() -> None:
    def nothing() -> None:
        """Takes nothing."""

    assert Signature(nothing).parse(None) == {}
    assert Signature(nothing).schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_the_context_is_not_told() -> None:
    def wait(ctx: Context, seconds: Annotated[int, Field(description="How long.")]) -> None:
        """Waits."""

    assert Signature(wait).wire_names == ("seconds",)
    assert Signature(wait).context_name == "ctx"


def test_a_parameter_without_a_description_is_refused() -> None:
    def plain(chat: str) -> None:
        """Takes something."""

    with pytest.raises(ValueError, match="parameter 'chat' of plain has no description"):
        Signature(plain)


def test_parameters_that_cannot_be_given_by_name_are_refused() -> None:
    def collecting(*chats: Annotated[str, Field(description="Chats.")]) -> None:
        """Takes many."""

    with pytest.raises(ValueError, match="cannot be given by name"):
        Signature(collecting)


def test_a_parameter_without_a_type_is_refused() -> None:
    def untyped(chat) -> None:  # type: ignore[no-untyped-def]
        """Takes something."""

    with pytest.raises(ValueError, match="has no type"):
        Signature(untyped)


class Line(msgspec.Struct):
    """A struct with another one in it."""

    text: str
    after: "Line | None" = None


@dataclass
class Place:
    """A dataclass."""

    x: int
    note: str | None = None


class Report(BaseModel):
    """A pydantic model."""

    count: int


@pytest.mark.parametrize("kind", [dict[str, Any], Place, Report])
def test_the_schema_of_a_structured_result_is_an_object(kind: Any) -> None:
    schema, wrapped = output_schema(kind)
    assert (schema["type"], wrapped) == ("object", False)


@pytest.mark.parametrize("kind", [list[int], str, int, list[Report], str | None])
def test_a_structured_result_that_is_no_object_is_wrapped_in_one(kind: Any) -> None:
    schema, wrapped = output_schema(kind)
    assert (schema["type"], schema["required"], wrapped) == ("object", ["result"], True)


def test_null_stays_possible_in_a_result() -> None:
    schema, _ = output_schema(Place)
    assert {"type": "null"} in schema["properties"]["note"]["anyOf"]


def test_a_struct_has_a_schema_too() -> None:
    schema, wrapped = output_schema(Line)
    assert not wrapped
    assert set(schema["properties"]) == {"text", "after"}
    assert schema["$defs"]["Line"]["properties"]["text"] == {"type": "string"}


def test_a_result_type_without_a_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="no schema can be made"):
        output_schema(object())
