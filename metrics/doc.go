// Package metrics scores rankings against judgements: grades in, one float64 a
// query out. It knows no file format, no identifier and no tie rule; whoever
// fills a [Judged] has already put each query's documents in order.
//
// Every measure is a value parsed from its name ("nDCG@10") and applied to a
// whole block of queries at once. Definitions follow trec_eval; i is the rank
// from 1, g the grade at that rank, R the number of judged documents of the
// query that are relevant, retrieved or not, and "relevant" means a grade of at
// least [Level]:
//
//	nDCG, nDCG@k  Σ max(g,0)/log2(i+1) over ranks up to k, divided by the same sum
//	              over all the query's judged grades in their best order, cut at
//	              k too; linear gain; 0 where no grade is positive
//	R@k           relevant in the first k / R; 0 where R is 0
//	P@k           relevant in the first k / k, also for a shorter ranking
//	RR, RR@k      1/rank of the first relevant document; 0 where none (up to k)
//	AP, AP@k      Σ precision at the rank of each relevant document (up to k) / R
//	Success@k     1 where a relevant document is in the first k
//	Judged@k      judged in the first k / min(k, length of the ranking)
//
// Every value lies in [0, 1] by construction: the ideal comes from the
// judgements, and a judgement cannot be ranked twice. A query that a run missed
// is a query with an empty ranking and scores 0; it is never dropped here.
//
// Sums are in float64. The same input gives the same bits however the queries are
// spread over blocks and goroutines: a query's score depends on that query alone,
// and [Mean] adds in query order.
package metrics
