#!/bin/sh
# Install the programs that tests need and this machine lacks, where that is possible: as root, with apt-get.
# What cannot be installed is left to the tests, which name what they had to skip.
set -eu

missing=
want() { # PROGRAM PACKAGE...
    command -v "$1" >/dev/null 2>&1 && return
    shift
    missing="$missing $*"
}
want chromium-headless-shell chromium-headless-shell fonts-noto-cjk
want curl curl
want dash dash
want node nodejs npm

if [ -z "$missing" ]; then
    echo "Every program that the tests need is here."
elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing:$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086 # one word for each package
    apt-get install -qq --no-install-recommends $missing >/dev/null
else
    echo "Not here:$missing. Tests that need them are skipped."
fi
