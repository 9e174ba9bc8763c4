package run

import "testing"

func TestDamageCounts(t *testing.T) {
	for _, c := range []struct {
		d    Damage
		want string
	}{
		{Damage{File: "x", Frame: 2, Offset: 9, Queries: 1, Rows: 1, Reason: wholeBefore(1, 1), Kind: ErrTruncated},
			"read x: truncated run file: frame 2 at byte 9: the 1 query (1 row) before is whole; lost: 1 query, 1 row"},
		{Damage{File: "x", Offset: 9, Queries: -1, Rows: -1, Reason: wholeBefore(2, 20), Kind: ErrDamaged},
			"read x: damaged run file: the end at byte 9: the 2 queries (20 rows) before are whole"},
	} {
		if got := c.d.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
