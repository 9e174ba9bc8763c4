package chunk_test

import (
	"fmt"

	"encbench/corpus/chunk"
)

// A model of 512 tokens whose template adds [CLS] and [SEP] leaves 510 for the
// content of a window.
func ExampleWindow_AppendSpans() {
	w := chunk.Window{Size: 512 - 2, Overlap: 100}
	for _, s := range w.AppendSpans(nil, 1000) {
		fmt.Printf("tokens %d to %d: %d\n", s.Start, s.End, s.Len())
	}
	// Output:
	// tokens 0 to 510: 510
	// tokens 410 to 920: 510
	// tokens 820 to 1000: 180
}

// Count needs no spans: it is what a ledger adds up.
func ExampleWindow_Count() {
	w := chunk.Window{Size: 510, Overlap: 100}
	fmt.Println(w.Count(0), w.Count(510), w.Count(511), w.Count(921))
	// Output: 1 1 2 3
}

func ExampleWindow_Validate() {
	fmt.Println(chunk.Window{Size: 100, Overlap: 100}.Validate())
	// Output: overlap of 100 tokens is not smaller than the window's 100 content tokens
}
