"""Registration: what is offered, under which name, and what is refused."""

from typing import Annotated, Any

import pytest
from pydantic import Field

from transcript_mcp.sdk import Server, merged

Name = Annotated[str, Field(description="Whose.")]


def hello(name: Name) -> str:
    """Greets somebody."""
    return f"hello {name}"


def server(name: str = "greeter") -> Server:
    return Server(name, version="1.0", instructions=f"About {name}.")


def test_a_tool_is_named_and_described_by_its_function() -> None:
    greeter = server()
    assert greeter.tool(hello) is hello
    tool = greeter.tools["hello"]
    assert (tool.name, tool.description) == ("hello", "Greets somebody.")


def test_a_method_keeps_no_sign_of_its_object() -> None:
    class Greeter:
        def greet(self, name: Name) -> str:
            """Greets."""
            return name

    greeter = server()
    greeter.tool(Greeter().greet, name="greet_now", read_only=True)
    assert greeter.tools["greet_now"].signature.wire_names == ("name",)
    assert greeter.tools["greet_now"].hints["readOnlyHint"] is True


def test_what_lacks_a_description_is_refused() -> None:
    def silent() -> str:
        return ""

    greeter = server()
    for register in (greeter.tool, greeter.prompt):
        with pytest.raises(ValueError, match="silent has no docstring"):
            register(silent)
    with pytest.raises(ValueError, match="silent has no docstring"):
        greeter.resource("a://b", silent)
    with pytest.raises(ValueError, match="silent has no docstring"):
        greeter.template("a://b/{c}", silent)


@pytest.mark.parametrize("name", ["has space", "slash/ed", "a" * 65, "群"])
def test_names_that_clients_refuse_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        server().tool(hello, name=name)


def test_nothing_is_offered_twice() -> None:
    greeter = server()
    greeter.tool(hello)
    greeter.prompt(hello)
    with pytest.raises(ValueError, match="hello is offered already"):
        greeter.tool(hello)
    with pytest.raises(ValueError, match="hello is offered already"):
        greeter.prompt(hello)


def nothing() -> str:
    """Gives nothing."""
    return ""


def test_a_resource_takes_no_parameters_and_a_uri_once() -> None:
    greeter = server()
    greeter.resource("a://b/小", nothing)
    with pytest.raises(ValueError, match="is offered already"):
        greeter.resource("a://b/%E5%B0%8F", nothing)
    with pytest.raises(ValueError, match="cannot take name"):
        greeter.resource("a://c", hello)


def test_a_template_and_its_function_agree_on_names() -> None:
    greeter = server()
    greeter.template("a://{name}", hello)
    with pytest.raises(ValueError, match="but hello takes"):
        greeter.template("b://{other}", hello)
    with pytest.raises(ValueError, match="is offered already"):
        greeter.template("a://{name}", hello)


def test_a_fixed_resource_goes_before_a_template() -> None:
    greeter = server()
    greeter.template("a://{name}", hello)
    greeter.resource("a://fixed", nothing)
    fixed, family = greeter.find("a://fixed"), greeter.find("a://other")
    assert fixed is not None
    assert family is not None
    assert fixed[0].name == "nothing"
    assert (family[0].name, family[1]) == ("hello", {"name": "other"})
    assert greeter.find("b://other") is None


def test_suggestions_belong_to_something_that_is_offered() -> None:
    with pytest.raises(ValueError, match="there is no prompt or template 'hello'"):
        server().completion("hello", "name", lambda begun, others: [])


def test_a_merged_server_offers_what_its_parts_do() -> None:
    one, two = server("one"), server("two")
    one.tool(hello)
    two.version = "2.0"
    two.tool(nothing)
    two.template("a://{name}", hello)
    two.completion("a://{name}", "name", lambda begun, others: ["ada"])
    whole = merged([one, two], name="all", title="All of it")
    assert list(whole.tools) == ["hello", "nothing"]
    assert list(whole.templates) == ["a://{name}"]
    assert ("a://{name}", "name") in whole.completions
    assert (whole.instructions, whole.version, whole.title) == ("About one.\n\nAbout two.", "1.0", "All of it")


def test_two_parts_with_the_same_tool_are_refused() -> None:
    parts: list[Any] = [server("one"), server("two")]
    for part in parts:
        part.tool(hello)
    with pytest.raises(ValueError, match="two offers hello, and so does another server"):
        merged(parts, name="all")
