#!/bin/sh
# Install the programs that tests need and this machine lacks, where that is possible: as root, with apt-get.
# What cannot be installed is left to the tests, which name what they had to skip.
set -eu

missing=
want() { # PACKAGES PROGRAM...: any one of the programs will do
    packages=$1
    shift
    for program; do
        command -v "$program" >/dev/null 2>&1 && return
    done
    missing="$missing $packages"
}
want chromium-headless-shell chromium-headless-shell chromium chromium-browser google-chrome
[ -n "$(fc-list :lang=zh 2>/dev/null)" ] || missing="$missing fonts-noto-cjk fontconfig"
want curl curl
want dash dash
want "nodejs npm" node
# Debian keeps the server's programs beside the path, a folder for each version.
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || want postgresql postgres
want systemd systemd-analyze
[ -x /usr/sbin/pgbouncer ] || want pgbouncer pgbouncer
[ -x /usr/sbin/nginx ] || want nginx-light nginx

if [ -z "$missing" ]; then
    echo "Every program that the tests need is here."
elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing:$missing"
    export DEBIAN_FRONTEND=noninteractive
    export RUNLEVEL=1 # starts no server that comes with a package
    apt-get update -qq
    # Older releases have the browser with windows alone.
    apt-cache show chromium-headless-shell >/dev/null 2>&1 ||
        missing=$(echo "$missing" | sed 's/chromium-headless-shell/chromium/')
    # shellcheck disable=SC2086 # one word for each package
    apt-get install -qq --no-install-recommends $missing >/dev/null
else
    echo "Not here:$missing. Tests that need them are skipped."
fi
