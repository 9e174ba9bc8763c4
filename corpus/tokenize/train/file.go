package train

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Write writes tokenizer.json as the reference library reads it.
func (t *Tokenizer) Write(w io.Writer) error {
	l := t.Layout
	out := bufio.NewWriter(w)
	out.WriteString("{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": [")
	for i, a := range l.added {
		comma(out, i, "\n    ")
		fmt.Fprintf(out, `{"id":%d,"content":%s,"single_word":false,"lstrip":%t,"rstrip":false,"normalized":%t,"special":%t}`,
			a.id, quoted(a.content), a.lstrip, a.normalized, a.special)
	}
	out.WriteString("\n  ]")
	for _, section := range []struct{ name, json string }{
		{"normalizer", l.normalizer}, {"pre_tokenizer", l.preTokenizer}, {"post_processor", l.postProcessor}, {"decoder", l.decoder},
	} {
		if section.json == "" {
			section.json = "null"
		}
		fmt.Fprintf(out, ",\n  %q: %s", section.name, section.json)
	}
	out.WriteString(",\n  \"model\": {")
	if l.kind == unigram {
		t.writeUnigram(out)
	} else {
		t.writeBPE(out)
	}
	out.WriteString("\n    ]\n  }\n}\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write tokenizer %s: %w", l.Name, err)
	}
	return nil
}

// writeUnigram writes the model without the end of its list of pieces.
func (t *Tokenizer) writeUnigram(out *bufio.Writer) {
	fmt.Fprintf(out, `
    "type": "Unigram",
    "unk_id": %d,
    "byte_fallback": false,
    "vocab": [`, slices.Index(t.Vocab, "<unk>"))
	for i, token := range t.Vocab {
		comma(out, i, "\n      ")
		fmt.Fprintf(out, "[%s, %s]", quoted(token), strconv.FormatFloat(t.Scores[i], 'f', 6, 64))
	}
}

// writeBPE writes the model without the end of its list of merges.
func (t *Tokenizer) writeBPE(out *bufio.Writer) {
	kind, unk := t.Layout.kind, "null"
	if kind == byteFallback {
		unk = `"<unk>"`
	}
	fmt.Fprintf(out, `
    "type": "BPE",
    "dropout": null,
    "unk_token": %s,
    "continuing_subword_prefix": null,
    "end_of_word_suffix": null,
    "fuse_unk": %t,
    "byte_fallback": %t,
    "ignore_merges": %t,
    "vocab": {`, unk, kind == byteFallback, kind == byteFallback, kind == byteLevelWhole)
	for i, token := range t.Vocab {
		comma(out, i, "\n      ")
		fmt.Fprintf(out, "%s: %d", quoted(token), i)
	}
	out.WriteString("\n    },\n    \"merges\": [")
	for i, m := range t.Merges {
		comma(out, i, "\n      ")
		fmt.Fprintf(out, "[%s, %s]", quoted(t.Vocab[m.Left]), quoted(t.Vocab[m.Right]))
	}
}

func comma(w *bufio.Writer, i int, space string) {
	if i > 0 {
		w.WriteByte(',')
	}
	w.WriteString(space)
}

// quoted gives a string in JSON, < and > as they are.
func quoted(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("train: " + err.Error()) // a string
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Learnt reads from a file of this layout how many merges, or pieces, it has learnt,
// and how many of its ids stand for nothing.
func (l *Layout) Learnt(file []byte) (learnt, unused int, err error) {
	var f struct {
		Model struct {
			Vocab  json.RawMessage   `json:"vocab"`
			Merges []json.RawMessage `json:"merges"`
		} `json:"model"`
	}
	if err := json.Unmarshal(file, &f); err != nil {
		return 0, 0, fmt.Errorf("read tokenizer of %s's family: %w", l.Name, err)
	}
	name, _, _ := strings.Cut(l.unused, "%d")
	unused = bytes.Count(f.Model.Vocab, []byte(`"`+name))
	if l.kind == unigram {
		return l.Size - len(l.head) - len(l.tail) - unused, unused, nil
	}
	return len(f.Model.Merges), unused, nil
}
