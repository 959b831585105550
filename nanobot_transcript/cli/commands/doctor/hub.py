"""Does the hub of the settings answer, what does it serve, and does another hub use its folder?"""

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.output import listed
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.files.lock import is_held
from nanobot_transcript.findings import Finding

if TYPE_CHECKING:
    from nanobot_transcript.settings import Settings

__all__ = ["check"]

_SECONDS: Final = 2.0
_LARGEST: Final = 65_536
_LOCK: Final = ".assistant.hub"


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer at the hub's address: the HTTP status, 0 when nobody answers, and the hub's pages."""

    status: int = 0
    pages: frozenset[str] = frozenset()


def check(loaded: "Settings") -> list[Finding]:
    """Findings about the hub, Agent Assistant and the IO bridge. Changes nothing; waits two seconds at the most."""
    from nanobot_transcript.settings.hub_address import url_of
    from transcript_mcp.rooms import offered

    try:
        offered(loaded.hub.servers)
    except ConfigError as error:
        return [Finding("hub", "error", str(error), error.hint)]
    if loaded.hub.port == 0:
        return [Finding("hub", "info", said("hub.port is 0: only the hub itself knows where it listens."))]
    url = url_of(loaded.hub.host, loaded.hub.port)
    answer = _asked(url, _token(loaded))
    found = [_hub(url, answer)]
    found += _assistant(loaded, url, answer)
    if answer.pages:
        scripts = said("Scripts reach agents at {url}/agent/input/SESSION.", url=url)
        found.append(_served("io", "io" in answer.pages, url, scripts))
    return found


def _hub(url: str, answer: _Answer) -> Finding:
    if answer.pages:
        message = said("A hub is running at {url}; its pages: {pages}.", url=url, pages=listed(sorted(answer.pages)))
        return Finding("hub", "ok", message)
    if answer.status == 403:
        fix = "People need a separate token: set hub.page_token, and restart the hub."
        message = said("A hub is running at {url}, but no token in these settings opens its pages.", url=url)
        return Finding("hub", "info", message, said(fix))
    if answer.status == 401:
        fix = "If hub.page_token or hub.tokens were changed, restart the hub. Otherwise correct them."
        message = said("The hub at {url} does not know the token in these settings.", url=url)
        return Finding("hub", "warning", message, said(fix))
    if answer.status:
        fix = "Stop the program that uses the port, or choose another hub.port."
        message = said("Something answers at {url}, but it is not a hub of this version.", url=url)
        return Finding("hub", "warning", message, said(fix))
    fix = "Start it with `nanobot-transcript serve`. Pages, mail, questions to people and the IO bridge need it."
    return Finding("hub", "info", said("No hub answers at {url}.", url=url), said(fix))


def _assistant(loaded: "Settings", url: str, answer: _Answer) -> Iterator[Finding]:
    folder, serves = loaded.hub.data_dir, "questions" in answer.pages
    is_known = bool(answer.pages) or not answer.status  # a hub that refuses us may itself serve the questions
    if is_known and not serves and _is_held(folder / _LOCK):
        fix = "Use that hub, or give this one its own folder (hub.data_dir)."
        sentence = "Another hub than the one at {url} already serves the questions in {folder}."
        yield Finding("assistant", "warning", said(sentence, url=url, folder=folder), said(fix))
    elif answer.pages:
        token = "?token=TOKEN" if loaded.hub_wants_tokens or loaded.assistant.tokens else ""
        alone = bool(loaded.hub_wants_tokens and loaded.assistant.tokens)
        more = said(" A token from assistant.tokens opens only Questions there.") if alone else ""
        people = said("People answer agents at {address}.", address=f"{url}/{token}#/questions")
        yield _served("assistant", serves, url, people + more)


def _served(name: str, there: bool, url: str, sentence: str) -> Finding:
    if there:
        return Finding(name, "ok", sentence)
    message = said("The hub at {url} does not serve {name}.", url=url, name=name)
    return Finding(name, "info", message, said("Check hub.servers and the hub's log."))


def _token(loaded: "Settings") -> str:
    """The token to ask with: the page's own, else a program's, which the page refuses but which shows that a hub is
    there.
    """
    from transcript_mcp.tokens import own_token

    page = loaded.hub.page_token
    return page.get_secret_value() if page is not None else own_token(loaded.hub.tokens) or ""


def _asked(url: str, token: str) -> _Answer:
    """Ask the hub, never through a proxy of the environment."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=_SECONDS)
    try:
        connection.request("GET", "/api/about", headers={"Authorization": f"Bearer {token}"} if token else {})
        response = connection.getresponse()
        return _Answer(response.status, _pages(response.read(_LARGEST)) if response.status == 200 else frozenset())
    except http.client.HTTPException:
        return _Answer(400)
    except (OSError, ValueError):
        return _Answer()
    finally:
        connection.close()


def _pages(body: bytes) -> frozenset[str]:
    try:
        pages: Any = json.loads(body)["pages"]
        return frozenset(str(page) for page in pages)
    except (ValueError, KeyError, TypeError):
        return frozenset()


def _is_held(lock: Path) -> bool:
    try:
        return is_held(lock)
    except OSError:
        return False
