"""Where ``mcp assistant`` asks, and a second address of the hub."""

from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript.cli.commands.serve.command import second_address
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings import Settings
from transcript_mcp.assistant.adapter import FILE, Target, target_from

FREE = Settings()
SECURED = Settings.model_validate({"hub": {"port": 9000, "tokens": {"me": "first-secret", "mcp": "other-secret"}}})


def write(folder: Path, **said: Any) -> Path:
    lines = [f"agentassistant_server_{name} = {value!r}\n" for name, value in said.items()]
    (folder / FILE).write_text("".join(lines), encoding="utf-8")
    return folder


def test_the_hub_of_the_settings_is_asked_with_its_own_token(tmp_path: Path) -> None:
    assert target_from(FREE, tmp_path) == Target("127.0.0.1", 8765, "local")
    assert target_from(SECURED, tmp_path) == Target("127.0.0.1", 9000, "other-secret", is_programs=True)


@pytest.mark.parametrize(
    ("tokens", "taken"),
    [
        ({"me": "test-token"}, "test-token"),
        ({"me": "test-token", "mcp": "other-token"}, "other-token"),
        ({"me": "test-token", "local": "local-token"}, "local-token"),
        ({"me": "test-token", "you": "other-token"}, "test-token"),
    ],
)
def test_without_tokens_of_the_hub_a_token_of_the_assistant_is_taken(
    tmp_path: Path, tokens: dict[str, str], taken: str
) -> None:
    settings = Settings.model_validate({"assistant": {"tokens": tokens}})
    assert target_from(settings, tmp_path).token == taken


def test_a_token_of_the_hub_is_taken_before_others_and_never_in_the_address_of_a_page(tmp_path: Path) -> None:
    both = {"hub": {"tokens": {"me": "first-secret"}}, "assistant": {"tokens": {"mcp": "test-token"}}}
    target = target_from(Settings.model_validate(both), tmp_path)
    assert target.token == "first-secret"
    assert target.page == "http://127.0.0.1:8765/#/questions"
    alone = target_from(Settings.model_validate({"assistant": both["assistant"]}), tmp_path)
    assert alone.page == "http://127.0.0.1:8765?token=test-token"


def test_a_key_that_is_not_known_is_named_beside_those_that_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).write_text('server_token = "mine-alone"\n', encoding="utf-8")
    assert target_from(FREE, tmp_path).token == "local"
    assert "server_token" in caplog.text
    assert "agentassistant_server_token" in caplog.text
    assert "mine-alone" not in caplog.text


def test_the_file_wins_over_the_settings_and_an_argument_over_the_file(tmp_path: Path) -> None:
    folder = write(tmp_path, host="hub.example", port=22080, token="test-token")
    assert target_from(SECURED, folder) == Target("hub.example", 22080, "test-token")
    assert target_from(SECURED, folder, host="::1", port=5, token="t") == Target("::1", 5, "t")
    assert target_from(FREE, folder, port=5).url == "http://hub.example:5"
    assert Target("::1", 5, "a b").page == "http://[::1]:5?token=a%20b"


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "http://127.0.0.1:8765"), ("::", "http://[::1]:8765"), ("[::]", "http://[::1]:8765")],
)
def test_a_hub_that_listens_everywhere_is_asked_on_this_machine(tmp_path: Path, host: str, url: str) -> None:
    settings = Settings.model_validate({"hub": {"host": host, "tokens": {"me": "first-secret"}}})
    assert target_from(settings, tmp_path).url == url


def test_a_token_of_the_settings_goes_to_no_other_hub(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not the token"):
        target_from(SECURED, write(tmp_path, host="evil.example"))
    with pytest.raises(ConfigError, match="not the token"):
        target_from(SECURED, tmp_path / "empty", port=1)


def test_a_token_alone_is_for_the_hub_of_the_settings(tmp_path: Path) -> None:
    assert target_from(SECURED, write(tmp_path, token="mine")) == Target("127.0.0.1", 9000, "mine")


@pytest.mark.parametrize(
    "text", ["agentassistant_server_port = 'x'", "agentassistant_server_token = 5", "= 1", "\udcff"]
)
def test_a_file_that_cannot_be_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ConfigError, match=FILE):
        target_from(FREE, tmp_path)


def test_a_second_address_is_host_and_port() -> None:
    assert second_address("127.0.0.1:22080", "127.0.0.1") == ("127.0.0.1", 22080)
    assert second_address("[::1]:22080", "127.0.0.1") == ("::1", 22080)
    assert second_address("0.0.0.0:22080", "0.0.0.0") == ("0.0.0.0", 22080)


@pytest.mark.parametrize("listen", ["22080", "127.0.0.1:0", "0.0.0.0:22080", "127.0.0.1:x", "127.0.0.1:70000", ":1"])
def test_a_second_address_that_cannot_be_or_reaches_farther_is_refused(listen: str) -> None:
    with pytest.raises(ConfigError, match=r"assistant\.listen"):
        second_address(listen, "127.0.0.1")
