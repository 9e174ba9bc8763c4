// Package collection reads labelled collections: documents, queries, and the
// judgements that say which document answers which query.
//
// [Open] recognises the layouts of the field by file names and content (the list
// is at [Layouts]) and gives a [Collection]: queries and judgements in memory,
// documents as a stream that can be opened again and again.
//
// # Invariants
//
// A collection is checked before it is used. One document id twice, one query id
// with two texts and judgements of which none fits the documents are errors with
// their places; what is merely odd (judgements of absent documents, queries without
// judgements, empty documents) is counted in [Integrity]. A broken line is an error
// here, unlike in a speed run: a score over other documents than the collection's
// is another score.
//
// What a reader of a figure has to know (how labels became gains, a closed pool, the
// form of the queries, a changed text) stands in Notes. A limited collection keeps
// every judged document of its queries, and its size is part of its name and of its
// hash, so that figures of two sizes cannot meet.
//
// # What it leaves out
//
// Parquet, which is refused with the way to convert it; downloads; splits by hash
// (package inhouse); averages over several collections.
package collection
