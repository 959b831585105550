"""Writes what is generated: ``config.example.yaml``, and what stands between markers in documents and in the web page.

Run ``python -m nanobot_transcript.cli.generated_docs`` in a checkout after a setting, a command, an error or a rule of
the loop guard has changed; a test compares. ``--check`` changes nothing and ends with 1 when something is out of date.
"""

import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from nanobot_transcript.errors import TranscriptError
from nanobot_transcript.turns.loop_guard import LOOP_RULES

if TYPE_CHECKING:
    from nanobot_transcript.settings.schema import Description

__all__ = ["generated", "main"]

_WIDTH: Final = 100
_MARKED: Final = re.compile(r"(generated:begin(?: -->)?\n).*?( *(?:<!--|//) generated:end)", re.DOTALL)
_CLOSING: Final = "。，、；：！？）」』》”’"
_SETTING_HEADS: Final = {
    "en": ("Setting", "Default", "Kind", "Meaning"),
    "zh": ("设置", "默认值", "类型", "含义"),
}
_RULE_HEADS: Final = {"en": ("`reason`", "Meaning", "Settings"), "zh": ("`reason`", "含义", "设置")}


def generated(root: Path) -> dict[Path, str]:
    """Every generated file of a checkout with what it should hold."""
    files = {root / "config.example.yaml": example_file()}
    makers: dict[str, Callable[[str], str]] = {
        "api": lambda _: error_tree(),
        "commands": lambda _: command_reference(),
        "settings": settings_table,
        "turns": loop_rules,
    }
    for page, make in makers.items():
        for language in ("en", "zh"):
            path = root / "docs" / language / f"{page}.md"
            files[path] = _between_markers(path, f"\n{make(language)}\n\n")
    path = root / "web" / "src" / "pages" / "groups" / "reasons.ts"
    files[path] = _between_markers(path, _words_of_the_page())
    return files


def main(arguments: list[str] | None = None) -> int:
    """Write the files below the working directory, or only compare them with ``--check``."""
    check = "--check" in (sys.argv[1:] if arguments is None else arguments)
    stale = [
        (path, text)
        for path, text in generated(Path.cwd()).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in stale:
        typer.echo(f"{'out of date' if check else 'written'}: {path.relative_to(Path.cwd())}")
        if not check:
            path.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


# -- config.example.yaml


def example_file() -> str:
    """All settings with their defaults, described in English and Chinese."""
    head = [
        "# nanobot-transcript: every setting with its default. Copy it to ~/.nanobot/transcript.yaml, keep what you",
        "# change and delete the rest. Each setting can also come from the environment: NANOBOT_TRANSCRIPT_STORE__DIR",
        "# is store.dir. `nanobot-transcript config show --origin` shows the values in effect and their origin.",
        "# 全部设置及其默认值。复制到 ~/.nanobot/transcript.yaml，只保留要改的部分即可。",
        "# 每项设置也可以用环境变量给出：NANOBOT_TRANSCRIPT_STORE__DIR 对应 store.dir。",
        "# `nanobot-transcript config show --origin` 显示当前生效的值及其来源。",
        "# ${NAME} is replaced by the environment variable NAME. ${NAME} 会被替换为环境变量 NAME 的值。",
    ]
    return "\n".join([*head, *_yaml_lines()]) + "\n"


def _yaml_lines() -> Iterator[str]:
    from nanobot_transcript.settings import describe

    known = list(describe())
    for item in known:
        if "<" in item.key:
            continue  # shown commented out below the mapping it belongs to
        indent = "  " * item.depth
        yield from [""] if item.depth == 0 else []
        yield from _comment(item, indent)
        inner = [below for below in known if below.key.startswith(f"{item.key}.<")]
        if inner:
            yield f"{indent}{item.name}: {{}}"
            yield from _commented(item, inner, indent)
        elif item.section:
            yield f"{indent}{item.name}:"
        else:
            yield f"{indent}{item.name}: {_scalar(item.default)}"


def _commented(mapping: "Description", inner: "list[Description]", indent: str) -> Iterator[str]:
    yield f"{indent}# {mapping.name}:"
    yield f"{indent}#   {mapping.example}:"
    for item in inner:
        deeper = f"{indent}#     {'  ' * (item.depth - mapping.depth - 2)}"
        yield from _comment(item, deeper)
        value = item.example if item.example is not None else item.default
        yield f"{deeper}{item.name}:" if item.section else f"{deeper}{item.name}: {_scalar(value)}"


def _comment(item: "Description", indent: str) -> Iterator[str]:
    yield from (f"{indent}# {line}" for line in textwrap.wrap(item.en, _WIDTH))
    yield from (f"{indent}# {line}" for line in _wrapped_chinese(item.zh))


def _wrapped_chinese(text: str) -> list[str]:
    """Lines of half as many characters as English ones; none begins with a mark that closes something."""
    lines = textwrap.wrap(text, _WIDTH // 2)
    for i in range(1, len(lines)):
        closing = len(lines[i]) - len(lines[i].lstrip(_CLOSING))
        lines[i - 1], lines[i] = lines[i - 1] + lines[i][:closing], lines[i][closing:].lstrip()
    return [line for line in lines if line]


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(str(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {item}' for name, item in value.items())}}}"
    return '""' if value == "" else str(value)


# -- the documents


def settings_table(language: str) -> str:
    """A Markdown table of all settings."""
    from nanobot_transcript.settings import describe

    lines = _heads(_SETTING_HEADS[language])
    for item in describe():
        if item.section:
            continue
        meaning = item.en if language == "en" else item.zh
        default = {"en": "required", "zh": "必填"}[language] if item.required else f"`{_scalar(item.default)}`"
        kind = item.kind.en if language == "en" else item.kind.zh
        lines.append(f"| `{item.key}` | {default} | {kind} | {meaning} |")
    return "\n".join(lines)


def loop_rules(language: str) -> str:
    """A Markdown table of the loop guard's rules, with the settings that limit them and their defaults."""
    from nanobot_transcript.settings import describe

    defaults = {item.key: _scalar(item.default) for item in describe()}
    lines = _heads(_RULE_HEADS[language])
    for rule in LOOP_RULES:
        meaning = f"{rule.sentence[0].upper()}{rule.sentence[1:]}" if language == "en" else rule.zh
        limits = ", ".join(f"`{key}` ({defaults[key]})" for key in rule.settings)
        lines.append(f"| `{rule.reason}` | {meaning} | {limits or '–'} |")
    return "\n".join(lines)


def _words_of_the_page() -> str:
    """The loop guard's reasons in Chinese, for the web page."""
    rules = sorted(LOOP_RULES, key=lambda rule: rule.reason)
    return "".join(f'  {rule.reason}: "防循环：{rule.zh}",\n' for rule in rules)


def _heads(names: Sequence[str]) -> list[str]:
    return [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]


def error_tree() -> str:
    """Every error with its code, below the error that it is a kind of."""
    lines = [(TranscriptError.__name__, TranscriptError.code), *_errors_below(TranscriptError, "")]
    width = max(len(name) for name, _ in lines)
    return "\n".join(["```text", *(f"{name:{width}}  {code}" for name, code in lines), "```"])


def _errors_below(kind: type[TranscriptError], indent: str) -> Iterator[tuple[str, str]]:
    # Subclasses elsewhere, of the commands and of tests, are no part of the tree.
    kinds = [below for below in kind.__subclasses__() if below.__module__ == TranscriptError.__module__]
    for number, below in enumerate(kinds, 1):
        branch, deeper = ("└── ", "    ") if number == len(kinds) else ("├── ", "│   ")
        also = " (also ValueError)" if issubclass(below, ValueError) else ""
        yield f"{indent}{branch}{below.__name__}{also}", below.code
        yield from _errors_below(below, indent + deeper)


def command_reference() -> str:
    """The help of every command, in the order of ``nanobot-transcript --help``."""
    from nanobot_transcript.cli.app import app

    command = typer.main.get_command(app)
    return "\n\n".join(_help_pages(command, "nanobot-transcript", None))


def _help_pages(command: Any, path: str, parent: Any) -> Iterator[str]:
    context = command.make_context(path.rpartition(" ")[2], [], parent=parent, resilient_parsing=True)
    context.terminal_width = 100
    yield f"### {path}\n\n```console\n$ {path} --help\n{command.get_help(context).rstrip()}\n```"
    for name, below in getattr(command, "commands", {}).items():
        yield from _help_pages(below, f"{path} {name}", context)


def _between_markers(path: Path, text: str) -> str:
    """The file with this text between its markers. Raises ValueError where it has none."""
    page = path.read_text(encoding="utf-8")
    found = _MARKED.search(page)
    if found is None:
        raise ValueError(f"{path} has no markers of what is generated")
    return f"{page[: found.start()]}{found[1]}{text}{found[2]}{page[found.end() :]}"


if __name__ == "__main__":
    sys.exit(main())
