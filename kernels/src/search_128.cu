// The tile search for more than 64 queries, where wide.cu is not.
#include "search.cuh"

SEARCH(128, 1)
