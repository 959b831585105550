"""``service`` before a systemd that a script plays; the real one stands in tests/integration/cli/test_service.py."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript.cli import main

pytestmark = pytest.mark.usefixtures("logging_as_before")

SYSTEMCTL = """#!/bin/sh
shift # --user
echo "$*" >>"$STATE/calls"
unit=$2
wants=$HOME/.config/systemd/user/default.target.wants
case $1 in
show-environment) [ ! -e "$STATE/no-bus" ] || { echo 'Failed to connect to bus: No medium found' >&2; exit 1; } ;;
enable) mkdir -p "$wants" && ln -sf "../$unit" "$wants/$unit" ;;
disable) rm -f "$wants/$unit" && rmdir "$wants" ;;
restart) [ ! -e "$STATE/broken" ] && touch "$STATE/active" || { rm -f "$STATE/active"; exit 1; } ;;
stop) [ -e "$STATE/stubborn" ] || rm -f "$STATE/active" ;;
show)
    [ -e "$wants/$unit" ] && echo UnitFileState=enabled
    echo ActiveEnterTimestamp=Fri 2026-11-27 16:55:47 UTC
    if [ -e "$STATE/active" ]; then
        printf "ActiveState=$(cat "$STATE/stubborn" 2>/dev/null || echo active)\\n"
        printf 'ExecMainCode=0\\nExecMainStatus=0\\nNRestarts=0\\n'
    else
        printf 'ActiveState=failed\\nExecMainCode=1\\nExecMainStatus=2\\n'
        echo "NRestarts=$(cat "$STATE/restarts" 2>/dev/null || echo 3)"
    fi
    ;;
esac
"""
JOURNALCTL = "#!/bin/sh\necho 'The hub cannot listen at 127.0.0.1:8765.'\n"
LOGINCTL = '#!/bin/sh\ncat "$STATE/lingers"\n'

AGENT = "{name: A, app_secret: '${A_SECRET}', responder: {kind: scripted, answers: [hello]}}"

Call = Callable[..., Any]


@pytest.fixture(autouse=True)
def variables_as_before() -> Iterator[None]:
    """A command takes over what is kept for its service."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """What systemd is to do, and was told: `calls`, `active`, `no-bus`, `broken`, `stubborn`, `restarts`, `lingers`."""
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "lingers").write_text("yes\n")
    return folder


@pytest.fixture
def home(empty_home: Path, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person in an empty folder, with a systemd."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("systemctl", SYSTEMCTL), ("journalctl", JOURNALCTL), ("loginctl", LOGINCTL)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (empty_home / ".config").mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("STATE", str(state))
    for name in ("XDG_CONFIG_HOME", "SUDO_USER", *(each for each in os.environ if each.startswith("NANOBOT_"))):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(empty_home)
    return empty_home


@pytest.fixture
def call(home: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """``call("status")``: the exit code and what was said of ``service status``."""

    def calling(*arguments: str) -> tuple[int, str]:
        code = main(["service", *arguments])
        out, err = capsys.readouterr()
        return code, out + err

    return calling


@pytest.fixture
def bots(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of a bot, and its secret in this terminal."""
    path = home / "bots.yaml"
    path.write_text(f"feishu: {{base_url: 'http://127.0.0.1:9'}}\nagents:\n  cli_1: {AGENT}\n")
    monkeypatch.setenv("A_SECRET", "the secret of A")
    return path


def units(home: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (home / ".config/systemd/user").glob("*.service")}


def below(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def told(state: Path) -> list[str]:
    """What systemd was told since this was asked last, without questions."""
    lines = (state / "calls").read_text().splitlines()
    (state / "calls").write_text("")
    return [line for line in lines if not line.startswith("show")]


def test_the_hub_is_kept_running_and_leaves_nothing(call: Call, home: Path, state: Path) -> None:
    before = below(home / ".config")
    code, said = call("install", "serve", "--port", "8123")
    assert code == 0
    assert told(state) == [
        "daemon-reload",
        "enable nanobot-transcript-serve.service",
        "restart nanobot-transcript-serve.service",
    ]
    (text,) = units(home).values()
    start = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    assert start.endswith("/nanobot-transcript serve --port 8123")
    assert start.startswith("ExecStart=/")
    assert f"WorkingDirectory={home}\n" in text
    variables = home / ".config/nanobot-transcript/serve.env"
    assert f"{variables}" in said
    assert "0600" in said
    assert "enable-linger" not in said

    assert call("uninstall")[0] == 0
    assert told(state) == [
        "stop nanobot-transcript-serve.service",
        "disable nanobot-transcript-serve.service",
        "reset-failed nanobot-transcript-serve.service",
        "daemon-reload",
    ]
    assert below(home / ".config") == before
    assert call("uninstall")[0] == 1


def test_done_again_it_changes_nothing(call: Call, home: Path, state: Path) -> None:
    call("install", "serve")
    files, seen = units(home), told(state)
    assert len(seen) == 3
    code, said = call("install", "serve")
    assert code == 0
    assert "runs as it did" in said
    assert told(state) == ["daemon-reload"]
    assert units(home) == files


def test_other_options_take_the_place_of_the_hubs_own(call: Call, home: Path, state: Path) -> None:
    call("install", "serve")
    told(state)
    assert call("install", "serve", "--port", "8123")[0] == 0
    assert "restart nanobot-transcript-serve.service" in told(state)
    (text,) = units(home).values()
    assert "--port 8123" in text


def test_a_service_that_stopped_is_started_by_installing_it_again(call: Call, state: Path) -> None:
    call("install", "serve")
    (state / "active").unlink()
    told(state)
    code, said = call("install", "serve")
    assert (code, "runs as it did" in said) == (0, False)
    assert "restart nanobot-transcript-serve.service" in told(state)


def test_each_file_of_bots_has_a_service_and_paths_are_whole(call: Call, home: Path, bots: Path) -> None:
    (home / "more.yaml").write_text(bots.read_text())
    assert call("install", "run", "-c", "bots.yaml")[0] == 0
    assert call("install", "run", "-c", "more.yaml", "--agent", "A", "--store", "record")[0] == 0
    found = units(home)
    assert sorted(found) == ["nanobot-transcript-run-bots.service", "nanobot-transcript-run-more-A.service"]
    assert f"run --config {bots}\n" in found["nanobot-transcript-run-bots.service"]
    assert (
        f"run --config {home}/more.yaml --store {home}/record --agent A\n"
        in found["nanobot-transcript-run-more-A.service"]
    )
    code, said = call("uninstall")
    assert code == 2
    assert "run-bots, run-more-A" in said
    assert call("uninstall", "run-bots")[0] == 0
    assert call("uninstall")[0] == 0


def test_another_file_of_the_same_name_does_not_take_the_place_of_a_service(call: Call, home: Path, bots: Path) -> None:
    call("install", "run", "-c", str(bots))
    before = units(home)
    (home / "other").mkdir()
    (home / "other" / "bots.yaml").write_text(bots.read_text())
    code, said = call("install", "run", "-c", "other/bots.yaml")
    assert code == 2
    assert f"run --config {bots}" in said
    assert units(home) == before
    assert call("install", "run", "-c", "other/bots.yaml", "--name", "other")[0] == 0
    assert len(units(home)) == 2


def test_a_service_has_the_variables_of_the_terminal_in_which_it_was_installed(
    call: Call, home: Path, bots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RUNNER__GRACE", "7")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("OTHER_SECRET", "nobody asks for it")
    code, said = call("install", "run", "-c", str(bots))
    assert code == 0
    file = home / ".config/nanobot-transcript/run-bots.env"
    kept = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert [line for line in kept if not line.startswith("SSL_")] == [
        "A_SECRET='the secret of A'",
        "HTTPS_PROXY=http://proxy:3128",
        "NANOBOT_TRANSCRIPT_RUNNER__GRACE=7",
    ]
    assert file.stat().st_mode & 0o777 == 0o600
    assert "the secret of A" not in said + "".join(units(home).values())


def test_a_terminal_that_does_not_know_a_secret_changes_nothing_about_it(
    call: Call, home: Path, bots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("install", "run", "-c", str(bots))
    kept = (home / ".config/nanobot-transcript/run-bots.env").read_text()
    monkeypatch.delenv("A_SECRET")
    code, said = call("install", "run", "-c", str(bots))
    assert (code, "runs as it did" in said) == (0, True)
    os.environ.pop("A_SECRET", None)
    assert (home / ".config/nanobot-transcript/run-bots.env").read_text() == kept
    monkeypatch.setenv("A_SECRET", "another one")
    code, said = call("install", "run", "-c", str(bots))
    assert (code, "runs as it did" in said) == (0, False)
    assert "A_SECRET='another one'\n" in (home / ".config/nanobot-transcript/run-bots.env").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("serve", "--host", "0.0.0.0"), "without a token"),
        (("serve", "--config", "none.yaml"), "no configuration file"),
        (("serve", "--config", "misnamed.yaml"), "hub.servers names 'mial'"),
        (("serve", "--port", "99999"), "hub.port"),
        (("run",), "no configuration file was read"),
        (("run", "-c", "bots.yaml", "--agent", "Nobody"), "Nobody"),
        (("serve", "--name", "a b"), "not a name"),
        (("serve", "--name", "../../x"), "not a name"),
        (("serve", "--name", "x" * 101), "too long"),
        (("serve", "--print", "--json"), "no JSON"),
    ],
)
def test_what_would_never_start_is_not_installed(
    call: Call, home: Path, bots: Path, state: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    Path("misnamed.yaml").write_text("hub: {servers: [mial]}\n")
    code, said = call("install", *arguments)
    assert code == 2
    assert sentence in said
    assert below(home / ".config") == []
    assert "Traceback" not in said


def test_a_service_that_does_not_come_up_is_told_with_its_log(call: Call, home: Path, state: Path) -> None:
    (state / "broken").touch()
    code, said = call("install", "serve")
    assert code == 2
    assert "does not come up" in said
    assert "The hub cannot listen at 127.0.0.1:8765." in said
    code, said = call("status")
    assert code == 1
    assert "failed, exit code 2 (usage or configuration), started again 3 times" in said
    (state / "restarts").write_text("1")
    assert "(usage or configuration), started again once\n" in call("status")[1]
    (state / "broken").unlink()
    assert call("install", "serve")[0] == 0
    code, said = call("status")
    assert (code, "active since Fri 2026-11-27 16:55:47 UTC" in said) == (0, True)


def test_the_status_of_one_of_several_is_told_by_its_name(call: Call, bots: Path) -> None:
    assert call("status")[0] == 1
    call("install", "serve")
    call("install", "run", "-c", str(bots))
    assert "serve: active" in call("status")[1]
    code, said = call("status", "run-bots")
    assert code == 0
    assert "serve" not in said
    code, said = call("status", "nobody")
    assert code == 2
    assert "run-bots, serve" in said


@pytest.mark.parametrize(
    ("lingers", "said"), [("yes\n", ""), ("no\n", "It ends when you"), ("", "It may end when you")]
)
def test_whether_a_service_outlives_the_last_logout_is_told(call: Call, state: Path, lingers: str, said: str) -> None:
    (state / "lingers").write_text(lingers)
    for command in (("install", "serve"), ("status",)):
        _, seen = call(*command)
        assert said in seen
        assert ("loginctl enable-linger" in seen) == bool(said)


def test_a_file_of_somebody_else_is_neither_written_over_nor_removed(call: Call, home: Path) -> None:
    path = home / ".config/systemd/user/nanobot-transcript-serve.service"
    path.parent.mkdir(parents=True)
    path.write_text("[Service]\nExecStart=/bin/true\n")
    for command in (("install", "serve"), ("uninstall", "serve")):
        code, said = call(*command)
        assert code == 2
        assert "not written by this command" in said
    assert path.read_text() == "[Service]\nExecStart=/bin/true\n"
    assert call("status")[0] == 1


def test_what_cannot_be_read_hides_no_service(call: Call, home: Path) -> None:
    call("install", "serve")
    folder = home / ".config/systemd/user"
    (folder / "nanobot-transcript-folder.service").mkdir()
    (folder / "nanobot-transcript-ring.service").symlink_to("nanobot-transcript-ring.service")
    os.mkfifo(folder / "nanobot-transcript-pipe.service")
    code, said = call("status")
    assert (code, "serve: active" in said) == (0, True)


def test_a_unit_that_is_a_link_stays_one(call: Call, home: Path) -> None:
    kept = home / "dotfiles" / "hub.service"
    link = home / ".config/systemd/user/nanobot-transcript-serve.service"
    link.parent.mkdir(parents=True)
    link.symlink_to(kept)
    for port in ("8123", "8124"):
        assert call("install", "serve", "--port", port)[0] == 0
        assert (link.is_symlink(), f"--port {port}" in kept.read_text()) == (True, True)
    assert kept.stat().st_mode & 0o777 == 0o644


def test_a_service_that_is_masked_stays_so(call: Call, home: Path) -> None:
    link = home / ".config/systemd/user/nanobot-transcript-serve.service"
    link.parent.mkdir(parents=True)
    link.symlink_to("/dev/null")
    code, said = call("install", "serve")
    assert code == 2
    assert "systemctl --user unmask nanobot-transcript-serve.service" in said
    assert call("uninstall", "serve")[0] == 1
    assert str(link.readlink()) == "/dev/null"


@pytest.mark.parametrize("state_then", ["active", "deactivating"])
def test_a_service_that_goes_on_keeps_its_files(call: Call, home: Path, state: Path, state_then: str) -> None:
    call("install", "serve")
    before = below(home / ".config")
    (state / "stubborn").write_text(state_then)
    code, said = call("uninstall", "serve")
    assert (code, "could not be stopped" in said) == (2, True)
    assert below(home / ".config") == before
    (state / "stubborn").unlink()
    assert call("uninstall", "serve")[0] == 0
    assert below(home / ".config") == []


def test_what_a_person_wrote_for_a_unit_of_somebody_else_stays(call: Call, home: Path) -> None:
    theirs = home / ".config/systemd/user/nanobot-transcript-x.service.d/override.conf"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("[Service]\nNice=5\n")
    ours = home / ".config/nanobot-transcript/x.env"
    ours.parent.mkdir()
    ours.touch()
    code, said = call("uninstall", "x")
    assert (code, str(ours) in said) == (0, True)
    assert (theirs.exists(), ours.exists()) == (True, False)


def test_what_a_person_changed_about_a_service_goes_with_it(call: Call, home: Path) -> None:
    call("install", "serve")
    changed = home / ".config/systemd/user/nanobot-transcript-serve.service.d"
    changed.mkdir()
    (changed / "override.conf").write_text("[Service]\nNice=5\n")
    code, said = call("uninstall", "serve")
    assert (code, str(changed) in said) == (0, True)
    assert below(home / ".config") == []


def test_without_a_bus_nothing_is_installed_and_all_can_be_removed(call: Call, home: Path, state: Path) -> None:
    call("install", "serve")
    (state / "no-bus").touch()
    code, said = call("install", "serve", "--port", "8123")
    assert code == 2
    assert "No medium found" in said
    assert "docker run --restart" in said
    assert "enable-linger" in said
    assert call("uninstall", "serve")[0] == 0
    assert below(home / ".config") == []


@pytest.mark.parametrize(
    ("system", "words"),
    [
        ("Linux", ("docker run --restart", "wsl.conf")),
        ("Darwin", ("macOS", "launchctl")),
        ("Windows", ("wsl nanobot-transcript",)),
    ],
)
def test_where_there_is_no_systemd_another_way_is_told(
    call: Call, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("platform.system", lambda: system)
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    code, said = call("install", "serve")
    assert code == 2
    assert "no systemd" in said
    assert [word for word in words if word not in said] == []
    assert below(home / ".config") == []


def test_a_unit_is_printed_without_any_systemd(
    call: Call, home: Path, bots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    code, said = call("install", "run", "-c", str(bots), "--print")
    assert code == 0
    assert f"run --config {bots}\n" in said
    assert said.endswith("WantedBy=default.target\n")
    assert below(home / ".config") == []


def test_programs_are_told_in_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def document(*arguments: str) -> Any:
        main(["service", *arguments, "--json"])
        return json.loads(capsys.readouterr().out)

    installed = document("install", "serve")
    assert (installed["name"], installed["changed"], installed["lingers"]) == ("serve", True, True)
    status = document("status")
    assert status["lingers"] is True
    assert [(each["name"], each["state"], each["enabled"]) for each in status["services"]] == [
        ("serve", "active", True)
    ]
    assert [Path(each).name for each in document("uninstall")["removed"]][-1] == "serve.env"


def test_who_uses_sudo_is_told_whose_service_it_is(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "ada")
    monkeypatch.setattr("os.getuid", lambda: 0)
    assert "as one of ada leave sudo out" in call("install", "serve")[1]


def test_it_is_the_program_of_this_installation_that_is_kept_running(call: Call) -> None:
    program = call("install", "serve", "--print")[1].partition("ExecStart=")[2].split()[0]
    assert Path(program).is_absolute()
    assert Path(program).parent == Path(sys.executable).parent
