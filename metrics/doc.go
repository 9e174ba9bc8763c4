// Package metrics scores rankings against judgements: grades in, one float64 a
// query out. It knows no file format, no identifier and no tie rule; whoever
// fills a [Judged] has already put each query's documents in order.
//
// A [Measure] is parsed from its name ("nDCG@10") and applied to a whole block of
// queries at once; a [Scorer] applies many in one pass. A [Matcher] finds the
// judged documents in rankings of documents by number. Definitions follow
// trec_eval where it has the measure; i is the rank from 1, g the grade at that
// rank, R the number of judged documents of the query that are relevant, retrieved
// or not, and "relevant" means a grade of at least [Level], or of rel= where that
// is given:
//
//	nDCG, nDCG@k    Σ gain/log2(i+1) over ranks up to k, divided by the same sum
//	                over all the query's judged grades in their best order, cut at
//	                k too; 0 where no gain is positive. The gain is max(g,0); with
//	                dcg='exp-log2' 2^max(g,0)−1; gains={1:3,2:9} names those of
//	                single grades. It takes no rel
//	R@k             relevant in the first k / R; 0 where R is 0
//	R_cap@k         relevant in the first k / min(R, k); 0 where R is 0
//	P@k             relevant in the first k / k, also for a shorter ranking
//	RR, RR@k        1/rank of the first relevant document; 0 where none (up to k)
//	AP, AP@k        Σ precision at the rank of each relevant document (up to k) / R
//	Success@k       1 where a relevant document is in the first k
//	Rprec           relevant in the first R / R
//	Bpref           over the relevant documents, 1 − min(n, R)/min(N, R), for n
//	                judged nonrelevant ones ranked before and N in all; the sum / R
//	infAP           AP as expected if the pool was judged in part (Yilmaz and
//	                Aslam 2006), smoothed by 0.00001
//	IPrec@r         highest precision at or behind the rank where the share r of R
//	                is reached, ⌊r·R+0.9⌋ documents; 0 where it is not. trec_eval 10
//	                rounds r·R to the nearest instead
//	gm_map          log(max(AP, 0.00001)), whose aggregate is exp of the mean
//	ERR, ERR@k      Σ 1/i · s·Π(1−s before), s = (2^g−1)/2^4, as in TREC's gdeval;
//	                for grades up to 4
//	RBP, RBP@k      (1−p)·Σ p^(i−1) over the relevant documents; p=0.8 by default
//	Judged, Judged@k  judged in the first k / min(k, length of the ranking)
//	unj@k           not judged in the first k / k
//	SetP, SetR      relevant ranked / length of the ranking, / R
//	SetF            (b+1)·P·R/(b·P+R) of the two above, b = beta, 1 by default and,
//	                as in trec_eval, not squared
//	NumQ, NumRet, NumRel, NumRelRet  1, documents ranked, R, relevant ranked; the
//	                aggregate is the sum
//
// A negative grade is judged, not relevant and without gain; [Judged] can be told
// to read it as trec_eval does. A fractional grade keeps its value.
//
// But for gm_map and the counts every value lies in [0, 1] by construction: the
// ideal comes from the judgements, and a judgement cannot be ranked twice. A
// perfect ranking has nDCG 1 exactly. A query that a run missed is a query with an
// empty ranking and scores 0; it is never dropped here.
//
// Sums are in float64, and no product is fused into them. The same input gives the
// same bits however the queries are spread over blocks and goroutines: a query's
// score depends on that query alone, and [Mean] adds in query order.
package metrics
