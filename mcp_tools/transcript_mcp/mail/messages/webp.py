"""Converts pictures to WebP, within limits. Import this only where it is needed: it loads Pillow."""

import io
import struct
import threading
import zlib
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from PIL import Image, ImageOps

from nanobot_transcript.errors import AgentMailError

__all__ = ["MOST_BYTES", "MOST_PIXELS", "ImageRefusedError", "WebP", "to_webp"]

MOST_BYTES: Final = 20 * 1024 * 1024
MOST_PIXELS: Final = 40_000_000
_LONGEST_SIDE: Final = 16_383  # the format's own limit
_LARGE: Final = 10_000_000  # pixels; each takes ten bytes or more during conversion
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
_PHOTOS: Final = ("JPEG", "MPO")  # phones add a preview or a depth map to a JPEG, which makes it an MPO
_BARE: Final = frozenset({b"VP8 ", b"VP8L", b"VP8X", b"ALPH"})
_DRAWN: Final = 0.5  # bytes per pixel: a drawing or a screenshot takes fewer as PNG, a photo more
_BROKEN: Final = (
    *(OSError, SyntaxError, ValueError, EOFError, LookupError, TypeError, AttributeError, ArithmeticError),
    *(RuntimeError, NotImplementedError, MemoryError, struct.error, zlib.error),
)
"""Exceptions that Pillow's readers are known to raise for malformed files."""

_one_at_a_time = threading.Lock()


class ImageRefusedError(AgentMailError):
    """A picture cannot be converted; the message says why."""

    code = "image_refused"


@dataclass(frozen=True, slots=True)
class WebP:
    """A still picture. ``animated``: it is the first of several frames."""

    data: bytes
    width: int
    height: int
    animated: bool = False


def to_webp(data: bytes, most_pixels: int = MOST_PIXELS) -> WebP:
    """The picture as WebP, upright and without metadata such as a camera's location. Raises ImageRefusedError.
    Photos are compressed lossily, drawings losslessly. A WebP without metadata is returned unchanged, so that a quoted
    picture stays the same file.
    """
    if len(data) > MOST_BYTES:
        raise ImageRefusedError(f"It has more than {MOST_BYTES // 2**20} MB.")
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            large = image.width * image.height > _LARGE
            with _one_at_a_time if large else nullcontext():
                return _converted(image, data, most_pixels)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large(most_pixels) from error
    except Image.UnidentifiedImageError as error:
        raise ImageRefusedError("It is not a readable PNG, JPEG, GIF, WebP or BMP.") from error
    except _BROKEN as error:
        raise ImageRefusedError("It is damaged or incomplete.") from error


def _converted(image: Image.Image, data: bytes, most_pixels: int) -> WebP:
    width, height = image.size
    if width * height > most_pixels:
        raise _too_large(most_pixels)
    if max(width, height) > _LONGEST_SIDE:
        raise ImageRefusedError(f"A side has more than {_LONGEST_SIDE} pixels.")
    image.load()
    is_photo = image.format in _PHOTOS
    # Not n_frames: counting the frames of a GIF reads the whole file.
    animated = not is_photo and getattr(image, "is_animated", False)
    if image.format == "WEBP" and not animated and _is_bare(data):
        return WebP(data, width, height)
    drawn = not is_photo and len(data) <= _DRAWN * width * height + 4096
    ImageOps.exif_transpose(image, in_place=True)
    upright = _plain(image)
    written = io.BytesIO()
    if drawn:
        upright.save(written, "WEBP", lossless=True, quality=50, method=1)
    else:
        upright.save(written, "WEBP", quality=80, method=2)
    return WebP(written.getvalue(), *upright.size, animated)


def _plain(image: Image.Image) -> Image.Image:
    """The picture as RGB or RGBA, without any metadata."""
    if image.mode.startswith("I"):  # 16-bit grey: Pillow's own conversion clips everything above 255 to white
        image = image.convert("I").point(lambda grey: grey / 256).convert("L")
    transparent = "A" in image.getbands() or "a" in image.getbands() or "transparency" in image.info
    mode = "RGBA" if transparent else "RGB"
    plain = image if image.mode == mode else image.convert(mode)
    plain.info.clear()  # metadata such as place and camera must not be passed on
    return plain


def _is_bare(data: bytes) -> bool:
    """True for a WebP file with nothing but a picture: no metadata chunks, and no data after its end."""
    if len(data) != 8 + int.from_bytes(data[4:8], "little"):
        return False
    at = 12
    while at < len(data):
        if data[at : at + 4] not in _BARE:
            return False
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        at += 8 + size + size % 2
    return at == len(data)


def _too_large(most_pixels: int) -> ImageRefusedError:
    if most_pixels < MOST_PIXELS:
        return ImageRefusedError("The pictures of this message have too many pixels in total.")
    return ImageRefusedError(f"It has more than {MOST_PIXELS // 1_000_000} million pixels.")
