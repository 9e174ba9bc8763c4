// Package inhouse is what a labelled set of one's own needs beside a measure: a
// held-out part that stays held out, labels made blind, and an archive of the
// queries that failed.
//
// [RecordSplit] divides queries by a salted hash into a part to tune on and a part
// to report on. The rule, and every look at the held-out part, stand in a [Ledger]
// beside the collection, from which [OpenSplit] makes the split again. [MakeSheet] pools the candidates of several runs into a
// sheet that shows neither system nor rank, score or earlier label, with a [Key]
// that stays behind; [Import] reads filled sheets back and refuses what does not
// fit. [Failures] collects the queries whose ranking had no relevant document near
// the top, and an [Archive] follows them from run to run.
//
// # Invariants
//
// A query's part depends on the salt, the share and its group (its id, where it has
// none) alone, so adding queries moves none; with strata the parts given once are
// kept in the ledger. Queries of one group are never divided. A look is counted
// before its figure can be printed, or there is no figure. Files change as a whole,
// under a lock of their folder: two programs at once lose nothing. A label is never
// guessed: an empty cell stays unjudged, and an existing label is replaced only on
// request.
//
// # What it leaves out
//
// Reading collections (package collection), runs and measures. Failures of the
// held-out part are not archived: whoever reads them tunes on them.
package inhouse
