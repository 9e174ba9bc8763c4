package bench

import "testing"

func TestIDsHash(t *testing.T) {
	h := NewIDsHash()
	h.Add([]int32{1, 2})
	h.Add(nil)
	h.Add([]int32{30521})
	// sha256 of 02000000 01000000 02000000 00000000 01000000 39770000
	const want = "b6806b70d735bccdb32b47aa27f07b854f1b57d322bf509a935fba105a5fb414"
	if got := h.Hex(); got != want {
		t.Errorf("hash = %s, want %s", got, want)
	}
}
