package corpus

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// api is what is needed of one service's API description (service-2.json).
type api struct {
	operations []operation // sorted by name
	shapes     map[string]*shape
	round      int // number of the document being built, for shape.seen
}

type operation struct {
	name          string
	text          []byte // its documentation, cleaned
	input, output string // names of shapes, "" for none
}

// shape is a type of the API: a structure with members, a list (member), a map
// (key, value) or a scalar.
type shape struct {
	documentation      []byte // HTML
	members            []member
	member, key, value string // names of shapes
	seen               int
}

// member is a member of a structure.
type member struct {
	name, shape   string
	documentation []byte // HTML; nil when it has none of its own
	paragraph     []byte // `name: text`, empty when there is no text
	clean         bool   // paragraph is set
}

// servicePath matches the API descriptions inside the wheel.
var servicePath = regexp.MustCompile(`^botocore/data/([^/]+)/([^/]+)/service-2\.json\.gz$`)

// newestServices lists the description of the newest API version of each
// service, in the order of service names. Versions are dates: the last in byte
// order is the newest.
func newestServices(files []*zip.File) (names []string, newest map[string]*zip.File) {
	version := map[string]string{}
	newest = map[string]*zip.File{}
	for _, f := range files {
		m := servicePath.FindStringSubmatch(f.Name)
		if m == nil {
			continue
		}
		service, date := m[1], m[2]
		if newest[service] == nil {
			names = append(names, service)
		} else if date <= version[service] {
			continue
		}
		version[service], newest[service] = date, f
	}
	slices.Sort(names)
	return names, newest
}

// maxService is the largest API description that is read, unpacked; the largest
// of botocore 1.44.8 has under 4 MB.
const maxService = 64 << 20

// readAPI reads one API description out of the wheel.
func readAPI(f *zip.File) (*api, error) {
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: open %s: %w", ErrWheel, f.Name, err)
	}
	defer r.Close()
	u, err := unpack(f.Name, r)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(u, maxService+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxService {
		return nil, fmt.Errorf("%w: %s is larger than %s unpacked", ErrWheel, f.Name, sizeText(maxService))
	}
	a, err := parseAPI(data)
	if err != nil {
		return nil, fmt.Errorf("%w: parse %s: %w", ErrWheel, f.Name, err)
	}
	return a, nil
}

// parseAPI reads an API description, keeping members in the order of the file.
// It overwrites data and keeps views into it.
func parseAPI(data []byte) (*api, error) {
	a := &api{shapes: map[string]*shape{}}
	c := &cursor{b: data}
	c.space()
	c.object(func(key string) {
		switch key {
		case "operations":
			c.object(func(name string) { a.operations = append(a.operations, c.operation(name)) })
		case "shapes":
			c.object(func(name string) { a.shapes[name] = c.shape() })
		default:
			c.skip(1)
		}
	})
	if c.fault != noFault {
		return nil, fmt.Errorf("%s", c.fault.describe(c.at))
	}
	slices.SortFunc(a.operations, func(x, y operation) int { return strings.Compare(x.name, y.name) })
	return a, a.check()
}

// check says which shape is referred to but missing.
func (a *api) check() error {
	missing := func(name string) bool { return name != "" && a.shapes[name] == nil }
	for _, op := range a.operations {
		for _, name := range []string{op.input, op.output} {
			if missing(name) {
				return fmt.Errorf("operation %s: no shape %q", op.name, name)
			}
		}
	}
	for owner, s := range a.shapes {
		for _, name := range []string{s.member, s.key, s.value} {
			if missing(name) {
				return fmt.Errorf("shape %s: no shape %q", owner, name)
			}
		}
		for _, m := range s.members {
			if a.shapes[m.shape] == nil {
				return fmt.Errorf("shape %s: member %s: no shape %q", owner, m.name, m.shape)
			}
		}
	}
	return nil
}

// object calls visit for each key of the object at the cursor; visit must move
// over the value. A value that is no object is a fault.
func (c *cursor) object(visit func(key string)) {
	if c.i >= len(c.b) || c.b[c.i] != '{' {
		c.fail(faultObject, c.i)
		return
	}
	c.i++
	for first := true; c.fault == noFault; first = false {
		key, ok := c.key(first)
		if !ok {
			return
		}
		visit(string(key))
	}
}

// text reads a string value; any other value is moved over and gives nil.
func (c *cursor) text() []byte {
	if c.i < len(c.b) && c.b[c.i] == '"' {
		s, _ := c.str()
		return s
	}
	c.skip(1)
	return nil
}

// operation reads the operation at the cursor.
func (c *cursor) operation(name string) operation {
	op := operation{name: name}
	c.object(func(key string) {
		switch key {
		case "documentation":
			op.text = cleanHTML(c.text())
		case "input":
			op.input, _ = c.reference()
		case "output":
			op.output, _ = c.reference()
		default:
			c.skip(1)
		}
	})
	return op
}

// reference reads a reference to a shape: its name, and the documentation given there.
func (c *cursor) reference() (name string, documentation []byte) {
	c.object(func(key string) {
		switch key {
		case "shape":
			name = string(c.text())
		case "documentation":
			documentation = c.text()
		default:
			c.skip(1)
		}
	})
	return name, documentation
}

// shape reads the shape at the cursor.
func (c *cursor) shape() *shape {
	s := &shape{}
	c.object(func(key string) {
		switch key {
		case "documentation":
			s.documentation = c.text()
		case "members":
			c.object(func(name string) {
				m := member{name: name}
				m.shape, m.documentation = c.reference()
				s.members = append(s.members, m)
			})
		case "member":
			s.member, _ = c.reference()
		case "key":
			s.key, _ = c.reference()
		case "value":
			s.value, _ = c.reference()
		default:
			c.skip(1)
		}
	})
	return s
}

// appendOperation appends the document of op to dst: one paragraph a line (see
// BuildTechdocs).
func (a *api) appendOperation(dst []byte, op operation) []byte {
	start := len(dst)
	dst = append(dst, op.text...)
	a.round++
	for _, name := range []string{op.input, op.output} {
		if name != "" {
			dst = a.appendShape(dst, start, name)
		}
	}
	return dst
}

// appendShape appends the members reached from a shape, depth first, entering
// each shape once a document. start is where the document begins in dst.
func (a *api) appendShape(dst []byte, start int, name string) []byte {
	s := a.shapes[name]
	if s.seen == a.round {
		return dst
	}
	s.seen = a.round
	for i := range s.members {
		m := &s.members[i]
		if p := a.paragraph(m); len(p) > 0 {
			if len(dst) > start {
				dst = append(dst, '\n')
			}
			dst = append(dst, p...)
		}
		dst = a.appendShape(dst, start, m.shape)
	}
	for _, inner := range []string{s.member, s.key, s.value} {
		if inner != "" {
			dst = a.appendShape(dst, start, inner)
		}
	}
	return dst
}

// paragraph gives `name: text` of a member, whose documentation is its own or
// else its shape's, as in botocore; empty when there is none.
func (a *api) paragraph(m *member) []byte {
	if !m.clean {
		m.clean = true
		doc := m.documentation
		if len(bytes.TrimSpace(doc)) == 0 {
			doc = a.shapes[m.shape].documentation
		}
		if text := cleanHTML(doc); len(text) > 0 {
			m.paragraph = append([]byte(m.name+": "), text...)
		}
	}
	return m.paragraph
}
