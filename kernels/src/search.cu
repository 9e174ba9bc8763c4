// The tile search for up to 16 and up to 64 queries in a tile.
#include "search.cuh"

SEARCH(16, 2)
SEARCH(64, 1)
