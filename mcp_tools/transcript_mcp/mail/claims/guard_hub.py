"""How the guard asks a hub for claims, where the database is on a server or another machine.

``guard_file`` puts this source only into hooks that ask a hub, because Python compiles the whole hook at every commit.
Standard library only, and nothing newer than Python 3.9. The time limit covers the whole request; a DNS lookup cannot
be interrupted, so a thread makes the request and is not waited for any longer. Answers have a size limit. Redirects are
not followed, because the token is for this address only.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias
    from urllib.request import OpenerDirector, Request

    Words: TypeAlias = tuple[str, str]
    """The same text in English and Chinese."""

__all__ = ["UnaskedError", "asked", "time_limit"]

_TOKEN = "AGENT_MAIL_TOKEN"
_OF_CLIENTS = ("TRANSCRIPT_MAIL_TOKEN", "TRANSCRIPT_HUB_TOKEN")  # `mcp-config` lets clients send these to the hub
_TIME = "AGENT_MAIL_TIMEOUT"
_USUAL_TIME = 2.0
_MOST_TIME = 60.0
_MOST_BYTES = 8 * 1024 * 1024
_PATH = "/mail/claims"
_LAST_SECOND = 253_402_300_799.0  # of the year 9999
_AGAIN = "nanobot-transcript mail guard install --hub URL"


class UnaskedError(Exception):
    """A hub could not be asked: ``why``, and what to do (``advice``), without full stops.

    ``code``: that of the hub's own error, if any. ``of_all`` is False when it may still answer about other projects.
    """

    def __init__(self, why: Words, advice: Words, *, code: str = "", of_all: bool = True) -> None:
        super().__init__(why[0])
        self.why: Words = _printable(why)
        self.advice: Words = _printable(advice)
        self.code = code
        self.of_all = of_all

    @property
    def told(self) -> Words:
        """Why, and what to do, in sentences."""
        return f"{self.why[0]}. {self.advice[0]}", f"{self.why[1]}。{self.advice[1]}"


def asked(hub: str, key: str, me: str, token_file: str = "") -> tuple[str, list[tuple[str, str, str, float]]]:
    """The project's key at the hub, and other agents' active exclusive claims: holder, pattern, reason, expiry.

    Raises UnaskedError.
    """
    import threading

    token, seconds = _token(token_file), time_limit()
    request, opener = _request(hub, key, me, token), _opener(hub)
    came: list[tuple[int, bytes] | Exception] = []
    asking = threading.Thread(target=lambda: came.append(_exchanged(opener, request, seconds)), daemon=True)
    asking.start()
    asking.join(seconds)
    outcome = came[0] if came else TimeoutError()
    if isinstance(outcome, Exception):
        raise _unanswered(hub, outcome, seconds)
    status, body = outcome
    if status != 200:
        raise _refused(hub, key, status, body, has_token=bool(token))
    return _claims(hub, body)


def _token(token_file: str) -> str:
    token = os.environ.get(_TOKEN, "").strip()
    if not token and token_file:
        token = _kept_token(token_file)
    for name in _OF_CLIENTS:
        token = token or os.environ.get(name, "").strip()
    if token.isprintable():
        return token
    raise _no_token(token_file or _TOKEN, "the token has characters that no token has")


def _kept_token(path: str) -> str:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            is_open = os.fstat(file.fileno()).st_mode & 0o077
            token = b"" if is_open else file.read(4096).strip()
    except OSError as error:
        raise _no_token(path, f"the token's file {path} cannot be read ({error.strerror})") from error
    if is_open:
        why = f"others can read the token's file {path}", f"其他用户能读取令牌文件 {path}"
        raise UnaskedError(why, (f"Keep it for yourself: chmod 600 {path}", f"请只留给自己：chmod 600 {path}"))
    if not token:
        raise _no_token(path, f"the token's file {path} is empty")
    return token.decode("utf-8", "replace")


def _no_token(place: str, why: str) -> UnaskedError:
    advice = f"Write a token from hub.tokens there, or set {_TOKEN}", f"请写入 hub.tokens 中的令牌，或设置 {_TOKEN}"
    return UnaskedError((why, f"{place} 里没有可用的令牌"), advice)


def time_limit() -> float:
    """Seconds for the whole request."""
    try:
        given = float(os.environ.get(_TIME, ""))
    except ValueError:
        return _USUAL_TIME
    return min(given, _MOST_TIME) if given > 0 else _USUAL_TIME


# -- the request


def _request(hub: str, key: str, me: str, token: str) -> Request:
    from urllib.parse import urlencode
    from urllib.request import Request

    query = urlencode({"project_key": key, "agent_name": me}, errors="replace")
    request = Request(f"{hub}{_PATH}?{query}", headers={"Accept": "application/json"})
    if token:
        request.add_unredirected_header("Authorization", f"Bearer {token}".encode().decode("latin-1"))
    return request


def _opener(hub: str) -> OpenerDirector:
    """Opens HTTP addresses only (no file: or ftp:), without redirects and without raising for error statuses."""
    from urllib import parse, request

    opener, address = request.OpenerDirector(), parse.urlsplit(hub)
    is_here = _is_this_machine(address.hostname or "")
    opener.add_handler(request.HTTPHandler())
    if address.scheme == "https" or not is_here:
        opener.add_handler(request.HTTPSHandler())
    if not is_here:  # a proxy cannot reach a loopback address of this machine
        opener.add_handler(request.ProxyHandler())
    return opener


def _is_this_machine(host: str) -> bool:
    return host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdigit())


def _exchanged(opener: OpenerDirector, request: Request, seconds: float) -> tuple[int, bytes] | Exception:
    """Status and body of the answer, or what went wrong."""
    try:
        with opener.open(request, timeout=seconds) as answer:
            return answer.status, answer.read(_MOST_BYTES + 1)
    except Exception as error:  # noqa: BLE001 - reported by the waiting thread, if it still waits
        return error


# -- the answer


def _claims(hub: str, body: bytes) -> tuple[str, list[tuple[str, str, str, float]]]:
    import json

    if len(body) > _MOST_BYTES:
        raise _nonsense(hub, f"over {_MOST_BYTES >> 20} MiB")
    try:
        document = json.loads(body)
        claims = [_claim(each) for each in document["claims"]]
        project = document["project"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _nonsense(hub, type(error).__name__) from error
    if not isinstance(project, str):
        raise _nonsense(hub, "no project")
    return project, claims


def _claim(given: Any) -> tuple[str, str, str, float]:
    """A claim in the hub's answer. Raises ValueError, TypeError or KeyError for anything else."""
    agent, path, reason, until = given["agent"], given["path"], given["reason"], given["expires_ts"]
    if not all(isinstance(each, str) for each in (agent, path, reason)) or not 0 <= until <= _LAST_SECOND:
        raise ValueError("no claim")
    return agent, path, reason, float(until)


# -- what people are told


def _printable(words: Words) -> Words:
    """The texts without terminal control characters and without full stops at the end."""
    english, chinese = ("".join(each if each.isprintable() else "?" for each in text).rstrip(".。 ") for text in words)
    return english, chinese


def _unanswered(hub: str, error: Exception, seconds: float) -> UnaskedError:
    from http.client import HTTPException

    reason: Any = getattr(error, "reason", error)  # urllib wraps the cause
    # In Python 3.9, socket.timeout is no TimeoutError.
    if isinstance(reason, TimeoutError) or type(reason).__name__ == "timeout":
        return UnaskedError(
            (f"the hub at {hub} did not answer within {seconds:g} s", f"{hub} 的 hub 在 {seconds:g} 秒内没有应答"),
            (
                f"See its log, or wait longer: {_TIME}=10 git commit",
                f"请查看它的日志，或等久一点：{_TIME}=10 git commit",
            ),
        )
    if isinstance(reason, HTTPException) and not isinstance(reason, OSError):
        return _nonsense(hub, type(reason).__name__)
    said = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return UnaskedError(
        (f"no hub answers at {hub} ({said})", f"{hub} 没有 hub 应答（{said}）"),
        (
            f"Start it with `nanobot-transcript serve`, or correct the address: {_AGAIN}",
            f"请用 nanobot-transcript serve 启动它，或改正地址：{_AGAIN}",
        ),
    )


def _refused(hub: str, key: str, status: int, body: bytes, *, has_token: bool) -> UnaskedError:
    if status in (401, 403):
        return UnaskedError(
            (f"the hub at {hub} refuses this token", f"{hub} 的 hub 不接受这个令牌")
            if has_token
            else (f"the hub at {hub} requires a token", f"{hub} 的 hub 需要令牌"),
            (
                f"Set {_TOKEN} to a token from hub.tokens, or name a file that has it: {_AGAIN} --token-file FILE",
                f"请把 {_TOKEN} 设为 hub.tokens 中的令牌，或指定存放它的文件：{_AGAIN} --token-file FILE",
            ),
        )
    if 300 <= status < 400:
        return UnaskedError(
            (f"what answers at {hub} redirects to another address", f"{hub} 重定向到了别的地址"),
            (f"Install the guard again with the hub's own: {_AGAIN}", f"请用 hub 自己的地址重新安装：{_AGAIN}"),
        )
    code, message, hint = _error_of(body)
    if code == "unknown_project":
        advice = f"{hint} Install the guard again with the right one: --project KEY".strip()
        chinese = "请用正确的项目重新安装提交前检查：--project KEY"
        why = f"the hub at {hub} has no project {key}", f"{hub} 的 hub 上没有项目 {key}"
        return UnaskedError(why, (advice, chinese), code=code, of_all=False)
    if not message or status == 404:
        return _nonsense(hub, f"HTTP {status}")
    return UnaskedError(
        (f"the hub at {hub} answered {status}: {message}", f"{hub} 的 hub 返回 {status}：{message}"),
        (hint or "See its log", "请按英文提示处理，或查看它的日志"),
        code=code,
        of_all=status != 400,
    )


def _error_of(body: bytes) -> tuple[str, str, str]:
    """Code, sentence and hint of an error in the hub's form; all empty for anything else."""
    import json

    try:
        error = json.loads(body[:65_536])["error"]
        return str(error["code"])[:80], str(error["message"])[:300], str(error["hint"])[:300]
    except (ValueError, TypeError, KeyError, RecursionError):
        return "", "", ""


def _nonsense(hub: str, what: str) -> UnaskedError:
    return UnaskedError(
        (
            f"what answers at {hub} is not a hub that guards can ask ({what})",
            f"{hub} 不是提交前检查能询问的 hub（{what}）",
        ),
        (f"Update that hub, or correct the address: {_AGAIN}", f"请升级那个 hub，或改正地址：{_AGAIN}"),
    )
