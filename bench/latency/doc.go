// Package latency measures how long one query takes: text in, vector out, and with an
// index the best documents, one query at a time.
//
// A query is timed as its caller would wait for it: tokenizing, encoding a batch of
// one row on all threads, searching. The next one starts when it is done (a closed
// loop of one client), so that nothing queues; latency under load is another
// question. Queries have exactly the lengths that were asked for, cut and joined from
// real ones, and lengths take turns, so that a slow minute of the machine meets all
// of them alike.
//
// # What is kept away from the clock
//
// The timed path of text to vector allocates nothing, and Go's collector is off while
// samples are taken; what a search allocates is collected between samples, untimed,
// with a query after it that refills the caches. Reading the clock is part of every
// sample, stated and not subtracted. No sample is dropped.
//
// # Percentiles
//
// Intervals of percentiles are those of order statistics, from the binomial
// distribution, and assume nothing of the latencies' distribution but that samples are
// independent. A p95 or p99 is printed as a figure only from the sample counts on that
// MLPerf asks for (see [Needed]); with fewer samples its interval stands alone, and
// with too few for an interval nothing does.
//
// # Cold
//
// The first query after opening is measured apart: a session of its own for each, a
// tokenizer without caches. What came before it (loading, building the graph, opening
// the session) has its own times.
package latency
