package ort

import (
	"errors"
	"fmt"

	"encbench/engine"
)

// check gives what a graph cannot take of a batch of at most so many rows.
func (g *Graph) check(b *engine.Batch, most int) error {
	rows := b.Rows()
	if rows == 0 {
		return errors.New("ort: batch without rows")
	}
	if rows > most {
		return fmt.Errorf("ort: batch of %d rows, at most %d: %w", rows, most, engine.ErrBatchTooLarge)
	}
	for r := range rows {
		if n := b.Len(r); n < 1 || n > g.MaxLen {
			return fmt.Errorf("ort: row %d has %d tokens, the model takes 1 to %d: %w", b.Base+int64(r), n, g.MaxLen, ErrTooLong)
		}
	}
	if g.Vocab > 0 {
		for at, id := range b.IDs {
			if uint32(id) >= uint32(g.Vocab) {
				return fmt.Errorf("ort: token id %d at token %d of the batch starting at row %d: the model's vocabulary has %d ids", id, at, b.Base, g.Vocab)
			}
		}
	}
	if n := g.TokenTypes; n > 0 && g.has(Types) {
		for at, t := range b.Types {
			if int(t) >= n {
				return fmt.Errorf("ort: token type %d at token %d of the batch starting at row %d: the model has %d types", t, at, b.Base, n)
			}
		}
	}
	return nil
}
