"""Claims: who works on what, for how long, and what the archive is told of it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript.errors import InvalidLetterError
from nanobot_transcript.sql.location import Shelf
from transcript_mcp.mail.archive import jobs
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.claims.values import ClaimOptions
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.store import Archive, MailStore
from transcript_mcp.mail.values import Agent

PROJECT = "/abs/path/backend"
HOUR = 3600.0


class Clock:
    """Stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_761_232_934.5

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


on_both = pytest.mark.parametrize("mail", ["sqlite", "postgres"], indirect=True)
"""Also in the usual run with its tables in PostgreSQL; all others are only with the full repetitions."""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
def mail(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[AgentMail]:
    engine = request.getfixturevalue("engine") if request.param == "postgres" else None
    opened = AgentMail(MailStore.on(Shelf(tmp_path / "store", engine)), clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def claims(mail: AgentMail, clock: Clock) -> Claims:
    return Claims(mail.database, clock)


@pytest.fixture
def green(mail: AgentMail) -> Agent:
    return mail.register_agent(PROJECT, "GreenCastle").agent


@pytest.fixture
def blue(mail: AgentMail, green: Agent) -> Agent:
    return mail.register_agent(PROJECT, "BlueLake").agent


@pytest.fixture
def archived(mail: AgentMail) -> Callable[[], list[dict[str, Any]]]:
    """The archive's jobs about claims since the last look: the summary and the files as JSON."""
    seen = 0

    def look() -> list[dict[str, Any]]:
        nonlocal seen
        waiting = [job for job in mail.database.read(lambda db: jobs.waiting(db, 1, 1000), []) if job.seq > seen]
        seen = max((job.seq for job in waiting), default=seen)
        return [
            {"summary": job.summary, "files": {path: json.loads(text) for path, text in job.files.items()}}
            for job in waiting
            if job.summary.split(":")[0] in ("claim", "renew", "release")
        ]

    return look


def test_what_nobody_else_works_on_is_granted(claims: Claims, green: Agent, clock: Clock) -> None:
    claimed = claims.claim(green.project_id, green, ["./app/api/*.py", "docs/"], 7200, reason=" migrations\n now ")

    assert list(claimed.granted) == ["app/api/*.py", "docs"]
    assert not claimed.conflicts
    assert claimed.expires_ts == clock.now + 7200
    [docs, api] = claims.list_claims(green.project_id)
    assert (api.path, api.agent, api.exclusive, api.reason) == ("app/api/*.py", "GreenCastle", True, "migrations now")
    assert (docs.path, docs.created_ts, docs.expires_ts, docs.released_ts) == (
        "docs",
        clock.now,
        clock.now + 7200,
        None,
    )


def test_a_claim_lasts_an_hour_when_nothing_is_said(claims: Claims, green: Agent, clock: Clock) -> None:
    assert claims.claim(green.project_id, green, ["x"]).expires_ts == clock.now + HOUR


def test_one_conflict_and_nothing_is_granted(
    claims: Claims, green: Agent, blue: Agent, clock: Clock, archived: Callable[[], Any]
) -> None:
    claims.claim(green.project_id, green, ["app/api/*.py"], 7200, reason="migrations")
    archived()

    refused = claims.claim(green.project_id, blue, ["README.md", "app"])

    assert not refused.granted
    assert refused.expires_ts is None
    assert refused.job is None
    [conflict] = refused.conflicts
    assert (conflict.path, conflict.holder, conflict.pattern) == ("app", "GreenCastle", "app/api/*.py")
    assert (conflict.reason, conflict.expires_ts, conflict.exclusive) == ("migrations", clock.now + 7200, True)
    assert claims.list_claims(green.project_id, blue.id) == []
    assert archived() == []


@on_both
@pytest.mark.parametrize(
    ("first", "second", "granted"), [(False, False, True), (True, False, False), (False, True, False)]
)
def test_only_shared_claims_live_side_by_side(
    claims: Claims, green: Agent, blue: Agent, first: bool, second: bool, granted: bool
) -> None:
    claims.claim(green.project_id, green, ["src/**"], exclusive=first)
    assert bool(claims.claim(green.project_id, blue, ["src/a.py"], exclusive=second).granted) is granted


def test_ones_own_claims_never_conflict_and_are_renewed_rather_than_doubled(
    claims: Claims, green: Agent, clock: Clock
) -> None:
    claims.claim(green.project_id, green, ["src"], exclusive=False, reason="reading")
    [first] = claims.list_claims()
    clock.now += 60

    claims.claim(green.project_id, green, ["./src/", "src"], 7200, exclusive=True)

    [second] = claims.list_claims()
    assert (second.id, second.created_ts, second.reason) == (first.id, first.created_ts, "reading")
    assert second.exclusive
    assert second.expires_ts == clock.now + 7200
    assert claims.claim(green.project_id, green, ["src/a.py"]).granted


def test_a_shared_claim_does_not_become_exclusive_while_another_shares_it(
    claims: Claims, green: Agent, blue: Agent
) -> None:
    for agent in (green, blue):
        claims.claim(green.project_id, agent, ["src"], exclusive=False)
    assert claims.claim(green.project_id, green, ["src"], exclusive=True).conflicts
    assert not any(claim.exclusive for claim in claims.list_claims())


@on_both
def test_a_claim_that_has_run_out_or_was_released_is_in_nobodys_way(
    claims: Claims, green: Agent, blue: Agent, clock: Clock
) -> None:
    claims.claim(green.project_id, green, ["a"], 60)
    claims.claim(green.project_id, green, ["b"])
    claims.release(green.project_id, green, ["b"])
    assert claims.claim(green.project_id, blue, ["b"]).granted
    assert claims.claim(green.project_id, blue, ["a"]).conflicts
    clock.now += 60
    assert claims.claim(green.project_id, blue, ["a"]).granted
    ended = claims.list_claims(green.project_id, green.id, active_only=False)
    assert [(claim.path, claim.released_ts is None) for claim in ended] == [("b", False), ("a", True)]


def test_claims_of_another_project_are_in_nobodys_way(claims: Claims, mail: AgentMail, green: Agent) -> None:
    elsewhere = mail.register_agent("/abs/path/frontend", "RedHill").agent
    claims.claim(green.project_id, green, ["src"])
    assert claims.claim(elsewhere.project_id, elsewhere, ["src"]).granted
    assert [claim.agent for claim in claims.list_claims(elsewhere.project_id)] == ["RedHill"]
    assert len(claims.list_claims()) == 2


@on_both
def test_an_agent_of_another_project_may_claim_here(claims: Claims, mail: AgentMail, green: Agent) -> None:
    guest = mail.register_agent("/abs/path/frontend", "RedHill").agent
    assert claims.claim(green.project_id, guest, ["src"]).granted
    [claim] = claims.list_claims(green.project_id)
    assert (claim.agent, claim.project, claim.home) == ("RedHill", PROJECT, "/abs/path/frontend")


def test_renewing_names_what_is_not_held(claims: Claims, green: Agent, blue: Agent, clock: Clock) -> None:
    claims.claim(green.project_id, green, ["a", "b"], 60)
    claims.claim(green.project_id, blue, ["c"])
    clock.now += 30

    some = claims.renew(green.project_id, green, ["a/", "c"], 120)
    assert (list(some.renewed), list(some.not_held), some.expires_ts) == (["a"], ["c"], clock.now + 120)
    everything = claims.renew(green.project_id, green)
    assert (list(everything.renewed), everything.expires_ts) == (["a", "b"], clock.now + HOUR)
    clock.now += HOUR
    late = claims.renew(green.project_id, green, ["a"])
    assert (list(late.renewed), list(late.not_held), late.expires_ts, late.job) == ([], ["a"], None, None)


def test_releasing_everything_leaves_the_others_claims(claims: Claims, green: Agent, blue: Agent) -> None:
    claims.claim(green.project_id, green, ["a", "b"])
    claims.claim(green.project_id, blue, ["c"])
    released = claims.release(green.project_id, green)
    assert (list(released.released), list(released.not_held)) == (["a", "b"], [])
    assert [claim.path for claim in claims.list_claims()] == ["c"]
    again = claims.release(green.project_id, green, ["a", "c"])
    assert (list(again.released), list(again.not_held), again.job) == ([], ["a", "c"], None)


@on_both
def test_the_archive_is_told_of_every_grant_renewal_and_release(
    claims: Claims, green: Agent, clock: Clock, archived: Callable[[], Any]
) -> None:
    claims.claim(green.project_id, green, ["app/api/*.py"], 7200, reason="migrations")
    [job] = archived()
    [(file, record)] = job["files"].items()
    assert file == Archive.claim("app/api/*.py")
    assert job["summary"] == "claim: GreenCastle exclusive 1 path: app/api/*.py"
    assert record == {
        "project": PROJECT,
        "agent": "GreenCastle",
        "agent_project": PROJECT,
        "path": "app/api/*.py",
        "exclusive": True,
        "reason": "migrations",
        "created": "2025-10-23T15:22:14Z",
        "expires": "2025-10-23T17:22:14Z",
        "released": None,
        "created_ts": clock.now,
        "expires_ts": clock.now + 7200,
        "released_ts": None,
    }
    clock.now += 60
    claims.renew(green.project_id, green, None, 7200)
    claims.release(green.project_id, green)
    renewed, released = archived()
    assert renewed["files"][file]["expires_ts"] == clock.now + 7200
    assert renewed["summary"] == "renew: GreenCastle 1 path: app/api/*.py"
    assert released["files"][file]["released_ts"] == clock.now
    assert released["files"][file]["released"] == "2025-10-23T15:23:14Z"


def test_who_shares_a_path_has_a_file_of_its_own_until_the_end(
    claims: Claims, green: Agent, blue: Agent, archived: Callable[[], Any]
) -> None:
    first, second = Archive.claim("src"), Archive.claim("src", "BlueLake")
    claims.claim(green.project_id, green, ["src"], exclusive=False)
    claims.claim(green.project_id, blue, ["src"], exclusive=False)
    claims.release(green.project_id, green)
    claims.renew(green.project_id, blue)
    claims.release(green.project_id, blue)
    claims.claim(green.project_id, blue, ["src"])
    assert [list(job["files"]) for job in archived()] == [[first], [second], [first], [second], [second], [first]]


def test_many_paths_are_summed_up(claims: Claims, green: Agent, archived: Callable[[], Any]) -> None:
    claims.claim(green.project_id, green, [f"f{n}" for n in range(7)], exclusive=False)
    [job] = archived()
    assert job["summary"] == "claim: GreenCastle shared 7 paths: f0, f1, f2, f3, f4 and 2 more"
    assert len(job["files"]) == 7


@on_both
def test_a_claim_is_never_shortened_by_claiming_or_renewing_it_again(
    claims: Claims, green: Agent, clock: Clock, archived: Callable[[], Any]
) -> None:
    claims.claim(green.project_id, green, ["long"], 86_400)
    claims.claim(green.project_id, green, ["short"], 600)
    late = clock.now + 86_400

    renewed = claims.renew(green.project_id, green, None, 1200)

    assert (list(renewed.renewed), renewed.expires_ts) == (["long", "short"], clock.now + 1200)
    assert claims.renew(green.project_id, green, ["long"], 60).expires_ts == late
    again = claims.claim(green.project_id, green, ["long", "short", "new"], 3600)
    assert again.expires_ts == clock.now + 3600
    assert claims.claim(green.project_id, green, ["long"], 60).expires_ts == late
    assert [claim.expires_ts - clock.now for claim in claims.list_claims()] == [3600, 3600, 86_400]
    assert archived()[-1]["files"][Archive.claim("long")]["expires_ts"] == late


def test_releasing_some_tells_what_is_still_held(claims: Claims, green: Agent, blue: Agent) -> None:
    claims.claim(green.project_id, green, ["d/a.py", "d/b.py"])
    claims.claim(green.project_id, blue, ["e"])

    nothing = claims.release(green.project_id, green, ["d/*"])

    assert (list(nothing.released), list(nothing.not_held)) == ([], ["d/*"])
    assert (list(nothing.still_held), nothing.more_still_held) == (["d/a.py", "d/b.py"], 0)
    one = claims.release(green.project_id, green, ["d/a.py"])
    assert (list(one.released), list(one.still_held)) == (["d/a.py"], ["d/b.py"])
    claims.claim(green.project_id, green, [f"f{number}" for number in range(60)])
    many = claims.release(green.project_id, green, ["f0"])
    assert (many.still_held[0], len(many.still_held), many.more_still_held) == ("d/b.py", 50, 10)
    everything = claims.release(green.project_id, green)
    assert (len(everything.released), list(everything.still_held), everything.more_still_held) == (60, [], 0)


def test_braces_stand_for_several_paths_wherever_paths_are_named(claims: Claims, green: Agent, blue: Agent) -> None:
    granted = claims.claim(green.project_id, green, [f"{PROJECT}/src/*.{{ts,tsx}}", "{docs,{a,b}.md}"]).granted
    assert list(granted) == ["src/*.ts", "src/*.tsx", "docs", "a.md", "b.md"]
    refused = claims.claim(green.project_id, blue, ["{x,a}.md"])
    assert [conflict.path for conflict in refused.conflicts] == ["a.md"]
    renewed = claims.renew(green.project_id, green, ["{a,c}.md"], 7200)
    assert (list(renewed.renewed), list(renewed.not_held)) == (["a.md"], ["c.md"])
    released = claims.release(green.project_id, green, ["src/*.{ts,tsx}"])
    assert list(released.released) == ["src/*.ts", "src/*.tsx"]


@pytest.mark.parametrize("path", [" src/a.py", "src/ ", "{a, b}"])
def test_a_space_around_a_path_is_refused(claims: Claims, green: Agent, path: str) -> None:
    with pytest.raises(InvalidLetterError, match="begins or ends with a space"):
        claims.claim(green.project_id, green, ["a.py", path])
    assert list(claims.list_claims()) == []
    assert claims.release(green.project_id, green, [path]).released == []  # an earlier version may have granted it


@pytest.mark.parametrize("path", ["d.{py", "app/{a,b.py", "a}.py", "{a,b}{", "}{"])
def test_a_brace_without_its_other_end_is_refused(claims: Claims, green: Agent, path: str) -> None:
    with pytest.raises(InvalidLetterError, match="Unbalanced brace") as caught:
        claims.claim(green.project_id, green, ["a.py", path])
    assert "?" in caught.value.hint
    assert list(claims.list_claims()) == []
    assert claims.release(green.project_id, green, [path]).released == []  # an earlier version may have granted it


@pytest.mark.parametrize("path", ["v{1..3}.py", "src/{a,{1..9}}", "{a..c}"])
def test_runs_in_braces_are_refused(claims: Claims, green: Agent, path: str) -> None:
    with pytest.raises(InvalidLetterError, match="are not expanded") as caught:
        claims.claim(green.project_id, green, [path])
    assert "{1,2,3}" in caught.value.hint


@pytest.mark.parametrize("paths", ["{a,b}" * 100, ["{a,b,c,d,e}{a,b,c,d,e}{a,b,c,d,e}"] * 2, ["x"] * 199 + ["{a,b}"]])
def test_braces_that_stand_for_too_many_paths_are_refused(claims: Claims, green: Agent, paths: Any) -> None:
    for call in (claims.claim, claims.renew, claims.release):
        with pytest.raises(InvalidLetterError, match=r"more than 200 paths.* 200 are allowed") as caught:
            call(green.project_id, green, paths)
        assert "pattern" in caught.value.hint


def test_a_folder_of_this_machine_that_is_called_like_a_file_is_claimed_as_a_folder(
    claims: Claims, mail: AgentMail, tmp_path: Path, clock: Clock
) -> None:
    code = tmp_path / "code"
    (code / "conf.d").mkdir(parents=True)
    (code / "main.py").touch()
    (tmp_path / "outside.d").mkdir()
    (code / "link.d").symlink_to(tmp_path / "outside.d")
    green, blue = (mail.register_agent(str(code), name).agent for name in ("GreenCastle", "BlueLake"))
    project = green.project_id
    named = ["conf.d", "main.py", "link.d", "none.d", "n" * 300 + ".d"]

    granted = claims.claim(project, green, named).granted

    assert list(granted) == ["conf.d/", *named[1:]]
    assert claims.claim(project, blue, ["conf.d/a/b"]).conflicts
    assert claims.claim(project, blue, ["main.py/x", "none.d/x"]).granted
    clock.now += 60
    for spelled in ("conf.d", "./conf.d/", f"{code}/conf.d"):
        assert list(claims.renew(project, green, [spelled]).renewed) == ["conf.d/"]
    assert list(claims.release(project, green, ["conf.d"]).released) == ["conf.d/"]
    claims.release(project, blue)
    claims.claim(project, green, ["none.d/"])
    released = claims.release(project, green, ["none.d", "other.d/"])
    assert (list(released.released), list(released.not_held)) == (["none.d", "none.d/"], ["other.d/"])


def test_a_pattern_with_a_slash_at_its_end_is_another_one(claims: Claims, green: Agent) -> None:
    claims.claim(green.project_id, green, ["src/*", "src/*/", "*.d", "*.d/"])
    assert list(claims.release(green.project_id, green, ["src/*", "*.d/"]).released) == ["src/*", "*.d/"]


def test_a_person_frees_what_an_agent_holds(
    claims: Claims, mail: AgentMail, green: Agent, blue: Agent, clock: Clock, archived: Callable[[], Any]
) -> None:
    claims.claim(green.project_id, green, ["src", "docs", "a.py"])
    archived()
    clock.now += 600
    held, not_held = claims.held(green.project_id, green, ["{docs,x}"])
    assert ([claim.path for claim in held], not_held) == (["docs"], ["x"])

    freed = claims.release(green.project_id, green, ["{docs,x}"], by_person=True)

    assert (list(freed.released), list(freed.not_held), list(freed.still_held)) == (["docs"], ["x"], ["src", "a.py"])
    [job] = archived()
    assert job["summary"] == "release: human for GreenCastle 1 path: docs"
    assert job["files"][Archive.claim("docs")]["released_ts"] == clock.now
    assert mail.whois(PROJECT, "GreenCastle").last_active_ts == clock.now - 600
    assert list(claims.release(green.project_id, green, by_person=True).released) == ["src", "a.py"]
    assert claims.claim(green.project_id, blue, ["."]).granted
    assert claims.held(green.project_id, green) == ([], [])


def test_absolute_paths_inside_of_the_project_are_understood(claims: Claims, green: Agent) -> None:
    assert list(claims.claim(green.project_id, green, f"{PROJECT}/src/x.py").granted) == ["src/x.py"]
    assert list(claims.release(green.project_id, green, "src/x.py").released) == ["src/x.py"]


@pytest.mark.parametrize(
    "paths", [[], None, "", [""], ["/etc/passwd"], ["../x"], ["a\\b"], [7], b"a", ["x"] * 201, {"a": 1}]
)
def test_what_is_no_list_of_paths_in_the_project_is_refused(claims: Claims, green: Agent, paths: Any) -> None:
    with pytest.raises(InvalidLetterError, match="path") as caught:
        claims.claim(green.project_id, green, paths)
    assert caught.value.hint
    assert claims.list_claims() == []


@pytest.mark.parametrize("ttl", [0, -1, 59.9, 30 * 86_400 + 1, float("nan"), float("inf"), True, "60"])
def test_a_time_out_of_bounds_is_refused(claims: Claims, green: Agent, ttl: Any) -> None:
    for call in (
        lambda: claims.claim(green.project_id, green, ["a"], ttl),
        lambda: claims.renew(green.project_id, green, None, ttl),
    ):
        with pytest.raises(InvalidLetterError, match="can last from"):
            call()


def test_bounds_are_an_option(mail: AgentMail, clock: Clock, green: Agent) -> None:
    claims = Claims(mail.database, clock, ClaimOptions(default_ttl=5, shortest_ttl=1))
    assert claims.claim(green.project_id, green, ["a"]).expires_ts == clock.now + 5


def test_an_agent_and_a_project_have_so_many_claims_at_the_most(
    mail: AgentMail, clock: Clock, green: Agent, blue: Agent
) -> None:
    claims = Claims(mail.database, clock, ClaimOptions(max_of_agent=3, max_in_project=5))
    claims.claim(green.project_id, green, ["a", "b", "c"])
    with pytest.raises(InvalidLetterError, match="an agent may hold at most 3") as caught:
        claims.claim(green.project_id, green, ["c", "d"])
    assert "Release" in caught.value.hint
    assert claims.claim(green.project_id, green, ["a", "b", "c"]).granted
    with pytest.raises(InvalidLetterError, match="5 are allowed"):
        claims.claim(green.project_id, blue, ["x", "y", "z"])
    assert claims.claim(green.project_id, blue, ["x", "y"]).granted
    claims.release(green.project_id, green, ["a"])
    assert claims.claim(green.project_id, green, ["d"]).granted


def test_of_many_conflicts_fifty_are_listed_and_the_rest_is_counted(
    claims: Claims, green: Agent, blue: Agent, clock: Clock, mail: AgentMail
) -> None:
    claims.claim(green.project_id, green, [f"src/{number}.py" for number in range(120)])
    clock.now += 100
    refused = claims.claim(green.project_id, blue, ["docs", "src"])
    assert not refused.granted
    assert [conflict.pattern for conflict in refused.conflicts] == [f"src/{number}.py" for number in range(50)]
    assert refused.more_conflicts == 70
    assert mail.whois(PROJECT, "BlueLake").last_active_ts == clock.now


def test_patterns_that_would_take_long_to_compare_are_refused(
    mail: AgentMail, clock: Clock, green: Agent, blue: Agent
) -> None:
    claims = Claims(mail.database, clock, ClaimOptions(max_paths=1000))
    claims.claim(green.project_id, green, [f"**/q/*{number}a" for number in range(1000)])
    with pytest.raises(InvalidLetterError, match="cannot be compared") as caught:
        claims.claim(green.project_id, blue, [f"**/x/b{number}*" for number in range(200)])
    assert "folder" in caught.value.hint


def test_whoever_claims_in_another_project_is_a_guest_there_for_good(
    claims: Claims, mail: AgentMail, green: Agent, archived: Callable[[], Any]
) -> None:
    guest = mail.register_agent("/abs/path/frontend", "RedHill").agent
    archived()
    claims.claim(green.project_id, guest, ["src"])
    [told] = archived()
    assert told["files"]["agents/RedHill/profile.json"]["project"] == "/abs/path/frontend"
    assert mail.register_agent(PROJECT, "RedHill").agent.id == guest.id
    with pytest.raises(InvalidLetterError):
        mail.register_agent(PROJECT, "redhill")
    mail.register_agent("/abs/path/third", "RedHill")
    assert mail.acting(PROJECT, "RedHill").id == guest.id
    assert claims.release(green.project_id, mail.acting(PROJECT, "RedHill")).released == ["src"]


def test_nobody_claims_under_a_name_that_another_has_there(claims: Claims, mail: AgentMail, green: Agent) -> None:
    other = mail.register_agent("/abs/path/frontend", "greencastle").agent
    with pytest.raises(InvalidLetterError, match="somebody else has this name"):
        claims.claim(green.project_id, other, ["src"])
    assert claims.list_claims() == []


def test_claiming_counts_as_activity(claims: Claims, mail: AgentMail, green: Agent, clock: Clock) -> None:
    clock.now += 100
    claims.claim(green.project_id, green, ["a"])
    assert mail.whois(PROJECT, "GreenCastle").last_active_ts == clock.now


def test_without_a_database_there_are_no_claims(claims: Claims, mail: AgentMail) -> None:
    assert claims.list_claims() == []
    assert not mail.places.root.exists()
