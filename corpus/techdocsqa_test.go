package corpus

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFirstSentence(t *testing.T) {
	for _, want := range []string{
		"One. |Two.", "One.|", "No end|", "|", "Is it? |Yes.", "So! |Well.",
		"Uses e.g. Amazon S3. |Next.", "In the U.S. East region. |Next.", "As in v1.2 of it. |Next.",
		"It is (see there.) |Next.", `Says "yes." |Next.`, "Ends with etc. Next. |Last.",
		"Goes on. and on. |Next.", "Takes 5. |6 is too much.", "Ends at vs. Nothing.|", "Ends in space. |",
		"Über alles. |Über.", "Ends. |über.",
	} {
		text := strings.ReplaceAll(want, "|", "")
		n := firstSentence([]byte(text))
		at := strings.Index(want, "|")
		if at > 0 && want[at-1] == ' ' {
			at--
		}
		if want == "Ends. |über." { // a small letter goes on
			at = len(text)
		}
		if n != at {
			t.Errorf("%q: %q, want %q", text, text[:n], text[:at])
		}
	}
}

func TestNameWords(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"CreateDBCluster", "Create DB Cluster"},
		{"ListWebACLs", "List Web ACLs"},
		{"GetIPsByVPCs", "Get IPs By VPCs"},
		{"GetV2LoggingLevelOptions", "Get V2 Logging Level Options"},
		{"DescribeEC2Instances", "Describe EC2 Instances"},
		{"APIs and an ID's s, DBSnapshot", "APIs and an ID s s DB Snapshot"},
		{"a x-ray's Ünï-Ωord", "a x ray s Ünï Ωord"},
		{"DBs DBsnapshot Ab AB A", "DBs D Bsnapshot Ab AB A"},
		{"", ""},
	} {
		var got []string
		for _, w := range nameWords([]byte(test.text)) {
			got = append(got, string(w.of([]byte(test.text))))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestRoot(t *testing.T) {
	for _, same := range []string{
		"create creates created creating creation", "delete deletes deleted deletion", "policy policies", "tag tags tagged tagging",
		"get gets getting", "put puts putting", "copy copies copied copying", "database databases", "alias aliases", "status statuses",
		"process processes processed processing", "configure configuration configurations configured", "batch batches", "key keys",
		"modify modifies modified", "list Lists LISTED listing", "cancel cancelled cancelling",
	} {
		words := strings.Fields(same)
		for _, w := range words[1:] {
			if root(w) != root(words[0]) {
				t.Errorf("%s has root %s, %s has %s", w, root(w), words[0], root(words[0]))
			}
		}
	}
	for _, pair := range [][2]string{{"list", "last"}, {"get", "set"}, {"user", "use"}, {"service", "server"}, {"domain", "domains2"}, {"port", "report"}} {
		if root(pair[0]) == root(pair[1]) {
			t.Errorf("%v have one root %s", pair, root(pair[0]))
		}
	}
	for _, w := range []string{"", "s", "es", "ing", "ed", "sss", "zzzz"} {
		if r := root(w); r != "" && len(r) > len(w) {
			t.Errorf("%q has root %q", w, r)
		}
	}
}

func TestMaskName(t *testing.T) {
	for _, test := range []struct{ name, sentence, want string }{
		{"CreateDBCluster", "Creates a new DB cluster from a snapshot.", "… a new … from a snapshot."},
		{"CreateDBCluster", "The CreateDBCluster operation creates DB-clusters.", "The … operation …."},
		{"DeleteHealthcheck", "Deletes the health check and its health-checks.", "… the … and its …."},
		{"GetWorkGroup", "Returns a workgroup.", "Returns a …."},
		{"ListWebACLs", "Retrieves an array of web ACL summaries.", "Retrieves an array of … summaries."},
		{"UpdatePolicy", "Changes (updates) policies, policy-wise.", "Changes (…) …, …-wise."},
		{"GetIt", "No word of the name.", "No word of the name."},
		{"Über", "Übers Land.", "… Land."},
		{"Op", "", ""},
	} {
		if got := string(maskName(test.name, []byte(test.sentence))); got != test.want {
			t.Errorf("%s in %q: %q, want %q", test.name, test.sentence, got, test.want)
		}
	}
}

// FuzzMaskName holds what a mask promises: no word of the name stays, nothing but
// words is taken out, and masking again changes nothing.
func FuzzMaskName(f *testing.F) {
	f.Add("CreateDBCluster", "Creates a new DB cluster, a Db Cluster's.")
	f.Add("A", "a A's – ÄA aa")
	f.Fuzz(func(t *testing.T, name, sentence string) {
		if strings.Contains(sentence, mask) || !utf8.ValidString(name) || !utf8.ValidString(sentence) {
			return
		}
		got := string(maskName(name, []byte(sentence)))
		names := map[string]bool{}
		for _, w := range nameWords([]byte(name)) {
			names[strings.ToLower(string(w.of([]byte(name))))] = true
		}
		for _, w := range nameWords([]byte(got)) {
			if word := string(w.of([]byte(got))); names[strings.ToLower(word)] {
				t.Errorf("%q stays in %q", word, got)
			}
		}
		rest := sentence
		for i, piece := range strings.Split(got, mask) {
			at := strings.Index(rest, piece)
			if at < 0 || i == 0 && at > 0 {
				t.Fatalf("%q is no masked %q", got, sentence)
			}
			rest = rest[at+len(piece):]
		}
		if again := string(maskName(name, []byte(got))); again != got {
			t.Errorf("masked %q, masked again %q", got, again)
		}
	})
}

func TestTechdocsQARule(t *testing.T) {
	long := strings.Repeat("More is said on it here. ", 8)
	api := `{"operations":{
 "CreateCage": {"documentation":"<p>Creates a cage for animals of one kind.</p><p>` + long + `</p>","input":{"shape":"In"}},
 "DeleteCage": {"documentation":"Deletes a cage and everything that lives in it. ` + long + `"},
 "DeleteCages": {"documentation":"Deletes the cages and everything that lives in it. ` + long + `"},
 "DropCage": {"documentation":"Drops a cage and everything that lives in it. ` + long + `"},
 "GetCage": {"documentation":"Gets a cage. ` + long + `"},
 "ListCages": {"documentation":"Lists everything that anybody keeps behind bars. Too little follows."},
 "NoWord": {"input":{"shape":"In"}}
},"shapes":{"In":{"members":{"Name":{"shape":"S","documentation":"Its name."}}},"S":{}}}`
	path := wheel(t, map[string]string{"botocore/data/zoo/2020-01-01/service-2.json.gz": api})
	var out bytes.Buffer
	qa, err := BuildTechdocsQA(path, &out)
	if err != nil {
		t.Fatal(err)
	}
	rest := strings.TrimSpace(long)
	want := fmt.Sprintf(`{"_id":"zoo.CreateCage","text":"%s\nName: Its name.","queries":[{"_id":"q:zoo.CreateCage","text":"… a … for animals of one kind."}]}
{"_id":"zoo.DeleteCages","text":"%s","queries":[{"_id":"q:zoo.DeleteCages","text":"… the … and everything that lives in it."}]}
`, rest, rest)
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	m, err := Scan(NewJSONL(bytes.NewReader(out.Bytes()), "out", Options{Strict: true}), TechdocsQA, TechdocsQARule, nil)
	if err != nil || qa != (QA{Manifest: m, Queries: 2, Operations: 6, ShortQuery: 1, ShortText: 1, SharedQuery: 2}) {
		t.Errorf("%+v, read back %+v, %v", qa, m, err)
	}

	_, err = BuildTechdocsQA(path, failing{io.ErrShortWrite})
	wantError(t, err, io.ErrShortWrite, "write corpus: short write")
	_, err = BuildTechdocsQA(path+"x", io.Discard)
	if err == nil || !strings.HasPrefix(err.Error(), "build techdocs: not a usable botocore wheel: open "+path+"x: ") {
		t.Error(err)
	}
}
