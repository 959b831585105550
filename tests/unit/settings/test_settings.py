"""Settings: which source wins, what a wrong value says, and where each value came from."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from nanobot_transcript import GroupTranscriptStore, Retention
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.platform import Platform
from nanobot_transcript.settings import LoadedSettings, Settings, describe, load_settings, model
from nanobot_transcript.settings.base import Section, setting


@pytest.fixture(autouse=True)
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("NANOBOT_TRANSCRIPT_CONFIG", raising=False)
    return home


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def to_file(text: str) -> Path:
        path = tmp_path / "settings.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return to_file


def test_without_any_source_the_defaults_hold(empty_home: Path) -> None:
    settings = load_settings(look_in_cwd=False)
    assert settings.store.dir == empty_home / ".nanobot" / "transcripts"
    assert settings.store.fsync == "never"
    assert settings.groups.mode == "listen"
    assert settings.context.max_entries == 20
    assert settings.agent.name is None
    assert settings.agents == {}
    assert settings.feishu.base_url is None
    assert settings.file is None
    assert settings.unknown == ()


def test_the_command_line_wins_over_environment_over_file_over_default(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("store: {fsync: always, fsync_interval: 2}\ncontext: {max_entries: 5, max_chars: 500}")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_CONTEXT__MAX_ENTRIES", "6")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_STORE__FSYNC", "interval")
    settings = load_settings(path, overrides={"store": {"fsync": "never", "dir": None}})
    assert settings.store.fsync == "never"
    assert settings.context.max_entries == 6
    assert settings.context.max_chars == 500
    assert settings.store.fsync_interval == 2
    origins = {value.key: str(value.origin) for value in settings.values()}
    assert origins["store.fsync"] == "command line"
    assert origins["context.max_entries"] == "environment NANOBOT_TRANSCRIPT_CONTEXT__MAX_ENTRIES"
    assert origins["context.max_chars"] == f"file {path}:2"
    assert origins["store.dir"] == "default"


def test_the_file_is_looked_for_in_the_documented_order(
    tmp_path: Path, empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    places = [
        empty_home / ".nanobot" / "transcript.yaml",
        tmp_path / "nanobot-transcript.yaml",
        tmp_path / "variable.yaml",
        tmp_path / "given.yaml",
    ]
    for number, place in enumerate(places):
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"context: {{max_entries: {number + 1}}}", encoding="utf-8")
    assert load_settings(look_in_cwd=False).file == places[0]
    assert load_settings().file == places[1]
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_CONFIG", str(places[2]))
    assert load_settings().context.max_entries == 3
    assert load_settings(places[3]).context.max_entries == 4


def test_agents_and_chats_are_named_freely(write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("agents:\n  cli_a:\n    name: Alpha\n    aliases: [小阿]\ngroups:\n  chats:\n    oc_1: {mode: off}")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_AGENTS__cli_b__NAME", "Beta")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_AGENTS__cli_b__ALIASES", '["B"]')
    settings = load_settings(path)
    assert settings.agents["cli_a"].name == "Alpha"
    assert settings.agents["cli_a"].aliases == ["小阿"]
    assert settings.agents["cli_b"].aliases == ["B"]
    assert settings.groups.policy.mode_of("oc_1") == "off"
    assert settings.groups.policy.mode_of("oc_2") == "listen"


def test_a_bare_off_means_off_although_yaml_reads_false(write: Callable[[str], Path]) -> None:
    assert load_settings(write("groups:\n  mode: off\n")).groups.mode == "off"


def test_sections_may_stand_empty(write: Callable[[str], Path]) -> None:
    settings = load_settings(write("store:\n  retention:\nagents:\ngroups:\n  chats:\n    oc_1:\n"))
    assert settings.store.retention.max_bytes is None
    assert settings.groups.policy.mode_of("oc_1") == "listen"


def test_an_empty_file_and_an_empty_variable_change_nothing(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_STORE__FSYNC", "")
    assert load_settings(write("# nothing\n")).store.fsync == "never"


def test_sizes_may_carry_a_unit(write: Callable[[str], Path]) -> None:
    settings = load_settings(write("store: {segment_bytes: 1 MiB, retention: {max_bytes: 2GB}}"))
    assert settings.store.segment_bytes == 1024 * 1024
    assert settings.store.retention.max_bytes == 2_000_000_000


def test_half_a_day_can_be_kept(write: Callable[[str], Path]) -> None:
    kept = load_settings(
        write("io: {keep_days: 0.5}\noutbox: {keep_days: 0.5}\nstore: {retention: {max_age_days: 0.5}}")
    )
    days = kept.io.keep_days, kept.outbox.keep_days, kept.store.retention.max_age_days
    assert days == (0.5, 0.5, 0.5)


def test_an_unknown_setting_is_named_with_the_closest_known_one(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = write("store:\n  fsinc: always\nmax_entries: 3\nagents: {cli_a: {name: A, alias: [x]}}\n")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_GROUP__MODE", "off")
    settings = load_settings(path)
    assert settings.store.fsync == "never"
    assert sorted(settings.unknown) == [
        f"There is no setting agents.cli_a.alias (file {path}:4); did you mean agents.<app_id>.aliases?",
        "There is no setting group (environment NANOBOT_TRANSCRIPT_GROUP__MODE); did you mean groups?",
        f"There is no setting max_entries (file {path}:3); did you mean context.max_entries?",
        f"There is no setting store.fsinc (file {path}:2); did you mean store.fsync?",
    ]
    assert [record.getMessage() for record in caplog.records] == list(settings.unknown)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("store: {fsync: sometimes}", "store.fsync (@) is 'sometimes', but must be 'never', 'always' or 'interval'."),
        ("store: {fsync: [never]}", "store.fsync (@) is a list, but must be 'never', 'always' or 'interval'."),
        (
            "store: {fsync_interval: -1}",
            "store.fsync_interval (@) is -1, but must be a number greater than 0 and of at most 3600.",
        ),
        (
            "store: {dir: ./here}",
            "store.dir (@) is './here', but must be an absolute path or begin with ~, so that every process means",
        ),
        ("store: {dir: null}", "store.dir (@) is null, but must be a path."),
        (
            "store: {segment_bytes: lots}",
            "store.segment_bytes (@) is 'lots', but must be a size in bytes (or such as 64 MiB).",
        ),
        ("store: {segment_bytes: 10}", "store.segment_bytes (@) is 10, but must be at least 64 KiB."),
        (
            "store: {retention: {max_entries: 0}}",
            "store.retention.max_entries (@) is 0, but must be a whole number greater than 0, or null.",
        ),
        ("store: 5", "store (@) is a number, but must be a section of settings."),
        ("agent: {name: 7}", "agent.name (@) is 7, but must be text that is not empty, or null."),
        ("agents: {cli_a: {description: x}}", "agents.cli_a.name is missing (@)."),
        ("agents: {cli_a: {name: A, aliases: [B, 1, 2]}}", "agents.cli_a.aliases (@) contains 1, but must be a list "),
        (
            "agents: {cli_a: {name: A, responder: {command: claude -p}}}",
            "agents.cli_a.responder.command (@) is 'claude -p', but must be a list of text.",
        ),
        ("agents: {cli_a: Alpha}", "agents.cli_a (@) is text, but must be a section of settings."),
        ("agents: [1]", "agents (@) is a list, but must be a section of settings for each <app_id>."),
        (
            "groups: {chats: {oc_1: {mode: loud}}}",
            "groups.chats.oc_1.mode (@) is 'loud', but must be 'observe', 'listen', 'gate' or 'off', or null.",
        ),
        (
            "feishu: {base_url: example.org}",
            "feishu.base_url (@) is 'example.org', but must begin with http:// or https://.",
        ),
        ("context: {max_entries: 1.5}", "context.max_entries (@) is 1.5, but must be a whole number from 1 to 1000."),
        ("history: {enabled: maybe}", "history.enabled (@) is 'maybe', but must be true or false."),
    ],
)
def test_a_wrong_value_is_told_in_one_plain_sentence(write: Callable[[str], Path], text: str, sentence: str) -> None:
    path = write(text)
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert str(caught.value).startswith(sentence.replace("@", f"file {path}:1"))
    assert str(caught.value).count("agents.cli_a.aliases") <= 1
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("agent: {name: 7}", "Put the value of agent.name in {} in quotes."),
        ("agents: {cli_a: {name: A, aliases: [1]}}", "Put each item of agents.cli_a.aliases in {} in quotes."),
        ("agents: {cli_a: {description: x}}", "Add agents.cli_a.name."),
        ("agents: {cli_a: {name: ''}}", "Correct agents.cli_a.name in {}."),
        ("store: 5", "Write what belongs to store in {} on the lines below it, indented."),
        ("store: {fsync: 7}", "Correct store.fsync in {}, or remove it to use the default."),
        ("hub: {tokens: {me: short}}", "Correct hub.tokens.me in {}, or remove it."),
        ("record: {url: 'mysql://h/db'}", "Correct record.url in {}."),
        ("record: {listen_url: h}", "Correct record.listen_url in {}."),
    ],
)
def test_a_wrong_value_comes_with_what_to_do(write: Callable[[str], Path], text: str, hint: str) -> None:
    path = write(text)
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert caught.value.hint == hint.format(f"{path}:1")


def test_each_wrong_setting_is_told(write: Callable[[str], Path]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(write("store: {fsync: 1}\ncontext: {max_chars: x, max_entries: 0}"))
    assert [line.split(" ")[0] for line in str(caught.value).splitlines()] == [
        "store.fsync",
        "context.max_entries",
        "context.max_chars",
    ]


@pytest.mark.parametrize("secret", ["[hush]", "9876", "{hush: 1}", "true"])
@pytest.mark.parametrize(
    "text",
    [
        "agents: {cli_a: {name: A, app_secret: @}}",
        "agents: {cli_a: {name: A, responder: {env: {TOKEN: @}}}}",
        "agents: {cli_a: {name: A, responder: {api_key: @}}}",
        "agents: {cli_a: [@]}",
        "gate: {judge: {api_key: @}}",
    ],
)
def test_an_error_never_tells_a_secret(write: Callable[[str], Path], text: str, secret: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(write(text.replace("@", secret)))
    assert "hush" not in f"{caught.value} {caught.value.hint}"
    assert "9876" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "CONTEXT__MAX_ENTRIES",
            "many",
            "context.max_entries (@) is 'many', but must be a whole number from 1 to 1000.",
        ),
        ("AGENTS", "{", "agents (@) is text, but must be a section of settings for each <app_id>, written as JSON."),
        (
            "GATE__JUDGE",
            '{"api_key": "hush"',
            "gate.judge (@) is text, but must be a section of settings, written as JSON.",
        ),
        ("STORE__FSYNC__X", "1", "store.fsync (@) is a section, but must be 'never', 'always' or 'interval'."),
        ("AGENTS__cli_a__DESCRIPTION", "x", "agents.cli_a.name is missing (@)."),
        (
            "AGENTS__cli_a__RESPONDER__COMMAND",
            "claude -p",
            "agents.cli_a.responder.command (@) is 'claude -p', but must be a list of text, written as JSON.",
        ),
    ],
)
def test_a_wrong_variable_is_told_in_one_plain_sentence(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, sentence: str
) -> None:
    monkeypatch.setenv(f"NANOBOT_TRANSCRIPT_{name}", value)
    with pytest.raises(ConfigError) as caught:
        load_settings(look_in_cwd=False)
    assert str(caught.value) == sentence.replace("@", f"environment NANOBOT_TRANSCRIPT_{name}")
    assert caught.value.hint


@pytest.mark.parametrize("text", ["a: [", "- x", "just words", "a: !!python/object:os.system {}"])
def test_what_is_not_settings_at_all_is_refused(write: Callable[[str], Path], text: str) -> None:
    path = write(text)
    with pytest.raises(ConfigError, match=str(path)):
        load_settings(path)


def test_a_named_file_that_does_not_exist_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no configuration file"):
        load_settings(tmp_path / "nowhere.yaml")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_CONFIG", str(tmp_path / "nowhere.yaml"))
    with pytest.raises(ConfigError, match="NANOBOT_TRANSCRIPT_CONFIG"):
        load_settings()


def test_a_file_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"store: \xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        load_settings(path)


def test_references_are_filled_in_and_shown_as_written(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIVATE_HOST", "feishu.example.org")
    settings = load_settings(write("feishu:\n  base_url: https://${PRIVATE_HOST}/\n"))
    assert settings.feishu.base_url == "https://feishu.example.org"
    shown = {value.key: value.text for value in settings.values()}
    assert shown["feishu.base_url"] == "https://${PRIVATE_HOST}/"


def test_references_inside_a_mapping_are_shown_as_written(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHO", "hush")
    extra = "{user: '${WHO}', metadata: {also: '${WHO}'}, temperature: 0.2}"
    settings = load_settings(write(f"agents: {{cli_a: {{name: A, responder: {{extra: {extra}}}}}}}"))
    assert settings.agents["cli_a"].responder.extra["metadata"] == {"also": "hush"}
    shown = {value.key: value.text for value in settings.values()}["agents.cli_a.responder.extra"]
    assert shown == {"user": "${WHO}", "metadata": {"also": "${WHO}"}, "temperature": 0.2}


def test_settings_know_the_variables_they_are_made_of(
    write: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("NANOBOT_TRANSCRIPT_HUB__PORT=9000\n", encoding="utf-8")
    for name in ("NANOBOT_TRANSCRIPT_STORE__FSYNC", "MY_HUB", "UNUSED"):
        monkeypatch.setenv(name, "always")
    monkeypatch.setenv("MCP_MAIL_STORE", str(tmp_path))
    path = write("hub:\n  tokens: {a: '${MY_HUB}-a-token'}\nagents:\n  cli_a: {name: A, app_secret: '${NOT_SET}'}\n")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_CONFIG", str(path))
    assert load_settings().variables == {"NANOBOT_TRANSCRIPT_STORE__FSYNC", "MCP_MAIL_STORE", "MY_HUB"}


def test_a_reference_to_nothing_is_an_error(write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_VARIABLE", raising=False)
    path = write("agent: {name: '${NO_SUCH_VARIABLE}'}")
    with pytest.raises(ConfigError, match=r"agent\.name .*\$\{NO_SUCH_VARIABLE\}, which is not set"):
        load_settings(path)


def test_the_secret_of_another_bot_is_needed_by_nobody_else(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_VARIABLE", raising=False)
    other = "{name: B, app_secret: '${NO_SUCH_VARIABLE}'}"
    settings = load_settings(write(f"agents: {{cli_a: {{name: A, app_secret: own}}, cli_ab: {other}}}"))
    settings.require("agents.cli_a", "gate")
    with pytest.raises(ConfigError, match=r"agents\.cli_ab\.app_secret .*\$\{NO_SUCH_VARIABLE\}, which is not set"):
        settings.require("agents.cli_ab")
    shown = {value.key: value.text for value in settings.values()}
    assert shown["agents.cli_ab.app_secret"] == "${NO_SUCH_VARIABLE} (not set)"
    assert settings.agents["cli_ab"].app_secret is None


def test_all_that_is_missing_is_told_at_once_with_its_places(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOST_1", "HOST_2", "PLACE"):
        monkeypatch.delenv(name, raising=False)
    path = write(
        "feishu:\n  base_url: https://${HOST_1}.${HOST_2}\nhub:\n  host: '${HOST_1}'\n"
        "  allowed_hosts: [a, '${HOST_1}', '${HOST_2}']\nmail:\n  store: ${PLACE}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert sorted(str(caught.value).splitlines()) == [
        f"feishu.base_url (file {path}:2) refers to ${{HOST_1}} and ${{HOST_2}}, which are not set.",
        f"hub.allowed_hosts (file {path}:5) refers to ${{HOST_1}} and ${{HOST_2}}, which are not set.",
        f"hub.host (file {path}:4) refers to ${{HOST_1}}, which is not set.",
        f"mail.store (file {path}:7) refers to ${{PLACE}}, which is not set.",
    ]
    told = caught.value.hint.removeprefix("Set the environment variables ").partition(", or write")[0]
    assert set(re.split(", | and ", told)) == {"HOST_1", "HOST_2", "PLACE"}
    monkeypatch.setenv("HOST_1", "one")
    monkeypatch.setenv("HOST_2", "two")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_MAIL__STORE", "/srv/mail")
    settings = load_settings(path)
    assert (settings.hub.host, settings.hub.allowed_hosts[1:]) == ("one", ["one", "two"])
    settings.require("mail")


MIND = """agents:
  cli_a: {name: A, app_secret: own, responder: {kind: scripted, answers: [hello]}}
  cli_b:
    name: B
    instructions: Be ${NO_SUCH_MOOD}
    responder:
      command: [cat, '${NO_SUCH_FILE}']
      timeout: ${NO_SUCH_TIME}
      env: {KEY: '${NO_SUCH_KEY}', KIND: x}
      extra: {metadata: {user: '${NO_SUCH_USER}'}}
"""


def test_what_only_a_bot_itself_has_to_know_is_needed_by_nobody_else(write: Callable[[str], Path]) -> None:
    settings = load_settings(write(MIND))
    settings.require("agents.cli_a")
    mind = settings.agents["cli_b"].responder
    assert (mind.command, mind.timeout, list(mind.env), mind.extra) == ([], 300.0, ["KIND"], {"metadata": {}})
    with pytest.raises(ConfigError) as caught:
        settings.require("agents.cli_b")
    assert len(str(caught.value).splitlines()) == 5
    shown = {value.key: value.text for value in settings.values()}
    assert shown["agents.cli_b.responder.timeout"] == "${NO_SUCH_TIME} (not set)"
    assert shown["agents.cli_b.responder.env"] == {"KEY": "${NO_SUCH_KEY} (not set)", "KIND": "**********"}


@pytest.mark.parametrize(
    "setting", ["name: '${NO_SUCH}'", "name: B, aliases: ['${NO_SUCH}']", "name: B, responder: '${NO_SUCH}'"]
)
def test_what_others_have_to_know_of_a_bot_is_needed_by_all(write: Callable[[str], Path], setting: str) -> None:
    with pytest.raises(ConfigError, match=r"refers to \$\{NO_SUCH\}, which is not set"):
        load_settings(write(f"agents: {{cli_b: {{{setting}}}}}"))


def test_an_account_with_dots_in_it_has_its_variables_told_too(write: Callable[[str], Path]) -> None:
    path = write("agents: {bot.example.org: {name: B, app_secret: '${NO_SUCH}'}}")
    with pytest.raises(ConfigError, match=r"agents\.bot\.example\.org\.app_secret"):
        load_settings(path).require("agents.bot.example.org")


def test_a_variable_of_a_setting_that_does_not_exist_is_not_asked_for(
    write: Callable[[str], Path], caplog: pytest.LogCaptureFixture
) -> None:
    load_settings(write("hub: {hots: '${NO_SUCH}'}")).require("hub")
    assert "There is no setting hub.hots" in caplog.text


def test_whoever_asks_later_is_told_then(write: Callable[[str], Path]) -> None:
    settings = load_settings(
        write("agents: {cli_a: {name: '${NO_SUCH}'}}\nhub: {tokens: {me: '${NO_TOKEN}'}}"), later=True
    )
    assert settings.agents["cli_a"].name == "${NO_SUCH}"
    settings.require(sections=["store", "feishu"])
    with pytest.raises(ConfigError, match=r"^hub\.tokens\.me .*\{NO_TOKEN\}, which is not set\.$"):
        settings.require(sections=["hub"])
    with pytest.raises(ConfigError, match=r"NO_SUCH(.|\n)*NO_TOKEN"):
        settings.require(sections=["agents", "hub"])


def test_a_secret_that_the_environment_gives_instead_is_not_missing(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_VARIABLE", raising=False)
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_GATE__JUDGE__API_KEY", "given")
    load_settings(write("gate: {judge: {api_key: '${NO_SUCH_VARIABLE}'}}")).require("gate")


def test_a_token_that_is_not_set_never_means_that_none_is_wanted(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_VARIABLE", raising=False)
    with pytest.raises(ConfigError, match="is not set"):
        load_settings(write("hub: {tokens: {laptop: '${NO_SUCH_VARIABLE}'}}"))


def test_a_token_has_eight_characters_or_more(write: Callable[[str], Path]) -> None:
    assert load_settings(write("hub: {tokens: {me: abcdefgh}}")).hub.tokens["me"].get_secret_value() == "abcdefgh"
    for short in ("abcdefg", "'abcdefg '"):
        with pytest.raises(ConfigError, match="at least 8 characters"):
            load_settings(write(f"hub: {{tokens: {{me: {short}}}}}"))


def test_a_filled_in_value_is_not_told_in_an_error(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIVATE_HOST", "hush")
    with pytest.raises(ConfigError) as caught:
        load_settings(write("feishu: {base_url: '${PRIVATE_HOST}'}"))
    assert "hush" not in str(caught.value)


def test_the_store_opens_with_the_settings(write: Callable[[str], Path], tmp_path: Path) -> None:
    path = write(f"store: {{dir: {tmp_path / 't'}, retention: {{max_entries: 9, max_bytes: 1MB}}}}")
    with load_settings(path).open_record().store as store:
        assert store.base_dir == tmp_path / "t"
        assert store.retention.max_entries == 9
        assert store.retention.max_bytes == 1_000_000
    assert not (tmp_path / "t").exists()


def test_by_default_all_processes_keep_the_whole_record_below_the_home_folder(empty_home: Path) -> None:
    with load_settings(look_in_cwd=False).open_record().store as writer, GroupTranscriptStore() as reader:
        for number in range(2000):
            writer.append("feishu:oc_a", "user", f"text {number}", "on_ada", f"om_{number}")
        writer.maintain()
        assert [entry["content"] for entry in reader.scan("feishu:oc_a")] == [
            f"text {number}" for number in range(2000)
        ]
        assert writer.retention == Retention(max_age_days=None, max_bytes=None, max_entries=None)
    written = {path.parent for path in empty_home.rglob("*.jsonl")}
    assert written == {empty_home / ".nanobot" / "transcripts"}


def test_each_setting_is_described_in_english_and_chinese() -> None:
    for description in describe():
        assert description.en.endswith("."), description.key
        assert description.zh.endswith("。"), description.key


def test_settings_cannot_be_changed_behind_the_readers_back() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().store.fsync = "always"
    with pytest.raises(ValueError, match="frozen"):
        Settings().store = Settings().store


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("store:\n  dir: /tmp/x\n gate:\n  log: true\n", 3, "not indented"),
        ("agents:\n  cli_1:\n    name: A\n   aliases: [b]\n", 4, "not indented"),
        ("agents:\n  cli_1:\n    name: A\n      aliases: [b]\n", 4, "colon is not allowed here"),
        ("store:\n  dir: /tmp/x\ngate:\n\tlog: true\n", 4, "a tab"),
        ("store:\n  dir /tmp/x\n  fsync: never\n", 2, "colon is missing"),
        ("agents:\n  cli_1:\n    name: A\n    description: |\n      x\n     y\n", 6, "not indented"),
        ("- a\nb: c\n", 2, "not indented"),
        ("agents:\n  cli_1:\n    name A\n\n    # no more\n    aliases: [b]\n", 3, "colon is missing"),
        ("agents:\n  cli_1:\n    name: A: B\n", 3, "in quotes"),
        ('store:\n  dir: "/tmp/x\ngate:\n  log: true\n', 2, "not closed"),
        ("agents:\n  cli_1:\n    aliases: [a, b\n    name: A\ngate:\n  log: true\n", 3, "the [ here is not closed"),
        ("gate: {log: true\nstore:\n  dir: /tmp/x\n", 1, "the { here is not closed"),
        ("agents:\n  cli_1:\n    name: @A\n", 3, "'@'"),
    ],
)
def test_a_broken_file_is_told_with_the_line_that_a_person_has_to_mend(
    write: Callable[[str], Path], text: str, line: int, said: str
) -> None:
    with pytest.raises(ConfigError, match=rf"settings\.yaml is not valid YAML: line {line}: ") as caught:
        load_settings(write(text))
    assert said in str(caught.value)


def test_wrong_and_unknown_settings_are_told_with_their_own_line(write: Callable[[str], Path]) -> None:
    path = write("# mine\nstore:\n  dir: /tmp/x\n\ngate:\n  stile: quiet\n  style: quiet\n")
    (sentence,) = load_settings(path).unknown
    assert "settings.yaml:6" in sentence
    with pytest.raises(ConfigError, match=r"settings\.yaml:4\)"):
        load_settings(write("# mine\n\ngate:\n  stale_after: much\n"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("store: {}\n1: 2\n", "Line 2 of .* does not begin with the name of a setting"),
        ("[a]: 2\n", "Line 1 of .* does not begin with the name of a setting"),
        ("[" * 3000, "is nested too deeply"),
        ("store: &x [*x]\n", "is nested too deeply"),
    ],
)
def test_a_file_of_odd_shape_is_told_of(write: Callable[[str], Path], text: str, sentence: str) -> None:
    path = write(text)
    with pytest.raises(ConfigError, match=sentence):
        load_settings(path)


def test_a_bot_that_stands_twice_in_the_file_is_told_with_both_lines(write: Callable[[str], Path]) -> None:
    path = write("agents:\n  cli_1:\n    name: A\n  cli_2:\n    name: B\n  cli_1:\n    name: C\n")
    with pytest.raises(ConfigError, match=r"agents\.cli_1 appears twice in .*settings\.yaml, on lines 2 and 6"):
        load_settings(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("app_secret", "[s]"),
        ("responder", "{model: [m]}"),
        ("responder", "{kind: command, command: 7}"),
        ("responder", "{kind: scripted, answers: 7}"),
    ],
)
def test_nobody_is_told_to_use_a_default_that_does_not_work(write: Callable[[str], Path], key: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(write(f"agents:\n  cli_1:\n    name: A\n    {key}: {value}\n"))
    assert "default" not in caught.value.hint
    with pytest.raises(ConfigError) as caught:
        load_settings(write("gate:\n  judge: {kind: openai, model: [m]}\n"))
    assert "default" not in caught.value.hint
    with pytest.raises(ConfigError) as caught:
        load_settings(write("gate:\n  stale_after: long\n"))
    assert "to use the default" in caught.value.hint


def test_a_section_whose_platform_is_not_installed_is_an_error_and_never_a_default() -> None:
    class Elsewhere(Section):
        base_url: str = setting("https://elsewhere.example", "Where.", "哪里。")

    with pytest.raises(ConfigError, match="no section for Elsewhere"):
        Settings().section(Elsewhere)


def test_no_platform_can_take_the_place_of_what_settings_have(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {name for name in vars(LoadedSettings) if not name.startswith("_")} - {"model_config"}
    for name in [*filter(str.isalnum, own), "store", "section", "copy"]:
        offered = (Platform(name, (), re.compile("x"), settings="transcript_channels.feishu.settings:SECTION"),)
        monkeypatch.setattr(model, "platforms", lambda offered=offered: offered)
        assert model._sections() == {}, name


# -- values in files


def test_a_variable_that_ends_in_file_names_a_file_with_the_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "url"
    secret.write_text("postgresql://nanobot:hidden@db/nanobot\n", encoding="utf-8")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RECORD__URL_FILE", str(secret))
    settings = load_settings(look_in_cwd=False)
    assert settings.record.address == "postgresql://nanobot:hidden@db/nanobot"
    assert str(settings.origin_of("record.url")) == "environment NANOBOT_TRANSCRIPT_RECORD__URL_FILE"
    assert settings.unknown == ()
    assert "hidden" not in " ".join(str(value.text) for value in settings.values())


def test_the_variable_itself_goes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dir").write_text("/from/the/file", encoding="utf-8")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_STORE__DIR_FILE", str(tmp_path / "dir"))
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_STORE__DIR", "/from/the/variable")
    assert load_settings(look_in_cwd=False).store.dir == Path("/from/the/variable")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "url").write_bytes(content)
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RECORD__URL_FILE", str(tmp_path / "url"))
    with pytest.raises(ConfigError, match=r"NANOBOT_TRANSCRIPT_RECORD__URL_FILE names .*url") as refused:
        load_settings(look_in_cwd=False)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("content", "why"), [("", "is empty"), (" \n", "is empty"), ("postgresql://a/hidden\nhidden", "has several lines")]
)
def test_a_file_that_holds_no_value_or_two_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, why: str
) -> None:
    (tmp_path / "url").write_text(content, encoding="utf-8")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RECORD__URL_FILE", str(tmp_path / "url"))
    with pytest.raises(ConfigError, match=rf"RECORD__URL_FILE names .*url, which {why}\.") as refused:
        load_settings(look_in_cwd=False)
    assert "hidden" not in f"{refused.value}{refused.value.hint}"


def test_an_address_that_cannot_be_understood_is_told_with_the_place_where_it_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RECORD__URL", "postgresql://bot:hidden@host:0/db")
    told = r"record\.url \(environment NANOBOT_TRANSCRIPT_RECORD__URL\) cannot be understood"
    with pytest.raises(ConfigError, match=told) as refused:
        load_settings(look_in_cwd=False).open_record()
    assert "with a port from 1 to 65535" in refused.value.hint
    assert "hidden" not in f"{refused.value}{refused.value.hint}"


@pytest.mark.parametrize("url", ["mysql://db/x", "db.example", "/var/lib"])
def test_the_record_lies_in_postgresql_or_in_a_folder(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RECORD__URL", url)
    with pytest.raises(ConfigError, match=r"record\.url"):
        load_settings(look_in_cwd=False)


def test_a_folder_that_is_named_for_one_command_goes_before_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RECORD__URL", "postgresql://db/nanobot")
    settings = load_settings(look_in_cwd=False, overrides={"store": {"dir": "/t"}, "record": {"url": ""}})
    assert settings.record.address is None
