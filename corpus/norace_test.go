//go:build !race

package corpus_test

const raceDetector = false
