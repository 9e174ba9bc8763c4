package run

import "fmt"

// Damage is a part of a file that cannot be read, and what was lost with it. It is
// an ErrDamaged or an ErrTruncated.
type Damage struct {
	File    string
	Frame   int   // number from 1; 0 for the end of the file
	Offset  int64 // of its first byte
	Queries int64 // lost, −1 when not known
	Rows    int64 // lost, −1 when not known
	Reason  string
	Kind    error // ErrDamaged or ErrTruncated
}

func (d *Damage) Error() string {
	what := fmt.Sprintf("frame %d at byte %d", d.Frame, d.Offset)
	if d.Frame == 0 {
		what = fmt.Sprintf("the end at byte %d", d.Offset)
	}
	lost := ""
	if d.Queries >= 0 {
		lost = "; lost: " + count(d.Queries, "query", "queries") + ", " + count(d.Rows, "row", "rows")
	}
	return fmt.Sprintf("read %s: %v: %s: %s%s", d.File, d.Kind, what, d.Reason, lost)
}

func (d *Damage) Unwrap() error { return d.Kind }

// wholeBefore says what came before a place of damage.
func wholeBefore(queries, rows uint64) string {
	is := "are"
	if queries == 1 {
		is = "is"
	}
	return fmt.Sprintf("the %s (%s) before %s whole", count(int64(queries), "query", "queries"), count(int64(rows), "row", "rows"), is)
}

// count is a number with its noun.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
