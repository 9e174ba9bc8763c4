package report

import "testing"

// What leaves the package has plain spaces.
func TestWords(t *testing.T) {
	for want, got := range map[string]string{
		"412 ms": Seconds(0.412), "850 µs": Seconds(0.00085), "3 min 20 s": Seconds(200), "50,155": Number(50154.8), "1.235": Number(1.23456),
		"75.0 MB": Size(75_000_000), "62 B": Size(62),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
