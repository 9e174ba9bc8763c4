package onnx

import (
	"encoding/binary"
	"math"
)

// message is a Protocol Buffers message being written, fields in the order of
// the calls. Field numbers are those of onnx.proto.
type message []byte

// Wire types of Protocol Buffers.
const (
	wireVarint = 0
	wireI64    = 1
	wireBytes  = 2
	wireI32    = 5
)

func (m *message) tag(field, wire int) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(wire))
}

func (m *message) int(field int, v int64) {
	m.tag(field, wireVarint)
	*m = binary.AppendUvarint(*m, uint64(v))
}

func (m *message) float(field int, v float32) {
	m.tag(field, wireI32)
	*m = binary.LittleEndian.AppendUint32(*m, math.Float32bits(v))
}

func (m *message) bytes(field int, v []byte) {
	m.tag(field, wireBytes)
	*m = binary.AppendUvarint(*m, uint64(len(v)))
	*m = append(*m, v...)
}

func (m *message) string(field int, v string) { m.bytes(field, []byte(v)) }

func (m *message) strings(field int, vs []string) {
	for _, v := range vs {
		m.string(field, v)
	}
}
