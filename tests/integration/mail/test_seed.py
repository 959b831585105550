"""The text that Agent Mail was built from, as printed, against a real hub.

Of what it prints, the port is that of the test's hub; the names and ids that the server gives out stand where the text
has made-up ones; and in the walkthrough the project is a folder that there is.
"""

import hashlib
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from support.mail_archive import git
from support.mail_hub import HubClient, StartHub, served
from support.procs import until
from support.waiting import PATIENCE

ADDRESS = "http://127.0.0.1:8765/mcp/"

CREATE_BY_CURL = r"""curl -sS -X POST http://127.0.0.1:8765/mcp/ \
  -H 'content-type: application/json' \
  -d '{ "jsonrpc": "2.0", "id": "1", "method": "tools/call", "params": { "name": "create_agent", "arguments": { "project_key": "/abs/path/backend", "program": "codex-cli", "model": "gpt5-codex", "task_description": "Auth refactor" } } }'
"""  # noqa: E501 - as printed
READ_BY_CURL = r"""curl -sS -X POST http://127.0.0.1:8765/mcp/ \
  -H 'content-type: application/json' \
  -d '{ "jsonrpc": "2.0", "id": "2", "method": "resources/read", "params": { "uri": "resource://inbox/BlueLake?project=/abs/path/backend&limit=10" } }'
"""  # noqa: E501 - as printed

PYTHON_CLIENT = """\
import httpx, json

URL = "http://127.0.0.1:8765/mcp/"

def call_tool(name: str, arguments: dict) -> dict:
    payload = {
        "jsonrpc": "2.0",
        "id": "1",
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    r = httpx.post(URL, json=payload, timeout=30)
    r.raise_for_status()
    data = r.json()
    if "error" in data:
        raise RuntimeError(data["error"])  # surface MCP error
    return data.get("result")

def read_resource(uri: str) -> dict:
    payload = {"jsonrpc":"2.0","id":"2","method":"resources/read","params":{"uri": uri}}
    r = httpx.post(URL, json=payload, timeout=30)
    r.raise_for_status()
    data = r.json()
    if "error" in data:
        raise RuntimeError(data["error"])  # surface MCP error
    return data.get("result")

if __name__ == "__main__":
    profile = call_tool("create_agent", {
        "project_key": "/abs/path/backend",
        "program": "codex-cli",
        "model": "gpt5-codex",
        "task_description": "Auth refactor",
    })
    inbox = read_resource("resource://inbox/{}?project=/abs/path/backend&limit=5".format(profile["name"]))
    print(json.dumps(inbox, indent=2))
"""

CREATE_BACKEND = '{"method":"tools/call","params":{"name":"create_agent","arguments":{"project_key":"/abs/path/backend","program":"codex-cli","model":"gpt5-codex","task_description":"Auth refactor"}}}'  # noqa: E501
CREATE_FRONTEND = '{"method":"tools/call","params":{"name":"create_agent","arguments":{"project_key":"/abs/path/frontend","program":"claude-code","model":"opus-4.1","task_description":"Navbar redesign"}}}'  # noqa: E501
CLAIM = '{"method":"tools/call","params":{"name":"claim_paths","arguments":{"project_key":"/abs/path/backend","agent_name":"GreenCastle","paths_list":["app/api/*.py"],"ttl_seconds":7200,"exclusive":true,"reason":"migrations"}}}'  # noqa: E501
SEND = r'{"method":"tools/call","params":{"name":"send_message","arguments":{"project_key":"/abs/path/backend","from_agent":"GreenCastle","to":["BlueLake"],"subject":"Plan for /api/users","body_md":"Here is the flow...\n\n![diagram](docs/flow.png)","convert_images":true,"image_embed_policy":"auto","inline_max_bytes":32768}}}'  # noqa: E501
CHECK = '{"method":"tools/call","params":{"name":"check_my_messages","arguments":{"project_key":"/abs/path/backend","agent_name":"BlueLake","include_bodies":true}}}'  # noqa: E501
REPLY = '{"method":"tools/call","params":{"name":"reply_message","arguments":{"project_key":"/abs/path/backend","from_agent":"BlueLake","reply_to_message_id":"msg_20251023_7b3d...","body_md":"Questions: ..."}}}'  # noqa: E501
SUMMARISE = '{"method":"tools/call","params":{"name":"summarize_thread","arguments":{"project_key":"/abs/path/backend","thread_id":"TKT-123","include_examples":true}}}'  # noqa: E501
GUARD = '{"method":"tools/call","params":{"name":"install_precommit_guard","arguments":{"project_key":"/abs/path/backend","code_repo_path":"/abs/path/backend"}}}'  # noqa: E501
READ = (
    '{ "method": "resources/read", "params": {"uri": "resource://inbox/BlueLake?project=/abs/path/backend&limit=20"} }'
)

CONCEPTUAL = {
    "create": '{ "method": "tools/call", "params": { "name": "create_agent", "arguments": { "project_key": "/abs/path/backend", "program": "codex-cli", "model": "gpt5-codex", "task_description": "Auth refactor" } } }',  # noqa: E501
    "send": r'{ "method": "tools/call", "params": { "name": "send_message", "arguments": { "project_key": "/abs/path/backend", "from_agent": "GreenCastle", "to": ["BlueLake"], "subject": "Plan for /api/users", "body_md": "Here is the flow...\n\n![diagram](docs/flow.png)", "convert_images": true, "image_embed_policy": "auto", "inline_max_bytes": 32768 } } }',  # noqa: E501
    "claim": '{ "method": "tools/call", "params": { "name": "claim_paths", "arguments": { "project_key": "/abs/path/backend", "agent_name": "GreenCastle", "paths_list": ["app/api/*.py"], "ttl_seconds": 7200, "exclusive": true, "reason": "migrations" } } }',  # noqa: E501
    "read": READ,
}

BACKEND, FRONTEND = "/abs/path/backend", "/abs/path/frontend"
FIELDS = ["id", "thread_id", "project", "from", "to", "cc", "created", "importance", "ack_required", "attachments"]
COLUMNS = {
    "projects": "id, human_key, slug, created_ts, meta",
    "agents": "id, project_id, name, program, model, inception_ts, task, last_active_ts",
    "messages": "id, project_id, thread_id, subject, body_md, from_agent, created_ts, importance, ack_required, "
    "attachments_json",
    "message_recipients": "message_id, agent_name, kind, read_ts, ack_ts",
    "claims": "id, project_id, agent_name, path, exclusive, reason, created_ts, expires_ts, released_ts",
    "fts_messages": "subject, body_md",
}


SYNC = {"NANOBOT_TRANSCRIPT_MAIL__ARCHIVE__SYNC": "true"}


@pytest.fixture
def hub(tmp_path: Path, mail_root: Path) -> Iterator[HubClient]:
    """A hub that answers when a change is in git, for what is not about its process."""
    with served(tmp_path, mail_root, sync=True) as started:
        yield started


def people(hub: HubClient) -> None:
    """The agents whose names the text prints, each at home where it has them."""
    for project, name in ((BACKEND, "GreenCastle"), (FRONTEND, "BlueLake")):
        made = hub.call(
            "create_agent", project_key=project, program="codex-cli", model="m", task_description="t", name_hint=name
        )
        assert made["name"] == name


def run(hub: HubClient, printed: str, **instead: str) -> Any:
    """The result of a request that is printed without its envelope."""
    for before, after in instead.items():
        printed = printed.replace(before, after)
    message = {"jsonrpc": "2.0", "id": 1, **json.loads(printed)}
    answer = httpx.post(hub.url, json=message, timeout=PATIENCE).raise_for_status().json()
    assert "error" not in answer, answer
    assert not answer["result"].get("isError"), answer
    return answer["result"]


def data(result: Any) -> Any:
    """What a tool says, or what a resource holds."""
    (block,) = result.get("content") or result["contents"]
    return json.loads(block["text"])


def shell(hub: HubClient, command: str) -> Any:
    done = subprocess.run(
        ["bash", "-c", command.replace(ADDRESS, hub.url)], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def repository(root: Path, project: str = "backend") -> Path:
    (found,) = (root / "projects").glob(f"{project}-*/repo")
    return found


def frontmatter(text: str) -> tuple[dict[str, Any], str]:
    """The header and the body of a message file."""
    found = re.fullmatch(r"---json\n(.*?)\n---\n(.*)", text, re.DOTALL)
    assert found, text
    return json.loads(found[1]), found[2]


# -- curl, Python, JSON


def test_the_curl_lines_run_as_printed(start_hub: StartHub) -> None:
    hub = start_hub(**SYNC)
    created = shell(hub, CREATE_BY_CURL)
    assert (created["jsonrpc"], created["id"]) == ("2.0", "1")
    profile = data(created["result"])
    assert re.fullmatch(r"[A-Z][a-z]+[A-Z][a-z]+", profile["name"])
    assert (profile["program"], profile["task"]) == ("codex-cli", "Auth refactor")
    people(hub)
    read = shell(hub, READ_BY_CURL)
    assert read["id"] == "2"
    assert data(read["result"]) == {"project": FRONTEND, "agent": "BlueLake", "messages": []}


def test_the_python_client_runs_as_printed(hub: HubClient, tmp_path: Path) -> None:
    client = tmp_path / "client.py"
    client.write_text(PYTHON_CLIENT.replace(ADDRESS, hub.url), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(client)], capture_output=True, text=True, check=False, timeout=2 * PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, "")
    inbox = json.loads(done.stdout)
    assert data(inbox)["messages"] == []
    assert data(inbox)["project"] == BACKEND


def test_the_conceptual_calls_run_as_printed(hub: HubClient) -> None:
    run(hub, CONCEPTUAL["create"])
    people(hub)
    claimed = data(run(hub, CONCEPTUAL["claim"]))
    assert claimed["granted"] == ["app/api/*.py"]
    sent = data(run(hub, CONCEPTUAL["send"]))
    assert sent.keys() >= {"id", "created", "subject", "recipients", "attachments"}
    assert sent["images_not_taken"], "there is no such folder on this machine"
    inbox = data(run(hub, CONCEPTUAL["read"]))
    assert [each["id"] for each in inbox["messages"]] == [sent["id"]]


def test_what_fails_is_told_to_such_a_client(hub: HubClient) -> None:
    people(hub)
    mail = {"project_key": BACKEND, "to": ["BlueLake"], "subject": "Plan", "body_md": "x"}
    assert hub.refused("send_message", from_agent="NobodyHere", **mail).startswith("from_agent not registered")
    answer = hub.request("resources/read", uri="resource://message/msg_20251023_7b3dc3a7")
    assert "There is no message msg_20251023_7b3dc3a7" in answer["error"]["message"]


# -- the walkthrough


@dataclass
class Code:
    """The backend's repository."""

    folder: Path

    def git(self, *arguments: str, agent: str = "") -> subprocess.CompletedProcess[str]:
        """What git says in a folder where nobody is known but ``agent``."""
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
        for role in ("AUTHOR", "COMMITTER"):
            env |= {f"GIT_{role}_NAME": "Somebody", f"GIT_{role}_EMAIL": "somebody@example.com"}
        named = {"AGENT_NAME": agent} if agent else {}
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(
            command, env=env | named, capture_output=True, text=True, check=False, timeout=2 * PATIENCE
        )

    def commit(self, path: str, agent: str) -> subprocess.CompletedProcess[str]:
        """Change a file and commit it."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{agent} was here\n", encoding="utf-8")
        self.git("add", path)
        return self.git("commit", "-qm", "work", agent=agent)


@pytest.fixture
def code(tmp_path: Path) -> Code:
    """The backend with the diagram of the walkthrough."""
    made = Code(tmp_path / "backend")
    (made.folder / "docs").mkdir(parents=True)
    picture = Image.new("RGB", (320, 200), "white")
    picture.paste("navy", (20, 20, 140, 90))
    picture.save(made.folder / "docs" / "flow.png")
    assert made.git("init", "-q").returncode == 0
    return made


@pytest.fixture
def words(code: Code, tmp_path: Path) -> dict[str, str]:
    """What stands instead of the made-up words; the test adds the names and the id."""
    return {BACKEND: str(code.folder), FRONTEND: str(tmp_path / "frontend")}


def test_the_walkthrough_goes_through_all_six_steps(hub: HubClient, code: Code, words: dict[str, str]) -> None:
    # 1. identities
    green = data(run(hub, CREATE_BACKEND, **words))["name"]
    blue = data(run(hub, CREATE_FRONTEND, **words))["name"]
    words |= {"GreenCastle": green, "BlueLake": blue}
    # 2. the claim
    claimed = data(run(hub, CLAIM, **words))
    assert (claimed["granted"], claimed["conflicts"]) == (["app/api/*.py"], [])
    # 3. the design with its diagram
    sent = data(run(hub, SEND, **words))
    assert sent["recipients"] == {"to": [blue]}
    assert [(each["type"], each["media_type"]) for each in sent["attachments"]] == [("inline", "image/webp")]
    # 4. the inbox, and an answer in the thread
    (mail,) = data(run(hub, CHECK, **words))["messages"]
    assert (mail["id"], mail["subject"]) == (sent["id"], "Plan for /api/users")
    assert mail["body_md"].startswith("Here is the flow...\n\n![diagram](data:image/webp;base64,")
    reply = data(run(hub, REPLY, **words, **{"msg_20251023_7b3d...": sent["id"]}))
    assert (reply["subject"], reply["thread_id"]) == ("Re: Plan for /api/users", sent["id"])
    assert reply["recipients"] == {"to": [green]}
    # 5. the summary
    summary = data(run(hub, SUMMARISE, **words, **{"TKT-123": sent["id"]}))
    assert summary["messages"] == 2
    assert green in json.dumps(summary["participants"])
    assert blue in json.dumps(summary["participants"])
    assert summary["examples"]
    # 6. the guard
    assert data(run(hub, GUARD, **words))["projects"] == [str(code.folder)]
    refused = code.commit("app/api/users.py", blue)
    assert refused.returncode != 0
    for said in (green, "app/api/*.py", "migrations", "AGENT_MAIL_BYPASS=1"):
        assert said in refused.stderr
    assert code.commit("app/api/users.py", green).returncode == 0
    assert code.commit("README.md", blue).returncode == 0
    release = {"project_key": str(code.folder), "agent_name": green, "paths_list": ["app/api/*.py"]}
    assert hub.call("release_claims", **release)["released"] == ["app/api/*.py"]
    assert code.commit("app/api/users.py", blue).returncode == 0
    hub.call("uninstall_precommit_guard", code_repo_path=str(code.folder))
    assert not (code.folder / ".git" / "hooks" / "pre-commit").exists()


def test_the_guard_blocks_also_when_the_server_is_down(start_hub: StartHub, code: Code, words: dict[str, str]) -> None:
    hub = start_hub(**SYNC)
    green = data(run(hub, CREATE_BACKEND, **words))["name"]
    run(hub, CLAIM, **words, GreenCastle=green)
    run(hub, GUARD, **words)
    hub.kill()
    assert green in code.commit("app/api/users.py", "BlueLake").stderr
    assert code.git("log").returncode != 0, "nothing was committed"


# -- resources


def test_the_resources_are_read_with_and_without_project_and_with_every_parameter(hub: HubClient) -> None:
    people(hub)
    mail = {"project_key": BACKEND, "from_agent": "GreenCastle", "to": ["BlueLake"], "body_md": "the body"}
    first = hub.call("send_message", **mail, subject="first", importance="urgent", thread_id="TKT-123")
    second = hub.call("send_message", **mail, subject="second", importance="high")
    third = hub.call("send_message", **mail, subject="third")

    def inbox(query: str) -> list[str]:
        return [each["subject"] for each in hub.read(f"resource://inbox/BlueLake{query}")["messages"]]

    assert inbox("") == inbox(f"?project={BACKEND}") == inbox(f"?project={FRONTEND}") == ["third", "second", "first"]
    assert inbox("?since_ts=0") == ["third", "second", "first"]
    assert inbox(f"?project={BACKEND}&since_ts={second['created_ts']}") == ["third"]
    assert inbox("?urgent_only=true") == ["second", "first"]
    assert inbox("?urgent_only=true&limit=1") == ["second"]
    whole = hub.read(f"resource://inbox/BlueLake?project={BACKEND}&include_bodies=true&limit=1")
    assert whole.keys() == {"project", "agent", "messages", "more", "before", "notes"}
    assert hub.read("resource://inbox/BlueLake").keys() == {"project", "agent", "messages"}
    assert [each["body_md"] for each in whole["messages"]] == ["the body"]
    for query in ("", f"?project={BACKEND}"):
        assert hub.read(f"resource://message/{third['id']}{query}")["body_md"] == "the body"
        thread = hub.read(f"resource://thread/TKT-123{query}")
        assert [each["id"] for each in thread["messages"]] == [first["id"]]
        assert "body_md" not in thread["messages"][0]
    bodies = hub.read(f"resource://thread/TKT-123?project={BACKEND}&include_bodies=true")
    assert bodies["messages"][0]["body_md"] == "the body"
    wrong = hub.request("resources/read", uri=f"resource://message/{third['id']}?project={FRONTEND}")
    assert f"It is in {BACKEND}." in wrong["error"]["message"]


# -- what lies on the disk


def test_every_file_lies_where_the_text_has_it_and_every_send_is_a_commit(hub: HubClient, mail_root: Path) -> None:
    people(hub)
    mail = {"project_key": BACKEND, "from_agent": "GreenCastle", "to": ["BlueLake"], "body_md": "# Plan\n\ntext"}
    sent = hub.call(
        "send_message", **mail, subject="Build plan", thread_id="TKT-123", importance="high", ack_required=True
    )
    blind = hub.call("send_message", **(mail | {"to": ["GreenCastle"], "bcc": ["BlueLake"]}), subject="quiet")
    repo, day = repository(mail_root), sent["created"][:10].replace("-", "/")
    assert re.fullmatch(r"msg_\d{8}_[0-9a-f]{8}", sent["id"])
    copies = [
        f"messages/{day}/{sent['id']}.md",
        f"agents/GreenCastle/outbox/{day}/{sent['id']}.md",
        f"agents/BlueLake/inbox/{day}/{sent['id']}.md",
    ]
    changed = git(repo, "show", "--name-only", "--format=", sent["commit"]).split()
    assert sorted(changed) == sorted([*copies, "agents/BlueLake/profile.json"])
    assert len({(repo / path).read_bytes() for path in copies}) == 1
    until(lambda: git(repo, "status", "--porcelain") == "", "git sees a clean work tree")
    header, body = frontmatter((repo / copies[0]).read_text(encoding="utf-8"))
    assert [field for field in header if field in FIELDS] == FIELDS
    assert header.keys() - set(FIELDS) == {"subject", "reply_to", "created_ts"}
    assert body.rstrip("\n") == "# Plan\n\ntext"
    assert {name: header[name] for name in ("id", "thread_id", "project", "from", "to", "cc")} == {
        "id": sent["id"],
        "thread_id": "TKT-123",
        "project": BACKEND,
        "from": "GreenCastle",
        "to": ["BlueLake"],
        "cc": [],
    }
    assert (header["created"], header["importance"], header["ack_required"]) == (sent["created"], "high", True)
    log = git(repo, "log", "--format=%H %s").splitlines()
    for message in (sent, blind):
        assert len([line for line in log if line.startswith(message["commit"])]) == 1
        (path,) = repo.glob(f"messages/*/*/*/{message['id']}.md")
        assert git(repo, "log", "--format=%H", "--", str(path)).split() == [message["commit"]]
    shared = [
        path for path in repo.rglob(f"{blind['id']}.md") if "inbox" not in path.parts or "GreenCastle" in path.parts
    ]
    assert len(shared) == 3
    assert not any("BlueLake" in path.read_text(encoding="utf-8") for path in shared)
    assert "BlueLake" not in git(repo, "log", "-1", "--format=%B", blind["commit"])


def test_a_picture_that_is_too_large_for_the_text_lies_beside_it(
    hub: HubClient, code: Code, words: dict[str, str], mail_root: Path
) -> None:
    green = data(run(hub, CREATE_BACKEND, **words))["name"]
    blue = data(run(hub, CREATE_FRONTEND, **words))["name"]
    sent = data(run(hub, SEND.replace("32768", "16"), **words, GreenCastle=green, BlueLake=blue))
    (attachment,) = sent["attachments"]
    assert re.fullmatch(r"attachments/([0-9a-f]{2})/\1[0-9a-f]{38}\.webp", attachment["path"])
    repo = repository(mail_root)
    assert attachment["path"] in git(repo, "show", "--name-only", "--format=", sent["commit"]).split()
    with Image.open(repo / attachment["path"]) as picture:
        assert (picture.format, picture.size) == ("WEBP", (320, 200))
    header, body = frontmatter(next(repo.glob("messages/**/*.md")).read_text(encoding="utf-8"))
    assert (
        header["attachments"][0].items()
        >= {"type": "file", "media_type": "image/webp", "path": attachment["path"]}.items()
    )
    assert f"![diagram]({attachment['path']})" in body


def test_claims_stay_in_git_after_their_release(hub: HubClient, mail_root: Path) -> None:
    people(hub)
    claimed = data(run(hub, CLAIM))
    about = {"project_key": BACKEND, "agent_name": "BlueLake"}
    refused = hub.call("claim_paths", **about, paths=["app/api/users.py"], ttl_seconds=60, exclusive=False, reason="")
    assert refused["granted"] == []
    (conflict,) = refused["conflicts"]
    assert (conflict["holder"], conflict["pattern"]) == ("GreenCastle", "app/api/*.py")
    assert (conflict["reason"], conflict["expires"]) == ("migrations", claimed["expires"])
    released = hub.call("release_claims", project_key=BACKEND, agent_name="GreenCastle", paths=["app/api/*.py"])
    repo = repository(mail_root)
    (file,) = (repo / "claims").glob("*.json")
    assert file.stem == hashlib.sha1(b"app/api/*.py", usedforsecurity=False).hexdigest()
    history = git(repo, "log", "--format=%H", "--", str(file)).split()
    assert history == [released["commit"], claimed["commit"]]
    then = json.loads(git(repo, "show", f"{claimed['commit']}:claims/{file.name}"))
    assert "GreenCastle" in then.values()
    assert "app/api/*.py" in then.values()


def test_the_month_alone_makes_the_folders_as_printed_where_that_is_set(tmp_path: Path, mail_root: Path) -> None:
    mail = {"project_key": BACKEND, "from_agent": "GreenCastle", "to": ["BlueLake"], "subject": "s", "body_md": "x"}
    with served(tmp_path, mail_root, shard="month", sync=True) as hub:
        people(hub)
        sent = hub.call("send_message", **mail)
    month = sent["created"][:7].replace("-", "/")
    repo = repository(mail_root)
    for folder in ("messages", "agents/GreenCastle/outbox", "agents/BlueLake/inbox"):
        assert (repo / folder / month / f"{sent['id']}.md").is_file()


def test_the_tables_have_the_columns_of_the_text(hub: HubClient, mail_root: Path) -> None:
    people(hub)
    with closing(sqlite3.connect(mail_root / "mail.sqlite3", timeout=PATIENCE)) as database:
        for table, columns in COLUMNS.items():
            database.execute(f"SELECT {columns} FROM {table} LIMIT 1").fetchall()
        triggers = {row[0] for row in database.execute("SELECT tbl_name FROM sqlite_master WHERE type = 'trigger'")}
    assert "messages" in triggers


# -- the rest of what it says


def test_the_search_tips_work(hub: HubClient) -> None:
    people(hub)
    mail = {"project_key": BACKEND, "from_agent": "GreenCastle", "to": ["BlueLake"]}
    for subject, body in (
        ("Build plan", "for the users, with a migration"),
        ("Old plan", "for users of the legacy table"),
        ("Lunch", "noodles"),
    ):
        hub.call("send_message", **mail, subject=subject, body_md=body)

    def found(query: str) -> list[str]:
        hits = hub.call("search_messages", project_key=BACKEND, query=query)["messages"]
        return [hit["subject"] for hit in hits]

    assert found("plan users") == ["Old plan", "Build plan"]
    assert found('"build plan"') == ["Build plan"]
    assert found("mig*") == ["Build plan"]
    assert found("plan AND users NOT legacy") == ["Build plan"]
    assert hub.call("search_messages", project_key=FRONTEND, query="plan")["messages"] == []


def test_a_dotenv_file_of_the_folder_configures_the_server(start_hub: StartHub, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"MCP_MAIL_STORE={tmp_path}/elsewhere\nLOG_LEVEL=debug\n", encoding="utf-8")
    hub = start_hub(MCP_MAIL_STORE="")
    people(hub)
    until(lambda: list((tmp_path / "elsewhere" / "projects").glob("backend-*/repo")), "the archive is there")


def test_another_program_on_the_same_store_is_seen_at_once(hub: HubClient, start_hub: StartHub) -> None:
    people(hub)
    other = start_hub()
    mail = {"project_key": BACKEND, "from_agent": "GreenCastle", "to": ["BlueLake"], "subject": "s", "body_md": "x"}
    sent = other.call("send_message", **mail)
    assert hub.read("resource://inbox/BlueLake")["messages"][0]["id"] == sent["id"]
