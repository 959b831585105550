"""The built files are those of the sources, few, small, and let a browser run nothing else."""

import gzip
import importlib.util
import json
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from aiohttp import ClientSession
from PIL import Image
from support.hubs import listening, small_server

from nanobot_transcript.settings import Settings
from transcript_mcp.hub import create_app
from transcript_mcp.hub.web.bundle import DIST, Bundle
from transcript_mcp.room import OpenRoom

ROOT = Path(__file__).parents[3]
BUILT = sorted(path.relative_to(DIST).as_posix() for path in DIST.rglob("*") if path.is_file())
MOST = 250_000


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("web_tool", ROOT / "tools" / "web.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_built_files_are_made_from_these_sources() -> None:
    built = json.loads((DIST / "BUILD.json").read_text(encoding="utf-8"))["sources"]
    assert built == tool().fingerprint(), "run `make web` and commit what it writes"


def test_the_page_knows_the_frames_of_the_assistant_as_the_hub_has_them() -> None:
    built = tool()
    assert built.DESCRIPTOR.read_text(encoding="utf-8") == built.descriptor(), "run `make web`"


def test_the_words_of_all_pages_have_keys_of_their_own() -> None:
    source = ROOT / "web" / "src"
    keys = Counter[str]()
    for path in (*(source / "words").glob("*.ts"), *(source / "pages").glob("*/words.ts")):
        english, _, _ = path.read_text(encoding="utf-8").partition("export const zh")
        keys.update(re.findall(r'^  "?([\w ]+)"?:', english, flags=re.MULTILINE))
    assert len(keys) > 300
    assert [key for key, files in keys.items() if files > 1] == []


def test_the_frame_and_the_start_name_no_page() -> None:
    source = ROOT / "web" / "src"
    names = [each.name for each in (source / "pages").iterdir() if each.is_dir() and each.name != "home"]
    assert len(names) > 5
    named = re.compile(rf"\b({'|'.join(names)})\b")
    around = [source / "App.tsx", source / "pages" / "lines.ts", *(source / "pages" / "home").iterdir()]
    lines = [
        (path.name, line)
        for path in around
        for line in path.read_text(encoding="utf-8").splitlines()
        if named.search(line)
    ]
    assert lines == []


def test_the_scripts_and_the_style_sheet_are_few_and_small() -> None:
    weighty = [name for name in BUILT if name.endswith((".js", ".css"))]
    assert [name.partition("-")[0] for name in weighty] == ["assets/app", "assets/highlighting", "assets/style"]
    assert sum(len(gzip.compress((DIST / name).read_bytes(), mtime=0)) for name in weighty) <= MOST


def test_the_page_names_built_files_only_and_holds_no_script() -> None:
    page = (DIST / "index.html").read_text(encoding="utf-8")
    named = {name.removeprefix("./") for name in re.findall(r'(?:src|href)="([^"]+)"', page)}
    assert named - {"manifest.webmanifest", "apple-touch-icon.png"} == {
        name for name in BUILT if name.startswith("assets/") and "/highlighting-" not in name
    }
    assert named <= set(BUILT)
    assert re.findall(r"<script(?![^>]*\bsrc=)[^>]*>", page) == []
    assert "<style" not in page


async def test_files_come_packed_to_whoever_takes_them_so() -> None:
    app = create_app(Settings(), {"small": OpenRoom(small_server())})
    sizes = list[int]()
    async with listening(app) as address, ClientSession(address, auto_decompress=False) as session:
        for name in BUILT:
            if not name.endswith((".js", ".css")):
                continue
            async with session.get(f"/{name}", headers={"Accept-Encoding": "br, gzip"}) as packed:
                sizes.append(len(await packed.read()))
                assert (packed.headers["Content-Encoding"], packed.headers["Vary"]) == ("gzip", "Accept-Encoding")
                assert gzip.decompress(await packed.read()) == (DIST / name).read_bytes()
            async with session.get(f"/{name}", headers={"Accept-Encoding": "identity"}) as plain:
                assert "Content-Encoding" not in plain.headers
                assert await plain.read() == (DIST / name).read_bytes()
    assert sum(sizes) <= MOST


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("br;q=1.0, GZIP;q=0.5, *;q=0", "gzip"),
        ("gzip;q=0", None),
        ("identity, gzip; q=0.000", None),
        ("gzip-like", None),
        ("", None),
    ],
)
async def test_nobody_gets_gzip_who_does_not_take_it(accepted: str, coding: str | None) -> None:
    app = create_app(Settings(), {"small": OpenRoom(small_server())})
    async with (
        listening(app) as address,
        ClientSession(address, auto_decompress=False) as session,
        session.get("/", headers={"Accept-Encoding": accepted}) as answer,
    ):
        assert answer.headers.get("Content-Encoding") == coding


async def test_a_file_that_a_browser_has_is_not_sent_again_however_it_says_so() -> None:
    app = create_app(Settings(), {"small": OpenRoom(small_server())})
    async with listening(app) as address, ClientSession(address) as session:
        async with session.get("/") as page:
            tag = page.headers["ETag"]
        assert re.fullmatch(r'W/"[0-9a-f]{16}"', tag)  # weak: packed or plain, it is the same
        for known in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):
            async with session.get("/", headers={"If-None-Match": known}) as unchanged:
                assert (unchanged.status, unchanged.headers["ETag"]) == (304, tag), known
        async with session.get("/", headers={"If-None-Match": 'W/"other"'}) as changed:
            assert changed.status == 200


async def test_the_page_is_open_to_all_and_its_files_are_kept_for_good() -> None:
    settings = Settings.model_validate({"hub": {"tokens": {"me": "a-long-token"}}})
    app = create_app(settings, {"small": OpenRoom(small_server())})
    script = next(name for name in BUILT if name.endswith(".js"))
    async with listening(app) as address, ClientSession(address) as session:
        async with session.get("/") as page:
            assert page.status == 200
            assert page.headers["Cache-Control"] == "no-store"
            policy = page.headers["Content-Security-Policy"]
        async with session.get(f"/{script}") as asset:
            assert asset.status == 200
            assert "immutable" in asset.headers["Cache-Control"]
            assert asset.headers["X-Content-Type-Options"] == "nosniff"
            tag = asset.headers["ETag"]
        async with session.get(f"/{script}", headers={"If-None-Match": tag}) as unchanged:
            assert unchanged.status == 304
        async with session.get("/assets/..%2findex.html") as outside:
            assert outside.status == 404
        async with session.get("/api/about") as closed:
            assert closed.status == 401
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


async def test_what_installs_the_page_is_open_to_all_and_asked_for_again_at_each_visit() -> None:
    settings = Settings.model_validate({"hub": {"tokens": {"me": "a-long-token"}}})
    kinds = {".png": "image/png", ".webmanifest": "application/manifest+json"}
    files = [name for name in BUILT if "/" not in name and Path(name).suffix in kinds]
    async with (
        listening(create_app(settings, {"small": OpenRoom(small_server())})) as address,
        ClientSession(address) as session,
    ):
        for name in files:
            async with session.get(f"/{name}") as answer:
                assert (answer.status, answer.content_type) == (200, kinds[Path(name).suffix])
                assert answer.headers["Cache-Control"] == "no-cache"
                assert await answer.read() == (DIST / name).read_bytes()
        for name in ("BUILD.json", "icon-1.png", "%2e%2e%2ficon-192.png"):
            async with session.get(f"/{name}") as answer:
                assert answer.status in (401, 404), name
    assert len(files) == 5


def test_every_icon_of_the_manifest_has_the_size_that_is_said_of_it() -> None:
    manifest = json.loads((DIST / "manifest.webmanifest").read_text(encoding="utf-8"))
    found = {icon["src"]: f"{width}x{height}" for icon in manifest["icons"] for width, height in [size(icon["src"])]}
    assert found == {icon["src"]: icon["sizes"] for icon in manifest["icons"]}
    assert {"192x192", "512x512"} <= set(found.values())


def size(name: str) -> tuple[int, int]:
    with Image.open(DIST / name) as picture:
        return picture.size


def test_a_folder_without_built_files_is_no_page(tmp_path: Path) -> None:
    assert not Bundle(tmp_path).built
    assert Bundle().built
