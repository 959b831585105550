"""A home with a group, mail and mailboxes in it, for the pages that show them."""

import json
import time
from pathlib import Path
from typing import Any

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.relevance.decision import Decision, Reason, Stage, later
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog
from nanobot_transcript.settings import Settings
from transcript_mcp.filebox.config import ConfigSource
from transcript_mcp.filebox.filebox import FileBox
from transcript_mcp.mail.claims.ledger import Claims
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.values import Draft

__all__ = ["CHAT", "PROJECT", "WebHome"]

CHAT = "feishu:oc_7d1a9b44"
PROJECT = "/srv/backend"


class WebHome:
    """The stores of a hub below a folder, and what happens in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = GroupTranscriptStore(folder / "transcripts")
        self.log = FileDecisionLog(folder / "transcripts")
        self.mail = AgentMail(folder / "mail")
        self.boxes = FileBox(ConfigSource(explicit=folder / "filebox.json"))
        self._last = int(time.time() * 1000) - 3_600_000

    def settings(self, **more: Any) -> Settings:
        """Those of a hub over this home; ``more`` are sections."""
        chosen: dict[str, Any] = {
            "store": {"dir": self.folder / "transcripts"},
            "mail": {"store": self.folder / "mail", "archive": {"enabled": False}},
            "filebox": {"config": self.folder / "filebox.json"},
            "hub": {"data_dir": self.folder / "hub"},
        }
        for name, section in more.items():
            chosen[name] = chosen.get(name, {}) | section
        return Settings.model_validate(chosen)

    def say(self, who: str, text: str, message_id: str, **fields: Any) -> None:
        """A message in the group; Alpha and Beta are bots."""
        bot = who in ("Alpha", "Beta")
        self._last += 1000
        kind: Any = "bot" if bot else "human"
        role = "assistant" if bot else "user"
        self.store.append(CHAT, role, text, who, message_id, self._last, sender_kind=kind, **fields)
        self.store.members.saw(CHAT, who)

    def decide(self, message_id: str, agent: str, respond: bool | None, reason: Reason, score: float) -> None:
        """What a bot decided about a message."""
        self.log.write(CHAT, Decision(respond, reason, score, Stage.SCORE, agent, message_id))

    def decide_later(self, message_id: str, agent: str, reason: str, *, why: str = "") -> None:
        """What came of it by a claim or the loop guard, or in the end."""
        message: Any = {"message_id": message_id}
        self.log.write(CHAT, later(reason, CHAT, message, agent, why=why))

    def furnish(self) -> None:
        """Some of everything."""
        members = self.store.members
        members.remember_bot("cli_alpha", "Alpha", aliases=["阿尔法"], description="Builds and releases.")
        members.remember_bot("cli_beta", "Beta", description="Reviews code.")
        members.remember_person("on_lin", "林小雨")
        members.remember_person("on_ada", "Ada Byrne")
        self.say("on_lin", "Alpha，1.4 版今天能发布吗？", "om_1")
        self.say("Alpha", "可以，还差 **数据库迁移**。<script>alert(1)</script>", "om_2", reply_to="om_1")
        self.say("on_lin", "密码是 hunter2", "om_3")
        self.store.recall(CHAT, "om_3", "on_lin")
        self.say("on_ada", "Who can run the migration?", "om_4")
        self.store.edit(CHAT, "om_4", "Who can run the migration on staging?", "on_ada")
        self.say("Beta", "I can, it takes four minutes.", "om_5", reply_to="om_4")
        self.decide("om_1", "Alpha", True, Reason.NAMED, 1.0)
        self.decide("om_1", "Beta", False, Reason.OTHER_NAMED, 0.0)
        self.decide("om_4", "Beta", True, Reason.SCORE_HIGH, 0.82)
        self._post()
        self._fill_boxes()

    def _post(self) -> None:
        for name in ("BlueLake", "GreenCastle"):
            self.mail.register_agent(PROJECT, name, "codex", "some-model", "Users table")
        blue, green = (self.mail.acting(PROJECT, name) for name in ("BlueLake", "GreenCastle"))
        body = "We should split the **users** table.\n\n- [ ] Write the migration @GreenCastle"
        plan = Draft("Build plan for users", body, to=["GreenCastle"], thread_id="USERS-1", importance="high")
        sent = self.mail.send(PROJECT, blue, plan)
        self.mail.reply(green, sent.id, Draft(body="I take the migration. We decided to run it at 20:00."))
        claims = Claims(self.mail.database, self.mail.now)
        claims.claim(self.mail.project(PROJECT).id, green, ["db/migrations/**"], 3000, reason="Users migration")

    def _fill_boxes(self) -> None:
        names = ("qa_agent", "dev_agent", "ops_agent")
        for name in names:
            (self.folder / "agents" / name).mkdir(parents=True)
        agents = {name: str(self.folder / "agents" / name) for name in names}
        (self.folder / "filebox.json").write_text(json.dumps({"agents": agents}), encoding="utf-8")
        self.boxes.mailbox("qa_agent").send("dev_agent", "BR", "Login does nothing", "Press **Log in**: nothing.")

    def close(self) -> None:
        """Release the files."""
        self.store.close()
        self.mail.close()
