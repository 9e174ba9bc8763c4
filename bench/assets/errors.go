package assets

import "errors"

// Looking up.
var (
	// ErrUnknown means that the lock file has no asset of that name.
	ErrUnknown = errors.New("unknown asset")
	// ErrPlatform means that the asset exists, but not for this platform.
	ErrPlatform = errors.New("asset is not available for this platform")
	// ErrAbsent means that the asset is not in the cache.
	ErrAbsent = errors.New("asset is absent")
	// ErrCorrupt means that a file's bytes are not those of the lock file.
	ErrCorrupt = errors.New("asset is corrupt")
	// ErrCache means that the cache folder cannot be created or written.
	ErrCache = errors.New("cannot use the cache folder")
)

// Obtaining.
var (
	// ErrPython means that the Python that runs pip was not found.
	ErrPython = errors.New("python not found")
	// ErrNoPip means that the Python has no pip.
	ErrNoPip = errors.New("python has no pip")
	// ErrPip means that pip ran and failed.
	ErrPip = errors.New("pip failed")
	// ErrNoSpace means that the disk of the cache is full, or too full to begin.
	ErrNoSpace = errors.New("no space on disk")
)

// Unpacking.
var (
	// ErrUnsafe means that an archive has a member that would escape the cache.
	ErrUnsafe = errors.New("archive member would escape the cache")
	// ErrTooLarge means that an archive member is larger than the lock file says.
	ErrTooLarge = errors.New("archive member is larger than its limit")
	// ErrMissing means that an archive lacks a member of the lock file.
	ErrMissing = errors.New("archive member is missing")
)
