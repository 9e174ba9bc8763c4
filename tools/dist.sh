#!/usr/bin/env bash
# Packs the built command for a machine without Go: the same commit and toolchain
# give the same bytes.
set -euo pipefail
version=$("$BIN" version | awk 'NR == 1 {print $2}')
commit=$(git rev-parse --short HEAD 2>/dev/null || true)
case $version in *-dev) version=$version${commit:+-$commit} ;; esac
name=encbench-$version-linux-$ARCH
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

mkdir -p "$stage/$name" dist
cp "$BIN" "$stage/$name/encbench"
cp README.md BUILD.md CHANGELOG.md LICENSE THIRD_PARTY_NOTICES bench/assets/assets.lock "$stage/$name/"
cp -R docs "$stage/$name/docs"
find "$stage" -type d -exec chmod 755 {} + -o -type f -exec chmod 644 {} +
chmod 755 "$stage/$name/encbench"

when=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
tar --create --format=ustar --sort=name --mtime="@$when" --owner=0 --group=0 --numeric-owner \
	--directory "$stage" "$name" | gzip --no-name --best >"dist/$name.tar.gz.part"
mv "dist/$name.tar.gz.part" "dist/$name.tar.gz"
(cd dist && sha256sum "$name.tar.gz")
