package feed

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"encbench/corpus/chunk"
)

// sizesOf is the definition of Limit: rows by rows, a batch ends before the row that
// would make it too large, every row counted as long as the longest.
func sizesOf(lengths []int, l Limit) []int {
	var sizes []int
	for start := 0; start < len(lengths); {
		n := 1
		for start+n < len(lengths) && n < l.Rows && (l.Tokens == 0 || (n+1)*slices.Max(lengths[start:start+n+1]) <= l.Tokens) {
			n++
		}
		sizes = append(sizes, n)
		start += n
	}
	return sizes
}

func TestLimitTakes(t *testing.T) {
	for _, test := range []struct {
		limit            Limit
		rows, longest, n int
		want             bool
	}{
		{Limit{Rows: 2}, 1, 512, 512, true},
		{Limit{Rows: 2}, 2, 1, 1, false},
		{Limit{Rows: 128, Tokens: 1024}, 1, 512, 512, true},
		{Limit{Rows: 128, Tokens: 1023}, 1, 512, 512, false},
		{Limit{Rows: 128, Tokens: 1024}, 1, 512, 1, true},   // counted as 512
		{Limit{Rows: 128, Tokens: 1024}, 8, 10, 200, false}, // makes the 8 others longer
		{Limit{Rows: 128, Tokens: 8}, 0, 0, 9, true},        // alone
		{Limit{Rows: 1 << 40, Tokens: 1 << 40}, 1 << 30, 1 << 30, 1 << 30, false},
	} {
		if got := test.limit.Takes(test.rows, test.longest, test.n); got != test.want {
			t.Errorf("%+v takes %d tokens beside %d rows of up to %d: %t, want %t", test.limit, test.n, test.rows, test.longest, got, test.want)
		}
	}
}

// Batches of a feeder are those of the definition, whatever the blocks and the number
// of workers; rows and documents stay in order.
func TestTokenBudget(t *testing.T) {
	var texts []string
	for i := range 400 {
		texts = append(texts, text([]int{0, 1, 9, 5, 40, 200, 7}[i%7]+i%3, i))
	}
	texts = append(texts, text(6_000, 5), "", "")
	for _, workers := range []int{1, 3} {
		for _, limit := range []Limit{{Rows: 1000, Tokens: 24}, {Rows: 1000, Tokens: 25}, {Rows: 1000, Tokens: 517}, {Rows: 7, Tokens: 100}, {Rows: 1 << 20, Tokens: 1 << 20}} {
			opt := Options{Tokenizer: words{}, Window: chunk.Window{Size: 20, Overlap: 6}, Prompt: []int32{7, 8}, Batch: limit.Rows, BatchTokens: limit.Tokens, Workers: workers}
			rows, doc, _, sizes, _ := collect(t, &docs{texts: texts}, opt)
			want, wantDoc := naive(texts, opt)
			if !slices.EqualFunc(rows, want, slices.Equal[[]int32]) || !slices.Equal(doc, wantDoc) {
				t.Fatalf("%+v: %d rows differ from the definition's %d", limit, len(rows), len(want))
			}
			var lengths []int
			for _, r := range rows {
				lengths = append(lengths, len(r))
			}
			if want := sizesOf(lengths, limit); !slices.Equal(sizes, want) {
				t.Fatalf("%+v, %d workers: batches of %v rows, want %v", limit, workers, sizes, want)
			}
		}
	}
}

// The laws of a limit: batches cover the rows without gap, hold at least one row each,
// stay within the limit unless they are one row, and none could have taken the row
// that follows. more agrees with the definition however the rows are cut into blocks.
func FuzzLimit(f *testing.F) {
	f.Add(uint64(1), 200, 512, 128, 0)
	f.Add(uint64(2), 200, 512, 128, 2048)
	f.Add(uint64(3), 50, 9, 3, 30)
	f.Add(uint64(4), 50, 700, 1000, 600)
	f.Fuzz(func(t *testing.T, seed uint64, rows, longest, most, tokens int) {
		if rows < 0 || rows > 2000 || longest < 1 || longest > 1<<20 || most < 1 || tokens < 0 {
			t.Skip("no rows or no limit")
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		limit := Limit{Rows: most, Tokens: tokens}
		lengths := make([]int, rows)
		off := []int32{0}
		for i := range lengths {
			lengths[i] = 1 + rng.IntN(longest)
			if off[i] > 1<<30 {
				t.Skip("offsets are 32 bits wide")
			}
			off = append(off, off[i]+int32(lengths[i]))
		}
		want := sizesOf(lengths, limit)
		var got []int
		for at := 0; at < rows; {
			n, long := 0, 0
			for at+n < rows {
				block := min(rows, at+n+1+rng.IntN(50)) // a feeder sees the rows block by block
				k, grown := limit.more(off[at+n:block+1], n, long)
				n, long = n+k, grown
				if at+n < block || n == most {
					break
				}
			}
			if n == 0 {
				t.Fatalf("%+v took none of %d rows", limit, rows-at)
			}
			if n > 1 && tokens > 0 && n*slices.Max(lengths[at:at+n]) > tokens {
				t.Fatalf("%+v took %d rows of up to %d tokens", limit, n, slices.Max(lengths[at:at+n]))
			}
			if at+n < rows && n < most && (tokens == 0 || (n+1)*slices.Max(lengths[at:at+n+1]) <= tokens) {
				t.Fatalf("%+v ended after %d rows, and the next fits", limit, n)
			}
			got = append(got, n)
			at += n
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: batches of %v rows, want %v", limit, got, want)
		}
	})
}

func TestBudgetBelowARow(t *testing.T) {
	opt := Options{Tokenizer: words{}, Window: chunk.Window{Size: 20}, Prompt: []int32{7}, Batch: 8, BatchTokens: 22}
	_, err := New(context.Background(), &docs{}, opt)
	want := "feed: a batch of 22 tokens does not hold a row of 23: 20 content tokens, 3 special and prompt tokens"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	opt.BatchTokens = 23
	f, err := New(context.Background(), &docs{}, opt)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	opt.BatchTokens = -1
	_, err = New(context.Background(), &docs{}, opt)
	if want := "feed: batch of -1 tokens: must not be negative"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}
