"""Questions as cards in a group chat, and the meaning of replies and pressed buttons.

Cards use Feishu's schema 2.0: https://open.feishu.cn/document/feishu-cards/card-json-v2-structure
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from nanobot_transcript.unicode_text import DENSE, folded
from transcript_mcp.assistant.questions.values import AnswerContent, Choices, Inquiry, Question, text_of

__all__ = ["chosen", "closed_card", "question_card", "replied", "wrong_choice"]

# Characters. A card may have 30 KB; these limits leave room for buttons even where a character takes three bytes.
_LONGEST: Final = 3500
_LONGEST_LIST: Final = 2500
_LONGEST_LABEL: Final = 100
_MOST_BUTTONS: Final = 20
_DENSE: Final = re.compile(f"[{DENSE}]")
_MENTION: Final = re.compile(r"<(?=/?at\b)", re.IGNORECASE)
_PICTURE: Final = re.compile(r"!(?=\[)")
_CALLED: Final = re.compile(r"(?:@\S+\s+)+")
_NUMBERS: Final = re.compile(r"(?:选|option\s)?\s*([0-9]{1,3}(?:\s*[,，、和 ]\s*[0-9]{1,3})*)\s*[.。)）]?")
_FIELD: Final = "options"

_ENGLISH: Final = {
    "asks": "{who} asks",
    "reports": "{who} reports",
    "somebody": "An agent",
    "how": "Reply in this thread to answer.",
    "press": "Press a button, or reply in this thread with its number.",
    "press_or_say": "Press a button, or reply in this thread with a number or in your own words.",
    "done": "Send",
    "confirm": "Confirm",
    "answered": "✅ {by} answered: {answer}",
    "answered_on_page": "✅ Answered on the page: {answer}",
    "answered_unnamed": "✅ Answered: {answer}",
    "refused": "⛔ {by} refused to answer. {answer}",
    "unnamed": "Somebody",
    "attached": "(a picture or a file)",
    "timeout": "⏳ Nobody answered in time.",
    "cancelled": "⏹ Nobody is waiting for this answer any more.",
    "withdrawn": "⏹ The question was withdrawn.",
    "wrong": "Please answer with a number from 1 to {count}.",
}
_CHINESE: Final = {
    "asks": "{who} 提问",
    "reports": "{who} 汇报",
    "somebody": "智能体",
    "how": "在本话题中回复即可。",
    "press": "点击按钮，或在本话题中回复选项编号。",
    "press_or_say": "点击按钮，或在本话题中回复：选项编号或您自己的话都可以。",
    "done": "提交",
    "confirm": "确认",
    "answered": "✅ {by} 已回答：{answer}",
    "answered_on_page": "✅ 有人在网页上回答了：{answer}",
    "answered_unnamed": "✅ 有人回答了：{answer}",
    "refused": "⛔ {by} 拒绝回答。{answer}",
    "unnamed": "有人",
    "attached": "（图片或文件）",
    "timeout": "⏳ 规定时间内无人回答。",
    "cancelled": "⏹ 已经没有人在等这个回答。",
    "withdrawn": "⏹ 提问已撤回。",
    "wrong": "请回复 1 到 {count} 之间的编号。",
}


def question_card(question: Question) -> dict[str, Any]:
    """The card for an open question. Deterministic, so that a repeated post is the same post."""
    words, choice = _words_of(question), _choice(question)
    elements: list[dict[str, Any]] = [_markdown(_shown(question.text, _LONGEST))]
    if choice is not None:
        buttons = _answers(choice, words["done"])
        elements += (
            []
            if _is_all_on_buttons(choice, buttons)
            else [_markdown(_shown("\n".join(_numbered(choice)), _LONGEST_LIST))]
        )
        elements += buttons
    elif question.kind == "report":
        elements.append(_button(words["confirm"], {"confirm": True}))
    elements.append(_note(words[_how(choice)]))
    return _card(_title(question, words), elements, "blue")


def closed_card(record: Inquiry) -> dict[str, Any]:
    """The card that replaces it when the question is closed: what was asked, and who answered what."""
    question, words = record.question, _words_of(record.question)
    said, by = _shown(text_of(record.contents), 1000), _shown(_plain(record.by), 200)
    if record.state == "answered":
        unnamed = "answered_on_page" if record.where == "web" else "answered_unnamed"
        outcome = words["answered" if by else unnamed].format(by=by, answer=said or words["attached"])
    elif record.state == "refused":
        outcome = words["refused"].format(by=by or words["unnamed"], answer=said).rstrip()
    else:
        outcome = words.get(record.state, words["cancelled"])
    elements = [_markdown(_shown(question.text, _LONGEST)), _markdown(outcome)]
    return _card(_title(question, words), elements, "green" if record.state == "answered" else "grey")


def chosen(question: Question, value: Mapping[str, Any], form: Mapping[str, Any]) -> list[AnswerContent]:
    """The answer in a pressed button or submitted form; empty when there is none."""
    if value.get("confirm") is True:
        return [AnswerContent("text", _words_of(question)["confirm"])]
    choice = _choice(question)
    picked = form.get(_FIELD) if form else [value.get("option")]
    numbers = picked if isinstance(picked, list) else [picked]
    return [] if choice is None else _picked(choice, [str(number) for number in numbers])


def replied(question: Question, text: str) -> list[AnswerContent]:
    """The answer in a reply: options by number or label, else its text; empty where free text is not allowed."""
    choice = _choice(question)
    if choice is None:
        return [AnswerContent("text", text)]
    said = folded(_CALLED.sub("", text, count=1).strip())
    numbers = _NUMBERS.fullmatch(said)
    listed = re.findall(r"[0-9]+", numbers[1]) if numbers else []
    labels = [str(at) for at, option in enumerate(choice.options, 1) if folded(option.label.strip()) == said]
    found = _picked(choice, labels or listed)
    return found or ([AnswerContent("text", text)] if choice.custom else [])


def wrong_choice(question: Question) -> str:
    """The text sent back for a reply that chooses no option."""
    choice = _choice(question)
    return _words_of(question)["wrong"].format(count=len(choice.options) if choice else 0)


def _picked(choice: Choices, numbers: Sequence[str]) -> list[AnswerContent]:
    places = [int(number) for number in numbers if number.isascii() and number.isdigit()]
    if not places or len(places) != len(numbers) or not all(1 <= place <= len(choice.options) for place in places):
        return []
    if len(places) > 1 and not choice.multiple:
        return []
    return [AnswerContent("text", choice.options[place - 1].label) for place in dict.fromkeys(places)]


def _choice(question: Question) -> Choices | None:
    """The question's list of options, if it has exactly one; forms with several are answered on the page."""
    only = question.choices[0] if len(question.choices) == 1 else None
    return only if only is not None and only.options else None


def _how(choice: Choices | None) -> str:
    if choice is None:
        return "how"
    return "press_or_say" if choice.custom else "press"


def _answers(choice: Choices, done: str) -> list[dict[str, Any]]:
    if len(choice.options) > _MOST_BUTTONS:
        return []
    numbered = [
        (str(at), f"{at}. {_plain(option.label)}"[:_LONGEST_LABEL]) for at, option in enumerate(choice.options, 1)
    ]
    if not choice.multiple:
        return [_button(label, {"option": number}) for number, label in numbered]
    options = [{"text": _text(label), "value": number} for number, label in numbered]
    send = {"tag": "button", "name": "send", "type": "primary", "text": _text(done), "form_action_type": "submit"}
    picking = {"tag": "multi_select_static", "name": _FIELD, "options": options}
    return [{"tag": "form", "name": "answer", "elements": [picking, send]}]


def _is_all_on_buttons(choice: Choices, buttons: Sequence[Any]) -> bool:
    short = all(not option.description and len(option.label) < _LONGEST_LABEL - 10 for option in choice.options)
    return short and not choice.multiple and bool(buttons)


def _numbered(choice: Choices) -> list[str]:
    lines: list[str] = []
    for at, option in enumerate(choice.options, 1):
        about = f" — {_shown(option.description, 300)}" if option.description else ""
        lines.append(f"**{at}.** {_shown(option.label, 300)}{about}")
    return lines


def _title(question: Question, words: Mapping[str, str]) -> str:
    who = _plain(question.agent) or words["somebody"]
    project = _plain(question.project.rstrip("/").rpartition("/")[2])
    said = words["reports" if question.kind == "report" else "asks"].format(who=who)
    return f"{said} · {project}"[:200] if project else said[:200]


def _words_of(question: Question) -> Mapping[str, str]:
    return _CHINESE if _DENSE.search(question.text) else _ENGLISH


def _shown(text: str, limit: int) -> str:
    """Text as Markdown of a card: mentions are defused, and images, which the platform does not load, become links."""
    cut = text if len(text) <= limit else f"{text[:limit]} …"
    return _PICTURE.sub("", _MENTION.sub("\uff1c", cut))


def _plain(text: str) -> str:
    return " ".join(text.split())[:200]


def _card(title: str, elements: list[dict[str, Any]], template: str) -> dict[str, Any]:
    header = {"title": _text(title), "template": template}
    return {"schema": "2.0", "config": {"update_multi": True}, "header": header, "body": {"elements": elements}}


def _text(content: str) -> dict[str, str]:
    return {"tag": "plain_text", "content": content}


def _markdown(content: str) -> dict[str, Any]:
    return {"tag": "markdown", "content": content}


def _note(content: str) -> dict[str, Any]:
    return {"tag": "markdown", "content": content, "text_size": "notation"}


def _button(label: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"tag": "button", "text": _text(label), "behaviors": [{"type": "callback", "value": value}]}
