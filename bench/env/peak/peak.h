#ifndef ENCBENCH_PEAK_H
#define ENCBENCH_PEAK_H

#include <stdint.h>

/* The paths of this build run from 0 to encbench_peak_paths()-1, widest first. */
int encbench_peak_paths(void);

/* Whether this CPU, and its operating system, can run path p. */
int encbench_peak_has(int p);

/* For people: "AVX-512 FMA". */
const char *encbench_peak_name(int p);

/* Floats of a vector, and accumulators, of path p. */
int encbench_peak_lanes(int p);
int encbench_peak_count(int p);

/* Runs path p (see kernel.h) and gives the sum of its accumulators. */
double encbench_peak_run(int p, int64_t iterations, float m, float c);

#endif
