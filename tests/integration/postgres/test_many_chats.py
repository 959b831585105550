"""A hundred thousand chats in one record: listed, searched, read and erased, by a process that stays small."""

from typing import Any

import pytest
from support.postgres import Cluster, in_a_schema
from support.spawning import spawning

CHATS = 100_000
AT_ONCE = 2
MEMORY_MB = 300
_SLOW = 900.0
"""Seconds that any of this takes at most."""


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_hundred_thousand_chats_are_listed_searched_and_erased(server: Cluster, soak_row: Any) -> None:
    place = in_a_schema(server, "many")
    with spawning("support.many_chats") as spawn:
        part = CHATS // AT_ONCE
        filling = [spawn("fill", place=place, first=part * n, last=part * (n + 1)) for n in range(AT_ONCE)]
        for each in filling:
            each.go()
        filled = [each.result(_SLOW) for each in filling]
        ((size,),) = server.execute("SELECT pg_database_size(current_database()) / 1048576")
        using = spawn("use", place=place, chats=CHATS)
        using.go()
        told = using.result(_SLOW)
    server.execute("DROP SCHEMA many CASCADE")
    assert told["chats_left"] == CHATS - 1
    assert told["memory_mb"] < MEMORY_MB
    soak_row(chats=CHATS, filled_s=max(each["fill_s"] for each in filled), disk_mb=size, **told)
