#!/bin/sh
# Installs failover from this folder alone, without an index and without a network: ./install.sh [DIRECTORY]
# DIRECTORY is a new virtual environment; the default is ~/.local/share/failover. PYTHON names another interpreter.
set -eu
target=${1:-$HOME/.local/share/failover}
python=$(command -v "${PYTHON:-python3}") || { echo "install.sh: no ${PYTHON:-python3}: set PYTHON" >&2; exit 1; }
case $target in /*) ;; *) target=$PWD/$target ;; esac
case $python in /*) ;; *) python=$PWD/$python ;; esac
cd "$(dirname "$0")"

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

sha256sum --quiet --check SHA256SUMS || fail 'a file is not what was packed: copy the bundle again'
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail 'needs Python 3.11 or newer: PYTHON=python3.13 ./install.sh'
"$python" -c 'import ensurepip, venv' || fail 'this Python makes no virtual environment; on Debian: apt-get install python3-venv'
[ ! -e "$target" ] || fail "$target exists: remove it, or name another directory"
"$python" -m venv "$target"
set -- --quiet --disable-pip-version-check --no-index --find-links wheels
"$target/bin/python" -m pip install "$@" --require-hashes -r requirements.txt ||
    fail "the bundle has no wheels for $("$python" -V) on $(uname -m); README.txt has what it was packed for"
"$target/bin/python" -m pip install "$@" --no-deps wheels/failover-*.whl
"$target/bin/failover" --version
echo "installed: $target/bin/failover"
