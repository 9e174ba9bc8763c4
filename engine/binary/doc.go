// Package binary searches vectors of which only the signs are kept: one bit a
// value, a thirty-second of float32. It shows what that storage costs.
//
// What is stored is a bit for every value of a row, set where the value is above
// zero. A search has two steps. The first ranks documents by the Hamming distance
// between their bits and those of the query, the lower row first where distances
// are equal, and keeps k × Rescore of them as candidates. The second scores each
// candidate with the whole float32 query against the row's signs,
//
//	Σ q[i] · s[i] / √dim   with s[i] = +1 where the bit is set, else −1
//
// which is the cosine between the query and the row of signs where the query has
// length one. The sum follows engine.Dot. With Rescore 0 there is no second step
// and the score is 1 − 2 × distance ÷ dim, the cosine of the two rows of signs.
//
// A row's true vector is nowhere used after Append, so the answer is exact for
// what is stored, and only an approximation of a search over the vectors.
//
// Set aside: keeping int8 or float32 rows beside the bits for a better second
// step. It is how such an index is often run, but then the rows cost what they
// were to save; whoever wants it compares with the int8 store instead.
package binary
