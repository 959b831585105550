"""Draw the icons of the installed page from ``web/src/icon.svg``, with Chromium.

    PYTHONPATH=tests python -m tools.icons

Phones cut a shape of their own out of some icons: in those the picture keeps to the middle and its colour goes on to
the edges.
"""
# ruff: noqa: INP001, T201 - a script that talks to the terminal, not a package

import re
import shutil
import sys
from pathlib import Path

from browser.conftest import CHROMIUMS
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "web" / "src" / "icon.svg"
TARGET = ROOT / "web" / "public"
ICONS = {
    "icon-192.png": (192, 1.0),
    "icon-512.png": (512, 1.0),
    "icon-maskable-512.png": (512, 0.9),
    "apple-touch-icon.png": (180, 0.9),
}
"""By name: pixels of each side, and the share of them that the picture takes. Below 1 it has no transparent corners."""


def main() -> int:
    found = next((path for name in CHROMIUMS if (path := shutil.which(name))), None)
    if found is None:
        print("There is no Chromium: apt-get install chromium", file=sys.stderr)
        return 2
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        for name, (pixels, share) in ICONS.items():
            draw(browser, TARGET / name, pixels, share)
            print(f"{(TARGET / name).stat().st_size:>9,}  {(TARGET / name).relative_to(ROOT)}")
        browser.close()
    return 0


def draw(browser: Browser, path: Path, pixels: int, share: float) -> None:
    picture = SOURCE.read_text(encoding="utf-8")
    colour = re.search(r'<rect[^>]* fill="([^"]+)"', picture)
    assert colour is not None
    ground = colour[1] if share < 1 else "transparent"
    page = browser.new_page(viewport={"width": pixels, "height": pixels})
    page.set_content(
        f"<style>body{{margin:0;background:{ground}}}svg{{display:block;margin:{pixels * (1 - share) / 2}px;"
        f"width:{pixels * share}px;height:{pixels * share}px}}</style>{picture}"
    )
    page.screenshot(path=path, omit_background=True)
    page.close()


if __name__ == "__main__":
    sys.exit(main())
