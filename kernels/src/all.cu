// All kernels: what is compiled for a device, and what the fake driver runs.
#include "compact.cu"
#include "rescore.cu"
#include "rows.cu"
#include "search.cu"
#include "select.cu"
