package collection

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encbench/corpus"
)

// beir gives the files of a small intact collection, with the given ones in place of
// those of their names.
func beir(replace ...string) []string {
	files := []string{"corpus.jsonl\n" + someDocs, "queries.jsonl\n" + someQueries, "qrels/test.tsv\n" + beirHeader + "q1\td1\t1\nq2\td2\t1\n"}
next:
	for _, r := range replace {
		name, content, _ := strings.Cut(r, "\n")
		for i, f := range files {
			if strings.HasPrefix(f, name+"\n") {
				if files[i] = r; content == "-" {
					files = append(files[:i], files[i+1:]...)
				}
				continue next
			}
		}
		files = append(files, r)
	}
	return files
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		name  string
		files []string
		opt   Options
		is    error
		want  string // SET stands for the folder
	}{
		{"empty folder", nil, Options{}, ErrLayout,
			"not a labelled collection: expected corpus.jsonl, queries.jsonl and qrels/test.tsv, or the files of MTEB, MS MARCO, MIRACL, MLDR, MAIR, LongEmbed, TREC or SMART; found no file"},
		{"other files", []string{"a.txt\nx", "b/c.txt\nx", "d.txt\n", "e.txt\n", "f.txt\n", "g.txt\n", "h.txt\n"}, Options{}, ErrLayout,
			"not a labelled collection: expected corpus.jsonl, queries.jsonl and qrels/test.tsv, or the files of MTEB, MS MARCO, MIRACL, MLDR, MAIR, LongEmbed, TREC or SMART; found a.txt, b/c.txt, d.txt, e.txt, f.txt, g.txt and 1 more"},
		{"Parquet", []string{"corpus/test-00000-of-00001.parquet\nPAR1", "queries/test-00000-of-00001.parquet\nPAR1", "qrels/test-00000-of-00001.parquet\nPAR1"}, Options{}, ErrLayout,
			`not a labelled collection: corpus/test-00000-of-00001.parquet is Parquet, which is not read; write each table as JSON lines, as in: python3 -c 'import pandas; pandas.read_parquet("corpus/test-00000-of-00001.parquet").to_json("corpus/test-00000-of-00001.jsonl", orient="records", lines=True)'`},
		{"documents in Parquet", []string{"corpus.parquet\nPAR1", "queries.jsonl\n" + someQueries}, Options{}, ErrLayout,
			`not a labelled collection: corpus.parquet is Parquet, which is not read; write each table as JSON lines, as in: python3 -c 'import pandas; pandas.read_parquet("corpus.parquet").to_json("corpus.jsonl", orient="records", lines=True)'`},
		{"judgements in Parquet", beir("qrels/test.tsv\n-", "qrels/test.parquet\nPAR1"), Options{}, ErrLayout,
			`not a labelled collection: qrels/test.parquet is Parquet, which is not read; write each table as JSON lines, as in: python3 -c 'import pandas; pandas.read_parquet("qrels/test.parquet").to_json("qrels/test.jsonl", orient="records", lines=True)'`},
		{"another compression", beir("corpus.jsonl\n-", "corpus.jsonl.bz2\nBZh91AY&SY"), Options{}, nil,
			"open input SET/corpus.jsonl.bz2: it is compressed with bzip2; gzip, zstd and plain files are read"},
		{"damage where the layout is looked for", []string{"cran.all.gz\n\x1f\x8b\x08"}, Options{}, ErrLayout,
			"not a labelled collection: read SET/cran.all.gz: compressed stream is damaged or cut short: gzip at byte 3 of the file, after 0 unpacked bytes: unexpected EOF"},
		{"a folder of a part's name", beir("corpus.jsonl\n-", "corpus.jsonl/part\nx"), Options{}, ErrLayout,
			"SET/corpus.jsonl: not a labelled collection: it is a folder, a file is expected"},
		{"two collections", []string{
			"a-queries-corpus/corpus.jsonl\n" + someDocs, "a-queries-corpus/queries.jsonl\n" + someQueries, "a-qrels/test.jsonl\n" + `{"query_id":"q1","corpus_id":"d1"}`,
			"b-queries-corpus/corpus.jsonl\n" + someDocs, "b-queries-corpus/queries.jsonl\n" + someQueries, "b-qrels/test.jsonl\n" + `{"query_id":"q1","corpus_id":"d1"}`,
		}, Options{}, ErrSplit, "no such choice: several collections in one folder: a, b; give each a folder of its own"},
		{"no documents", beir("corpus.jsonl\n-"), Options{}, ErrLayout,
			"not a labelled collection: no documents: expected corpus.jsonl, docs.jsonl or collection.tsv, found qrels/test.tsv, queries.jsonl"},
		{"no queries", beir("queries.jsonl\n-"), Options{}, ErrLayout,
			"not a labelled collection: no queries: expected queries.jsonl, found corpus.jsonl, qrels/test.tsv"},
		{"no judgements", beir("qrels/test.tsv\n-"), Options{}, nil,
			`SET/queries.jsonl:1: query "q1": no labels (one of labels, relevant, positive_passages), and the collection has no qrels`},
		{"unknown split", beir("qrels/dev.tsv\nx"), Options{Split: "train"}, ErrSplit,
			`no such choice: split "train" is not there: choose one of dev, test`},
		{"split to be chosen", beir("qrels/test.tsv\n-", "qrels/dev.tsv\nx", "qrels/train.tsv\nx"), Options{}, ErrSplit,
			"no such choice: several splits: choose one of dev, train"},
		{"no splits", beir("qrels/test.tsv\n-", "qrels.tsv\n"+beirHeader+"q1\td1\t1\n"), Options{Split: "dev"}, ErrSplit,
			`no such choice: split "dev" is not there: the collection has one set of judgements, qrels.tsv, and no splits`},
		{"a context length that is not there", beir(), Options{Split: "test_256"}, ErrSplit,
			`no such choice: split "test_256" is not there: no query has a context_length, the judgements are of test`},
		{"queries of the split missing", beir("queries.jsonl\n-", "dev_queries.jsonl\n"+someQueries, "train_queries.jsonl\n"+someQueries), Options{}, ErrSplit,
			"no such choice: queries of split \"test\" are not there: found dev, train"},
		{"no forms", beir(), Options{Form: "rewrite"}, ErrSplit,
			`no such choice: form "rewrite" is not there: the collection has no forms (queries.jsonl)`},
		{"unknown variant", beir("corpus.jsonl\n-", "corpus_md.jsonl\n"+someDocs, "corpus_structure.jsonl\n"+someDocs), Options{Variant: "html"}, ErrSplit,
			`no such choice: variant "html" is not there: choose one of md, structure`},
		{"several context lengths", beir("queries.jsonl\n" + `{"_id":"q1","text":"a","context_length":512}` + "\n" + `{"_id":"q2","text":"b","context_length":256}`), Options{}, ErrSplit,
			"no such choice: queries of 2 context lengths, which are one task each and never one pool: choose a split of test_256, test_512"},
		{"no query of the length", beir("queries.jsonl\n" + `{"_id":"q1","text":"a","context_length":512}` + "\n" + `{"_id":"q2","text":"b","context_length":256}`), Options{Split: "test_1024"}, ErrSplit,
			"no such choice: no query has context length 1024: choose a split of test_256, test_512"},
		{"context length", beir("queries.jsonl\n" + `{"_id":"q1","text":"a","context_length":"long"}`), Options{}, nil,
			`SET/queries.jsonl:1: context_length "long": expected a positive whole number`},

		{"a document id twice", beir("corpus.jsonl\n" + someDocs + "\n" + `{"_id":"d1","text":"again"}`), Options{}, ErrLabels,
			`SET/corpus.jsonl:5: the parts do not fit: document id "d1" is that of SET/corpus.jsonl:1 too; judgements cannot tell them apart`},
		{"a document without id", beir("corpus.jsonl\n" + `{"_id":"d1","text":"a"}` + "\n" + `{"document_id":"d2","text":"b"}`), Options{}, nil,
			"SET/corpus.jsonl:2: no document id (one of _id, id, docid, doc_id, docno, pid)"},
		{"a broken document", beir("corpus.jsonl\n" + someDocs + "{"), Options{}, nil,
			"SET/corpus.jsonl:4: not JSON at byte 2: the line ends inside a value"},
		{"no document at all", beir("corpus.jsonl\n"), Options{}, ErrLabels, "the parts do not fit: no document in corpus.jsonl"},
		{"a query id with two texts", beir("queries.jsonl\n" + someQueries + `{"_id":"q1","text":"what else"}`), Options{}, ErrLabels,
			`SET/queries.jsonl:3: the parts do not fit: query id "q1" has another text at SET/queries.jsonl:1; give each query an id of its own`},
		{"a judged query without text", beir("queries.jsonl\n" + `{"_id":"q1","text":" "}`), Options{}, ErrLabels,
			`SET/queries.jsonl:1: the parts do not fit: query "q1" is judged and has no text; give it one, or take its judgements out`},
		{"no query at all", beir("queries.jsonl\n"), Options{}, ErrLabels, "the parts do not fit: no query in queries.jsonl"},
		{"queries of another collection", beir("queries.jsonl\n" + `{"_id":"1","text":"a"}` + "\n" + `{"_id":"2","text":"b"}` + "\n" + `{"_id":"3","text":"b"}` + "\n" + `{"_id":"4","text":"b"}`), Options{}, ErrLabels,
			`the parts do not fit: none of the 2 judged queries is among the 4 queries: judged are "q1", "q2", queries are "1", "2", "3", …; do the files belong together?`},
		{"documents of another collection", beir("corpus.jsonl\n" + `{"_id":"1","text":"a"}`), Options{}, ErrLabels,
			`the parts do not fit: none of the 2 judged documents is among the 1 documents: judged are "d1", documents are "1"; do the files belong together?`},
		{"judged twice", beir("qrels/test.tsv\n" + beirHeader + "q1\td1\t1\nq1\td1\t2\n"), Options{}, nil,
			`SET/qrels/test.tsv:3: query "q1", document "d1": judged twice, 1 and 2`},
		{"no judgement in the file", beir("qrels/test.tsv\n" + beirHeader), Options{}, nil,
			"SET/qrels/test.tsv: the file has a header and no judgement"},

		{"a query that is not JSON", beir("queries.jsonl\nq1 what"), Options{}, nil,
			"SET/queries.jsonl:1: not JSON at byte 1: invalid character 'q' looking for beginning of value"},
		{"a query that is no object", beir("queries.jsonl\n[1]"), Options{}, nil, "SET/queries.jsonl:1: expected a JSON object"},
		{"a query that is not UTF-8", beir("queries.jsonl\n" + "{\"_id\":\"q\xff\",\"text\":\"a\"}"), Options{}, nil,
			"SET/queries.jsonl:1: not UTF-8 at byte 10; convert the file to UTF-8"},
		{"a query without id", beir("queries.jsonl\n" + `{"text":"a"}`), Options{}, nil,
			"SET/queries.jsonl:1: no id (one of _id, id, query-id, query_id, qid, q_id, question_id, topic)"},
		{"an empty query id", beir("queries.jsonl\n" + `{"_id":"","text":"a"}`), Options{}, nil, "SET/queries.jsonl:1: _id is empty"},
		{"a query id of another type", beir("queries.jsonl\n" + `{"_id":[1],"text":"a"}`), Options{}, nil, "SET/queries.jsonl:1: _id is neither a string nor a number: [1]"},
		{"a query without text", beir("queries.jsonl\n" + `{"_id":"q1"}`), Options{}, nil,
			`SET/queries.jsonl:1: query "q1": no text (one of text, query, question, title)`},
		{"a text of another type", beir("queries.jsonl\n" + `{"_id":"q1","text":1}`), Options{}, nil, `SET/queries.jsonl:1: query "q1": text is not a string: 1`},
		{"a group of another type", beir("queries.jsonl\n" + `{"_id":"q1","text":"a","group":{}}`), Options{}, nil, `SET/queries.jsonl:1: query "q1": group is neither a string nor a number: {}`},
		{"an instruction of another type", beir("queries.jsonl\n" + `{"_id":"q1","text":"a","instruction":{}}`), Options{}, nil, `SET/queries.jsonl:1: query "q1": instruction is not a string: {}`},
		{"columns of queries", []string{"collection.tsv\n1\ta\n", "queries.dev.tsv\nqid\tquery\n1\ta\tb\n", "qrels.dev.tsv\n1 0 1 1\n"}, Options{}, nil,
			"SET/queries.dev.tsv:2: 3 columns: expected 2 (query id, text), separated by a tab"},
		{"TSV that is not UTF-8", []string{"collection.tsv\n1\ta\n", "queries.dev.tsv\n1\ta\xff\n", "qrels.dev.tsv\n1 0 1 1\n"}, Options{}, nil,
			"SET/queries.dev.tsv:1: not UTF-8 at byte 4; convert the file to UTF-8"},
		{"an empty id in TSV", []string{"collection.tsv\n1\ta\n", "queries.dev.tsv\n\ta\n", "qrels.dev.tsv\n1 0 1 1\n"}, Options{}, nil,
			"SET/queries.dev.tsv:1: the query id is empty"},
		{"TSV without judgements", []string{"collection.tsv\n1\ta\n", "queries.dev.tsv\n1\ta\n"}, Options{}, ErrLayout,
			"SET/queries.dev.tsv: not a labelled collection: no judgements: expected qrels beside queries in TSV"},

		{"labels of another type", []string{"docs.jsonl\n" + someDocs, "queries.jsonl\n" + `{"_id":"q1","text":"a","labels":"d1"}`}, Options{}, nil,
			`SET/queries.jsonl:1: query "q1": labels: expected an array of document ids or of objects {"id", "score"}, or an object of grades by document id`},
		{"a label without id", []string{"docs.jsonl\n" + someDocs, "queries.jsonl\n" + `{"_id":"q1","text":"a","labels":[{"score":1}]}`}, Options{}, nil,
			`SET/queries.jsonl:1: query "q1": labels: no id (one of _id, id, corpus-id, corpus_id, doc, did, doc_id, docid, document_id, docno, pid)`},
		{"a label of another type", []string{"docs.jsonl\n" + someDocs, "queries.jsonl\n" + `{"_id":"q1","text":"a","labels":[null]}`}, Options{}, nil,
			`SET/queries.jsonl:1: query "q1": labels is neither a string nor a number: null`},
		{"a label of no document", []string{"docs.jsonl\n" + someDocs, "queries.jsonl\n" + `{"_id":"q1","text":"a","labels":{"":1}}`}, Options{}, nil,
			`SET/queries.jsonl:1: query "q1": a label with an empty document id`},
		{"two grades in one object", []string{"docs.jsonl\n" + someDocs, "queries.jsonl\n" + `{"_id":"q1","text":"a","labels":{"d1":1,"d1":2}}`}, Options{}, nil,
			`SET/queries.jsonl:1: query "q1", document "d1": judged twice, 1 and 2`},
		{"two fields of labels", []string{"docs.jsonl\n" + someDocs, "queries.jsonl\n" + `{"_id":"q1","text":"a","labels":[],"relevant":["d1"]}`}, Options{}, nil,
			`SET/queries.jsonl:1: query "q1": fields "labels" and "relevant" mean the same`},
		{"no label at all", []string{"docs.jsonl\n" + someDocs, "queries.jsonl\n" + `{"_id":"q1","text":"a","labels":[]}`}, Options{}, ErrLabels,
			"the parts do not fit: no judgement in queries.jsonl"},
		{"a grade in base 16", []string{"docs.jsonl\n" + someDocs, "queries.jsonl\n" + `{"_id":"q1","text":"a","labels":{"d1":"0x10"}}`}, Options{}, nil,
			`SET/queries.jsonl:1: query "q1", document "d1": grade "0x10": expected a number`},
		{"a grade that is infinite", []string{"docs.jsonl\n" + someDocs, "queries.jsonl\n" + `{"_id":"q1","text":"a","labels":{"d1":1e400}}`}, Options{}, nil,
			`SET/queries.jsonl:1: query "q1", document "d1": grade 1e400: expected a number`},
		{"a grade in two quotes", []string{"docs.jsonl\n" + someDocs, "queries.jsonl\n" + `{"_id":"q1","text":"a","labels":{"d1":"\"1\""}}`}, Options{}, nil,
			`SET/queries.jsonl:1: query "q1", document "d1": grade "\"1\"": expected a number`},
		{"a grade of another type", []string{"docs.jsonl\n" + someDocs, "queries.jsonl\n" + `{"_id":"q1","text":"a","labels":{"d1":true}}`}, Options{}, nil,
			`SET/queries.jsonl:1: query "q1", document "d1": grade true: expected a number`},
		{"a grade that is empty", []string{"docs.jsonl\n" + someDocs, "queries.jsonl\n" + `{"_id":"q1","text":"a","labels":{"d1":""}}`}, Options{}, nil,
			`SET/queries.jsonl:1: query "q1", document "d1": grade "": expected a number`},
		{"a grade that is no number", []string{"docs.jsonl\n" + someDocs, "queries.jsonl\n" + `{"_id":"q1","text":"a","labels":{"d1":"high"}}`}, Options{}, nil,
			`SET/queries.jsonl:1: query "q1", document "d1": grade "high": expected a number`},

		{"SMART without queries", []string{"cran.all\n.I 1\n.W\na\n"}, Options{}, ErrLayout,
			"not a labelled collection: 0 files of queries beside cran.all: expected one named *.qry or query*"},
		{"SMART without judgements", []string{"cran.all\n.I 1\n.W\na\n", "cran.qry\n.I 1\n.W\na\n"}, Options{}, ErrLayout,
			"not a labelled collection: 0 files of judgements beside cran.all: expected one, such as cranqrel or CISI.REL"},
		{"SMART twice", []string{"a.all\n.I 1\n.W\na\n", "b.all\n.I 1\n.W\na\n"}, Options{}, ErrLayout,
			"not a labelled collection: several files of .I records: a.all, b.all; which holds the documents? Queries are those named *.qry or query*"},
		{"SMART has no splits", []string{"cran.all\n.I 1\n.W\na\n", "cran.qry\n.I 1\n.W\na\n", "cranqrel\n1 1 1\n"}, Options{Split: "test"}, ErrSplit,
			`no such choice: split "test" is not there: layout smart has no splits`},
		{"a code", []string{"cran.all\n.I 1\n.W\na\n", "cran.qry\n.I 1\n.W\na\n", "cranqrel\n1 1 1\n1 2 7\n"}, Options{}, nil,
			`SET/cranqrel:2: code "7": expected 1 (best) to 4, 5 or -1`},
		{"columns of codes", []string{"cran.all\n.I 1\n.W\na\n", "cran.qry\n.I 1\n.W\na\n", "cranqrel\n1 1 1\n1 2\n"}, Options{}, nil,
			"SET/cranqrel:2: 2 columns: expected 3 (query, document, code)"},
		{"text outside records", []string{"cran.all\n.I 1\n.W\na\n", "cran.qry\n.I 1\n.W\na\n.I\n", "cranqrel\n1 1 1\n"}, Options{}, nil,
			"SET/cran.qry:4: a record without id: expected `.I id`"},

		{"TREC without topics", []string{"docs\n<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n"}, Options{}, ErrLayout,
			"not a labelled collection: no topics beside docs: expected a file that begins with <top>"},
		{"TREC without judgements", []string{"docs\n<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n", "topics\n<top>\n"}, Options{}, ErrLayout,
			"not a labelled collection: 0 files of judgements beside docs: expected one named qrels"},
		{"a topic without number", trecWith("<top>\n<title>a\n</top>\n"), Options{}, nil, "SET/topics:3: the topic of line 1 has no <num>"},
		{"a topic without title", trecWith("<top>\n<num>1\n</top>\n"), Options{}, nil, "SET/topics:3: topic 1 of line 1 has no <title>"},
		{"a topic inside a topic", trecWith("<top>\n<num>1\n<top>\n"), Options{}, nil, "SET/topics:3: <top> inside the topic of line 1, which has no </top>"},
		{"the end of no topic", trecWith("<top>\n<num>1<title>a\n</top>\n</top>\n"), Options{}, nil, "SET/topics:4: </top> without <top>"},
		{"text outside topics", trecWith("<top>\n<num>1<title>a\n</top>\nb\n"), Options{}, nil, "SET/topics:4: text outside a topic: a topic begins with a line <top>"},
		{"an open topic", trecWith("<top>\n<num>1<title>a\n"), Options{}, nil, "SET/topics:1: the topic has no </top>"},

		{"MTRAG-UN without judgements", []string{"reference.jsonl\n" + mtragReference}, Options{}, ErrLayout,
			"not a labelled collection: no judgements beside reference.jsonl: expected qrels/*.tsv"},
		{"MTRAG-UN has no variants", mtragWith(mtragReference), Options{Variant: "md"}, ErrSplit,
			`no such choice: variant "md" is not there: layout mtrag-un has no variants`},
		{"a form of MTRAG-UN", mtragWith(mtragReference), Options{Form: "rewrite"}, ErrSplit,
			`no such choice: form "rewrite" is not there: choose one of allturns, lastturn`},
		{"a split of MTRAG-UN", mtragWith(mtragReference), Options{Split: "fiqa"}, ErrSplit,
			`no such choice: split "fiqa" is not there: choose one of govt`},
		{"a passage with two texts", mtragWith(mtragReference + `{"task_id":"k","contexts":[{"document_id":"c1","text":"other"}],"input":[]}`), Options{}, ErrLabels,
			`SET/reference.jsonl:4: the parts do not fit: document "c1" has another text at SET/reference.jsonl:1`},
		{"a passage without id", mtragWith(`{"task_id":"k","contexts":[{"text":"other"}],"input":[]}`), Options{}, nil,
			`SET/reference.jsonl:1: task "k": context 1 has no document_id`},
		{"a task without turns", mtragWith(`{"task_id":"k","contexts":[],"input":[{"speaker":"agent","text":"a"}]}`), Options{}, nil,
			`SET/reference.jsonl:1: task "k": input has no turn of the user`},
		{"a task without id", mtragWith(`{"contexts":[]}`), Options{}, nil, "SET/reference.jsonl:1: no task_id"},
		{"a task of another form", mtragWith(`{"task_id":1}`), Options{}, nil,
			"SET/reference.jsonl:1: not a task: json: cannot unmarshal number into Go struct field mtragTask.task_id of type string"},

		{"a long document id", beir("corpus.jsonl\n" + `{"_id":"` + strings.Repeat("d", 1<<20+1) + `","text":"a"}`), Options{}, nil,
			"SET/corpus.jsonl:1: an id of 1048577 bytes, at most 1048576 are read"},
		{"a long query id", beir("queries.jsonl\n" + `{"_id":"` + strings.Repeat("q", 1<<20+1) + `","text":"a"}`), Options{}, nil,
			"SET/queries.jsonl:1: an id of 1048577 bytes, at most 1048576 are read"},

		{"negative documents", beir(), Options{Documents: -1}, nil, "a limit of -1 documents: expected 1 or more, or 0 for all"},
		{"negative queries", beir(), Options{Queries: -1}, nil, "a limit of -1 queries: expected 1 or more, or 0 for all"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := folder(t, test.files...)
			_, err := Open(root, test.opt)
			wantError(t, err, root, test.is, test.want)
		})
	}
}

func trecWith(topics string) []string {
	return []string{"docs\n<DOC>\n<DOCNO>1</DOCNO>\na\n</DOC>\n", "topics\n" + topics, "qrels\n1 0 1 1\n"}
}

func mtragWith(reference string) []string {
	return []string{"reference.jsonl\n" + reference, "qrels/govt.tsv\n" + beirHeader + "h<::>2\tc1\t1\n"}
}

func TestErrorsOfFiles(t *testing.T) {
	for _, test := range []struct {
		name, content string
		opt           Options
		is            error
		want          string
	}{
		{"text", "plain text", Options{}, ErrLayout, `not a labelled collection: expected a folder, or a file of JSON lines with documents and their queries, found text that begins with "plain text"`},
		{"nothing", "\n", Options{}, ErrLayout, "not a labelled collection: expected a folder, or a file of JSON lines with documents and their queries, found an empty file"},
		{"Parquet", "PAR1", Options{}, ErrLayout, `not a labelled collection: f.jsonl is Parquet, which is not read; write each table as JSON lines, as in: python3 -c 'import pandas; pandas.read_parquet("f.jsonl").to_json("f.jsonl.jsonl", orient="records", lines=True)'`},
		{"damage", "\x1f\x8b", Options{}, corpus.ErrCorrupt, "read SET: compressed stream is damaged or cut short: gzip at byte 2 of the file, after 0 unpacked bytes: unexpected EOF"},
		{"no queries", someDocs, Options{}, ErrLayout, `not a labelled collection: no document has queries: expected a field "queries" with objects {"_id", "text"}`},
		{"queries of another type", `{"_id":"d","text":"a","queries":"q"}`, Options{}, nil, `SET:1: document "d": queries: expected an array of objects {"_id", "text"}`},
		{"a query id of another type", `{"_id":"d","text":"a","queries":[{"_id":{},"text":"b"}]}`, Options{}, nil, `SET:1: document "d": queries: _id is neither a string nor a number: {}`},
		{"a query without text", `{"_id":"d","text":"a","queries":[{"_id":"q"}]}`, Options{}, ErrLabels, `SET:1: the parts do not fit: query "q" is judged and has no text; give it one, or take its judgements out`},
		{"two texts", `{"_id":"d","text":"a","queries":[{"_id":"q","text":"b"},{"_id":"q","text":"c"}]}`, Options{}, nil, `SET:1: the parts do not fit: query id "q" has another text at SET:1; give each query an id of its own`},
		{"split", someDocs, Options{Split: "dev"}, ErrSplit, `no such choice: split "dev" is not there: layout file has no splits`},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f.jsonl")
			if err := os.WriteFile(path, []byte(test.content), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path, test.opt)
			wantError(t, err, path, test.is, test.want)
		})
	}
	path := filepath.Join(t.TempDir(), "absent")
	_, err := Open(path, Options{})
	wantError(t, err, path, os.ErrNotExist, "no such file or directory")
}

// What is neither file nor folder is told when it has the name of a part.
func TestErrorsOfLinks(t *testing.T) {
	root := folder(t, beir("corpus.jsonl\n-")...)
	link := func(to string) {
		t.Helper()
		_ = os.Remove(root + "/corpus.jsonl")
		if err := os.Symlink(to, root+"/corpus.jsonl"); err != nil {
			t.Skip(err)
		}
	}
	link("absent")
	_, err := Open(root, Options{})
	wantError(t, err, root, ErrLayout, "SET/corpus.jsonl: not a labelled collection: it is a link to a file that is not there")
	link("corpus.jsonl")
	_, err = Open(root, Options{})
	wantError(t, err, root, nil, "SET/corpus.jsonl: too many levels of symbolic links")
	link(os.DevNull)
	_, err = Open(root, Options{})
	wantError(t, err, root, ErrLayout, "SET/corpus.jsonl: not a labelled collection: it is no regular file")
	link(filepath.Join(folder(t, beir()...), "corpus.jsonl"))
	if err := os.Symlink("absent", root+"/notes"); err != nil {
		t.Fatal(err)
	}
	if c := open(t, root, Options{}); c.Documents != 3 {
		t.Errorf("%d documents through a link", c.Documents)
	}
}

// wantError compares an error of Open; SET in want stands for the path.
func wantError(t *testing.T, err error, path string, is error, want string) {
	t.Helper()
	want = "open collection " + path + ": " + strings.ReplaceAll(want, "SET", path)
	if err == nil || err.Error() != want {
		t.Errorf("error\n  %v\nwant\n  %s", err, want)
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error %v is not %v", err, is)
	}
}
