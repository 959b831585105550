"""What the options of ``mcp assistant`` refuse."""

import pytest
from unit.cli.conftest import Run


@pytest.mark.parametrize("given", [("transcript", "--web"), ("filebox", "--token", "x"), ("assistant,filebox",)])
def test_what_is_for_the_assistant_alone_stands_alone(run: Run, given: tuple[str, ...]) -> None:
    result = run("mcp", *given)
    assert result.code == 2
    assert "assistant" in result.err
