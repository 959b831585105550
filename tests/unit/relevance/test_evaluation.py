"""The measure of the gate: the task, its baselines, and labelled chats of our own in Chinese."""

from pathlib import Path

import pytest

from nanobot_transcript.errors import ImportFormatError, NothingFoundError
from nanobot_transcript.relevance import RelevanceGate
from nanobot_transcript.relevance.evaluation.baselines import BASELINES
from nanobot_transcript.relevance.evaluation.irc import read_logs
from nanobot_transcript.relevance.evaluation.log_evaluation import evaluate
from nanobot_transcript.relevance.evaluation.scores import Counts, scores
from nanobot_transcript.relevance.evaluation.task import cases, names

DATA = Path(__file__).resolve().parents[2] / "data" / "relevance"


def written(folder: Path, text: str, labels: str) -> Path:
    (folder / "x.ascii.txt").write_text(text, encoding="utf-8")
    (folder / "x.annotation.txt").write_text(labels, encoding="utf-8")
    return folder


def test_addressees_are_followed_through_the_speakers_own_lines(tmp_path: Path) -> None:
    text = "[10:00] <ann> q?\n=== x joined\n[10:01] <bob> yes\n[10:02] <bob> and no\n[10:03]  * ann nods\n"
    (log,) = read_logs(written(tmp_path, text, "0 0 -\n0 2 -\n2 3 -\n3 4 -\n9 99 -\nrubbish\n"))
    assert [line and line.nick for line in log.lines[:5]] == ["ann", None, "bob", "bob", "ann"]
    assert [log.addressees(at) for at in (0, 2, 3, 4)] == [set(), {"ann"}, {"ann"}, {"bob"}]


def test_only_members_who_spoke_twice_are_decided_about(tmp_path: Path) -> None:
    text = "[10:00] <ann> q?\n[10:01] <bob> hm\n[10:01] <ann> hello?\n[10:02] <cy> yes\n"
    (case,) = cases(read_logs(written(tmp_path, text, "2 3 -\n"))[0])
    assert [member.name for member in case.candidates] == ["ann"]
    assert case.meant == {"ann"}


def test_a_label_at_a_line_that_is_no_message_costs_only_itself(tmp_path: Path) -> None:
    text = "[10:00] <ann> q?\n=== bob joined\n[10:01] <bob> yes\n"
    found = list(cases(read_logs(written(tmp_path, text, "0 1 -\n0 2 -\n"))[0]))
    assert [(case.message["sender"], case.meant) for case in found] == [("bob", {"ann"})]


def test_midnight_does_not_turn_time_back(tmp_path: Path) -> None:
    (log,) = read_logs(written(tmp_path, "[23:59] <a> x\n[00:01] <b> y\n", "0 1 -\n"))
    assert [line.minute for line in log.lines if line] == [1439, 1441]


@pytest.mark.parametrize(
    "row",
    [
        "[19:09] <ann> bob: hi",
        "[19:09:55] <ann> bob: hi",
        "#linux 2013-01-27 [19:09:55] <ann> bob: hi",
        "#linux 2013-01-27 [19:09] <ann> bob: hi",
        "#linux [19:09:55] <ann> bob: hi",
        "2013-01-27 [19:09:55] <ann> bob: hi",
        "mediawiki 2013-01-27 [19:09:55] <ann>\t bob: hi  \r",
        "#linux 2013-13-27 [19:09:55] <ann> bob: hi",
        "#linux 2013-01-27 [19:09:55] * ann bob: hi",
    ],
)
def test_channel_date_and_seconds_may_stand_at_the_time_of_a_line(tmp_path: Path, row: str) -> None:
    (log,) = read_logs(written(tmp_path, f"{row}\n", "0 0 -\n"))
    assert log.lines[0] == ("ann", "bob: hi", 19 * 60 + 9)


@pytest.mark.parametrize(
    "row", ["#linux ann: hi", "#linux [1:09] <ann> hi", "[19:09] ann: hi", "a b c [19:09] <ann> hi"]
)
def test_a_line_of_another_form_is_no_message(tmp_path: Path, row: str) -> None:
    (log,) = read_logs(written(tmp_path, f"{row}\n[19:10] <bob> hi\n", "1 1 -\n"))
    assert log.lines[0] is None


def test_dates_count_the_days_of_a_quiet_channel(tmp_path: Path) -> None:
    rows = ("2013-01-30 [23:59:59] <a> x", "2013-01-30 [23:00:00] <b> late", "2013-02-02 [00:01:00] <b> y")
    (log,) = read_logs(written(tmp_path, "".join(f"#linux {row}\n" for row in rows), "0 1 -\n"))
    assert [line.minute for line in log.lines if line] == [1439, 1380, 3 * 1440 + 1]


def test_the_measure_is_the_same_in_both_forms(tmp_path: Path) -> None:
    for path in DATA.glob("*.txt"):
        text = path.read_text("utf-8").replace("[", "#office 2013-01-27 [").replace("] ", ":07] ")
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    plain, dated = (evaluate(read_logs(folder), RelevanceGate()) for folder in (DATA, tmp_path))
    assert (dated.all, dated.no_nick) == (plain.all, plain.no_nick)


@pytest.mark.parametrize(
    ("nick", "text", "named"),
    [
        ("bob", "bob: hi", True),
        ("bob", "hi BOB", True),
        ("bob", "bobby", False),
        ("bob", "你好bob吗", True),
        ("[x]", "[x] hi", True),
        ("老猫", "问老猫吧", True),
    ],
)
def test_a_nick_is_named_as_a_whole_word(nick: str, text: str, named: bool) -> None:
    assert names(text, nick) is named


def test_scores_are_of_all_messages_together() -> None:
    made = scores([Counts(1, 0, 0), Counts(0, 1, 0), Counts(1, 0, 1)])
    assert (made.p, made.r, made.f1) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert made.low <= made.f1 <= made.high
    assert scores([]).document() == {"p": 0.0, "r": 0.0, "f1": 0.0, "f1_interval": [0.0, 0.0]}


def test_a_folder_without_labelled_logs_says_so(tmp_path: Path) -> None:
    with pytest.raises(NothingFoundError, match="no labelled log"):
        read_logs(tmp_path)
    with pytest.raises(ImportFormatError, match="cannot be read"):
        read_logs(tmp_path / "missing")


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ("\nbob answers ann\n", r'^Line 2 of .*\.annotation\.txt cannot be read: "bob answers ann"\.$'),
        ("0 7 -\n", r'^Line 1 of .*\.annotation\.txt names a line that the log does not have: "0 7 -"\.$'),
        ("\n", r"\.annotation\.txt is empty\.$"),
    ],
)
def test_an_annotation_of_which_nothing_is_understood_is_named_with_the_line(
    tmp_path: Path, labels: str, told: str
) -> None:
    folder = written(tmp_path, "[19:09] <ann> q?\n[19:10] <bob> yes\n", labels)
    with pytest.raises(NothingFoundError, match=told) as error:
        read_logs(folder)
    assert "`a b -`" in error.value.hint


def test_a_folder_whose_labels_point_at_no_message_says_so_and_names_the_forms(tmp_path: Path) -> None:
    folder = written(tmp_path, "19:09 ann: q?\n19:10 bob: yes\n[19:11] <cy> hm\n", "0 1 -\n")
    with pytest.raises(NothingFoundError, match=r"No labelled message in .* was understood") as error:
        read_logs(folder)
    assert "#channel yyyy-mm-dd [hh:mm:ss] <nick> text" in error.value.hint


def test_in_chinese_chats_the_gate_beats_every_baseline() -> None:
    made = evaluate(read_logs(DATA), RelevanceGate())
    for found in (made.all, made.no_nick):
        assert all(found["gate"].f1 > found[name].f1 for name in BASELINES)
        assert found["gate"].f1 > 0.85
    assert made.mentions == made.mentions_answered > 0


def test_the_document_has_the_promised_keys() -> None:
    document = evaluate(read_logs(DATA)[:1], RelevanceGate()).document()
    rates = ["intrusions_per_100", "misses_per_100"]
    assert list(document) == ["all", "no_nick", "decisions", *rates, "brier", "reliability", "ms_per_decision"]
    assert {"gate", "mention"} <= document["all"].keys()
    assert {"p", "r", "f1"} <= document["all"]["gate"].keys()
