package enginetest

import (
	"testing"

	"encbench/engine"
)

func TestNull(t *testing.T) {
	for _, dim := range []int{1, 2, 16} {
		Run(t, Subject{
			Open:  func(testing.TB) engine.Encoder { return engine.NewNull(dim, 2) },
			Vocab: 1000, MaxLen: 40, Batch: 7,
		})
	}
}

func TestFake(t *testing.T) {
	for _, slots := range []int{1, 2, 3} {
		Run(t, Subject{
			Open:  func(testing.TB) engine.Encoder { return NewFake(16, slots) },
			Vocab: 1000, MaxLen: 40, Batch: 7,
		})
	}
}
