//go:build cgo

package ort

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
static void encbench_trim(void) { malloc_trim(0); }
#else
static void encbench_trim(void) {}
#endif
*/
import "C"

// Trim gives freed memory of the C heap back to the system, where the C library keeps
// it for later: that of closed sessions, hundreds of megabytes.
func Trim() { C.encbench_trim() }
