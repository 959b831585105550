"""A process that is the real lark-oapi: its long connection in the main thread, REST on command.

    lark_worker.py BASE_URL APP_ID APP_SECRET

Prints one JSON line per event, ``{"event": <the platform's JSON>}``, and one per command,
``{"answer": {"code", "msg", "data", "raised"}}``. A command is a JSON line ``{"do": ..., ...}`` on stdin. A message
whose text holds "raise once" makes the handler raise the first time; "answer slowly" makes it take 0.3 s.
``renew`` is ``bot_info`` with a new token: the SDK keeps one until its time is over, whatever the platform says of it.
"""

import json
import sys
import threading
import time
from typing import Any

import lark_oapi as lark
from lark_oapi.api.cardkit.v1 import (
    ContentCardElementRequest,
    ContentCardElementRequestBody,
    CreateCardRequest,
    CreateCardRequestBody,
    SettingsCardRequest,
    SettingsCardRequestBody,
)
from lark_oapi.api.im.v1 import (
    CreateMessageReactionRequest,
    CreateMessageReactionRequestBody,
    CreateMessageRequest,
    CreateMessageRequestBody,
    Emoji,
    GetChatMembersRequest,
    GetMessageRequest,
    ListMessageRequest,
    PatchMessageRequest,
    PatchMessageRequestBody,
    ReplyMessageRequest,
    ReplyMessageRequestBody,
    UpdateMessageRequest,
    UpdateMessageRequestBody,
)
from lark_oapi.core.token import TokenManager
from lark_oapi.event.callback.model.p2_card_action_trigger import P2CardActionTriggerResponse

base_url, app_id, app_secret = sys.argv[1:4]
client: Any = lark.Client.builder().app_id(app_id).app_secret(app_secret).domain(base_url).timeout(180).build()
seen: set[str] = set()
output = threading.Lock()


def say(**line: Any) -> None:
    with output:
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def on_event(data: Any) -> None:
    event = json.loads(lark.JSON.marshal(data) or "{}")
    say(event=event)
    message = event["event"].get("message", {})
    if "raise once" in message.get("content", "") and message["message_id"] not in seen:
        seen.add(message["message_id"])
        raise RuntimeError("as the test wishes")
    if "answer slowly" in message.get("content", ""):
        time.sleep(0.3)


def on_card(data: Any) -> P2CardActionTriggerResponse:
    say(event=json.loads(lark.JSON.marshal(data) or "{}"))
    card = {"elements": [{"tag": "markdown", "content": "pressed"}]}
    toast = {"type": "info", "content": "你好"}
    return P2CardActionTriggerResponse({"toast": toast, "card": {"type": "raw", "data": card}})


def send(to: str, content: str, msg_type: str = "text", uuid: str | None = None, by: str = "chat_id") -> Any:
    body = CreateMessageRequestBody.builder().receive_id(to).msg_type(msg_type).content(content)
    if uuid:
        body = body.uuid(uuid)
    request = CreateMessageRequest.builder().receive_id_type(by).request_body(body.build()).build()
    return client.im.v1.message.create(request)


def reply(message_id: str, content: str, in_thread: bool = False) -> Any:
    body = ReplyMessageRequestBody.builder().msg_type("text").content(content).reply_in_thread(in_thread).build()
    return client.im.v1.message.reply(ReplyMessageRequest.builder().message_id(message_id).request_body(body).build())


def edit(message_id: str, content: str) -> Any:
    body = UpdateMessageRequestBody.builder().msg_type("text").content(content).build()
    return client.im.v1.message.update(UpdateMessageRequest.builder().message_id(message_id).request_body(body).build())


def patch(message_id: str, content: str) -> Any:
    body = PatchMessageRequestBody.builder().content(content).build()
    return client.im.v1.message.patch(PatchMessageRequest.builder().message_id(message_id).request_body(body).build())


def get(message_id: str) -> Any:
    return client.im.v1.message.get(GetMessageRequest.builder().message_id(message_id).build())


def history(chat_id: str, sort: str = "", page_size: int = 20, page_token: str = "") -> Any:
    request = ListMessageRequest.builder().container_id_type("chat").container_id(chat_id).page_size(page_size)
    if sort:
        request = request.sort_type(sort)
    if page_token:
        request = request.page_token(page_token)
    request = request.card_msg_content_type("user_card_content").with_sender_name(True)
    return client.im.v1.message.list(request.build())


def members(chat_id: str) -> Any:
    return client.im.v1.chat_members.get(GetChatMembersRequest.builder().chat_id(chat_id).build())


def react(message_id: str, emoji: str) -> Any:
    kind = Emoji.builder().emoji_type(emoji).build()
    body = CreateMessageReactionRequestBody.builder().reaction_type(kind).build()
    request = CreateMessageReactionRequest.builder().message_id(message_id).request_body(body).build()
    return client.im.v1.message_reaction.create(request)


def make_card(data: str) -> Any:
    body = CreateCardRequestBody.builder().type("card_json").data(data).build()
    return client.cardkit.v1.card.create(CreateCardRequest.builder().request_body(body).build())


def stream(card_id: str, element_id: str, content: str, sequence: int) -> Any:
    body = ContentCardElementRequestBody.builder().content(content).sequence(sequence).build()
    request = ContentCardElementRequest.builder().card_id(card_id).element_id(element_id).request_body(body).build()
    return client.cardkit.v1.card_element.content(request)


def settings(card_id: str, settings: str, sequence: int) -> Any:
    body = SettingsCardRequestBody.builder().settings(settings).sequence(sequence).build()
    return client.cardkit.v1.card.settings(SettingsCardRequest.builder().card_id(card_id).request_body(body).build())


def bot_info() -> Any:
    request = lark.BaseRequest.builder().http_method(lark.HttpMethod.GET).uri("/open-apis/bot/v3/info")
    return client.request(request.token_types({lark.AccessTokenType.APP}).build())


def renew() -> Any:
    for kind in ("app", "tenant"):
        TokenManager.cache.set(f"self_{kind}_token:{app_id}", "", 0)
    return bot_info()


COMMANDS = {
    one.__name__: one
    for one in (send, reply, edit, patch, get, history, members, react, make_card, stream, settings, bot_info, renew)
}


def obey() -> None:
    for line in sys.stdin:
        command = json.loads(line)
        try:
            response = COMMANDS[command.pop("do")](**command)
        except Exception as error:  # noqa: BLE001 - the test wants to see what the SDK raises
            say(answer={"raised": type(error).__name__})
        else:
            raw = json.loads(response.raw.content)
            data = getattr(response, "data", None)
            parsed = json.loads(lark.JSON.marshal(data) or "{}") if data is not None else None
            say(answer={"code": response.code, "msg": response.msg, "data": parsed, "raw": raw})


handler = (
    lark.EventDispatcherHandler.builder("", "")
    .register_p2_im_message_receive_v1(on_event)
    .register_p2_im_message_recalled_v1(on_event)
    .register_p2_card_action_trigger(on_card)
    .build()
)
threading.Thread(target=obey, daemon=True).start()
lark.ws.Client(app_id, app_secret, event_handler=handler, domain=base_url, log_level=lark.LogLevel.ERROR).start()
