#!/usr/bin/env bash
# Prints the folder of the header that package cuda is built with, for make build.
# CUDA=auto: prints nothing where it cannot be had, and says on stderr what is left out
# and why. CUDA=yes: fails there. CUDA=no: prints nothing. CUDA_INCLUDE names a folder
# of your own; else the pinned header is obtained as an asset, once.
set -euo pipefail
GO=${GO:-go}
kept=bin/cuda-include # the folder that was found last time

without() { # reason
	if [[ ${CUDA:-auto} == yes ]]; then
		echo "CUDA=yes: $1" >&2
		exit 1
	fi
	echo "built without CUDA: $1" >&2
	exit 0
}

case ${CUDA:-auto} in
no) without "CUDA=no" ;;
auto | yes) ;;
*) echo "CUDA=$CUDA: auto, yes or no" >&2 && exit 2 ;;
esac

if [[ -n ${CUDA_INCLUDE:-} ]]; then
	[[ -f $CUDA_INCLUDE/cuda.h ]] || { echo "CUDA_INCLUDE=$CUDA_INCLUDE: no cuda.h in it" >&2; exit 2; }
	version=$(sed -n 's/^#define CUDA_VERSION *\([0-9]*\).*/\1/p' "$CUDA_INCLUDE/cuda.h" | head -n 1)
	if [[ -z $version ]] || ((version < 11080 || version >= 13000)); then
		echo "CUDA_INCLUDE=$CUDA_INCLUDE: cuda.h is of version ${version:-unknown}; 11.8 to 12.9 are known to build, and run on newer drivers" >&2
		exit 2
	fi
	(cd "$CUDA_INCLUDE" && pwd)
	exit
fi

case $($GO env GOOS)/$($GO env GOARCH) in
linux/amd64 | linux/arm64) ;;
*) without "there is no driver for $($GO env GOOS)/$($GO env GOARCH)" ;;
esac
[[ $($GO env CGO_ENABLED) == 1 ]] || without "no C compiler, or CGO_ENABLED=0"

if [[ -f $kept ]] && folder=$(<"$kept") && [[ -f $folder/cuda.h ]]; then
	echo "$folder"
	exit
fi
mkdir -p bin
# Few tries: a build without a network should not wait for one.
if ! folder=$(PIP_RETRIES=${PIP_RETRIES:-1} PIP_DEFAULT_TIMEOUT=${PIP_DEFAULT_TIMEOUT:-10} GOOS='' GOARCH='' $GO run ./bench/cmd/encbench assets get --print cuda-header); then
	without "the header could not be obtained (above); give CUDA_INCLUDE=DIR, or CUDA=no to leave it out"
fi
echo "$folder" >"$kept"
echo "$folder"
