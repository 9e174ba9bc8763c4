#!/bin/sh
# Rewrites requirements.txt and requirements-openvino.txt from their .in files.
# Needs uv (pip install uv); indexes come from the user's own pip configuration.
set -eu
cd "$(dirname "$0")"
index=$(python3 -m pip config get global.index-url 2>/dev/null || true)

# lock IN OUT ARGUMENTS...
lock() {
	in=$1 out=$2
	shift 2
	{
		echo "# Made by lock.sh from $in. Install with pip install --no-deps --require-hashes."
		uv pip compile -q ${index:+--default-index "$index"} --universal --python-version 3.11 \
			--generate-hashes --no-emit-index-url --no-header --no-annotate "$@" "$in"
	} >"$out.part"
	mv "$out.part" "$out"
}

# torch's wheel is linked against these CUDA libraries, so they must be there;
# what it only loads or imports on a GPU is left out.
gpu_only="triton nvidia-cusolver nvidia-cuda-cccl nvidia-nvtx cuda-bindings cuda-pathfinder cuda-toolkit"
omit=
for p in $gpu_only; do omit="$omit --no-emit-package $p"; done
# shellcheck disable=SC2086
lock requirements.in requirements.txt $omit

# The overlay holds only what differs from requirements.txt; the rest must agree with it.
differs='transformers|tokenizers|huggingface-hub|typer'
pins=$(mktemp)
trap 'rm -f "$pins"' EXIT
sed -n 's/^\([a-z0-9][^ ]*==.*\) \\$/\1/p' requirements.txt | grep -Ev "^($differs)==" >"$pins"
for p in $(sed 's/==.*//' "$pins" | sort -u); do omit="$omit --no-emit-package $p"; done
# shellcheck disable=SC2086
lock requirements-openvino.in requirements-openvino.txt -c "$pins" $omit
