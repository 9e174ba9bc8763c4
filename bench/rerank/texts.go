package rerank

import (
	"context"

	"encbench/corpus"
)

// texts are documents in memory: text i is bytes[ends[i-1]:ends[i]].
type texts struct {
	bytes []byte
	ends  []int
	doc   []int32 // candidate document of each
}

func (t *texts) reset() { t.bytes, t.ends, t.doc = t.bytes[:0], t.ends[:0], t.doc[:0] }

func (t *texts) at(i int) []byte {
	start := 0
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.bytes[start:t.ends[i]]
}

// read fills t with the next candidate documents of src until they hold limit bytes,
// and says whether src may have more. Documents that nobody wants are passed over.
func (t *texts) read(ctx context.Context, src corpus.Scanner, c *candidates, limit int, each func(scanned int64)) (more bool, err error) {
	t.reset()
	var scanned int64
	for len(t.bytes) < limit {
		if !src.Scan() {
			return false, src.Err()
		}
		if scanned++; scanned%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			each(scanned)
		}
		d := src.Doc()
		doc, ok := c.number[string(d.ID)]
		if !ok {
			continue
		}
		c.found[doc] = true
		t.bytes = d.AppendText(t.bytes)
		t.ends, t.doc = append(t.ends, len(t.bytes)), append(t.doc, doc)
	}
	return true, nil
}
