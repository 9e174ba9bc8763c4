package peers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

// Judgement is what a scoring peer works on.
type Judgement struct {
	Tool     string   `json:"tool"`     // pytrec_eval, ranx or ir_measures
	Qrels    string   `json:"qrels"`    // TREC file
	Run      string   `json:"run"`      // TREC file
	Measures []string `json:"measures"` // in the tool's own names
	Threads  int      `json:"threads"`  // of ranx; the others use one
}

// Judged is the answer to Judge.
type Judged struct {
	Queries int `json:"queries"` // with judgements
	Lists   int `json:"lists"`   // in the run
}

// Value is a measure of one query.
type Value struct {
	Query, Measure string
	Value          float64
}

// EveryMeasure, as the only measure of a Judgement, asks pytrec_eval for all that
// it has.
const EveryMeasure = "*"

// Judge reads both files into what the tool works on and builds its evaluator.
func (w *Worker) Judge(ctx context.Context, j Judgement) (Judged, error) {
	var a Judged
	w.peer = j.Tool
	err := w.ask(ctx, "judge", j, &a)
	return a, err
}

// Evaluate makes one timed evaluation: the tool's call alone, with everything in
// the form that it keeps in memory. When out is not empty the values of all
// queries are written there after the clock stopped; see [ReadValues].
func (w *Worker) Evaluate(ctx context.Context, out string) (Run, error) {
	var a Run
	err := w.ask(ctx, "evaluate", map[string]any{"out": out}, &a)
	if err == nil && !(a.WallS > 0) {
		return a, fmt.Errorf("peer %s: evaluate: wall time is %v s", orUnknown(w.peer), a.WallS)
	}
	return a, err
}

// ReadValues reads what Evaluate wrote.
func ReadValues(path string) ([]Value, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("peer's values: %w", err)
	}
	defer f.Close()
	var out []Value
	dec := json.NewDecoder(bufio.NewReader(f))
	for {
		var row [3]any
		if err := dec.Decode(&row); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("peer's values: %s, value %d: %w", path, len(out)+1, err)
		}
		query, ok1 := row[0].(string)
		measure, ok2 := row[1].(string)
		value, ok3 := row[2].(float64)
		if !ok1 || !ok2 || !ok3 {
			return nil, fmt.Errorf("peer's values: %s, value %d is %v, expected [query, measure, value]", path, len(out)+1, row)
		}
		out = append(out, Value{query, measure, value})
	}
}

// ErrValues is the cause when a peer's values are not ours: the times of the two
// must not be compared.
var ErrValues = errors.New("the peer's values differ from ours")

// Agreement is the outcome of [Agree].
type Agreement struct {
	Compared int     // values
	Worst    float64 // greatest relative difference of those that were not printed
}

// Agree compares a peer's values with ours, which are looked up by query and
// measure (ok false where we have none). Two agree within tol, relative to the
// greater of the two; where printed gives for a measure the decimals that the peer
// rounds it to, within that rounding. The error is ErrValues when there is nothing
// to compare, when we lack one, and when one differs; it shows the first three.
func Agree(theirs []Value, ours func(query, measure string) (float64, bool), tol float64, printed map[string]int) (Agreement, error) {
	var (
		a     Agreement
		wrong []string
		count int
	)
	note := func(format string, args ...any) {
		if count++; count <= 3 {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	for _, v := range theirs {
		mine, ok := ours(v.Query, v.Measure)
		if !ok {
			note("query %q, %s: %v, ours is absent", v.Query, v.Measure, v.Value)
			continue
		}
		a.Compared++
		diff, least := relative(mine, v.Value), tol
		if decimals, rounded := printed[v.Measure]; rounded {
			diff, least = math.Abs(mine-v.Value), 0.5001*math.Pow10(-decimals)
		} else {
			a.Worst = max(a.Worst, diff)
		}
		if !(diff <= least) {
			note("query %q, %s: %v, ours %v", v.Query, v.Measure, v.Value, mine)
		}
	}
	switch {
	case len(theirs) == 0:
		return a, fmt.Errorf("%w: it gave none", ErrValues)
	case count > 0:
		return a, fmt.Errorf("%w in %d of %d: %s", ErrValues, count, len(theirs), strings.Join(wrong, "; "))
	}
	return a, nil
}

// Zstd gives the size of a file's content as one frame of zstd at a level, by the
// library that the pinned environment brings.
func (w *Worker) Zstd(ctx context.Context, path string, level int) (size int64, err error) {
	var a struct {
		Bytes int64 `json:"bytes"`
	}
	w.peer = "zstd"
	err = w.ask(ctx, "zstd", map[string]any{"path": path, "level": level}, &a)
	if err == nil && a.Bytes < 1 {
		return 0, fmt.Errorf("peer %s: zstd: %d bytes", w.peer, a.Bytes)
	}
	return a.Bytes, err
}

// relative is the difference of two numbers relative to the greater, 0 for two
// equal ones, NaN where one is.
func relative(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a-b) / math.Max(math.Abs(a), math.Abs(b))
}
