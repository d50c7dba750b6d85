#!/bin/sh
# Packs the offline bundle: bundle.sh PYTHON WHEEL DIRECTORY. `make bundle` calls it.
# Downloads the pinned wheels of requirements/run.txt, each checked against its hash, for Linux with glibc 2.28 or newer.
# ARCH and VERSIONS name the machine and the versions of Python. Nothing is built: what has no such wheel fails here.
set -eu
python=$1 wheel=$2 bundle=$3
arch=${ARCH:-$(uname -m)}
versions=${VERSIONS:-3.11 3.12 3.13}
here=$(dirname "$0")

rm -rf "$bundle"
mkdir -p "$bundle/wheels"
platforms=
for tag in 2_28 2_27 2_26 2_24 2_17 2_12 2_5; do
    platforms="$platforms --platform manylinux_${tag}_$arch"
done
for version in $versions; do
    # shellcheck disable=SC2086 # several words are meant
    "$python" -m pip download --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: \
        --python-version "$version" --implementation cp $platforms \
        --platform "manylinux2014_$arch" --platform "manylinux2010_$arch" --platform "manylinux1_$arch" \
        --dest "$bundle/wheels" --requirement "$here/../requirements/run.txt"
done
cp "$wheel" "$bundle/wheels/"
cp "$here/../requirements/run.txt" "$bundle/requirements.txt"
cp "$here/install.sh" "$bundle/"
cp -r "$here/systemd" "$bundle/"
{
    echo "failover, to install without a network: ./install.sh [DIRECTORY]"
    echo "For Linux on $arch with glibc 2.28 or newer, and Python $versions."
} >"$bundle/README.txt"
(cd "$bundle" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
