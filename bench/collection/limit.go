package collection

import (
	"fmt"
	"slices"
)

// limitQueries keeps a sample of the queries of c, in their order.
func limitQueries(c *Collection, opt Options) {
	if opt.Queries == 0 || len(c.Queries) <= opt.Queries {
		return
	}
	sample := make([]spare, len(c.Queries))
	for i, q := range c.Queries {
		sample[i] = spare{hashID(opt.Seed, []byte(q.ID)), int64(i)}
	}
	slices.SortFunc(sample, compareSpare)
	keep := make([]bool, len(c.Queries))
	for _, s := range sample[:opt.Queries] {
		keep[s.number] = true
	}
	kept := make([]Query, 0, opt.Queries)
	for i, q := range c.Queries {
		if keep[i] {
			kept = append(kept, q)
		}
	}
	c.Queries = kept
}

// noteLimit says what a limit left.
func (c *Collection) noteLimit(opt Options, documents bool) {
	all := c.Integrity.Queries - c.Integrity.QueriesUnjudged
	if len(c.Queries) < all {
		c.Notes = append(c.Notes, fmt.Sprintf("limited to %d of %d judged queries, a sample by seed %d", len(c.Queries), all, opt.Seed))
	}
	if !documents {
		return
	}
	c.Notes = append(c.Notes, fmt.Sprintf("limited to %d of %d documents, the %d judged ones of the queries and a sample of the others by seed %d: easier than the whole, to be compared at this size only",
		c.Documents, c.Integrity.Documents, c.Judged, opt.Seed))
	if c.Judged > opt.Documents {
		c.Notes = append(c.Notes, fmt.Sprintf("the limit of %d documents is below the %d judged ones, which are all kept", opt.Documents, c.Judged))
	}
}
