// All kernels for capability 8.0 and above: what is compiled for a device, and what the
// fake driver runs.
#include "compact.cu"
#include "pool.cu"
#include "rescore.cu"
#include "rows.cu"
#include "search.cu"
#include "search_128.cu"
#include "select.cu"
