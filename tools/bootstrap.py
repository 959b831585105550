"""Make the project's virtual environment hold one set of requirements; done already = done at once.

    python3 tools/bootstrap.py SET [VENV]

SET names a file of ``requirements/``: exact versions with hashes, no addresses. The packages come from
wherever this machine's pip or uv is configured to look. Standard library only, for it runs before anything is
installed.
"""
# ruff: noqa: INP001, T201 - a script that talks to the terminal, not a package

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Event, Thread

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements"
INCLUDES = {"check": ("test",), "test": ("demo",)}
"""Which smaller sets a set contains: the larger one installed means the smaller one is."""


class SetupError(Exception):
    """Setting up cannot go on; the message says what the person can do."""


def main(arguments: list[str]) -> int:
    name, venv = arguments[0], Path(arguments[1] if len(arguments) > 1 else ".venv").absolute()
    if not requirement_file(name).is_file():
        known = ", ".join(sorted(path.stem for path in REQUIREMENTS.glob("*.txt")))
        print(f"There is no requirement set {name!r}; there are: {known}", file=sys.stderr)
        return 2
    try:
        ensure(name, venv)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def ensure(name: str, venv: Path) -> None:
    """Install what is not installed yet. Two calls at the same time wait for each other."""
    with one_at_a_time():
        stamps = venv / ".stamps"
        if not fits(venv):
            make_venv(venv)
        if name == "uv":
            return
        stamps.mkdir(exist_ok=True)
        if not is_current(stamps, name):
            install_set(venv, name)
            for each in contained(name):
                mark(stamps, each)
        if not is_current(stamps, "project"):
            install_project(venv)
            mark(stamps, "project")


# -- stamps ------------------------------------------------------------------------------------------


def contained(name: str) -> Iterator[str]:
    yield name
    for smaller in INCLUDES.get(name, ()):
        yield from contained(smaller)


def requirement_file(name: str) -> Path:
    return REQUIREMENTS / f"{name}.txt"


def is_current(stamps: Path, name: str) -> bool:
    try:
        return (stamps / name).read_text(encoding="ascii") == fingerprint(name)
    except FileNotFoundError:
        return False


def mark(stamps: Path, name: str) -> None:
    (stamps / name).write_text(fingerprint(name), encoding="ascii")


def fingerprint(name: str) -> str:
    """What the installed state depends on: the pinned files, or what shapes the editable install."""
    if name == "project":
        tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        shaping = [tables["build-system"], tables["project"], tables["tool"]["hatch"], str(ROOT)]
        content = json.dumps(shaping, sort_keys=True).encode()
    else:
        content = requirement_file(name).read_bytes()
    return hashlib.sha256(content).hexdigest()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    folder = os.open(REQUIREMENTS, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


# -- the environment ---------------------------------------------------------------------------------


def fits(venv: Path) -> bool:
    """True when the environment is complete, runs, and has the Python version that was asked for."""
    if Path(sys.prefix) == venv:
        return True
    if not ((venv / "bin" / "uv").exists() or (venv / "bin" / "pip").exists()):
        return False
    return version_of(venv) == sys.version_info[:2]


def version_of(venv: Path) -> tuple[int, int] | None:
    command = [str(venv / "bin" / "python"), "-S", "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        done = subprocess.run(command, capture_output=True, encoding="ascii", check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    major, minor = done.stdout.split()
    return int(major), int(minor)


def make_venv(venv: Path) -> None:
    """An environment with uv in it; on a machine where uv cannot be had, with pip alone."""
    with step(f"Setting up {venv.name} with Python {sys.version.split()[0]}"):
        clear = [] if version_of(venv) == sys.version_info[:2] else ["--clear"]
        if has_ensurepip():
            run([sys.executable, "-m", "venv", *clear, str(venv)])
            pip = [str(venv / "bin" / "python"), "-m", "pip"]
        else:
            pip = pip_from_outside(venv)
            run([sys.executable, "-m", "venv", *clear, "--without-pip", str(venv)])
        arguments = [
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
            "--only-binary",
            ":all:",
            "-r",
            str(requirement_file("uv")),
        ]
        code, said = attempt([*pip, *arguments])
    if code == 0:
        return
    print(said, end="", file=sys.stderr)
    if not has_ensurepip():
        raise SetupError(f"uv could not be installed, and Python has no ensurepip to go on with pip. {venv_package()}")
    print("-- uv could not be installed; going on with pip, which takes a minute or two longer", file=sys.stderr)


def has_ensurepip() -> bool:
    """Debian and Ubuntu keep it in a package of its own."""
    try:
        import ensurepip  # noqa: F401 - the question is whether it is there
    except ImportError:
        return False
    return True


def pip_from_outside(venv: Path) -> list[str]:
    """Python's own pip, told to work on the environment; that needs no ensurepip."""
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode:
        raise SetupError(f"This Python has neither ensurepip nor pip. {venv_package()}")
    return [*pip, "--python", str(venv / "bin" / "python")]


def venv_package() -> str:
    major, minor = sys.version_info[:2]
    return f"On Debian or Ubuntu:  sudo apt-get install python{major}.{minor}-venv"


def install_set(venv: Path, name: str) -> None:
    lines = requirement_file(name).read_text(encoding="utf-8").splitlines()
    packages = sum("==" in line for line in lines)
    with step(f"Installing the packages for `{name}` (up to {packages})") as facts:
        said = run([*installer(venv), "--require-hashes", "-r", str(requirement_file(name))], why=NETWORK)
        facts.append(f"{said.count(ADDED)} new" if ADDED in said else "")


def install_project(venv: Path) -> None:
    with step("Installing the project itself, editable"):
        run([*installer(venv), "--no-deps", "--no-build-isolation", "--editable", str(ROOT)], why=NETWORK)


def installer(venv: Path) -> list[str]:
    python = str(venv / "bin" / "python")
    uv = venv / "bin" / "uv"
    if uv.exists():
        # Compiled once here, not by every process: where Python may not write bytecode, nothing would be kept.
        return [str(uv), "pip", "install", "--compile-bytecode", "--python", python]
    return [python, "-m", "pip", "install", "--disable-pip-version-check"]


ADDED = "\n + "
"""What stands before each package that uv has added; pip lists them otherwise."""

NETWORK = (
    "Installing failed; the lines above say why. Is the package index reachable? A mirror set for pip"
    " (pip config set global.index-url ...) is used by this too; a proxy is taken from HTTPS_PROXY."
)


def environment() -> dict[str, str]:
    """This process's environment with the machine's certificates, and pip's package index told to uv."""
    result = {"UV_SYSTEM_CERTS": "1", **os.environ}
    index = pip_index()
    if index and not ({"UV_DEFAULT_INDEX", "UV_INDEX_URL"} & result.keys()):
        result["UV_DEFAULT_INDEX"] = index
    return result


@cache
def pip_index() -> str:
    """The mirror that pip is configured to use, or nothing: uv does not read pip's configuration."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    settings = (line.partition("=") for line in done.stdout.splitlines())
    found = {name: value.strip("'\"") for name, _, value in settings}
    names = (":env:.index-url", "install.index-url", "site.index-url", "global.index-url")
    return next((found[name] for name in names if name in found), "")


def run(command: list[str], *, why: str = "") -> str:
    """What the command printed. When it fails, that is shown in full; raises SetupError."""
    code, said = attempt(command)
    if code:
        reason = why or f"This failed: {' '.join(command)}"
        raise SetupError(f"{said}\n{reason}")
    return said


def attempt(command: list[str]) -> tuple[int, str]:
    """The command's exit code and what it printed."""
    try:
        done = subprocess.run(
            command,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        return 1, str(error)
    return done.returncode, done.stdout


@contextmanager
def step(text: str) -> Iterator[list[str]]:
    """One line for something that takes a while: what is done, and for how long; what is put into the list, too."""
    began, ended, facts = time.monotonic(), Event(), list[str]()

    def line() -> str:
        return ", ".join([f"-- {text} … {time.monotonic() - began:.0f} s", *filter(None, facts)])

    def count() -> None:
        while not ended.wait(1.0):
            print(f"\r{line()}", end="", file=sys.stderr, flush=True)

    print(f"-- {text} …", end="", file=sys.stderr, flush=True)
    watched = sys.stderr.isatty()
    counter = Thread(target=count, daemon=True)
    if watched:
        counter.start()
    try:
        yield facts
    finally:
        ended.set()
        if watched:
            counter.join()
        print(f"\r{line()}" if watched else line().removeprefix(f"-- {text} …"), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
