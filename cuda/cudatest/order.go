//go:build cuda && linux && cgo && (amd64 || arm64)

package cudatest

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

const orderKey = "ENCBENCH_EMU_ORDER" // the order in which the emulation runs threads

// chosen is the order that the person who started the test gave, "" for none.
var chosen = os.Getenv(orderKey)

// orders are those of the tests that run, the last that each asked for.
var orders struct {
	sync.Mutex
	of map[testing.TB]string
}

// Order chooses in which order the emulation runs threads and blocks until it is called
// again: forward, reverse and two random ones by turns with n, or the one of
// ENCBENCH_EMU_ORDER. A test that fails says which was the last, so it is to end there.
func Order(t testing.TB, n int) {
	t.Helper()
	order := chosen
	if order == "" {
		if order = fmt.Sprintf("random:%d", n); n%4 < 2 {
			order = []string{"forward", "reverse"}[n%4]
		}
	}
	t.Setenv(orderKey, order)
	orders.Lock()
	defer orders.Unlock()
	if orders.of == nil {
		orders.of = map[testing.TB]string{}
	}
	if _, known := orders.of[t]; !known {
		t.Cleanup(func() {
			orders.Lock()
			last := orders.of[t]
			delete(orders.of, t)
			orders.Unlock()
			if t.Failed() {
				t.Log(orderOf(t.Name(), last))
			}
		})
	}
	orders.of[t] = order
}

// orderOf says in which order a test ran and how to have it so again.
func orderOf(test, order string) string {
	return fmt.Sprintf("threads ran in the order %[1]s; %[2]s=%[1]s go test -tags cuda -run '^%[3]s$' runs them so again", order, orderKey, test)
}

// Cases is how many of n cases a test is to run: all of them, an eighth where
// the emulation runs under sanitizers, which take as many times as long.
func Cases(n int) int {
	if os.Getenv(sanitizeKey) == "1" {
		return max(1, n/8)
	}
	return n
}
