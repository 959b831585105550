"""Card entities, streaming, and pressing buttons."""

import base64
import json

import pytest
from support.feishu_client import long_connection

CARDS = "/open-apis/cardkit/v1/cards"
STREAMING = {
    "schema": "2.0",
    "config": {"streaming_mode": True},
    "body": {"elements": [{"tag": "markdown", "content": "", "element_id": "text"}]},
}


async def make_card(team, card=STREAMING) -> str:
    answer = await team.as_alpha.call("POST", CARDS, {"type": "card_json", "data": json.dumps(card)})
    return answer["data"]["card_id"]


async def put_text(team, card_id: str, text: str, sequence: int, element: str = "text"):
    path = f"{CARDS}/{card_id}/elements/{element}/content"
    return await team.as_alpha.call("PUT", path, {"content": text, "sequence": sequence})


async def close_streaming(team, card_id: str, sequence: int):
    settings = json.dumps({"config": {"streaming_mode": False}})
    body = {"settings": settings, "sequence": sequence}
    return await team.as_alpha.call("PATCH", f"{CARDS}/{card_id}/settings", body)


async def send_card(team, card_id: str):
    content = {"type": "card", "data": {"card_id": card_id}}
    return await team.as_alpha.send(team.group.chat_id, msg_type="interactive", content=content)


async def test_a_card_is_streamed_into_a_sent_message(team) -> None:
    card_id = await make_card(team)
    sent = await send_card(team, card_id)
    message = team.feishu.message(sent["data"]["message_id"])
    assert (message.text, message.finished) == ("", False)
    assert (await put_text(team, card_id, "Hel", 1))["code"] == 0
    assert message.text == "Hel"
    assert (await put_text(team, card_id, "Hello", 2))["code"] == 0
    assert (await close_streaming(team, card_id, 3))["code"] == 0
    assert (message.text, message.finished) == ("Hello", True)


@pytest.mark.parametrize("sequence", [0, 1, 2])
async def test_a_sequence_that_does_not_rise_is_refused(team, sequence: int) -> None:
    card_id = await make_card(team)
    await put_text(team, card_id, "a", 2)
    assert (await put_text(team, card_id, "b", sequence))["code"] == 300317


async def test_text_after_the_end_of_streaming_is_refused(team) -> None:
    card_id = await make_card(team)
    await close_streaming(team, card_id, 1)
    assert (await put_text(team, card_id, "late", 2))["code"] == 300309


async def test_unknown_elements_and_foreign_cards_are_refused(team) -> None:
    card_id = await make_card(team)
    assert (await put_text(team, card_id, "a", 1, element="nothing"))["code"] == 300313
    assert (await put_text(team, "1", "a", 1))["code"] == 99992402
    path = f"{CARDS}/{card_id}/elements/text/content"
    assert (await team.as_beta.call("PUT", path, {"content": "a", "sequence": 2}))["code"] == 99992402


async def test_a_card_entity_is_sent_once(team) -> None:
    card_id = await make_card(team)
    assert (await send_card(team, card_id))["code"] == 0
    assert (await send_card(team, card_id))["code"] == 230099


async def test_a_card_without_schema_2_is_no_entity(team) -> None:
    answer = await team.as_alpha.call("POST", CARDS, {"type": "card_json", "data": '{"elements": []}'})
    assert answer["code"] == 99992402


async def test_whole_cards_and_single_elements_are_replaced(team) -> None:
    card_id = await make_card(team)
    sent = await send_card(team, card_id)
    element = json.dumps({"tag": "markdown", "content": "element"})
    path = f"{CARDS}/{card_id}"
    one = await team.as_alpha.call("PUT", f"{path}/elements/text", {"element": element, "sequence": 1})
    assert one["code"] == 0
    assert team.feishu.message(sent["data"]["message_id"]).text == "element"
    card = {"schema": "2.0", "body": {"elements": [{"tag": "markdown", "content": "whole"}]}}
    body = {"card": {"type": "card_json", "data": json.dumps(card)}, "sequence": 2}
    assert (await team.as_alpha.call("PUT", path, body))["code"] == 0
    assert team.feishu.message(sent["data"]["message_id"]).text == "whole"


async def test_a_sent_card_can_be_turned_into_an_entity(team) -> None:
    sent = await team.as_alpha.send(team.group.chat_id, msg_type="interactive", content=STREAMING)
    body = {"message_id": sent["data"]["message_id"]}
    card_id = (await team.as_alpha.call("POST", f"{CARDS}/id_convert", body))["data"]["card_id"]
    assert (await put_text(team, card_id, "converted", 1))["code"] == 0
    assert team.feishu.messages(team.group)[0].text == "converted"


async def test_without_the_scope_there_are_no_cards(team) -> None:
    team.alpha.revoke("cardkit:card:write")
    answer = await team.as_alpha.call("POST", CARDS, {"type": "card_json", "data": json.dumps(STREAMING)})
    assert answer["code"] == 99991672


async def test_a_pressed_button_calls_the_app_that_sent_the_card(team) -> None:
    sent = await team.as_alpha.send(team.group.chat_id, msg_type="interactive", content={"elements": []})
    message = team.feishu.message(sent["data"]["message_id"])
    async with (
        long_connection(team.feishu, team.alpha, team.session) as alpha,
        long_connection(team.feishu, team.beta, team.session) as beta,
    ):
        push = await team.feishu.press(message, team.bo, {"choice": "yes"})
        assert push.acked
        assert beta.events == []
        event = alpha.events[0]
    assert event["header"]["event_type"] == "card.action.trigger"
    assert event["event"]["action"] == {"value": {"choice": "yes"}, "tag": "button"}
    assert event["event"]["operator"]["open_id"] == team.bo.open_id(team.alpha)
    assert event["event"]["context"] == {
        "open_message_id": message.message_id,
        "open_chat_id": team.group.chat_id,
    }


async def test_a_failed_callback_is_not_repeated(team) -> None:
    sent = await team.as_alpha.send(team.group.chat_id, msg_type="interactive", content={"elements": []})
    message = team.feishu.message(sent["data"]["message_id"])
    assert (await team.feishu.press(message, team.bo)).state == "gave_up"
    async with long_connection(team.feishu, team.alpha, team.session, lambda event: 500):
        push = await team.feishu.press(message, team.bo)
    assert (push.state, len(push.attempts)) == ("gave_up", 1)


async def test_the_callbacks_answer_changes_the_card(team) -> None:
    sent = await team.as_alpha.send(team.group.chat_id, msg_type="interactive", content={"elements": []})
    message = team.feishu.message(sent["data"]["message_id"])
    card = {"elements": [{"tag": "markdown", "content": "thanks"}]}
    answer = {"toast": {"type": "info", "content": "ok"}, "card": {"type": "raw", "data": card}}
    payload = {"code": 200, "data": base64.b64encode(json.dumps(answer).encode()).decode()}
    async with long_connection(team.feishu, team.alpha, team.session, lambda event: payload):
        push = await team.feishu.press(message, team.bo)
    assert push.response == answer
    assert message.text == "thanks"
