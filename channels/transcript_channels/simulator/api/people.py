"""The directory of the tenant."""

from collections.abc import Sequence
from typing import Any

from transcript_channels.simulator import scopes, views
from transcript_channels.simulator.errors import ApiError
from transcript_channels.simulator.platform import Platform
from transcript_channels.simulator.rest import ApiCall, Route
from transcript_channels.simulator.world import Person, World

__all__ = ["MOST_AT_ONCE", "routes"]

MOST_AT_ONCE = 50
"""People that one call of ``batch`` may ask for."""


def routes(platform: Platform) -> Sequence[Route]:
    """``GET contact/v3/users/{user_id}`` and ``GET contact/v3/users/batch``."""
    world = platform.world

    def get(call: ApiCall) -> dict[str, Any]:
        id_type = call.query.get("user_id_type") or "open_id"
        person = _person(world, call, id_type)
        return {"user": {"name": person.name, **views.user_ids(person, call.app)}}

    def batch(call: ApiCall) -> dict[str, Any]:
        wanted = call.request.query.getall("user_ids", [])
        if not 1 <= len(wanted) <= MOST_AT_ONCE:
            raise ApiError(99992402, f"user_ids must be 1 to {MOST_AT_ONCE}")
        found = [_found(world, call, user_id) for user_id in wanted]
        return {"items": [user for user in found if user is not None]}

    base = "/open-apis/contact/v3/users"
    return [
        Route("GET", f"{base}/batch", batch, (scopes.CONTACT,)),
        Route("GET", base + "/{user_id}", get, (scopes.CONTACT,)),
    ]


def _found(world: World, call: ApiCall, user_id: str) -> dict[str, Any] | None:
    """One of several people; whoever is not there is left out."""
    call.params["user_id"] = user_id
    try:
        person = _person(world, call, call.query.get("user_id_type") or "open_id")
    except ApiError:
        return None
    return {"name": person.name, **views.user_ids(person, call.app)}


def _person(world: World, call: ApiCall, id_type: str) -> Person:
    wanted = call.params["user_id"]
    if id_type == "open_id":
        found = world.by_open_id(wanted)
        if found is not None and found[0] is not call.app:
            raise ApiError(99992361)
        person = found[1] if found else None
    elif id_type in ("union_id", "user_id"):
        person = next((one for one in world.people.values() if getattr(one, id_type) == wanted), None)
    else:
        raise ApiError(99992402, "user_id_type is invalid")
    if not isinstance(person, Person):
        raise ApiError(41012, "user id invalid")
    return person
