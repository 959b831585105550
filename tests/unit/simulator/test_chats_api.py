"""Groups, members, the directory."""

CHATS = "/open-apis/im/v1/chats"


async def test_members_are_the_people_page_by_page(team) -> None:
    path = f"{CHATS}/{team.group.chat_id}/members"
    first = (await team.as_alpha.call("GET", path, None, page_size=1))["data"]
    assert first["has_more"] is True
    assert first["member_total"] == 2
    second = (await team.as_alpha.call("GET", path, None, page_size=1, page_token=first["page_token"]))["data"]
    assert second["has_more"] is False
    people = [*first["items"], *second["items"]]
    assert [person["name"] for person in people] == ["Ada", "Bo"]
    assert people[0]["member_id"] == team.ada.open_id(team.alpha)
    by_union = (await team.as_alpha.call("GET", path, None, member_id_type="union_id"))["data"]["items"]
    assert by_union[0]["member_id"] == team.ada.union_id


async def test_a_chat_tells_its_name_and_numbers(team) -> None:
    data = (await team.as_alpha.call("GET", f"{CHATS}/{team.group.chat_id}"))["data"]
    assert (data["name"], data["chat_mode"], data["user_count"], data["bot_count"]) == (
        "Team",
        "group",
        "2",
        "2",
    )


async def test_outsiders_learn_nothing(team) -> None:
    team.feishu.leave(team.group, team.alpha)
    path = f"{CHATS}/{team.group.chat_id}"
    assert (await team.as_alpha.call("GET", path))["code"] == 232011
    assert (await team.as_alpha.call("GET", f"{path}/members"))["code"] == 232011
    assert (await team.as_alpha.call("GET", f"{CHATS}/oc_unknown"))["code"] == 232006
    inside = (await team.as_alpha.call("GET", f"{path}/members/is_in_chat"))["data"]
    assert inside == {"is_in_chat": False}


async def test_a_bot_lists_its_groups_and_no_private_chats(team) -> None:
    await team.feishu.say_private(team.ada, team.alpha, "hi")
    data = (await team.as_alpha.call("GET", CHATS))["data"]
    assert [chat["chat_id"] for chat in data["items"]] == [team.group.chat_id]


async def test_the_directory_knows_people_by_the_apps_own_ids(team) -> None:
    path = "/open-apis/contact/v3/users/"
    answer = await team.as_alpha.call("GET", path + team.ada.open_id(team.alpha))
    assert answer["data"]["user"]["name"] == "Ada"
    assert (await team.as_alpha.call("GET", path + team.ada.open_id(team.beta)))["code"] == 99992361
    assert (await team.as_alpha.call("GET", path + team.ada.union_id, None, user_id_type="union_id"))["data"]["user"][
        "open_id"
    ] == team.ada.open_id(team.alpha)
