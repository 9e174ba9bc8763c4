#!/bin/sh
# Puts the trec_eval binary of a pinned Maven package into FILE: sh trec_eval.sh FILE [JAR].
set -eu
file=${1:?usage: trec_eval.sh FILE [JAR]}
shift

case $(uname -sm) in
"Linux x86_64") ;;
*) echo "trec_eval.sh: the package holds no trec_eval for $(uname -sm); its arms are left out" >&2; exit 0 ;;
esac

sh "$(dirname "$0")/maven.sh" "$file.part" uk.ac.gla.dcs.terrierteam:jtreceval:0.0.5 \
	76ee01253a2f6a161d01cff955f3c4c96fb15d8b0cb6545509668f80bf42c608 trec_eval-linux-amd64 \
	a282ee9c22966f306c4bcbbfda9142ff22f371012a2994782194e6afdadbe6e4 "$@"
chmod 755 "$file.part"
mv "$file.part" "$file"
