// The size of a block, but where a kernel says otherwise.
#pragma once

#include "prim.cuh"

namespace {
constexpr u32 THREADS = 256;
}
