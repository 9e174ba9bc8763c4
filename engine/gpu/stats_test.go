package gpu

import (
	"testing"
	"time"
)

// Searches one after the other take the sum of their wall times; the shares of devices
// stay those of so many.
func TestStatsThen(t *testing.T) {
	var two Stats // one search on two devices
	for range 2 {
		two.add(Stats{Queries: 5, Rounds: 1, In: Transfer{100, time.Second}, Search: 2 * time.Second, Wall: 3 * time.Second})
	}
	var sum Stats
	sum.Then(two)
	sum.Then(two)
	if sum.Queries != 20 || sum.Wall != 6*time.Second || sum.Search != 8*time.Second || sum.In.Rate() != 100 || sum.Rounds != 1 {
		t.Errorf("two searches: %+v", sum)
	}
	if b, i := sum.Busy(), sum.Idle(); b != two.Busy() || i != two.Idle() || b != 1 {
		t.Errorf("busy %g, idle %g; of one search %g, %g", b, i, two.Busy(), two.Idle())
	}
}
