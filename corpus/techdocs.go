package corpus

import (
	"archive/zip"
	"fmt"
	"io"
	"runtime"
	"sync"
)

// TechdocsRule is the version of the construction rule of techdocs.
const TechdocsRule = "techdocs-1"

// BuildTechdocs writes the corpus techdocs as JSONL to w, read from the botocore
// wheel (a zip file) at path wheel, and gives its manifest. Rule techdocs-1:
//
//   - One document per operation of the newest API version of each service
//     (botocore/data/SERVICE/DATE/service-2.json.gz, last DATE in byte order);
//     services in byte order, operations in byte order of their names.
//   - Id: SERVICE.Operation. Title: none.
//   - Text: paragraphs, one a line. The first is the operation's documentation;
//     then follows `name: documentation` of every member reached from the input
//     shape, then of every member reached from the output shape, depth first:
//     members in the order of the file, each followed by what its own shape
//     contains; lists and maps are passed through (member; key, value).
//   - A member without documentation of its own has that of its shape, as in
//     botocore; without either it gives no paragraph, but is entered.
//   - A shape is entered once a document, where it is met first: cycles end, and
//     what input and output share is not said twice.
//   - HTML tags become spaces, entities are decoded, white space is collapsed.
//
// The prototype of this rule entered shapes slightly otherwise; the manifest of
// botocore 1.44.8 is pinned in Describe. Two services at a time are read where
// there are two CPUs; memory stays below a few services' text.
func BuildTechdocs(wheel string, w io.Writer) (Manifest, error) {
	out := newWriter(w)
	if err := eachTechdoc(wheel, out.add); err != nil {
		return Manifest{}, err
	}
	return out.finish(Techdocs, TechdocsRule)
}

// eachTechdoc gives visit the documents of techdocs in order, as views.
func eachTechdoc(wheel string, visit func(Doc) error) error {
	return eachOperation(wheel, func(op operationDoc) error {
		return visit(Doc{ID: []byte(op.id), Text: op.text})
	})
}

// operationDoc is a document of techdocs and what it is made of.
type operationDoc struct {
	id, name      string
	text          []byte // begins with the documentation
	documentation []byte // of the operation itself, a view into text
}

// eachOperation gives visit the operations of the wheel in order. Their texts stay
// valid.
func eachOperation(wheel string, visit func(operationDoc) error) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return fmt.Errorf("build techdocs: %w: open %s: %w", ErrWheel, wheel, err)
	}
	defer z.Close()
	names, newest := newestServices(z.File)
	if len(names) == 0 {
		return fmt.Errorf("build techdocs: %w: %s has no botocore/data/SERVICE/DATE/service-2.json.gz", ErrWheel, wheel)
	}

	// Each service is a future. The channel keeps their order and bounds how many
	// are in memory. After an error the rest is abandoned: stop ends the starter,
	// and a future's channel has room for its result; the wait keeps the zip file
	// open until the last reader is done.
	futures := make(chan chan serviceDocs, min(runtime.GOMAXPROCS(0), 4)-1)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		defer close(futures)
		for _, name := range names {
			f := make(chan serviceDocs, 1)
			select {
			case futures <- f:
			case <-stop:
				return
			}
			readers.Go(func() { f <- readService(name, newest[name]) })
		}
	})
	defer readers.Wait()
	defer close(stop)

	for f := range futures {
		s := <-f
		if s.err != nil {
			return fmt.Errorf("build techdocs from %s: %w", wheel, s.err)
		}
		start := 0
		for i, op := range s.operations {
			op.text = s.text[start:s.ends[i]]
			op.documentation = op.text[:len(op.documentation)]
			if err := visit(op); err != nil {
				return err
			}
			start = s.ends[i]
		}
	}
	return nil
}

// serviceDocs holds the documents of one service.
type serviceDocs struct {
	operations []operationDoc // without text
	text       []byte         // end to end
	ends       []int          // of each document in text
	err        error
}

// readService builds the documents of one service.
func readService(name string, f *zip.File) (s serviceDocs) {
	a, err := readAPI(f)
	if err != nil {
		s.err = err
		return s
	}
	for _, op := range a.operations {
		s.text = a.appendOperation(s.text, op)
		s.operations = append(s.operations, operationDoc{id: name + "." + op.name, name: op.name, documentation: op.text})
		s.ends = append(s.ends, len(s.text))
	}
	return s
}
