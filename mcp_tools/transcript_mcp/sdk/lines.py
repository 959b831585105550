"""Who is to be answered: whether they are still there, and what they take."""

import re
from typing import Final

from aiohttp import web

__all__ = ["has_left", "takes_gzip"]

_NEVER: Final = re.compile(r"q\s*=\s*0(\.0*)?")


def has_left(request: web.BaseRequest) -> bool:
    """True when the connection of a request is closed."""
    return request.transport is None or request.transport.is_closing()


def takes_gzip(request: web.BaseRequest) -> bool:
    """What Accept-Encoding says of gzip by its name; aiohttp looks for the word alone and passes over ``q=0``."""
    for each in request.headers.get("Accept-Encoding", "").lower().split(","):
        coding, *parameters = (part.strip() for part in each.split(";"))
        if coding in ("gzip", "x-gzip"):
            return not any(_NEVER.fullmatch(parameter) for parameter in parameters)
    return False
