// All kernels for capability 9.0a.
#include "compact.cu"
#include "pool.cu"
#include "rescore.cu"
#include "rows.cu"
#include "search.cu"
#include "select.cu"
#include "wide.cu"
