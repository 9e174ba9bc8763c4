#!/usr/bin/env bash
# Runs the benchmarks of commit $1 and of the working tree, COUNT times each in
# the order A B B A A B …, and leaves Go benchmark text in $OUT/bench-old.txt and
# $OUT/bench-new.txt. A package whose benchmarks are missing on one side is
# reported by benchstat as such.
set -euo pipefail
go=${GO:-go} out=$PWD/${OUT:-out} count=${COUNT:-10}
tree=$out/bench-ref
mkdir -p "$out"
git worktree remove --force "$tree" 2>/dev/null || true
git worktree add --quiet --detach "$tree" "$1"
trap 'git worktree remove --force "$tree"' EXIT
: >"$out/bench-old.txt"
: >"$out/bench-new.txt"

once() { # directory, file
	# PKG is a list of packages: it is meant to split.
	# shellcheck disable=SC2086
	(cd "$1" && "$go" test -run '^$' -bench "$BENCH" -benchmem $PKG) | grep -E '^(Benchmark|goos|goarch|pkg|cpu)' >>"$2"
}

for ((i = 0; i < count; i++)); do
	if ((i % 2 == 0)); then
		once "$tree" "$out/bench-old.txt"
		once . "$out/bench-new.txt"
	else
		once . "$out/bench-new.txt"
		once "$tree" "$out/bench-old.txt"
	fi
	echo "pair $((i + 1)) of $count" >&2
done
