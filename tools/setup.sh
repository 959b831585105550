#!/bin/sh
# Find a Python that runs this project and hand over to bootstrap.py.
#   tools/setup.sh SET [VENV]     SET is a file of requirements/ without .txt; VENV defaults to .venv
set -eu
here=$(dirname "$0")
venv=${2:-.venv}

usable() {
    "$1" -c 'import sys, ctypes, sqlite3, ssl, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# The fast path of every later call: the environment's own interpreter, without site-packages.
if [ -z "${PYTHON:-}" ] && [ -f "$venv/.stamps/project" ] && "$venv/bin/python" -S -c '' 2>/dev/null; then
    exec "$venv/bin/python" -S "$here/bootstrap.py" "$1" "$venv"
fi

# A name on the PATH proves nothing (version managers leave shims behind), so each candidate has to run.
for python in ${PYTHON:-python3.11 python3.12 python3.13 python3.14 python3 python}; do
    if usable "$python"; then
        exec "$python" "$here/bootstrap.py" "$1" "$venv"
    fi
done

cat >&2 <<'MESSAGE'
No usable Python was found: this project needs Python 3.11 or newer, with ssl, sqlite3 and ctypes.
  Debian, Ubuntu   sudo apt-get install python3 python3-venv
  Fedora           sudo dnf install python3
A Python that is not on the PATH can be named:  make test PYTHON=/path/to/python3
MESSAGE
exit 2
