#!/usr/bin/env bash
# Runs every fuzz target of the module for $FUZZTIME, one after the other. Targets
# are discovered, so a new one needs no line anywhere. Fails at the first failure,
# and when there is nothing to run.
set -euo pipefail
go=${GO:-go} fuzztime=${FUZZTIME:-3s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

fuzz() { # package target
	"$go" test "$1" -run '^$' -fuzz "^$2\$" -fuzztime "$fuzztime" -fuzzminimizetime 1s >"$log" 2>&1
}

# One listing of the module: the targets of a package, then its "ok" line.
listing=$("$go" test -list '^Fuzz' ./...)
targets=() ran=0
while read -r first second _; do
	case $first in
	Fuzz*) targets+=("$first") ;;
	ok)
		for target in ${targets[@]+"${targets[@]}"}; do
			if ! fuzz "$second" "$target"; then
				# The engine's own time-out at the end of a run is no finding: it
				# names no input. A second such run is a failure all the same.
				if grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log"; then
					fuzz "$second" "$target" || { cat "$log" >&2; exit 1; }
				else
					cat "$log" >&2
					exit 1
				fi
			fi
			printf 'fuzz %-28s %-28s %s\n' "$second" "$target" "$(grep -o 'execs: [0-9]*' "$log" | tail -n 1)"
			ran=$((ran + 1))
		done
		targets=()
		;;
	esac
done <<<"$listing"
((ran > 0)) || { echo "no fuzz target found" >&2; exit 1; }
