"""Run the store's tests on each other supported Python of this machine.

    python tools/test_pythons.py [PYTEST_ARGUMENT ...]

Every version gets a small environment of its own with what the store itself needs: no nanobot, no Feishu SDK.
A version that is not installed is named and skipped; the version that runs this script is for ``make test``.
"""
# ruff: noqa: INP001, T201 - a script that talks to the terminal, not a package

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
TESTS = ("tests/unit/store",)
AT_BOTH_ENDS = ("tests/contract", "tests/integration/store")  # what works there works on the versions between
APART = "--ignore=tests/contract/hosts"  # they need nanobot
ONCE = (  # the same random histories on every version
    "--deselect=tests/contract/test_store_model.py",
    "--deselect=tests/contract/transfer/test_histories.py",
)
NOT_FAR = "not socket"  # that the record may be far away has nothing to do with the version
PROBE = "import sys, ctypes, sqlite3, ssl, venv; print('%d.%d' % sys.version_info[:2])"


def main(arguments: list[str]) -> int:
    own = "{}.{}".format(*sys.version_info)
    results = {own: "this one, see make test"}
    found = {version: find(version) for version in SUPPORTED if version != own}
    here = [version for version in SUPPORTED if version == own or found[version]]
    for version, python in found.items():
        print(f"\n== Python {version}: {python or 'not installed here'}", flush=True)
        more = AT_BOTH_ENDS if version in (here[0], here[-1]) else ()
        results[version] = test(version, python, [*more, *arguments]) if python else "skipped, not installed"
    print("\n" + "\n".join(f"Python {version}: {results[version]}" for version in sorted(results)))
    untested = os.environ.get("CI") and "passed" not in results.values()
    return 1 if untested or "failed" in results.values() else 0


def find(version: str) -> str | None:
    """The first interpreter of that version that really runs."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}"), *sorted(map(str, pyenv.glob(f"{version}.*/bin/python3")))]
    return next((each for each in candidates if each and runs_as(each, version)), None)


def runs_as(python: str, version: str) -> bool:
    try:
        done = subprocess.run([python, "-c", PROBE], capture_output=True, encoding="utf-8", check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == version


def test(version: str, python: str, arguments: list[str]) -> str:
    venv = f".venv-py{version}"
    setup = [python, "tools/bootstrap.py", "core", venv]
    pytest = [f"{venv}/bin/python", "-m", "pytest", "-m", "not soak", "-k", NOT_FAR, *TESTS, APART, *ONCE, *arguments]
    passed = all(subprocess.run(command, cwd=ROOT, check=False).returncode == 0 for command in (setup, pytest))
    return "passed" if passed else "failed"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
