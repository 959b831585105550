"""The plain names of Agent Mail's format in the environment, and the file ``.env`` of the working directory."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings import load_settings

PLAIN = ("MCP_MAIL_STORE", "IMAGE_INLINE_MAX_BYTES", "ATTACHMENT_POLICY", "HOST", "PORT", "LOG_LEVEL")
Write = Callable[[str], Path]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with an empty home and without any of the names in the environment."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in (*PLAIN, "NANOBOT_TRANSCRIPT_CONFIG", "NANOBOT_TRANSCRIPT_MAIL__STORE"):
        monkeypatch.delenv(name, raising=False)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def dotenv(folder: Path) -> Write:
    """``dotenv("PORT=1")`` writes the file."""

    def write(text: str) -> Path:
        (folder / ".env").write_text(text, encoding="utf-8")
        return folder / ".env"

    return write


@pytest.fixture
def yaml(folder: Path) -> Write:
    """``yaml("mail: {...}")`` writes the configuration of the working directory."""

    def write(text: str) -> Path:
        (folder / "nanobot-transcript.yaml").write_text(text, encoding="utf-8")
        return folder / "nanobot-transcript.yaml"

    return write


def test_without_any_name_the_plans_defaults_hold(tmp_path: Path) -> None:
    settings = load_settings()
    assert settings.mail.store == tmp_path / "home" / ".mcp-agent-mail"
    assert settings.mail.images.inline_max_bytes == 65536
    assert settings.mail.images.policy == "auto"
    assert (settings.hub.host, settings.hub.port) == ("127.0.0.1", 8765)


def test_the_plain_names_of_mail_count_in_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MCP_MAIL_STORE", "~/letters")
    monkeypatch.setenv("IMAGE_INLINE_MAX_BYTES", "32768")
    monkeypatch.setenv("ATTACHMENT_POLICY", "file")
    settings = load_settings()
    assert settings.mail.store == tmp_path / "home" / "letters"
    assert settings.mail.images.inline_max_bytes == 32768
    assert settings.mail.images.policy == "file"
    assert str(settings.origin_of("mail.store")) == "environment MCP_MAIL_STORE"
    assert settings.unknown == ()


def test_host_port_and_log_level_of_the_environment_mean_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST", "0.0.0.0")
    monkeypatch.setenv("PORT", "80")
    monkeypatch.setenv("LOG_LEVEL", "nonsense")
    settings = load_settings()
    assert (settings.hub.host, settings.hub.port, settings.hub.log_level) == ("127.0.0.1", 8765, "info")


def test_our_own_name_goes_before_the_plain_one(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("MCP_MAIL_STORE", str(folder / "plain"))
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_MAIL__STORE", str(folder / "own"))
    assert load_settings().mail.store == folder / "own"


def test_a_plain_name_that_is_set_to_nothing_does_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MCP_MAIL_STORE", "")
    assert load_settings().mail.store == tmp_path / "home" / ".mcp-agent-mail"


@pytest.mark.parametrize(("name", "text"), [("ATTACHMENT_POLICY", "sometimes"), ("IMAGE_INLINE_MAX_BYTES", "a lot")])
def test_a_wrong_value_is_told_by_the_name_it_was_given_under(
    name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(ConfigError, match=name):
        load_settings()


def test_all_plain_names_count_in_a_dotenv_file(dotenv: Write, folder: Path) -> None:
    path = dotenv(
        f"# the mail\nexport MCP_MAIL_STORE='{folder}/letters'\nIMAGE_INLINE_MAX_BYTES=1\nATTACHMENT_POLICY=inline\n"
        'HOST="::1"\nPORT=9000\nLOG_LEVEL=debug\nSOMETHING_ELSE=1\nEMPTY\n'
    )
    settings = load_settings(dotenv="hub")
    assert settings.mail.store == folder / "letters"
    assert (settings.mail.images.inline_max_bytes, settings.mail.images.policy) == (1, "inline")
    assert (settings.hub.host, settings.hub.port, settings.hub.log_level) == ("::1", 9000, "debug")
    assert str(settings.origin_of("hub.port")) == f"environment {path} PORT"
    assert settings.unknown == ()


def test_a_dotenv_file_stands_between_environment_and_yaml(
    dotenv: Write, yaml: Write, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    yaml(f"mail: {{store: '{folder}/yaml', max_body: 2048}}\nhub: {{port: 1111, host: '::1'}}")
    dotenv(f"MCP_MAIL_STORE={folder}/dotenv\nPORT=2222\n")
    settings = load_settings(dotenv="hub")
    assert (settings.mail.store, settings.hub.port) == (folder / "dotenv", 2222)
    assert (settings.mail.max_body, settings.hub.host) == (2048, "::1")
    monkeypatch.setenv("MCP_MAIL_STORE", str(folder / "environment"))
    assert load_settings().mail.store == folder / "environment"
    assert load_settings(overrides={"hub": {"port": 3333}}, dotenv="hub").hub.port == 3333


def test_our_own_names_in_a_dotenv_file_go_before_its_plain_ones(dotenv: Write, folder: Path) -> None:
    path = dotenv(
        f"MCP_MAIL_STORE={folder}/plain\nNANOBOT_TRANSCRIPT_MAIL__STORE={folder}/own\n"
        "NANOBOT_TRANSCRIPT_CONTEXT__MAX_ENTRIES=7\nNANOBOT_TRANSCRIPT_NO__SUCH=1\n"
    )
    settings = load_settings()
    assert settings.mail.store == folder / "own"
    assert settings.context.max_entries == 7
    assert str(settings.origin_of("context.max_entries")) == (
        f"environment {path} NANOBOT_TRANSCRIPT_CONTEXT__MAX_ENTRIES"
    )
    (sentence,) = settings.unknown
    assert "no" in sentence
    assert str(path) in sentence


def test_nothing_of_a_dotenv_file_is_filled_in_or_put_into_the_environment(
    dotenv: Write, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELSEWHERE", "/elsewhere")
    dotenv(f"MCP_MAIL_STORE='{folder}/$ELSEWHERE'\nPORT=2222\n")
    assert load_settings().mail.store == folder / "$ELSEWHERE"
    assert "PORT" not in os.environ


@pytest.mark.parametrize("content", [b"PORT=\xff\xfe\n", b"\x00\x01\x02\xfd", "PORT=1\n".encode("utf-16")])
def test_a_dotenv_file_that_is_no_text_is_told_once_and_ignored(
    content: bytes, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / ".env").write_bytes(content)
    assert load_settings(dotenv="hub").hub.port == 8765
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(f"{folder / '.env'} cannot be read and is ignored")


def test_a_dotenv_file_that_may_not_be_read_is_told_once_and_ignored(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / ".env").symlink_to("/proc/self/mem")  # a file that nobody reads from its beginning
    assert load_settings().hub.port == 8765
    (record,) = caplog.records
    assert f"{folder / '.env'} cannot be read and is ignored" in record.getMessage()


@pytest.mark.parametrize(
    ("name", "text", "key"),
    [
        ("PORT", "99999", "hub.port"),
        ("PORT", "${WEB_PORT}", "hub.port"),
        ("LOG_LEVEL", "verbose", "hub.log_level"),
        ("ATTACHMENT_POLICY", "sometimes", "mail.images.policy"),
        ("IMAGE_INLINE_MAX_BYTES", "a lot", "mail.images.inline_max_bytes"),
    ],
)
def test_a_plain_name_of_somebody_elses_file_that_does_not_fit_is_told_once_and_ignored(
    name: str, text: str, key: str, dotenv: Write, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = dotenv(f"{name}={text}\nMCP_MAIL_STORE={folder}/letters\n")
    settings = load_settings(dotenv="hub")
    assert settings.mail.store == folder / "letters"
    assert settings.origin_of(key).kind == "default"
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(f"{name} in {path} is ignored: as {key} it must be ")
    assert text not in record.getMessage()


@pytest.mark.parametrize("text", ["WARN", "warn", "Warning"])
def test_the_usual_words_for_a_warning_are_understood(text: str, dotenv: Write) -> None:
    dotenv(f"LOG_LEVEL={text}\n")
    assert load_settings(dotenv="hub").hub.log_level == "warning"


def test_only_the_hub_takes_its_address_from_a_dotenv_file(dotenv: Write, caplog: pytest.LogCaptureFixture) -> None:
    dotenv("HOST=db.example.com\nPORT=99999\nLOG_LEVEL=verbose\n")
    settings = load_settings()
    assert (settings.hub.host, settings.hub.port, settings.hub.log_level) == ("127.0.0.1", 8765, "info")
    assert caplog.records == []


def test_for_clients_of_the_hub_no_name_of_a_dotenv_file_counts(dotenv: Write, folder: Path) -> None:
    path = dotenv("NANOBOT_TRANSCRIPT_HUB__HOST=evil.example.com\nNANOBOT_TRANSCRIPT_HUB__PORT=1\nHOST=x\n")
    settings = load_settings(dotenv="none")
    assert (settings.hub.host, settings.hub.port) == ("127.0.0.1", 8765)
    path.write_bytes(b"\xff")
    assert load_settings(dotenv="none").file is None


def test_a_folder_of_that_name_is_no_file(folder: Path) -> None:
    (folder / ".env").mkdir()
    assert load_settings().hub.port == 8765


def test_inside_of_another_program_its_dotenv_file_is_left_alone(
    dotenv: Write, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dotenv(f"MCP_MAIL_STORE={folder}/dotenv\nPORT=2222\nNANOBOT_TRANSCRIPT_CONTEXT__MAX_ENTRIES=7\n")
    settings = load_settings(look_in_cwd=False)
    assert (settings.hub.port, settings.context.max_entries) == (8765, 20)
    assert settings.mail.store.name == ".mcp-agent-mail"
    (folder / ".env").write_bytes(b"\xff")
    load_settings(look_in_cwd=False)
    monkeypatch.setenv("MCP_MAIL_STORE", str(folder / "letters"))
    assert load_settings(look_in_cwd=False).mail.store == folder / "letters"
