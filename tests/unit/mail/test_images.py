"""Pictures of a message: taken, kept once, or refused with a reason."""

import base64
import hashlib
import io
import os
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from nanobot_transcript.errors import InvalidLetterError, StoreError
from transcript_mcp.mail.messages.images import MOST_IMAGES, Converted, convert
from transcript_mcp.mail.messages.webp import MOST_BYTES, MOST_PIXELS, ImageRefusedError, to_webp


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "flow.png").write_bytes(picture())
    return root


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return tmp_path / "store" / "repo"


def picture(size: tuple[int, int] = (64, 48), kind: str = "PNG", mode: str = "RGB", **options: Any) -> bytes:
    written = io.BytesIO()
    Image.new(mode, size, 0 if mode == "P" else "teal").save(written, kind, **options)
    return written.getvalue()


def noise(size: tuple[int, int] = (200, 200), kind: str = "PNG", **options: Any) -> bytes:
    written = io.BytesIO()
    Image.frombytes("RGB", size, random.Random(1).randbytes(size[0] * size[1] * 3)).save(written, kind, **options)
    return written.getvalue()


def uri(data: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def refused(converted: Converted, body: str) -> str:
    """The one reason, when nothing else has happened."""
    assert converted.body_md == body
    assert converted.attachments == []
    (problem,) = converted.problems
    return problem.reason


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ('<img src="docs/flow.png" width="40">', '<img src="{}" width="40">'),
        ("<img src=docs/flow.png width=40>", '<img src="{}" width=40>'),
        ("![flow][f]\n\n[f]: docs/flow.png 'the flow'", "![flow][f]\n\n[f]: {} 'the flow'"),
    ],
)
@pytest.mark.parametrize("policy", ["file", "inline"])
def test_pictures_of_html_and_of_references_are_taken(
    root: Path, repo: Path, body: str, after: str, policy: Any
) -> None:
    converted = convert(body, root, repo, policy)
    (attachment,) = converted.attachments
    assert (attachment["type"], converted.problems) == (policy, [])
    before, behind = after.split("{}")
    assert converted.body_md.startswith(before)
    assert converted.body_md.endswith(behind)
    target = converted.body_md[len(before) : len(converted.body_md) - len(behind)]
    assert target == attachment["path"] if policy == "file" else target.startswith("data:image/webp;base64,")


@pytest.mark.parametrize("body", ['<img src="nowhere.png">', "![a][f]\n\n[f]: nowhere.png"])
def test_pictures_of_html_and_of_references_that_are_not_taken_are_listed(root: Path, repo: Path, body: str) -> None:
    assert refused(convert(body, root, repo), body) == "There is no such file."


def test_no_picture_is_smaller_than_nothing(root: Path, repo: Path) -> None:
    with pytest.raises(InvalidLetterError, match="inline_max_bytes is -1") as caught:
        convert("![a](docs/flow.png)", root, repo, "auto", -1)
    assert caught.value.hint
    assert convert("![a](docs/flow.png)", root, repo, "auto", 0).files


def test_a_picture_becomes_a_file_named_by_its_bytes(root: Path, repo: Path) -> None:
    converted = convert('See ![the flow](docs/flow.png "flow").', root, repo, "file")
    (attachment,) = converted.attachments
    path = str(attachment["path"])
    data = (repo / path).read_bytes()
    digest = hashlib.sha1(data).hexdigest()
    assert path == f"attachments/{digest[:2]}/{digest}.webp"
    assert attachment == {
        "type": "file",
        "media_type": "image/webp",
        "path": path,
        "sha1": digest,
        "bytes": len(data),
        "width": 64,
        "height": 48,
    }
    assert converted.body_md == f'See ![the flow]({path} "flow").'
    assert (converted.files, converted.problems) == ([path], [])
    with Image.open(io.BytesIO(data)) as image:
        assert (image.format, image.size) == ("WEBP", (64, 48))
    assert [each.name for each in (repo / path).parent.iterdir()] == [f"{digest}.webp"]


@pytest.mark.parametrize("policy", ["auto", "inline"])
def test_a_small_picture_stands_in_the_text(policy: Any, root: Path, repo: Path) -> None:
    converted = convert("![](docs/flow.png)", root, repo, policy)
    assert converted.body_md.startswith("![](data:image/webp;base64,")
    (attachment,) = converted.attachments
    assert (attachment["type"], attachment["media_type"]) == ("inline", "image/webp")
    assert (converted.files, converted.problems, repo.exists()) == ([], [], False)


def test_the_limit_for_the_text_is_that_of_the_webp(root: Path, repo: Path) -> None:
    size = int(convert("![](docs/flow.png)", root, repo).attachments[0]["bytes"])
    assert convert("![](docs/flow.png)", root, repo, "auto", size).files == []
    assert len(convert("![](docs/flow.png)", root, repo, "auto", size - 1).files) == 1
    told = convert("![](docs/flow.png)", root, repo, "inline", size - 1)
    assert len(told.files) == 1
    assert "too large for the text" in told.problems[0].reason


def test_paths_are_relative_absolute_or_addresses_of_files(root: Path, repo: Path) -> None:
    (root / "my flow.png").write_bytes(picture())
    for target in (
        "docs/flow.png",
        "./docs/../docs/flow.png",
        f"{root}/docs/flow.png",
        f"file://{root}/docs/flow.png",
        f"file://localhost{root}/docs/flow.png",
        "my%20flow.png",
        "<my flow.png>",
    ):
        assert len(convert(f"![]({target})", root, repo, "file").files) == 1, target


def test_a_root_that_is_a_link_is_followed(root: Path, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    for target in ("docs/flow.png", f"{tmp_path}/link/docs/flow.png", f"{root}/docs/flow.png"):
        assert len(convert(f"![]({target})", tmp_path / "link", repo, "file").files) == 1


def test_links_to_the_web_and_code_are_left_alone(root: Path, repo: Path) -> None:
    body = (
        "![](https://x.org/a.png) ![](http://x.org/a.png) ![](//x.org/a.png) ![](cid:1) ![](#a)\n"
        "`![](docs/flow.png)`\n```\n![](docs/flow.png)\n```\n"
    )
    assert convert(body, root, repo) == Converted(body)


def test_data_uris_are_taken(root: Path, repo: Path) -> None:
    for kind, media_type in (("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("BMP", "image/bmp")):
        body = f"![]({uri(picture(kind=kind), media_type)})"
        assert len(convert(body, None, repo, "file").files) == 1


def test_the_same_picture_is_kept_once(root: Path, repo: Path) -> None:
    converted = convert(f"![](docs/flow.png) ![](docs/flow.png) ![]({uri(picture())})", root, repo, "file")
    (path,) = converted.files
    assert converted.body_md == f"![]({path}) ![]({path}) ![]({path})"
    written = (repo / path).stat()
    assert convert("![](docs/flow.png)", root, repo, "file").files == [path]
    assert (repo / path).stat().st_ino == written.st_ino


def test_a_quoted_picture_stays_the_same_file(root: Path, repo: Path) -> None:
    for policy in ("file", "inline"):
        first = convert("![](docs/flow.png)", root, repo, policy)
        again = convert(f"> {first.body_md}", None, repo, policy)
        assert again.body_md == f"> {first.body_md}"
        assert again.attachments == first.attachments
        assert again.problems == []


@pytest.mark.parametrize(
    "target",
    [
        "../secret.png",
        "/etc/hosts.png",
        "docs/../../secret.png",
        "file:///etc/x.png",
        "file://host/x.png",
        "%2e%2e/secret.png",
    ],
)
def test_what_lies_outside_is_refused(target: str, root: Path, repo: Path) -> None:
    (root.parent / "secret.png").write_bytes(picture())
    body = f"![]({target})"
    assert "outside" in refused(convert(body, root, repo), body)


def test_links_are_refused(root: Path, repo: Path) -> None:
    (root.parent / "secret.png").write_bytes(picture())
    (root / "link.png").symlink_to(root.parent / "secret.png")
    (root / "up").symlink_to(root.parent)
    (root / "inner.png").symlink_to(root / "docs" / "flow.png")
    for target in ("link.png", "up/secret.png", "inner.png", f"{root}/up/secret.png"):
        body = f"![]({target})"
        assert "link" in refused(convert(body, root, repo), body)


def test_what_is_no_file_is_refused(root: Path, repo: Path) -> None:
    os.mkfifo(root / "pipe.png")
    for target, reason in {
        "none.png": "no such file",
        "docs": "not a file",
        ".": "not a file",
        "pipe.png": "not a file",
        "docs/flow.png/x.png": "not a folder",
        "a%00b.png": "no such file",
        "\udcff.png": "no such file",
        "n" * 300: "too long",
    }.items():
        body = f"![]({target})"
        assert reason in refused(convert(body, root, repo), body)


@pytest.mark.parametrize("wide", ["/", "~", "~/..", "~/project/..", "//"])
def test_no_picture_is_taken_where_the_project_is_the_home_or_the_whole_machine(
    wide: str, root: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root.parent))
    body = f"![]({root}/docs/flow.png)"
    project = wide.replace("~", str(root.parent))
    assert "so large a folder" in refused(convert(body, project, repo), body)
    assert convert(body, root, repo).problems == []


def test_a_link_to_the_home_is_as_wide_as_the_home(
    root: Path, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root))
    (tmp_path / "link").symlink_to(root)
    assert "so large a folder" in refused(convert("![](docs/flow.png)", tmp_path / "link", repo), "![](docs/flow.png)")


def test_a_project_without_a_folder_has_no_local_pictures(repo: Path) -> None:
    for project in (None, "my project", "/nowhere/at/all"):
        assert "no folder" in refused(convert("![](a.png)", project, repo), "![](a.png)")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a readable PNG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a readable PNG"),
        (b"%PDF-1.4", "not a readable PNG"),
        (b"II*\0" + b"\0" * 100, "not a readable PNG"),
        (noise()[:-2000], "damaged"),
        (noise(kind="JPEG")[:3000], "damaged"),
        (picture(kind="GIF")[:20], "not a readable PNG"),
        (b"\0" * (MOST_BYTES + 1), "MB"),
    ],
    ids=range(8),
)
def test_files_that_are_no_good_pictures_are_refused(data: bytes, reason: str, root: Path, repo: Path) -> None:
    (root / "bad.png").write_bytes(data)
    assert reason in refused(convert("![](bad.png)", root, repo), "![](bad.png)")


def test_a_picture_has_twenty_megabytes_at_the_most(root: Path, repo: Path) -> None:
    good = picture((10, 10))
    for size, taken in ((20 * 1024 * 1024, True), (20 * 1024 * 1024 + 1, False)):
        (root / "large.png").write_bytes(good)
        os.truncate(root / "large.png", size)
        converted = convert("![](large.png)", root, repo, "file")
        assert [problem.reason for problem in converted.problems] == ([] if taken else ["It has more than 20 MB."])
        assert len(converted.files) == taken


@pytest.mark.parametrize(
    "target",
    [
        "data:image/png;base64,!!!!",
        "data:image/png,abc",
        "data:text/html;base64,QUJD",
        "data:",
        "data:image/png;base64,A",
    ],
)
def test_data_uris_that_are_none_are_refused(target: str, repo: Path) -> None:
    assert "base64" in refused(convert(f"![]({target})", None, repo), f"![]({target})")


def bomb(width: int, height: int) -> bytes:
    """A PNG of few bytes that would fill the memory."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0" * 100_000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(8000, 5001), (10_000, 10_000), (30_000, 30_000), (1_000_000, 1_000_000)])
def test_bombs_are_refused_before_they_unfold(size: tuple[int, int], root: Path, repo: Path) -> None:
    (root / "bomb.png").write_bytes(bomb(*size))
    reason = refused(convert("![](bomb.png)", root, repo), "![](bomb.png)")
    assert f"{MOST_PIXELS // 1_000_000} million pixels" in reason


def test_pictures_longer_than_webp_can_be_are_refused() -> None:
    with pytest.raises(ImageRefusedError, match="side"):
        to_webp(picture((20_000, 2)))


def test_a_message_has_a_bound_for_the_pixels_of_all_its_pictures() -> None:
    with pytest.raises(ImageRefusedError, match="in total"):
        to_webp(picture((100, 100)), most_pixels=9_999)


def test_of_an_animation_the_first_frame_is_kept_and_said(root: Path, repo: Path) -> None:
    frames = [Image.new("RGB", (20, 20), color) for color in ("red", "blue")]
    for kind in ("GIF", "WEBP"):
        frames[0].save(root / "moves", kind, save_all=True, append_images=frames[1:])
        converted = convert("![](moves)", root, repo, "file")
        assert "first frame" in converted.problems[0].reason
        with Image.open(repo / converted.files[0]) as image:
            assert getattr(image, "n_frames", 1) == 1
            assert image.convert("RGB").getpixel((5, 5)) == pytest.approx((255, 0, 0), abs=3)


def test_no_more_pictures_than_a_message_may_have_are_taken(root: Path, repo: Path) -> None:
    for n in range(MOST_IMAGES + 3):
        (root / f"{n}.png").write_bytes(picture((10 + n, 10)))
    body = " ".join(f"![]({n}.png)" for n in range(MOST_IMAGES + 3))
    converted = convert(body + " ![](0.png)", root, repo, "file")
    assert len(converted.files) == MOST_IMAGES
    assert converted.body_md.endswith(f" ![](22.png) ![]({converted.files[0]})")
    assert [problem.reason for problem in converted.problems] == [
        "A message can have at most 20 pictures; the others stay as they were written."
    ]


def test_one_bad_picture_does_not_keep_the_others_back(root: Path, repo: Path) -> None:
    converted = convert("![](none.png) ![](docs/flow.png)", root, repo, "file")
    assert len(converted.files) == len(converted.problems) == 1
    assert converted.problems[0].target == "none.png"


def test_a_long_target_is_named_shortly(repo: Path) -> None:
    (problem,) = convert(f"![]({uri(b'x' * 1000)})", None, repo).problems
    assert len(problem.target) == 101


@pytest.mark.parametrize(
    ("mode", "kind", "transparent"),
    [
        ("P", "PNG", False),
        ("L", "PNG", False),
        ("1", "PNG", False),
        ("I;16", "PNG", False),
        ("RGBA", "PNG", True),
        ("LA", "PNG", True),
        ("L", "JPEG", False),
        ("CMYK", "JPEG", False),
        ("P", "GIF", False),
    ],
)
def test_every_kind_of_colour_is_taken(mode: str, kind: str, transparent: bool) -> None:
    written = io.BytesIO()
    Image.new(mode, (30, 20)).save(written, kind)
    with Image.open(io.BytesIO(to_webp(written.getvalue()).data)) as image:
        assert image.mode == ("RGBA" if transparent else "RGB")
        assert image.size == (30, 20)


def test_sixteen_bits_of_grey_stay_grey() -> None:
    ramp = Image.new("I;16", (4, 4))
    ramp.putdata([0, 0x4000, 0x8000, 0xFFFF] * 4)
    written = io.BytesIO()
    ramp.save(written, "PNG")
    with Image.open(io.BytesIO(to_webp(written.getvalue()).data)) as image:
        assert [image.getpixel((x, 0)) for x in range(4)] == [(grey,) * 3 for grey in (0, 64, 128, 255)]


def test_a_photo_with_a_preview_in_its_file_is_a_photo() -> None:
    plain, written = noise((300, 200), "JPEG", quality=60), io.BytesIO()
    with Image.open(io.BytesIO(plain)) as photo:
        photo.save(written, "MPO", save_all=True, append_images=[photo.resize((30, 20))], quality=60)
    taken = to_webp(written.getvalue())
    assert len(taken.data) < 1.2 * len(to_webp(plain).data)
    assert not taken.animated


def chunk(name: bytes, content: bytes) -> bytes:
    return name + len(content).to_bytes(4, "little") + content


@pytest.mark.parametrize("where", ["behind the end", "in a chunk of its own"])
def test_nothing_that_is_no_picture_is_taken_along_in_one(where: str) -> None:
    bare, secret = to_webp(picture()).data, b"52.5200 N, 13.4050 E"
    assert to_webp(bare).data == bare
    if where == "behind the end":
        hiding = bare + secret
    else:
        chunks = bare[8:] + chunk(b"GPS ", secret)
        hiding = bare[:4] + len(chunks).to_bytes(4, "little") + chunks
    taken = to_webp(hiding)
    assert secret not in taken.data
    assert (taken.width, taken.height) == (64, 48)


def test_frames_of_a_long_animation_are_not_counted() -> None:
    frame = b"\x21\xf9\x04\0\0\0\0\0\x2c" + bytes(4) + b"\1\0\1\0\0\2\2\x44\1\0"
    head = b"GIF89a" + struct.pack("<HH", 8, 8) + b"\x80\0\0" + b"\0\0\0\xff\xff\xff"
    broken_behind = head + 3 * frame + b"\x21\xf9\x04"  # whoever walks to the end stumbles
    assert to_webp(broken_behind).animated


def test_a_photo_is_upright_and_keeps_no_place() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif.get_ifd(0x8825)[1] = "N"
    for kind in ("JPEG", "WEBP"):
        taken = to_webp(noise((40, 20), kind, exif=exif))
        assert (taken.width, taken.height) == (20, 40)
        with Image.open(io.BytesIO(taken.data)) as image:
            assert image.size == (20, 40)
            assert "exif" not in image.info


def test_drawings_are_kept_exactly_and_photos_small() -> None:
    drawing = Image.new("RGB", (300, 200), "white")
    drawing.paste((17, 34, 51), (10, 10, 200, 100))
    written = io.BytesIO()
    drawing.save(written, "PNG")
    with Image.open(io.BytesIO(to_webp(written.getvalue()).data)) as image:
        assert image.tobytes() == drawing.tobytes()
    photo = noise((300, 300))
    assert len(to_webp(photo).data) < len(photo) / 2


def test_damaged_files_never_raise_anything_else() -> None:
    rnd, taken = random.Random(3), 0
    for whole in (picture(), noise((30, 30)), noise((30, 30), "JPEG"), picture(kind="GIF"), noise((30, 30), "WEBP")):
        for _ in range(60):
            data = bytearray(whole)
            for _ in range(rnd.randint(1, 8)):
                data[rnd.randrange(len(data))] = rnd.randrange(256)
            try:
                to_webp(bytes(data[: rnd.randint(len(data) // 2, len(data))]))
                taken += 1
            except ImageRefusedError:
                continue
    assert taken < 300


def test_a_picture_that_cannot_be_written_is_an_error(root: Path, repo: Path) -> None:
    repo.parent.mkdir(parents=True)
    repo.write_text("in the way")
    with pytest.raises(StoreError):
        convert("![](docs/flow.png)", root, repo, "file")


def test_an_unknown_policy_is_an_error(root: Path, repo: Path) -> None:
    with pytest.raises(InvalidLetterError, match="sometimes"):
        convert("text", root, repo, "sometimes")  # type: ignore[arg-type]
