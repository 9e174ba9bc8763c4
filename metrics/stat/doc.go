// Package stat says how sure a mean over queries is, and whether two systems
// differ. It takes values of one measure, one a query, and knows nothing else.
//
// An [Interval] is a 95 % confidence interval and always names its method: [For]
// picks Wilson's for values that are all 0 or 1, the BCa bootstrap elsewhere,
// Student's t where BCa cannot be computed. Queries of one conversation or one
// document are not independent: with Options.Groups whole groups are resampled
// and whole groups change sign. [Compare] sets two systems side by side, paired by
// query; [Holm] and [BenjaminiHochberg] correct a family of p-values;
// [Stratified] gives the mean over the tasks of a suite.
//
// The invariant: the same values, seed and number of replicates give the same
// bits, whatever the number of threads. Replicate r draws from a stream of its own,
// keyed by seed and r, and sums are in integers (values scaled to a fixed point of
// 42 bits and more for a million queries), so that no order of addition can be seen. Two sums that should
// be equal therefore are, which is what a randomisation test counts.
//
// What it leaves out: choosing the family, pairing by identifier (the judge's
// values are already in the order of the judged queries), and medians of times,
// which are package bench's.
package stat
