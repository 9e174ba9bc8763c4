#!/bin/sh
# Puts the trec_eval binary of a pinned Maven package into FILE: sh trec_eval.sh FILE [JAR].
# The package comes through the user's own mvn and its settings, unless JAR names it.
set -eu
file=${1:?usage: trec_eval.sh FILE [JAR]}
package=uk.ac.gla.dcs.terrierteam:jtreceval:0.0.5
jar_sha256=76ee01253a2f6a161d01cff955f3c4c96fb15d8b0cb6545509668f80bf42c608
inner=trec_eval-linux-amd64
inner_sha256=a282ee9c22966f306c4bcbbfda9142ff22f371012a2994782194e6afdadbe6e4

case $(uname -sm) in
"Linux x86_64") ;;
*) echo "trec_eval.sh: the package holds no trec_eval for $(uname -sm); its arms are left out" >&2; exit 0 ;;
esac

# check FILE SHA256 WHAT
check() {
	found=$(sha256sum "$1" | cut -d' ' -f1)
	[ "$found" = "$2" ] || { echo "trec_eval.sh: $3 has sha256 $found, expected $2" >&2; exit 1; }
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ $# -gt 1 ]; then
	cp "$2" "$dir/jtreceval-0.0.5.jar"
else
	command -v mvn >/dev/null || { echo "trec_eval.sh needs mvn (Debian: maven), or the jar of $package as a second argument" >&2; exit 1; }
	mvn -q -B dependency:copy -Dartifact="$package" -DoutputDirectory="$dir" >&2
fi
check "$dir/jtreceval-0.0.5.jar" "$jar_sha256" "the jar of $package"
python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(sys.argv[2], sys.argv[3])' "$dir/jtreceval-0.0.5.jar" "$inner" "$dir"
check "$dir/$inner" "$inner_sha256" "$inner"
chmod 755 "$dir/$inner"
mv "$dir/$inner" "$file"
