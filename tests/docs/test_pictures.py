"""The README's pictures: all there, and small. `make pictures` makes them."""

from PIL import Image

from tools.pictures import ASSETS, MOST_BYTES, NAMES


def test_the_pictures_are_there_and_small() -> None:
    paths = [ASSETS / name for names in NAMES.values() for name in names]
    for path in paths:
        with Image.open(path) as image:
            assert image.format == "PNG"
            assert image.width > image.height > 700, path.name
    assert sum(path.stat().st_size for path in paths) <= MOST_BYTES
