"""The README's pictures: all there, small, and shown. `make pictures` makes them."""

from PIL import Image

from tools.pictures import ASSETS, MOST_BYTES, NAMES, ROOT


def test_the_pictures_are_there_and_small() -> None:
    paths = [ASSETS / name for names in NAMES.values() for name in names]
    for path in paths:
        with Image.open(path) as image:
            assert image.format == "PNG"
            assert image.width > image.height > 700, path.name
    assert sum(path.stat().st_size for path in paths) <= MOST_BYTES


def test_each_readme_shows_the_pictures_in_its_language() -> None:
    for readme, language in (("README.md", "en"), ("README.zh-CN.md", "zh")):
        text = (ROOT / readme).read_text(encoding="utf-8")
        assert [name for name in NAMES[language] if f"docs/assets/{name}" not in text] == []
