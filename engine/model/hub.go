package model

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	// hubName is what the hub allows in an organisation's or model's name.
	hubName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`)
	// hubRev leaves out what a shell reads as something else: the revision goes into
	// a command that is shown to be copied.
	hubRev    = regexp.MustCompile(`^[\p{L}\p{N}._/+=@][\p{L}\p{N}._/+=@-]*$`)
	hubCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)
	hubPrefix = regexp.MustCompile(`^[0-9a-f]{4,39}$`)
)

// IsHubRef says whether ref has the form org/name or org/name@rev. A path of
// two elements has it too; callers look for a directory first.
func IsHubRef(ref string) bool {
	name, _, _ := strings.Cut(ref, "@")
	return hubName.MatchString(name)
}

// HubCache gives the folder of the user's Hugging Face cache that holds models,
// by the rules of huggingface_hub: HF_HUB_CACHE, else the older
// HUGGINGFACE_HUB_CACHE, else hub in HF_HOME, which is by default huggingface
// in XDG_CACHE_HOME or ~/.cache. The folder need not exist.
func HubCache() (string, error) {
	for _, name := range []string{"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"} {
		if v := os.Getenv(name); v != "" {
			return expandHome(v)
		}
	}
	home := os.Getenv("HF_HOME")
	if home == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if cache == "" {
			cache = "~/.cache"
		}
		home = filepath.Join(cache, "huggingface")
	}
	return expandHome(filepath.Join(home, "hub"))
}

func expandHome(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the Hugging Face cache: %w", err)
	}
	return filepath.Join(home, rest), nil
}

// ResolveHub finds org/name or org/name@rev in the user's Hugging Face cache
// and gives the snapshot's directory and full commit. rev is a branch or tag
// that was downloaded, a commit, or an unambiguous beginning of one (4 digits
// or more), of letters, digits and ._/+=@- and not beginning with -; without it the
// branch main is meant. Nothing is downloaded: where
// the cache lacks the revision the error shows the command that gets it.
func ResolveHub(ref string) (dir, revision string, err error) {
	name, rev, given := strings.Cut(ref, "@")
	if !hubName.MatchString(name) {
		return "", "", fmt.Errorf("%w: %.200q, must be org/name or org/name@revision", ErrReference, ref)
	}
	if !given {
		rev = "main"
	}
	if !filepath.IsLocal(rev) || !hubRev.MatchString(rev) {
		return "", "", fmt.Errorf("%w: %.200q, the revision must be a branch, a tag or a commit, of letters, digits and ._/+=@-, not beginning with -", ErrReference, ref)
	}
	cache, err := HubCache()
	if err != nil {
		return "", "", err
	}
	h := hubModel{name: name, rev: rev, cache: cache,
		folder: filepath.Join(cache, "models--"+strings.ReplaceAll(name, "/", "--"))}
	return h.resolve()
}

// hubModel is one model's folder in the cache: refs/NAME files hold commits,
// snapshots/COMMIT directories hold links into blobs.
type hubModel struct{ name, rev, cache, folder string }

func (h hubModel) resolve() (string, string, error) {
	if hubCommit.MatchString(h.rev) {
		return h.snapshot(h.rev)
	}
	data, err := os.ReadFile(filepath.Join(h.folder, "refs", h.rev))
	if err == nil {
		commit := strings.TrimSpace(string(data))
		if !hubCommit.MatchString(commit) {
			return "", "", fmt.Errorf("read %s: %w: holds %q, no commit; get the model again",
				filepath.Join(h.folder, "refs", h.rev), ErrConfig, commit)
		}
		return h.snapshot(commit)
	}
	// A prefix of a branch's path ("refs/pr" of "refs/pr/1") is a folder.
	if st, statErr := os.Stat(filepath.Join(h.folder, "refs", h.rev)); !errors.Is(err, fs.ErrNotExist) && (statErr != nil || !st.IsDir()) {
		return "", "", fmt.Errorf("read %s: %w", filepath.Join(h.folder, "refs", h.rev), plain(err))
	}
	if !hubPrefix.MatchString(h.rev) {
		return "", "", h.notCached()
	}
	var fits []string
	for _, commit := range h.commits() {
		if strings.HasPrefix(commit, h.rev) {
			fits = append(fits, commit)
		}
	}
	switch len(fits) {
	case 0:
		return "", "", h.notCached()
	case 1:
		return h.snapshot(fits[0])
	}
	return "", "", fmt.Errorf("%w: %s@%s fits %s", ErrAmbiguous, h.name, h.rev, strings.Join(fits, ", "))
}

func (h hubModel) snapshot(commit string) (string, string, error) {
	dir := filepath.Join(h.folder, "snapshots", commit)
	st, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !st.IsDir()) {
		return "", "", h.notCached()
	}
	if err != nil {
		return "", "", fmt.Errorf("look for %s@%s: %s: %w", h.name, h.rev, dir, plain(err))
	}
	return dir, commit, nil
}

// commits lists the snapshots, none when the model is not there at all.
func (h hubModel) commits() []string {
	entries, err := os.ReadDir(filepath.Join(h.folder, "snapshots"))
	if err != nil {
		return nil
	}
	var commits []string
	for _, e := range entries {
		if hubCommit.MatchString(e.Name()) {
			commits = append(commits, e.Name())
		}
	}
	return commits
}

func (h hubModel) notCached() error {
	have := ""
	if commits := h.commits(); len(commits) > 0 {
		have = "; it has the revisions " + strings.Join(commits, ", ")
	}
	return fmt.Errorf("%s@%s is %w (looked in %s%s); get it with: hf download %s --revision %s",
		h.name, h.rev, ErrNotCached, h.cache, have, h.name, h.rev)
}
