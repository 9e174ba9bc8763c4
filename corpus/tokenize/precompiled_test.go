package tokenize

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
)

// trieOf lays out a charsmap with the images of keys without any economy: the
// children of every node have 256 units to themselves.
func trieOf(images map[string]string) string {
	type node struct {
		children map[byte]*node
		value    uint32
		ends     bool
	}
	root, text := &node{children: map[byte]*node{}}, []byte{}
	for key, image := range images {
		n := root
		for _, c := range []byte(key) {
			if n.children[c] == nil {
				n.children[c] = &node{children: map[byte]*node{}}
			}
			n = n.children[c]
		}
		n.ends, n.value = true, uint32(len(text))
		text = append(append(text, image...), 0)
	}
	list, bases := []*node{nil, root}, []uint32{0, 0}
	units := map[uint32]uint32{0: 1<<10 | 1<<9}
	for at := 1; at < len(list); at++ {
		if list[at].ends {
			units[uint32(at)<<8|bases[at]] = 1<<31 | list[at].value
		}
		for c, child := range list[at].children {
			here := uint32(at)<<8 | bases[at] ^ uint32(c)
			units[here] = uint32(c) | uint32(at^len(list))<<10 | 1<<9
			if child.ends {
				units[here] |= dartsLeaf
			}
			list, bases = append(list, child), append(bases, here&0xFF)
		}
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(list)*1024))
	for i := range uint32(len(list) * 256) {
		data = binary.LittleEndian.AppendUint32(data, units[i])
	}
	return base64.StdEncoding.EncodeToString(append(data, text...))
}

// The image of the shortest key that a cluster begins with stands for all of it.
func TestPrecompiledClusters(t *testing.T) {
	m, err := parseCharsmap(trieOf(map[string]string{
		"a": "X", "e\u0301": "\u00e9", "e\u0301\u0302": "never", "\r": "", "\u00a9": "(c)", "\u0600": "P", "\u0915": "k", "longkey": "never", "i": "", "\u1100": "G", "\u0301": "'",
	}))
	if err != nil {
		t.Fatal(err)
	}
	n := normalizer{steps: []step{newPrecompiled(m)}}
	for _, c := range []struct{ text, want string }{
		{"aba", "XbX"},
		{"a\u0302b", "Xb"},                               // one cluster
		{"e\u0301\u0302", "\u00e9"},                      // the shorter key
		{"e\u0302\u0301", "e\u0302'"},                    // no key begins so
		{"a\u0302\u0301\u0303", "X\u0302'\u0303"},        // seven bytes: every character alone
		{"\r\na", "X"},                                   // one cluster
		{"\r\u0301", "'"},                                // a control is alone
		{"\u00a9\u200d\u00a9\u0301", "(c)\u200d(c)'"},    // pictographs join
		{"\u00a9a\u0301", "(c)X"},                        // others do not
		{"\u0600a", "P"},                                 // prepended
		{"\u0915\u094d\u0915\u0301", "k\u094dk'"},        // a conjunct
		{"\u0915\u093c\u0915\u0301", "k\u093ck"},         // none
		{"\u1100\u1100\u0301", "GG'"},                    // a syllable
		{"\u1100\u11a8\u1100\u0301", "G\u11a8G"},         // two
		{"longkey", "longkey"},                           // keys are for clusters
		{"iii", ""},                                      // images may be empty
		{" \u0301\u0302", " '\u0302"},                    // a cluster with a space
		{"\u0301\u0302", "'"},                            // and without
		{"a\x00\u0301", "X\x00'"},                        // NUL is a control
		{strings.Repeat("a", 9), strings.Repeat("X", 9)}, // eight bytes at a time
		{"bbbbbbba\u0302", "bbbbbbbX"}, {"\U0001F1E9a", "\U0001F1E9X"},
	} {
		if got := n.string(c.text); got != c.want {
			t.Errorf("%+q gives %+q, want %+q", c.text, got, c.want)
		}
	}
}

func TestCharsmapRefusesBadPlaces(t *testing.T) {
	good, err := base64.StdEncoding.DecodeString(trieOf(map[string]string{"a": "\u00e9"}))
	if err != nil {
		t.Fatal(err)
	}
	value := 0 // of the one leaf
	for i := 4; i < len(good); i += 4 {
		if binary.LittleEndian.Uint32(good[i:]) == 1<<31 {
			value = i
			break
		}
	}
	for _, c := range []struct {
		value uint32
		want  string
	}{
		{1<<31 | 1, "precompiled_charsmap points to byte 1 of 3 bytes of replacements, where none begins"},
		{1<<31 | 4, "precompiled_charsmap points to byte 4 of 3 bytes of replacements, where none begins"},
	} {
		bad := append([]byte{}, good...)
		binary.LittleEndian.PutUint32(bad[value:], c.value)
		_, err := parseCharsmap(base64.StdEncoding.EncodeToString(bad))
		checkRefusal(t, "leaf", err, c.want, false)
	}
	for _, ok := range []uint32{1 << 31, 1<<31 | 2, 1<<31 | 3} {
		binary.LittleEndian.PutUint32(good[value:], ok)
		if _, err := parseCharsmap(base64.StdEncoding.EncodeToString(good)); err != nil {
			t.Errorf("value %#x: %v", ok, err)
		}
	}
}

// Whatever a charsmap holds, it is refused or serves every text.
func FuzzCharsmap(f *testing.F) {
	f.Add([]byte("\x04\x00\x00\x00\x00\x00\x00\x00"), "a")
	good, err := base64.StdEncoding.DecodeString(trieOf(map[string]string{"a": "x", "e\u0301": "\u00e9", "\u0301": ""}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, "ae\u0301 \u0301\u0302")
	s := new(normalScratch)
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		m, err := parseCharsmap(base64.StdEncoding.EncodeToString(data))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "precompiled_charsmap ") {
				t.Fatalf("error %q does not say of what", err)
			}
			return
		}
		checkNormalizer(t, &normalizer{steps: []step{newPrecompiled(m)}}, s, []byte(text))
	})
}
