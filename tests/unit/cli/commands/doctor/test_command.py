"""``doctor``: each finding says what is wrong and how to mend it."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from support.letterbox import Letterbox
from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.cli.commands.doctor import host, installation, minds
from nanobot_transcript.conversation.decision import PRIVATE
from nanobot_transcript.record import Record
from nanobot_transcript.relevance.decision import Decision, Reason, Stage, later
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog
from nanobot_transcript.store.member_file import FileMembers
from transcript_channels.nanobot_host.outcomes import turn_completed
from transcript_channels.nanobot_host.seams import SeamFinding

Run = Callable[..., Any]
Finding = dict[str, str]


def found(run: Run, *arguments: str, **options: Any) -> dict[str, Finding]:
    """The worst finding of each check."""
    order = ("ok", "info", "warning", "error")
    worst: dict[str, Finding] = {}
    for finding in run("doctor", "--json", *arguments, **options).document["findings"]:
        assert finding.keys() == {"check", "severity", "message", "fix"}
        known = worst.setdefault(finding["check"], finding)
        if order.index(finding["severity"]) > order.index(known["severity"]):
            worst[finding["check"]] = finding
    return worst


def test_a_sound_store_is_reported_sound(run: Run, store: GroupTranscriptStore, base_dir: Path) -> None:
    before = sorted(base_dir.rglob("*"))
    findings = found(run)
    for check in ("settings", "store", "lock", "clock", "permissions", "bot names", "version"):
        assert findings[check]["severity"] == "ok", findings[check]
    assert sorted(base_dir.rglob("*")) == before


def test_a_bot_whose_answers_fail_is_a_warning_with_the_newest_reason(
    run: Run, store: GroupTranscriptStore, base_dir: Path
) -> None:
    log = FileDecisionLog(base_dir)
    message: Any = {"message_id": "om_1"}
    assert "answers" not in found(run)
    log.write("feishu:oc_1", later("answered", "feishu:oc_1", message, "Beta"))
    assert found(run)["answers"]["message"] == "The answer of the last day was sent."
    log.write("feishu:oc_1", later("failed", "feishu:oc_1", message, "Alpha", why="claude ended with exit code 1"))
    finding = found(run)["answers"]
    assert finding["severity"] == "warning"
    assert finding["message"] == ("Alpha: 1 of 1 answers of the last day failed; newest: claude ended with exit code 1")
    assert "gate explain feishu:oc_1 om_1" in finding["fix"]


def test_a_bot_whose_answers_fail_in_private_is_a_warning_that_names_no_chat(
    run: Run, store: GroupTranscriptStore, base_dir: Path
) -> None:
    message: Any = {"message_id": None}
    FileDecisionLog(base_dir).write(PRIVATE, later("failed", PRIVATE, message, "Alpha", why="It was in private."))
    finding = found(run)["answers"]
    assert (finding["severity"], finding["fix"]) == ("warning", "Check the log of Alpha.")


def test_that_all_is_well_is_not_said_where_nobody_can_tell(
    run: Run, store: GroupTranscriptStore, base_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, message = FileDecisionLog(base_dir), cast("Any", {"message_id": "om_1"})
    log.write("feishu:oc_1", later("answered", "feishu:oc_1", message, "Beta"))
    with Record.open(base_dir) as record:
        (finding,) = minds.check(record, untold="nanobot 0.3.0")
        assert (finding.severity, "as far as nanobot 0.3.0 tells" in finding.message) == ("info", True)
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_GATE__LOG", "false")
    finding = found(run)["answers"]
    assert (finding["severity"], finding["fix"]) == ("info", "Set gate.log to true.")
    log.write("feishu:oc_1", later("failed", "feishu:oc_1", message, "Beta", why="no key"))
    told = [one for one in run("doctor", "--json").document["findings"] if one["check"] == "answers"]
    assert [one["severity"] for one in told] == ["warning", "info"]


def test_a_nanobot_that_tells_of_failed_turns_is_asked_no_further(run: Run) -> None:
    pytest.importorskip("nanobot")
    assert bool(host.untold()) == (turn_completed() is None)


def test_a_judge_that_is_often_late_or_fails_is_a_warning_with_what_to_do(
    run: Run, store: GroupTranscriptStore, base_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_GATE__JUDGE__TIMEOUT", "7")
    log = FileDecisionLog(base_dir)

    def judged(*reasons: Reason) -> None:
        for reason in reasons:
            log.write("feishu:oc_1", Decision(None, reason, 0.5, Stage.JUDGE, "Alpha", "om_1"))

    judged(Reason.JUDGE_BUDGET)
    assert "judge" not in found(run)
    judged(Reason.JUDGE_YES, Reason.JUDGE_NO, Reason.JUDGE_TIMEOUT, Reason.JUDGE_TIMEOUT)
    assert found(run)["judge"]["message"] == "The judge answered 2 of 4 questions of the last day."
    judged(Reason.JUDGE_TIMEOUT)
    late = found(run)["judge"]
    assert (late["severity"], late["message"]) == (
        "warning",
        "The judge did not answer 3 of 5 questions of the last day in time.",
    )
    assert "waited for 7 s. Raise gate.judge.timeout" in late["fix"]
    judged(*[Reason.JUDGE_FAILED] * 3)
    messages = [one["message"] for one in run("doctor", "--json").document["findings"] if one["check"] == "judge"]
    assert messages[1:] == ["The judge could not be asked 3 of 8 questions of the last day."]


def test_mailboxes_are_looked_at_where_there_are_any(
    run: Run, store: GroupTranscriptStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "qa"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert found(run)["mailboxes"]["severity"] == "info"
    (folder / ".filebox").write_text(f'{{"current_agent": "qa", "agents": {{"qa": "{folder}"}}}}')
    assert found(run)["mailboxes"]["severity"] == "ok"
    (folder / ".filebox").write_text(f'{{"current_agent": "qa", "agents": {{"qa": "{folder}", "dev": "dev"}}}}')
    wrong = found(run)["mailboxes"]
    assert wrong["severity"] == "error"
    assert wrong["message"].startswith(f"agents.dev in {folder / '.filebox'} is not an absolute path")


def test_the_mail_is_looked_at_where_there_is_any(
    run: Run, store: GroupTranscriptStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mail"
    monkeypatch.setenv("MCP_MAIL_STORE", str(folder))
    assert found(run)["mail"]["severity"] == "info"
    assert not folder.exists()
    box = Letterbox(folder)
    youngest = time.time() - box.time
    waiting = found(run)["mail"]
    assert waiting["severity"] == "warning"
    told = re.fullmatch(r"3 changes wait for git, the oldest for ([\d,]+) s.*", waiting["message"])
    assert told
    assert youngest - 1 <= int(told[1].replace(",", "")) <= time.time() - box.time + 1
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_MAIL__ARCHIVE__ENABLED", "false")
    assert found(run)["mail"]["severity"] == "info"
    box.mail.close()
    folder.chmod(0o755)
    assert any("Others can read" in each["message"] for each in run("doctor", "--json").document["findings"])
    folder.chmod(0o700)
    (folder / "mail.sqlite3").write_bytes(b"not a database" * 1000)
    for side in ("-wal", "-shm"):
        (folder / f"mail.sqlite3{side}").unlink(missing_ok=True)
    assert found(run)["mail"]["severity"] == "error"


def test_a_store_that_is_not_there_yet_is_no_fault(run: Run, base_dir: Path) -> None:
    assert found(run)["store"]["severity"] == "info"
    assert not base_dir.exists()


def test_a_file_in_the_place_of_the_store_is_an_error(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    findings = found(run, store=file)
    assert findings["store"]["severity"] == "error"
    assert findings["store"]["fix"]


@pytest.mark.parametrize("place", ["/dev/null/x", "/proc/x", "/tmp/" + "x" * 300])
def test_a_place_where_no_store_can_be_made_is_an_error(run: Run, place: str) -> None:
    finding = found(run, store=Path(place))["store"]
    assert finding["severity"] == "error"
    assert finding["fix"]


def test_the_home_of_nobody_is_found(run: Run) -> None:
    assert found(run, store=Path("~nobody-of-that-name/x"))["settings"]["severity"] == "error"


def test_what_others_can_read_is_named_with_the_command_that_mends_it(
    run: Run, store: GroupTranscriptStore, base_dir: Path
) -> None:
    base_dir.chmod(0o755)
    finding = found(run)["permissions"]
    assert finding["severity"] == "warning"
    assert finding["fix"] == f"chmod -R go-rwx {base_dir}"


def test_a_store_on_another_machines_disk_is_a_warning(run: Run, store: GroupTranscriptStore, tmp_path: Path) -> None:
    assert "file system" not in found(run)
    mounts = tmp_path / "mounts"
    mounts.write_text(f"none / ext4 rw 0 0\nserver:/all {store.base_dir.resolve().parent} nfs4 rw 0 0\n")
    apart = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /proc/$$/mounts && exec "$@"', str(mounts))
    if os.geteuid() != 0 or subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        pytest.skip("another table of mounts needs root and the right to mount")
    command = [*apart, sys.executable, "-m", "nanobot_transcript.cli", "doctor", "--json", "--store", store.base_dir]
    told = json.loads(subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE).stdout)
    (finding,) = (one for one in told["findings"] if one["check"] == "file system")
    assert finding["severity"] == "warning"
    assert finding["message"] == f"{store.base_dir} is on nfs4."


def test_a_link_in_the_store_is_an_error(run: Run, store: GroupTranscriptStore, base_dir: Path) -> None:
    (base_dir / "x.jsonl").symlink_to("/dev/null")
    assert found(run)["permissions"]["severity"] == "error"


def test_two_bots_with_one_name_are_found(run: Run, store: GroupTranscriptStore, tmp_path: Path) -> None:
    store.members.remember_bot("cli_c", "alpha")
    finding = found(run)["bot names"]
    assert finding["severity"] == "warning"
    assert "cli_a, cli_c" in finding["message"]
    file = tmp_path / "my.yaml"
    file.write_text("agents: {cli_1: {name: X}, cli_2: {name: X}}", encoding="utf-8")
    assert "cli_1, cli_2" in run("doctor", "--config", str(file)).out


def test_unreadable_settings_end_with_two(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "my.yaml"
    file.write_text("store: {fsync: sometimes}", encoding="utf-8")
    ended = run("doctor", "--json", "--config", str(file))
    assert ended.code == 2
    assert ended.document["ok"] is False


def test_an_unknown_setting_is_a_warning(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "my.yaml"
    file.write_text("store: {fsinc: always}", encoding="utf-8")
    assert found(run, "--config", str(file))["settings"]["severity"] == "warning"
    assert run("doctor", "--config", str(file)).code == 1


@pytest.mark.parametrize(
    ("bots", "told"), [("", False), ("cli_1: {name: A}", False), ("cli_1: {name: A}, cli_2: {name: B}", True)]
)
def test_a_name_for_one_bot_beside_several_is_told(run: Run, tmp_path: Path, bots: str, told: bool) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(f"agent: {{name: Alpha}}\nagents: {{{bots}}}", encoding="utf-8")
    assert ("agent.name is Alpha" in run("doctor", "--config", str(file)).out) is told


def test_a_plugin_that_is_switched_off_is_named_with_the_place_that_does_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nanobot")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_GROUPS__MODE", "off")
    finding = found(run)["mode"]
    assert finding["severity"] == "warning"
    assert "NANOBOT_TRANSCRIPT_GROUPS__MODE" in finding["message"]


@pytest.mark.parametrize(
    ("version", "severity"),
    [
        ("0.3.0", "ok"),
        ("0.3.5+local", "ok"),
        ("0.3.17", "info"),
        ("0.4.0rc1", "info"),
        ("0.30.1", "info"),
        ("0.2.9", "warning"),
        ("1.0.0", "warning"),
        ("odd", "warning"),
    ],
)
def test_a_nanobot_nobody_tried_is_told_and_only_one_out_of_range_is_a_warning(version: str, severity: str) -> None:
    finding = host._version(version, [SeamFinding("streams", "ok", "")])
    assert finding.severity == severity
    assert version in finding.message
    assert ("every ability finds what it needs" in finding.message) == (severity != "ok")
    assert bool(finding.fix) == (severity == "warning")


def test_of_a_nanobot_nobody_tried_it_is_told_which_abilities_lack_something() -> None:
    seams = [SeamFinding("streams", "error", "gone"), SeamFinding("tool", "ok", ""), SeamFinding("names", "error", "")]
    finding = host._version("0.4.2", seams)
    assert (finding.severity, finding.fix) == ("info", "")
    assert finding.message.endswith("it lacks what these need: streams, names.")
    first = host._seams(seams)[0]
    assert (first.check, first.severity, first.message) == ("seams", "error", "gone")


@pytest.mark.parametrize(
    ("mode", "severity", "told"),
    [
        ("listen", "info", "own group policy"),
        ("gate", "ok", "who answers"),
        ("observe", "ok", "groups.mode is observe."),
    ],
)
def test_who_decides_which_bot_answers_is_a_note_and_no_fault(
    run: Run, store: GroupTranscriptStore, monkeypatch: pytest.MonkeyPatch, mode: str, severity: str, told: str
) -> None:
    pytest.importorskip("nanobot")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_GROUPS__MODE", mode)
    finding = found(run)["mode"]
    assert finding["severity"] == severity
    assert told in finding["message"]
    assert ("groups.mode to gate" in finding["fix"]) == (mode == "listen")
    assert run("doctor").code == 0


@pytest.mark.parametrize(
    ("nanobot", "mode", "severity", "told"),
    [
        (
            "0.3.0",
            "listen",
            "info",
            "`nanobot-transcript run` the bots decide together who answers. Under na",
        ),
        (None, "listen", "ok", "`nanobot-transcript run` the bots decide together who answers."),
        (None, "gate", "ok", "who answers"),
        (None, "observe", "info", "Under `nanobot-transcript run` no bot answers"),
        (None, "off", "warning", "The bots of `nanobot-transcript run` are switched off"),
    ],
)
def test_bots_of_the_runner_need_no_nanobot_and_decide_together(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    nanobot: str | None,
    mode: str,
    severity: str,
    told: str,
) -> None:
    monkeypatch.setattr(host, "version_of", lambda _name: nanobot)
    file = tmp_path / "my.yaml"
    file.write_text(
        f"groups: {{mode: {mode}}}\nagents: {{cli_1: {{name: A, responder: {{kind: command, command: [cat]}}}}}}",
        encoding="utf-8",
    )
    findings = found(run, "--config", str(file))
    assert findings["mode"]["severity"] == severity
    assert told in findings["mode"]["message"]
    assert ("group policy" in findings["mode"]["message"]) == (nanobot is not None)
    if nanobot is None:
        assert findings["nanobot"]["severity"] == "info"
        assert findings.keys().isdisjoint({"seams", "plugin"})


def test_a_mode_that_is_off_but_for_one_chat_is_called_off(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "version_of", lambda _name: None)
    file = tmp_path / "my.yaml"
    file.write_text(
        "groups: {mode: off, chats: {oc_1: {mode: gate}}}\n"
        "agents: {cli_1: {name: A, responder: {kind: command, command: [cat]}}}",
        encoding="utf-8",
    )
    finding = found(run, "--config", str(file))["mode"]
    assert (finding["severity"], finding["message"]) == ("ok", "groups.mode is off.")


OURS = "cli_1: {name: A, responder: {kind: command, command: [cat]}}"
TALK = "talk_1: {name: T, platform: talk, responder: {kind: command, command: [cat]}}"


@pytest.mark.parametrize(
    ("agents", "severity"),
    [("", "info"), (OURS, "info"), ("cli_2: {name: B}", "warning"), (f"{OURS}, cli_2: {{name: B}}", "warning")],
)
def test_a_nanobot_that_is_missing_is_a_warning_where_bots_wait_for_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agents: str, severity: str
) -> None:
    monkeypatch.setattr(host, "version_of", lambda _name: None)
    file = tmp_path / "my.yaml"
    file.write_text(f"agents: {{{agents}}}", encoding="utf-8")
    findings = found(run, "--config", str(file))
    assert findings["nanobot"]["severity"] == severity
    assert ("mode" in findings) == (agents == OURS)


def test_a_nanobot_that_is_missing_is_a_warning_where_a_bot_of_others_used_the_store(
    run: Run, store: GroupTranscriptStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "version_of", lambda _name: None)
    (store.base_dir / ".state" / "members.json").unlink()
    assert found(run)["nanobot"]["severity"] == "info"
    FileMembers(store.base_dir).remember_bot("cli_a", "Alpha")
    assert found(run)["nanobot"]["severity"] == "warning"


@pytest.mark.parametrize(
    ("agents", "nanobot", "severity"),
    [("", None, "info"), (TALK, None, "info"), (OURS, None, "warning"), ("", "0.3.5", "warning")],
)
def test_a_missing_sdk_is_a_warning_where_a_bot_needs_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agents: str, nanobot: str | None, severity: str
) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda _name: None)
    monkeypatch.setattr(installation, "version_of", lambda _name: nanobot)
    file = tmp_path / "my.yaml"
    file.write_text(f"agents: {{{agents}}}", encoding="utf-8")
    assert found(run, "--config", str(file))["lark-oapi"]["severity"] == severity


def test_bots_that_were_silent_for_a_month_are_no_proof_of_work(run: Run, store: GroupTranscriptStore) -> None:
    pytest.importorskip("nanobot")
    before = FileMembers(store.base_dir, now=lambda: time.time() + 31 * 86400)
    assert all(bot.silent for bot in before.bots())
    (store.base_dir / ".state" / "members.json").unlink()
    before = FileMembers(store.base_dir, now=lambda: time.time() - 31 * 86400)
    before.remember_bot("cli_a", "Alpha")
    finding = found(run)["activity"]
    assert (finding["severity"], finding["message"]) == ("info", "Alpha gave no sign of life for 30 days.")


def test_the_plugin_is_looked_for_where_nanobot_is(run: Run, store: GroupTranscriptStore) -> None:
    pytest.importorskip("nanobot")
    findings = found(run)
    assert findings["plugin"]["severity"] == "ok"
    assert findings["seams"]["severity"] == "ok"
    assert "Alpha, Beta" in findings["activity"]["message"]


def test_a_store_that_is_no_directory_is_told_once(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    for place in (file, file / "below"):
        findings = run("doctor", "--json", store=place).document["findings"]
        wrong = [finding["check"] for finding in findings if str(file) in finding["message"]]
        assert wrong == ["store"]


def test_members_that_cannot_be_read_are_told_once(
    run: Run, store: GroupTranscriptStore, base_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (base_dir / ".state" / "members.json").write_text("no JSON", encoding="utf-8")
    run("doctor")
    assert len([record for record in caplog.records if "members" in record.getMessage()]) == 1


def test_one_bot_is_not_many(run: Run, base_dir: Path) -> None:
    with GroupTranscriptStore(base_dir) as opened:
        opened.members.remember_bot("cli_a", "Alpha")
    assert "1 bot is known: Alpha." in run("doctor").out
