"""The MCP tools for file claims and the pre-commit guard: names, descriptions and limits as clients see them."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from pydantic import Field

from nanobot_transcript.errors import InvalidLetterError
from transcript_mcp.mail import arguments as given
from transcript_mcp.mail import views
from transcript_mcp.mail.agents import projects
from transcript_mcp.mail.service import MailService
from transcript_mcp.mail.values import Project
from transcript_mcp.mail.views import claims_uri
from transcript_mcp.sdk import Server, Text

__all__ = ["ClaimTools"]

_NOTES: Final = 3


class ClaimTools:
    """One method per tool; ``offer`` registers them all."""

    def __init__(self, service: MailService, updated: Callable[[str], None]) -> None:
        """``updated`` is called with the URI of each resource that changes."""
        self._service = service
        self._mail = service.mail
        self._updated = updated

    def offer(self, server: Server) -> None:
        """Register all tools."""
        for function, title, reads in (
            (self.claim_paths, "Claim files", False),
            (self.renew_claims, "Renew claims", False),
            (self.release_claims, "Release claims", False),
            (self.list_claims, "List claims", True),
            (self.install_precommit_guard, "Install the pre-commit guard", False),
            (self.uninstall_precommit_guard, "Remove the pre-commit guard", False),
        ):
            server.tool(function, title=title, read_only=reads, idempotent=reads)

    # -- claims

    def claim_paths(
        self,
        project_key: given.Project,
        agent_name: given.Agent,
        paths: given.Paths = None,
        paths_list: given.PathsList = None,
        ttl_seconds: given.Ttl = None,
        exclusive: Annotated[
            bool, Field(description="True: nobody else should change them. False: others may claim them, too.")
        ] = True,
        reason: given.Reason = "",
        agent_token: given.Token = None,
    ) -> dict[str, Any]:
        """Claim the files you are about to change. Grants all of the paths, or none and says who holds them."""
        agent, project = self._mail.acting(project_key, agent_name, agent_token), self._mail.project(project_key)
        claimed = self._service.claims.claim(
            project.id,
            agent,
            _needed(_both(paths, paths_list, project)),
            ttl_seconds,
            exclusive=exclusive,
            reason=reason,
        )
        shown = views.shown_claimed(claimed, self._announce_change(project, claimed.job))
        return shown | self._guard_notes(project)

    def renew_claims(
        self,
        project_key: given.Project,
        agent_name: given.Agent,
        paths: Annotated[list[str] | None, given.One, Field(description="Default: all that you hold.")] = None,
        ttl_seconds: given.Ttl = None,
        agent_token: given.Token = None,
    ) -> dict[str, Any]:
        """Extend your claims, counted from now. No claim becomes shorter."""
        agent, project = self._mail.acting(project_key, agent_name, agent_token), self._mail.project(project_key)
        extended = self._service.claims.renew(project.id, agent, _both(paths, None, project), ttl_seconds)
        return views.shown_extended(extended, self._announce_change(project, extended.job)) | self._guard_notes(project)

    def release_claims(
        self,
        project_key: given.Project,
        agent_name: given.Agent,
        paths: Annotated[list[str] | None, given.One, Field(description="Exactly as claimed. Default: all.")] = None,
        paths_list: given.PathsList = None,
        agent_token: given.Token = None,
    ) -> dict[str, Any]:
        """Release claims when you are done. Reports which of them you did not hold, and what you still hold."""
        agent, project = self._mail.acting(project_key, agent_name, agent_token), self._mail.project(project_key)
        released = self._service.claims.release(project.id, agent, _both(paths, paths_list, project))
        return views.shown_released(released, self._announce_change(project, released.job))

    def list_claims(
        self,
        project_key: given.Project,
        agent_name: Annotated[str | None, Field(description="Only this agent's claims.")] = None,
        active_only: given.Active = True,
        before: given.Before = None,
    ) -> list[Any]:
        """List who is working on which files."""
        holder = None if agent_name is None else self._mail.whois(project_key, agent_name).id
        project = self._mail.project(project_key)
        page = self._service.claims.list_claims(project.id, holder, active_only=active_only, before=before)
        shown = [views.shown_claim(each) for each in page]
        told = [views.told_more(page)] if page.more else []
        told += self._about_guards(project)
        return [shown, *map(Text, told)] if told else shown

    # -- the guard

    def install_precommit_guard(
        self,
        project_key: given.Project,
        code_repo_path: given.Folder,
    ) -> dict[str, Any]:
        """Block commits, merges and git am on this machine that touch files another agent has claimed.

        Say who you are when you commit: AGENT_NAME=YourName git commit. Default: git's author.
        """
        from transcript_mcp.mail.claims.guard import GuardWay, install_guard

        way = GuardWay() if self._mail.file is not None else GuardWay(otherwise=self._service.options.hub)
        made = install_guard(self._mail.places, self._mail.project(project_key).key, code_repo_path, way)
        return views.shown_guard(made)

    def uninstall_precommit_guard(self, code_repo_path: given.Folder) -> dict[str, Any]:
        """Remove the guard from a repository and restore the hooks that were there before."""
        from transcript_mcp.mail.claims.guard import uninstall_guard

        return views.shown_guard_removed(uninstall_guard(self._mail.places, code_repo_path))

    # --

    def _guard_notes(self, project: Project) -> dict[str, list[str]]:
        notes = self._about_guards(project)
        return {"notes": notes} if notes else {}

    def _about_guards(self, project: Project) -> list[str]:
        """Notes on the project's guards that do not enforce everything; empty when all are up to date."""
        from transcript_mcp.mail.claims.guards import outdated

        found = outdated(self._mail.places, [project.key], in_file=self._mail.file is not None)
        return [f"{each.problem} To renew it: {each.call}" for each in found[:_NOTES]]

    def _announce_change(self, project: Project, job: int | None) -> str | None:
        """Tell subscribers that a project's claims changed. Returns the commit, if callers wait for it."""
        if job is not None:
            self._updated(claims_uri(project.key))
        return self._service.archived(job)


def _both(paths: list[str] | None, paths_list: list[str] | None, project: Project) -> list[str] | None:
    """The paths given under either name, relative to the project; None when neither was given."""
    if paths is None and paths_list is None:
        return None
    return [projects.inside(project.key, path) for path in (*(paths or ()), *(paths_list or ()))]


def _needed(paths: list[str] | None) -> list[str]:
    if paths is None:
        raise InvalidLetterError("There are no paths to claim.", hint='Give them as paths, such as ["src/*.py"].')
    return paths
