package gpu

import "encoding/binary"

// RandomHalves fills to with float16 numbers of magnitude 2⁻⁵ to 2⁻⁴ and random sign, the
// same for the same seed: rows for measuring, made as fast as memory takes them. len(to)
// is a multiple of 8.
func RandomHalves(to []byte, seed uint64) {
	const (
		free  = 0x83ff_83ff_83ff_83ff // signs and mantissas
		fixed = 0x2800_2800_2800_2800 // the exponent of 2⁻⁵
	)
	state := seed
	for i := 0; i+8 <= len(to); i += 8 {
		// splitmix64
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		binary.LittleEndian.PutUint64(to[i:], (z^z>>31)&free|fixed)
	}
}
