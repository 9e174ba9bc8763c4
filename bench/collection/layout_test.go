package collection

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"encbench/corpus"
)

const (
	someDocs = `{"_id":"d1","title":"One","text":"first"}
{"_id":"d2","title":"","text":"second"}
{"_id":"d3","text":"third"}
`
	someQueries = `{"_id":"q1","text":"what is first"}
{"_id":"q2","text":"what is second"}
`
	beirHeader = "query-id\tcorpus-id\tscore\n"
)

func TestLayouts(t *testing.T) {
	for _, test := range []struct {
		name  string
		files []string
		opt   Options
		want  string
	}{
		{
			"BEIR", []string{
				"corpus.jsonl\n" + someDocs, "queries.jsonl\n" + someQueries,
				"qrels/test.tsv\n" + beirHeader + "q2\td2\t2\nq1\td1\t1\nq1\td3\t0\n",
				"qrels/train.tsv\n" + beirHeader + "q1\td3\t1\n",
			}, Options{}, `set (test) [parts]
q1 "what is first" d1=1 d3=0
q2 "what is second" d2=2
d1: One first; d2: second; d3: third
- judgements are read as query-id corpus-id score with a header
`,
		},
		{
			"BEIR, another split", []string{
				"corpus.jsonl\n" + someDocs, "queries.jsonl\n" + someQueries,
				"qrels/test.tsv\n" + beirHeader + "q2\td2\t2\n",
				"qrels/train.tsv\n" + beirHeader + "q1\td3\t1\n",
			}, Options{Split: "train"}, `set (train) [parts]
q1 "what is first" d3=1
d1: One first; d2: second; d3: third
- judgements are read as query-id corpus-id score with a header
- 1 of 2 queries has no judgement and is left out before encoding
`,
		},
		{
			"MTEB, shards, float scores, the only split", []string{
				"corpus/dev-00000-of-00002.jsonl\n" + `{"id":"d1","title":"One","text":"first"}` + "\n",
				"corpus/dev-00001-of-00002.jsonl\n" + `{"id":"d2","text":"second"}` + "\n",
				"queries/dev-00000-of-00001.jsonl\n" + `{"id":"q1","text":"what is first"}` + "\n",
				"qrels/dev-00000-of-00001.jsonl\n" + `{"query-id":"q1","corpus-id":"d1","score":2.0}` + "\n",
			}, Options{}, `set (dev) [parts]
q1 "what is first" d1=2
d1: One first; d2: second
- judgements are read as JSON lines
`,
		},
		{
			"NanoBEIR has no scores", []string{
				"corpus.jsonl\n" + someDocs, "queries.jsonl\n" + someQueries,
				"default/train.jsonl\n" + `{"query-id":"q1","corpus-id":"d1"}` + "\n",
			}, Options{}, `set (train) [parts]
q1 "what is first" d1=1
d1: One first; d2: second; d3: third
- judgements are read as JSON lines
- 1 of 2 queries has no judgement and is left out before encoding
`,
		},
		{
			"COIR", []string{
				"apps-queries-corpus/corpus.jsonl\n" + someDocs, "apps-queries-corpus/queries.jsonl\n" + someQueries,
				"apps-qrels/test.jsonl\n" + `{"query_id":"q1","corpus_id":"d1","score":1}` + "\n" + `{"query_id":"q2","corpus_id":"d2","score":1}` + "\n",
			}, Options{}, `set (test) [parts]
q1 "what is first" d1=1
q2 "what is second" d2=1
d1: One first; d2: second; d3: third
- judgements are read as JSON lines
`,
		},
		{
			"MTEB, a subset, with what is not read", []string{
				"en-corpus/test.jsonl\n" + someDocs, "en-queries/test.jsonl\n" + someQueries,
				"en-qrels/test.jsonl\n" + `{"query-id":"q1","corpus-id":"d1","score":-1}` + "\n" + `{"query-id":"q2","corpus-id":"d2","score":1}` + "\n",
				"en-instruction/test.jsonl\n{}", "en-top_ranked/test.parquet\n", "readme.md\n", "top1000.tsv\n",
			}, Options{}, `set (test) [parts]
q1 "what is first" d1=-1
q2 "what is second" d2=1
d1: One first; d2: second; d3: third
- files that are not read: en-instruction/test.jsonl, en-top_ranked/test.parquet, top1000.tsv
- judgements are read as JSON lines
- 1 judged query has no relevant document and scores 0
- 1 of 2 judgements has a grade below 0: not relevant, and without gain
`,
		},
		{
			"judgements beside labels, bytes that are not UTF-8", []string{
				"corpus.jsonl\n" + someDocs + "{\"_id\":\"d4\",\"text\":\"caf\xe9\"}\n",
				"queries.jsonl\n" + `{"_id":"q1","text":"what is first","labels":["d2"]}` + "\n",
				"qrels/test.tsv\n" + beirHeader + "q1\td1\t1\n",
			}, Options{}, `set (test) [parts]
q1 "what is first" d1=1
d1: One first; d2: second; d3: third; d4: caf` + "\xe9" + `
- judgements are read as query-id corpus-id score with a header
- labels that queries bring are not read, as there are judgements in qrels/test.tsv
- 1 of 4 documents holds bytes that are not UTF-8, which a tokenizer replaces or drops
`,
		},
		{
			"MS MARCO", []string{
				"collection.tsv\n0\tfirst passage\n1\tsecond passage\n",
				"queries.dev.tsv\n10\twhat is first\n11\twhat is second\n12\tnever judged\n",
				"queries.train.tsv\n20\tother\n",
				"qrels.dev.small.tsv\n10\t0\t0\t1\n11\t0\t1\t1\n",
			}, Options{}, `set (dev.small) [parts]
10 "what is first" 0=1
11 "what is second" 1=1
0: first passage; 1: second passage
- judgements are read as query iteration document grade
- 1 of 3 queries has no judgement and is left out before encoding
`,
		},
		{
			"MIRACL: ids with #, shards in order, qrels without header", []string{
				"docs-0.jsonl\n" + `{"docid":"1#0","title":"A","text":"a"}` + "\n",
				"docs-10.jsonl\n" + `{"docid":"3#0","title":"C","text":"c"}` + "\n",
				"docs-9.jsonl\n" + `{"docid":"2#1","title":"B","text":"b"}` + "\n",
				"topics/topics.miracl-v1.0-en-dev.tsv\n7#0\twhat is a\n",
				"topics/topics.miracl-v1.0-en-train.tsv\n8#0\twhat is b\n",
				"qrels/qrels.miracl-v1.0-en-dev.tsv\n7#0\tQ0\t1#0\t1\n7#0\tQ0\t3#0\t0\n",
			}, Options{}, `set (dev) [parts]
7#0 "what is a" 1#0=1 3#0=0
1#0: A a; 2#1: B b; 3#0: C c
- judgements are read as query iteration document grade
`,
		},
		{
			"IBM tables take markdown", []string{
				"corpus_md.jsonl\n" + `{"_id":"t1","title":"T","text":"|a|b|"}` + "\n",
				"corpus_linearized.jsonl\n" + `{"_id":"t1","title":"T","text":"a: b"}` + "\n",
				"dev_queries.jsonl\n" + `{"_id":"q1","text":"what is b"}` + "\n",
				"test_queries.jsonl\n" + `{"_id":"q2","text":"what is a"}` + "\n",
				"dev_qrels.jsonl\n" + `{"qid":"q1","did":"t1","score":1}` + "\n",
			}, Options{}, `set (dev, md) [parts]
q1 "what is b" t1=1
t1: T |a|b|
- documents in the variant md (corpus_md.jsonl)
- judgements are read as JSON lines
`,
		},
		{
			"IBM tables, another variant", []string{
				"corpus_md.jsonl\n" + `{"_id":"t1","title":"T","text":"|a|b|"}` + "\n",
				"corpus_linearized.jsonl\n" + `{"_id":"t1","title":"T","text":"a: b"}` + "\n",
				"dev_queries.jsonl\n" + `{"_id":"q1","text":"what is b"}` + "\n",
				"dev_qrels.jsonl\n" + `{"qid":"q1","did":"t1","score":1}` + "\n",
			}, Options{Variant: "linearized"}, `set (dev, linearized) [parts]
q1 "what is b" t1=1
t1: T a: b
- documents in the variant linearized (corpus_linearized.jsonl)
- judgements are read as JSON lines
`,
		},
		{
			"LongEmbed without score", []string{
				"corpus.jsonl\n" + `{"doc_id":"d1","text":"long"}` + "\n",
				"queries.jsonl\n" + `{"qid":1,"text":"what is long"}` + "\n",
				"qrels.jsonl\n" + `{"qid":1,"doc_id":"d1"}` + "\n",
			}, Options{}, `set [parts]
1 "what is long" d1=1
d1: long
- judgements are read as JSON lines
`,
		},
		{
			"LongEmbed, one context length of several", []string{
				"corpus.jsonl\n" + `{"doc_id":"d1","text":"short","context_length":256}` + "\n" + `{"doc_id":"d2","text":"long","context_length":512}` + "\n",
				"queries.jsonl\n" + `{"qid":"q1","text":"what is short","context_length":256}` + "\n" + `{"qid":"q2","text":"what is long","context_length":512}` + "\n",
				"qrels.jsonl\n" + `{"qid":"q1","doc_id":"d1","context_length":256}` + "\n" + `{"qid":"q2","doc_id":"d2","context_length":512}` + "\n",
			}, Options{Split: "test_512"}, `set (test_512) [parts]
q2 "what is long" d2=1
d2: long
- judgements are read as JSON lines
- queries and documents of context length 512
`,
		},
		{
			"MT-RAG, last turn by default", []string{
				"corpus.jsonl\n" + `{"_id":"p-0-10","text":"passage"}` + "\n",
				"govt_lastturn.jsonl\n" + `{"_id":"h<::>2","text":"and then?"}` + "\n",
				"govt_rewrite.jsonl\n" + `{"_id":"h<::>2","text":"what comes then?"}` + "\n",
				"qrels/dev.tsv\n" + beirHeader + "h<::>2\tp-0-10\t1\n",
			}, Options{}, `set (dev, lastturn) [parts]
h<::>2 "and then?" group h p-0-10=1
p-0-10: passage
- queries in the form lastturn (govt_lastturn.jsonl)
- judgements are read as query-id corpus-id score with a header
- turns of one conversation are not independent: they share a group
`,
		},
		{
			"MAIR: numbers as ids, instructions", []string{
				"docs.jsonl\n" + `{"id":1,"doc":"one"}` + "\n" + `{"id":2,"doc":"two"}` + "\n",
				"queries.jsonl\n" + `{"qid":7,"instruction":"Find numbers.","query":"uno","labels":[{"id":1,"score":2},{"id":"2","score":"0"}]}` + "\n",
			}, Options{}, `set [labelled]
7 "uno" instruction "Find numbers." 1=2 2=0
1: one; 2: two
- queries bring an instruction, which is not part of their text
`,
		},
		{
			"MAIR: each split is a pool", []string{
				"A_docs.jsonl\n" + `{"id":1,"doc":"one"}` + "\n", "A_queries.jsonl\n" + `{"qid":7,"query":"uno","labels":[{"id":1,"score":1}]}` + "\n",
				"B_docs.jsonl\n" + `{"id":1,"doc":"eins"}` + "\n", "B_queries.jsonl\n" + `{"qid":7,"query":"ein","labels":[{"id":1,"score":1}]}` + "\n",
			}, Options{Split: "B"}, `set (B) [labelled]
7 "ein" 1=1
1: eins
`,
		},
		{
			"MLDR: labels inside queries", []string{
				"corpus.jsonl\n" + `{"docid":"d1","text":"long one"}` + "\n" + `{"docid":"d2","text":"long two"}` + "\n",
				"train.jsonl\n" + `{"query_id":"t","query":"train","positive_passages":[{"docid":"d2","text":"long two"}],"negative_passages":[]}` + "\n",
				"test.jsonl\n" + `{"query_id":"q","query":"which one","positive_passages":[{"docid":"d1","text":"long one"}],"negative_passages":[{"docid":"d2","text":"long two"}]}` + "\n",
			}, Options{}, `set (test) [labelled]
q "which one" d1=1
d1: long one; d2: long two
- negative_passages are not read as judgements
`,
		},
		{
			"MLDR, a language", []string{
				"corpus-en/corpus.jsonl\n" + `{"docid":"d1","text":"long one"}` + "\n",
				"en/train.jsonl\n" + `{"query_id":"t","query":"train","positive_passages":[{"docid":"d1"}]}` + "\n",
				"en/test.jsonl\n" + `{"query_id":"q","query":"which one","positive_passages":[{"docid":"d1","text":"long one"}]}` + "\n",
			}, Options{}, `set (test) [labelled]
q "which one" d1=1
d1: long one
`,
		},
		{
			"one's own, labelled queries", []string{
				"corpus.jsonl\n" + someDocs,
				"queries.jsonl\n" + `{"_id":"q1","text":"what is first","labels":["d1","d3"],"group":"g"}` + "\n" +
					`{"_id":"q2","text":"what is second","relevant":{"d3":0.5,"d2":2}}` + "\n" +
					`{"_id":"q3","text":"nothing","labels":[]}` + "\n",
			}, Options{}, `set [labelled]
q1 "what is first" group g d1=1 d3=1
q2 "what is second" d3=0.5 d2=2
d1: One first; d2: second; d3: third
- turns of one conversation are not independent: they share a group
- 1 of 3 queries has no judgement and is left out before encoding
- 1 of 4 judgements has a grade between 0 and 1: a gain for nDCG, not relevant for measures that count from grade 1
`,
		},
		{
			"TREC: numbers of topics with leading zeros", []string{
				"docs.trec\n<DOC>\n<DOCNO>1</DOCNO>\na\n</DOC>\n",
				"topics\n<top>\n<num> Number: 051\n<title>a\n</top>\n<top>\n<num> Number: 101\n<title>b\n</top>\n<top>\n<num> Number: 07\n<title>c\n</top>\n<top>\n<num> Number: 7\n<title>d\n</top>\n",
				"qrels\n51 0 1 1\n101 0 1 1\n7 0 1 1\n",
			}, Options{}, `set [trec]
51 "a" 1=1
101 "b" 1=1
7 "d" 1=1
1: a
- queries are the titles of the topics
- judgements are read as query iteration document grade
- topics are joined with judgements by the value of their numbers (051 is 51)
- 1 of 4 queries has no judgement and is left out before encoding
`,
		},
		{
			"TREC: capitals are lower-cased, the largest file of topics counts", []string{
				"docs.trec\n<DOC>\n<DOCNO>1</DOCNO>\ncompact memories\nare flexible\n</DOC>\n<DOC>\n<DOCNO>2</DOCNO>\nother\n</DOC>\n",
				"light\n<top>\n<num>1</num><title>\nMEMORIES\n</title>\n</top>\n",
				"topics\n<top>\n<num> Number: 1\n<title> Topic: MEMORIES\n<desc> Description:\nnot read\n</top>\n\n<top>\n<num>2</num><title>\nOTHER\n</title>\n</top>\n",
				"qrels\n1 0 1 1\n2 0 2 1\n",
			}, Options{}, `set [trec]
1 "memories" 1=1
2 "other" 2=1
1: compact memories are flexible; 2: other
- topics of topics, the largest of 2 files of topics
- queries are the titles of the topics
- topics in capitals are lower-cased
- judgements are read as query iteration document grade
`,
		},
		{
			"Cranfield: by position, codes, no titles", []string{
				"cran.all.1400\n.I 1\r\n.T\r\na wing .\r\n.A\r\nm\r\n.B\r\nj\r\n.W\r\na wing .\r\n  it flies .I think\r\n.A\r\nstray\r\n.I 2\r\n.T\r\n.A\r\n.B\r\n.W\r\n",
				"cran.qry\n.I 001\r\n.W\r\nwhat flies .\r\n.I 004\r\n.W\r\nwhat\r\nfalls .\r\n",
				"cranqrel\n1 1 2 \r\n1 2 -1 \r\n2 2 1",
				"cranqrel.readme\nnot read",
			}, Options{}, `set [smart]
1 "what flies ." 1=3 2=0
2 "what falls ." 2=4
1: a wing ./  it flies .I think/.A/stray; 2: 
- queries are joined with judgements by position, not by .I
- gain is 5 minus the code (1 is best); code -1, which is undocumented, is gain 0
- documents are their .W field, which repeats the title
- 1 of 2 documents has no text, 1 of them relevant to a query
`,
		},
		{
			"CACM: by .I, titles, fields after the text", []string{
				"cacm.all\n.I 1\n.T\nTitle\n.W\nText\n.B\nCACM\n.X\n1 5 1\n.I 2\n.T\nOnly title\n",
				"query.text\n.I 1\n.W\n what\n.N\n 1. someone\n.I 7\n.W\n never judged\n",
				"qrels.text\n01 0002  0 0\n01 1  0 0\n",
			}, Options{}, `set [smart]
1 "what" 2=1 1=1
1: Title Text; 2: Only title
- queries are joined with judgements by .I; every judgement is gain 1, as 2 of its 4 columns are not read
- 1 of 2 queries has no judgement and is left out before encoding
`,
		},
		{
			"MTRAG-UN: union of contexts, last turn", []string{
				"reference.jsonl\n" + mtragReference, "qrels/cloud.tsv\n" + beirHeader + "h<::>2\tc1\t1\n", "qrels/govt.tsv\n" + beirHeader + "i<::>1\tc3\t1\n",
			}, Options{}, `set (lastturn) [mtrag-un]
h<::>2 "and then?" group h c1=1
i<::>1 "why?" group i c3=1
c1: first; c2: second; c3: third
- judgements are read as query-id corpus-id score with a header
- reference pool: the documents are the passages that reference answers were written from, a closed pool far easier than the full corpora; not comparable with published figures
- a query is the last turn of the user
- documents are the text of passages without the titles that some have
- turns of one conversation are not independent: they share a group
- 1 of 3 queries has no judgement and is left out before encoding
`,
		},
		{
			"MTRAG-UN: one split, all turns", []string{
				"reference.jsonl\n" + mtragReference, "qrels/cloud.tsv\n" + beirHeader + "h<::>2\tc1\t1\n", "qrels/govt.tsv\n" + beirHeader + "i<::>1\tc3\t1\n",
			}, Options{Split: "cloud", Form: "allturns"}, `set (cloud, allturns) [mtrag-un]
h<::>2 "how?\nand then?" group h c1=1
c1: first; c2: second; c3: third
- queries of split cloud alone; the pool holds the documents of all
- judgements are read as query-id corpus-id score with a header
- reference pool: the documents are the passages that reference answers were written from, a closed pool far easier than the full corpora; not comparable with published figures
- a query is all turns of the user, one a line
- documents are the text of passages without the titles that some have
- turns of one conversation are not independent: they share a group
- 2 of 3 queries have no judgement and are left out before encoding
`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := dump(t, open(t, folder(t, test.files...), test.opt)); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

const mtragReference = `{"conversation_id":"h","task_id":"h<::>2","Collection":"ibmcloud","contexts":[{"document_id":"c1","text":"first"},{"document_id":"c2","title":"T","text":"second"}],"input":[{"speaker":"user","text":"how?","metadata":{"author_id":"x"}},{"speaker":"agent","text":"so"},{"speaker":"user","text":"and then?"}]}
{"conversation_id":"i","task_id":"i<::>1","contexts":[{"document_id":"c1","text":"first"},{"document_id":"c3","text":"third"}],"input":[{"speaker":"user","text":"why?"}]}
{"conversation_id":"j","task_id":"j<::>1","contexts":[],"input":[{"speaker":"user","text":"who?"}]}
`

func TestLabelledFile(t *testing.T) {
	root := folder(t, "faq.jsonl\n"+`{"_id":"d1","text":"one","queries":[{"text":"uno"},{"_id":"q","text":"both","score":2,"group":"g"}]}`+"\n\n"+
		`{"_id":"d2","title":"Two","text":"two","queries":[{"_id":"q","text":"both","score":1,"group":"g"}]}`+"\n"+
		`{"text":"no id","queries":[{"_id":"n","text":"which line"}]}`+"\n"+
		`{"_id":"d4","text":"a distractor"}`)
	want := `faq [file]
d1?1 "uno" d1=1
q "both" group g d1=2 d2=1
n "which line" 4=1
d1: one; d2: Two two; 4: no id; d4: a distractor
`
	if got := dump(t, open(t, root+"/faq.jsonl", Options{})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Byte order marks, CRLF and compression change nothing; a name of one's own does.
func TestSpellingsOfOneCollection(t *testing.T) {
	plain := open(t, folder(t, "corpus.jsonl\n"+someDocs, "queries.jsonl\n"+someQueries, "qrels/test.tsv\n"+beirHeader+"q1\td1\t1\nq2\td2\t2\nq2\td3\t1\n"), Options{})
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	const mark = "\ufeff"
	other := open(t, folder(t, "corpus.jsonl\n"+mark+crlf(someDocs), "queries.jsonl\n"+mark+crlf(someQueries),
		"qrels/test.tsv\n"+mark+crlf(beirHeader+"q2\td3\t1\nq2\td2\t2\nq1\td1\t1\n")), Options{Name: "other"})
	if plain.SHA256 != other.SHA256 {
		t.Errorf("hash %s, spelled otherwise %s", plain.SHA256, other.SHA256)
	}
	if plain.SHA256 != "322b04656f219565c43805b66ed62df5a57d77821e7f621771b63d3580298b5e" {
		t.Errorf("hash %s: a change of the rule needs a new version of it", plain.SHA256)
	}
	if other.Name != "other (test)" {
		t.Errorf("name %s", other.Name)
	}
	for what, files := range map[string][]string{
		"text of a document": {"corpus.jsonl\n" + strings.Replace(someDocs, "first", "First", 1), "queries.jsonl\n" + someQueries, "qrels/test.tsv\n" + beirHeader + "q1\td1\t1\nq2\td2\t2\nq2\td3\t1\n"},
		"text of a query":    {"corpus.jsonl\n" + someDocs, "queries.jsonl\n" + strings.Replace(someQueries, "what", "What", 1), "qrels/test.tsv\n" + beirHeader + "q1\td1\t1\nq2\td2\t2\nq2\td3\t1\n"},
		"a grade":            {"corpus.jsonl\n" + someDocs, "queries.jsonl\n" + someQueries, "qrels/test.tsv\n" + beirHeader + "q1\td1\t1\nq2\td2\t2\nq2\td3\t2\n"},
	} {
		if c := open(t, folder(t, files...), Options{}); c.SHA256 == plain.SHA256 {
			t.Errorf("another %s leaves the hash as it is", what)
		}
	}
}

// Every part may be compressed; damage is told with its file.
func TestCompressed(t *testing.T) {
	pack := func(path, content string) {
		t.Helper()
		w, err := corpus.Create(path)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	plain := open(t, folder(t, beir()...), Options{})
	root := folder(t, "qrels/readme.md\n")
	pack(root+"/corpus.jsonl.zst", someDocs)
	pack(root+"/queries.jsonl.gz", someQueries)
	pack(root+"/qrels/test.tsv.gz", beirHeader+"q1\td1\t1\nq2\td2\t1\n")
	if c := open(t, root, Options{}); c.SHA256 != plain.SHA256 || c.Name != plain.Name {
		t.Errorf("compressed %s, %s; plain %s, %s", c.Name, c.SHA256, plain.Name, plain.SHA256)
	}
	whole, err := os.ReadFile(root + "/queries.jsonl.gz")
	if err == nil {
		err = os.WriteFile(root+"/queries.jsonl.gz", whole[:len(whole)-9], 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(root, Options{})
	if want := "open collection " + root + ": read " + root + "/queries.jsonl.gz: compressed stream is damaged or cut short: gzip at byte "; !errors.Is(err, corpus.ErrCorrupt) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s…", err, want)
	}
}
