package main

import (
	"fmt"
	"strings"
	"testing"
)

// Only an earlier result of the same kind may be replaced.
func TestReplaceable(t *testing.T) {
	const (
		speedRecord = "{\n  \"schema\": 1,\n  \"tool\": {\"version\": \"1\"},\n  \"status\": \"complete\",\n  \"command\": [\"enc"
		evalRecord  = `{"schema":1,"kind":"eval","tool":{"version":"1"},"status":"complete"`
		peersResult = `{"title":"t","command":"c","commit":"x","machine":"m"`
	)
	kinds := map[string]func([]byte) bool{"speed": isSpeedRecord, "eval": isEvalRecord, "peers": isPeersResult, "graph": isGraph}
	for text, want := range map[string]string{
		speedRecord:                        "speed",
		evalRecord:                         "eval",
		peersResult:                        "peers",
		"\x08\x09\x12\x08encbench\x3a\x10": "graph",
		"\x08\x09\x12\x07pytorch\x3a\x10":  "",
		"{}":                               "",
		"{precious}":                       "",
		"[" + speedRecord:                  "",
		`{"schema":1,"mine":true}`:         "",
		`{"name":"n","schema":1,"tool":2}`: "",
		`{"schema":1,"kind":"x","tool":2}`: "",
		speedRecord[:20]:                   "",
	} {
		for kind, is := range kinds {
			if got := is([]byte(text)); got != (kind == want) {
				t.Errorf("%q is replaced as a result of %s: %v", text, kind, got)
			}
		}
	}
}

// The user's own JSON stays, and so does the record of another command.
func TestSpeedKeepsOtherFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{
		"package.json": "{\n  \"name\": \"mine\"\n}\n",
		"eval.json":    `{"schema":1,"kind":"eval","tool":{},"status":"complete"}`,
	}
	put(t, files)
	for name := range files {
		r := encbench("", "speed", "--corpus", "nope", "--out", name)
		if want := fmt.Sprintf("encbench speed: --out %s exists and is no earlier result; name another file, or remove it\n", name); r.code != exitUsage || !strings.HasPrefix(r.stderr, want) {
			t.Errorf("exit %d, %s, want %s", r.code, r.stderr, want)
		}
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 query": count(1, "query"), "1,000 queries": count(1000, "query"), "0 rows": count(0, "row"), "1 label": count(int64(1), "label"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
