/* What the stubs found when the program started. */
#ifndef ENCBENCH_STUB_H
#define ENCBENCH_STUB_H

typedef struct {
	const char *path;  /* of the driver that was looked for */
	const char *error; /* of the loader, where it found none; else NULL */
	int opened;
	int fake;    /* the driver says that it is one for tests */
	int init;    /* the code of cuInit, 100 (no device) where no driver is */
	int version; /* major × 1000 + minor × 10, 0 where it gives none */
	int missing; /* functions that the driver lacks */
} encbench_driver;

/* encbench_driver_state fills s; it loads the driver if nothing did before. */
void encbench_driver_state(encbench_driver *s);

/* encbench_driver_missing names function i of those that the driver lacks, NULL after
   the last. */
const char *encbench_driver_missing(int i);

#endif
