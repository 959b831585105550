"""Make the README's pictures from the real product: the demo at a terminal, and the page of its group.

    PYTHONPATH=tests python -m tools.pictures

A demo plays for each language. What differs from one run to the next (numbers drawn by chance, the group's id, the time
of day) is replaced by fixed values, so that a new picture differs where the product does.
"""
# ruff: noqa: INP001, T201 - a script that talks to the terminal, not a package

import io
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Final
from urllib.parse import quote
from urllib.request import urlopen

from browser.conftest import CHROMIUMS
from browser.windows import FLAGS
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from support.demo import Demo

ROOT: Final = Path(__file__).resolve().parent.parent
ASSETS: Final = ROOT / "docs" / "assets"
NAMES: Final = {"en": ("terminal.png", "page.png"), "zh": ("terminal.zh.png", "page.zh.png")}
MOST_BYTES: Final = 400_000
"""Of all pictures together."""

COLOURS, ROUNDS = 128, 3  # rounds that look for the colours which come closest
FIXED: Final = {r"\bT-\d{4}\b": "T-4821", r"\boc_[0-9a-f]{32}\b": "oc_7d1a9b44", r"\b\d\d:\d\d\b": "14:05"}
"""Patterns of what is drawn by chance, and what is put there."""

ACTS: Final = re.compile(r"^\x1b\[1m3  .*?(?=\s*^\x1b\[1m5  )", re.DOTALL | re.MULTILINE)
"""Acts 3 and 4: a bot is asked what the other one said; a question to nobody in particular gets one answer."""

COLUMNS: Final = 90
DARK, LIGHT = (13, 17, 23), (240, 246, 252)
RED, GREEN, YELLOW, BLUE = (255, 123, 114), (126, 211, 133), (227, 179, 65), (121, 192, 255)
MAGENTA, CYAN = (233, 150, 255), (86, 212, 221)
THEME: Final = TerminalTheme(DARK, LIGHT, [DARK, RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, LIGHT])
TERMINAL: Final = Template("""<!doctype html><meta charset="utf-8"><style>
@font-face { font-family: Han; src: local("Noto Sans Mono CJK SC"); size-adjust: 120.4% }
@font-face { font-family: Han; src: local("Noto Sans Mono CJK SC Bold"); font-weight: bold; size-adjust: 120.4% }
body { margin: 0; font: 14px/22px "DejaVu Sans Mono", Han }
main { width: fit-content; background: #0d1117; color: #f0f6fc }
header { padding: 8px 16px; background: #21262d; color: #9198a1; text-align: center }
header::before { content: "● ● ●"; float: left }
pre { width: 90ch; margin: 0; padding: 14px 20px 18px; font: inherit }
</style><main><header>nanobot-transcript demo</header><pre>$code</pre></main>""")
"""Han characters are as wide as two others, as they are at a terminal."""

FONTS: Final = """() => Promise.all(["14px Han", "bold 14px Han"].map((font) => document.fonts.load(font, "汉")))
    .then(() => true, () => false)"""
FIX: Final = """fixed => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode())
        for (const [found, put] of Object.entries(fixed))
            texts.currentNode.data = texts.currentNode.data.replace(new RegExp(found, "g"), put);
}"""
TO_THE_TOP: Final = "row => { row.style.scrollMarginTop = '10px'; row.scrollIntoView(); }"


def main() -> int:
    chromium = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if chromium is None:
        print("There is no Chromium here; sh tools/system_packages.sh installs one.", file=sys.stderr)
        return 1
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        total = sum(keep(picture, name) for language in NAMES for name, picture in play(browser, language))
    print(f"{total:>9,}  of at most {MOST_BYTES:,} bytes")
    return 0 if total <= MOST_BYTES else 1


def play(browser: Browser, language: str) -> Iterator[tuple[str, bytes]]:
    """A demo, and the names and pictures of what it shows. Raises AssertionError when it does not come to its end."""
    with tempfile.TemporaryDirectory() as folder:
        options = ("--host", "runner", "--lang", language)
        demo = Demo(Path(folder), *options, terminal=True, TERM="xterm-256color", COLUMNS=str(COLUMNS))
        try:
            at = 0
            for shown in ("\n1  ", "\n3  ", "\n5  ", "/answer 1", "Chen │ "):
                at = demo.until(shown, after=at)
            taken = terminal(browser, demo.coloured), group(browser, demo.page, language)
            yield from zip(NAMES[language], taken, strict=True)
            demo.type("/quit")
            demo.end()
        finally:
            demo.close()


def terminal(browser: Browser, seen: str) -> bytes:
    """The most telling acts of the demo, in a terminal's window."""
    acts = ACTS.search(seen)
    assert acts, f"no acts 3 and 4 in:\n{seen}"
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(fixed(acts[0])), soft_wrap=True)
    code = console.export_html(theme=THEME, inline_styles=True, code_format="{code}")
    page = browser.new_page(viewport={"width": 1000, "height": 800}, device_scale_factor=2)
    page.set_content(TERMINAL.substitute(code=code))
    if not page.evaluate(FONTS):
        sys.exit("There is no font Noto Sans Mono CJK SC here; Debian has it in fonts-noto-cjk.")
    return page.locator("main").screenshot()


def fixed(text: str) -> str:
    """Without what is drawn by chance."""
    for found, put in FIXED.items():
        text = re.sub(found, put, text)
    return text


def group(browser: Browser, hub: str, language: str) -> bytes:
    """The chat, from the question to nobody in particular on, with what each bot decided about it."""
    with urlopen(f"{hub}/api/groups") as answer:
        (chat,) = json.load(answer)["chats"]
    window = {"width": 1160, "height": 772}  # the panel beside the chat opens from 1180 on, and leaves it little room
    page = browser.new_page(viewport=window, device_scale_factor=1.5, color_scheme="light", locale=language)
    page.goto(f"{hub}/#/groups/{quote(chat['key'], safe='')}")
    asked = page.get_by_role("article").filter(has=page.get_by_text("Dana", exact=True))
    asked.locator("[aria-expanded]").click()
    page.mouse.move(0, 0)
    asked.evaluate(TO_THE_TOP)
    settled(page)
    page.evaluate(FIX, FIXED)
    return page.screenshot()


def settled(page: Page) -> None:
    """Wait until the page has had all its news."""
    before = b""
    while (now := page.screenshot()) != before:
        before = now
        page.wait_for_timeout(1000)


def keep(picture: bytes, name: str) -> int:
    """Write it as a small file; returns how many bytes that has."""
    path = ASSETS / name
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(COLOURS, kmeans=ROUNDS).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{size:>9,}  {path.relative_to(ROOT)}", flush=True)
    return size


if __name__ == "__main__":
    sys.exit(main())
