// Package env collects what a reader of a benchmark result must know about the
// machine that made it: processor, limits, memory, versions, and how quiet it
// was. It never fails: a fact that cannot be read is left empty and named in
// Facts.Unknown. Facts are taken from /proc, /sys and the Go runtime only; no
// program is run, nothing is sent anywhere, and the host name is hashed.
//
// Watch measures how undisturbed a run was (stolen time, quota throttling,
// other processes). PeakRSS tells what the process took. The package peak,
// below this one, measures the processor's fp32 peak.
package env
