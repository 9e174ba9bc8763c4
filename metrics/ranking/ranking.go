package ranking

// IDs is a list of identifiers, byte strings that lie somewhere in Bytes, often
// the text that they were read from.
type IDs struct {
	Bytes      []byte
	Start, End []uint32 // identifier i is Bytes[Start[i]:End[i]]
}

// Len gives the number of identifiers.
func (ids *IDs) Len() int { return len(ids.Start) }

// At gives identifier i, a view.
func (ids *IDs) At(i int) []byte { return ids.Bytes[ids.Start[i]:ids.End[i]:ids.End[i]] }

// Append copies an identifier to the end of the list.
func (ids *IDs) Append(id []byte) {
	ids.Start = append(ids.Start, uint32(len(ids.Bytes)))
	ids.Bytes = append(ids.Bytes, id...)
	ids.End = append(ids.End, uint32(len(ids.Bytes)))
}

// Reset empties the list and keeps its memory.
func (ids *IDs) Reset() { ids.Bytes, ids.Start, ids.End = ids.Bytes[:0], ids.Start[:0], ids.End[:0] }

// Dictionary is the documents of a block in a form that can be searched without
// spelling them out. Codes ascend with the identifiers' bytes.
type Dictionary interface {
	Len() int
	// Find gives the code of an identifier.
	Find(id []byte) (code int, ok bool)
	// At gives an identifier, which is the caller's.
	At(code int) []byte
}

// Block is a group of whole queries with their ranked lists. The rows of query q
// are Off[q] to Off[q+1]; a query may have none. A reader reuses its block: what
// it gives is valid until the next call with the same block.
type Block struct {
	Queries IDs
	Off     []int32 // queries+1 offsets into the rows
	// Doc is the document of each row as an index into Docs, or nil where row r
	// names Docs.At(r).
	Doc  []int32
	Docs IDs
	// Dictionary stands for Docs, which is then empty, where a reader was asked not to
	// spell documents out; nil otherwise.
	Dictionary Dictionary
	// Sorted says that Docs is ascending by bytes without repetition, so that
	// comparing two values of Doc compares the identifiers.
	Sorted bool
	Score  []float64 // of each row
	// Rank is the rank column of each row, or nil where the source has none. It is
	// what a file claims, not what the order rule gives.
	Rank []int32
	// Seq numbers the blocks of one source from 0, in the order of its content.
	Seq int
	// Place names a row's place for messages, such as "run.txt:12"; nil where the
	// source has no better name for it than its number.
	Place func(row int) string
}

// Len gives the number of queries.
func (b *Block) Len() int { return b.Queries.Len() }

// Rows gives the rows of query q.
func (b *Block) Rows(q int) (from, to int) { return int(b.Off[q]), int(b.Off[q+1]) }

// DocAt gives the document of a row, a view.
func (b *Block) DocAt(row int) []byte {
	if b.Doc != nil {
		row = int(b.Doc[row])
	}
	if b.Dictionary != nil {
		return b.Dictionary.At(row)
	}
	return b.Docs.At(row)
}

// Reset empties the block and keeps its memory.
func (b *Block) Reset() {
	b.Queries.Reset()
	b.Docs.Reset()
	b.Off, b.Score = b.Off[:0], b.Score[:0]
	b.Doc, b.Dictionary, b.Rank, b.Place = nil, nil, nil, nil
	b.Sorted, b.Seq = false, 0
}

// Source gives a run in blocks of whole queries, io.EOF at its end, always with
// the same error after an error. A source may allow several goroutines to call Next
// at once, each with a block of its own, and says so: that is how a run is read on
// many cores. With one caller the blocks come in the order of the source; with
// several their Seq tells it.
type Source interface {
	Next(b *Block) error
}
