package assets

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnpackRefuses(t *testing.T) {
	lib := member{name: "pkg/lib.so", data: libData}
	big := member{name: "pkg/model/big.bin", data: bigData}
	bomb := bytes.Repeat([]byte{0}, 64<<20)
	flipped := bytes.Clone(libData)
	flipped[0] ^= 1
	for _, c := range []struct {
		name    string
		members []member
		is      error
		want    string // after "obtain asset thing 1.0: unpack WHEEL: member "
	}{
		{"parent", []member{lib, big, {name: "../evil", data: libData}}, ErrUnsafe,
			`"../evil": archive member would escape the cache: a path that leaves the archive`},
		{"parent inside", []member{lib, big, {name: "pkg/../../evil", data: libData}}, ErrUnsafe,
			`"pkg/../../evil": archive member would escape the cache: a path that leaves the archive`},
		{"absolute", []member{lib, big, {name: "/evil-of-a-test", data: libData}}, ErrUnsafe,
			`"/evil-of-a-test": archive member would escape the cache: an absolute path`},
		{"backslash", []member{lib, big, {name: `..\evil`, data: libData}}, ErrUnsafe,
			`"..\\evil": archive member would escape the cache: a backslash or a zero byte in its name`},
		{"link", []member{lib, big, {name: "pkg/evil", data: []byte("/etc/passwd"), mode: fs.ModeSymlink}}, ErrUnsafe,
			`"pkg/evil": archive member would escape the cache: a symbolic link`},
		{"locked member is a link", []member{{name: "pkg/lib.so", data: []byte("/etc/passwd"), mode: fs.ModeSymlink}, big}, ErrUnsafe,
			`"pkg/lib.so": archive member would escape the cache: a symbolic link`},
		{"device", []member{lib, big, {name: "pkg/evil", mode: fs.ModeDevice}}, ErrUnsafe,
			`"pkg/evil": archive member would escape the cache: neither a file nor a directory`},
		{"twice", []member{lib, big, lib}, ErrUnsafe,
			`"pkg/lib.so": archive member would escape the cache: its name appears twice`},
		{"missing", []member{lib}, ErrMissing, `"pkg/model/big.bin": archive member is missing`},
		{"bomb that says so", []member{{name: "pkg/lib.so", data: bomb}, big}, ErrTooLarge,
			fmt.Sprintf(`"pkg/lib.so": archive member is larger than its limit of %d bytes: it declares %d`, len(libData), len(bomb))},
		{"bomb that lies", []member{{name: "pkg/lib.so", data: bomb, declare: uint64(len(libData))}, big}, ErrTooLarge,
			fmt.Sprintf(`"pkg/lib.so": archive member is larger than its limit of %d bytes`, len(libData))},
		{"wrong hash", []member{{name: "pkg/lib.so", data: flipped}, big}, ErrCorrupt,
			fmt.Sprintf(`"pkg/lib.so": asset is corrupt: file lib.so: expected sha256 %s (%d bytes), found %s (%d bytes); run: encbench assets get thing`,
				sum(libData), len(libData), sum(flipped), len(flipped))},
		{"too short", []member{{name: "pkg/lib.so", data: libData[:5]}, big}, ErrCorrupt,
			fmt.Sprintf(`"pkg/lib.so": asset is corrupt: file lib.so: expected sha256 %s (%d bytes), found %s (5 bytes); run: encbench assets get thing`,
				sum(libData), len(libData), sum(libData[:5]))},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The lock is made to match the hostile wheel: this is the last line of
			// defence, behind the wheel's own hash.
			r := newRig(t, zipOf(t, c.members...))
			written := int64(0)
			r.opt.create = func(path string) (outFile, error) {
				f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
				return countFile{f, &written}, err
			}
			_, err := r.store().Get(t.Context(), "thing")
			if !errors.Is(err, c.is) {
				t.Errorf("error is not %q", c.is)
			}
			wantErr(t, err, "obtain asset thing 1.0: unpack "+wheelName+": member "+c.want)
			if limit := int64(len(libData) + 1 + len(bigData)); written > limit {
				t.Errorf("%d bytes were written, the limit is %d", written, limit)
			}
			r.wantClean()
			for _, p := range []string{filepath.Join(filepath.Dir(r.cache), "evil"), filepath.Join(r.cache, "evil"), "/evil-of-a-test"} {
				if _, err := os.Lstat(p); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s exists: %v", p, err)
				}
			}
		})
	}
}

type countFile struct {
	*os.File
	n *int64
}

func (c countFile) Write(p []byte) (int, error) {
	n, err := c.File.Write(p)
	*c.n += int64(n)
	return n, err
}

func TestUnpackNotAnArchive(t *testing.T) {
	r := newRig(t, []byte("this is no zip file"))
	_, err := r.store().Get(t.Context(), "thing")
	wantErr(t, err, "obtain asset thing 1.0: open "+wheelName+": zip: not a valid zip file")
	r.wantClean()
}

// FuzzUnsafeMember: whatever passes stays below the directory it is joined to.
func FuzzUnsafeMember(f *testing.F) {
	for _, s := range []string{"a", "a/b", "../a", "a/../b", "a/../../b", "/a", `a\b`, "a/", "", ".", "..", "./a", "a//b", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if unsafeName(name) != "" {
			return
		}
		const root = "/cache"
		p := filepath.Join(root, filepath.FromSlash(name))
		if p != root && !strings.HasPrefix(p, root+"/") {
			t.Errorf("%q passes and is %s", name, p)
		}
	})
}
