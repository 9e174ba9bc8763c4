package tokenize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// unigramModel is what a file of the Unigram family says. It is read-only after Load
// and shared by clones.
type unigramModel struct {
	core
	unk     int32
	unkCost float64   // score of a character that is no piece
	scores  []float64 // by id
	pieces  pieceTrie
	longest int         // bytes of the longest piece
	bytes   *[256]int32 // pieces of single bytes, -1 where there is none; nil without byte_fallback
	normal  normalizer
	spacing spacing
	runs    runRules
}

const (
	// unkPenalty is how much worse than the worst piece an unknown character is.
	unkPenalty = 10
	// maxScore bounds scores so that no sum of them is infinite.
	maxScore = 1e100
)

// loadUnigram reads a file whose model is Unigram.
func loadUnigram(f *file) (Tokenizer, Info, error) {
	m, info := &unigramModel{}, Info{Kind: "Unigram"}
	if err := m.parseModel(f.Model); err != nil {
		return nil, Info{}, fmt.Errorf("model: %w", err)
	}
	var err error
	if m.normal, err = parseNormalizer(f.Normalizer); err != nil {
		return nil, Info{}, fmt.Errorf("normalizer: %w", err)
	}
	if m.spacing, err = parseSpacing(f.PreTokenizer); err != nil {
		return nil, Info{}, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if err := m.finish(f, &info, m.normal.string); err != nil {
		return nil, Info{}, err
	}
	if m.spacing.prefix == prefixFirst {
		if err := m.checkFirst(); err != nil {
			return nil, Info{}, fmt.Errorf("pre_tokenizer: %w", err)
		}
	}
	info.Lowercase, info.StripAccents = m.normal.lower, m.normal.accents
	m.runs = rulesOf(m)
	return newUnigram(m), info, nil
}

// checkFirst refuses what makes it hard to say what comes from the beginning of the
// text, in the reference's own account of it.
func (m *unigramModel) checkFirst() error {
	if m.addedN.count > 0 {
		return fmt.Errorf("prepend_scheme \"first\" of Metaspace is %w beside added tokens that are normalized; supported: always, never", ErrUnsupported)
	}
	for _, p := range m.normal.steps {
		ok := true
		switch p := p.(type) {
		case *runeStep:
			ok = !p.drops
		case stripStep:
			ok = !p.left
		case *replaceStep:
			ok = len([]rune(string(p.old))) == 1 && len(p.by) > 0
		case *spacesStep:
			ok = !p.all && (string(p.by) == " " || string(p.by) == m.spacing.mark)
		}
		if !ok {
			return fmt.Errorf("prepend_scheme \"first\" of Metaspace is %w behind a normalizer that may remove what a text begins with (Nmt, StripAccents, Strip, BertNormalizer, Replace); supported: always, never", ErrUnsupported)
		}
	}
	return nil
}

func (m *unigramModel) parseModel(data json.RawMessage) error {
	var u struct {
		Type  string          `json:"type"`
		Unk   *int64          `json:"unk_id"`
		Vocab json.RawMessage `json:"vocab"`
		Bytes bool            `json:"byte_fallback"`
	}
	if err := strict(data, &u); err != nil {
		return err
	}
	if isNull(u.Vocab) {
		return lacks("Unigram", "vocab")
	}
	list, err := m.parsePieces(u.Vocab)
	if err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	switch {
	case u.Unk == nil:
		return fmt.Errorf("a model without unk_id is %w: the reference tokenizer fails at the first character that is no piece", ErrUnsupported)
	case *u.Unk < 0 || *u.Unk >= int64(len(m.scores)):
		return fmt.Errorf("unk_id is %d, outside 0 to %d, the ids of the vocabulary", *u.Unk, len(m.scores)-1)
	}
	m.unk = int32(*u.Unk)
	m.special.UNK = m.unk
	worst := math.Inf(1)
	for _, s := range m.scores {
		worst = min(worst, s)
	}
	m.unkCost = worst - unkPenalty
	if u.Bytes {
		m.bytes = new([256]int32)
		for b := range m.bytes {
			m.bytes[b] = -1
			if id, ok := m.vocab[fmt.Sprintf("<0x%02X>", b)]; ok {
				m.bytes[b] = id
			}
		}
	}
	m.pieces, err = newPieceTrie(list, m.scores)
	return err
}

// parsePieces reads the list of pieces and scores, which is valid JSON. The place of
// a piece is its id.
func (m *unigramModel) parsePieces(data json.RawMessage) ([]entry, error) {
	rest := skipSpace(data)
	if rest[0] != '[' {
		return nil, fmt.Errorf("expected a list of pieces and scores, found %s", shown(data))
	}
	m.vocab = make(map[string]int32, len(data)/30)
	var list []entry
	for rest = skipSpace(rest[1:]); rest[0] != ']'; {
		id := int32(len(m.scores))
		if id == maxVocab {
			return nil, fmt.Errorf("more than %d pieces", maxVocab)
		}
		piece, number, after, err := scanPiece(rest)
		if err != nil {
			return nil, fmt.Errorf("entry %d %w", id, err)
		}
		if rest = skipSpace(after); rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
		score := referenceFloat(number)
		if !(math.Abs(score) <= maxScore) {
			return nil, fmt.Errorf("piece %.200q has score %s, outside %g to %g", piece, shown(number), -maxScore, maxScore)
		}
		if len(piece) > maxTokenBytes {
			return nil, fmt.Errorf("piece with id %d has %d bytes, more than %d", id, len(piece), maxTokenBytes)
		}
		// The reference takes the last, and its trainers write none twice.
		if prior, twice := m.vocab[piece]; twice {
			return nil, fmt.Errorf("piece %.200q is listed twice, with ids %d and %d", piece, prior, id)
		}
		m.vocab[piece] = id
		m.scores = append(m.scores, score)
		m.longest = max(m.longest, len(piece))
		if piece != "" { // which no text is made of
			list = append(list, entry{piece, id})
		}
	}
	if len(m.scores) == 0 {
		return nil, errors.New("it is empty")
	}
	m.entries, m.size = len(m.scores), len(m.scores)
	return list, nil
}

// scanPiece reads the pair that data, valid JSON, begins with.
func scanPiece(data []byte) (piece string, number, rest []byte, err error) {
	wrong := func() error {
		var value json.RawMessage
		if json.NewDecoder(bytes.NewReader(data)).Decode(&value) != nil {
			value = data
		}
		return fmt.Errorf("is %s, expected a piece and its score, as in [\"\u2581the\", -3.2]", shown(value))
	}
	if data[0] != '[' {
		return "", nil, nil, wrong()
	}
	if rest = skipSpace(data[1:]); rest[0] != '"' {
		return "", nil, nil, wrong()
	}
	if piece, rest, err = scanString(rest); err != nil {
		return "", nil, nil, err
	}
	if rest = skipSpace(rest); rest[0] != ',' {
		return "", nil, nil, wrong()
	}
	rest = skipSpace(rest[1:])
	end := bytes.IndexAny(rest, ",] \t\r\n")
	if rest[0] != '-' && (rest[0] < '0' || rest[0] > '9') {
		return "", nil, nil, wrong()
	}
	number, rest = rest[:end], skipSpace(rest[end:])
	if rest[0] != ']' {
		return "", nil, nil, wrong()
	}
	return piece, number, rest[1:], nil
}

// referenceFloat reads a JSON number as the reference's reader (serde_json without
// its option for exact floats) does: the digits as one whole number of 64 bits, what
// does not fit left out, scaled by a power of ten. That rounds twice, so one score
// in eight is not the nearest float64; and sums of scores can tie.
func referenceFloat(number []byte) float64 {
	negative := number[0] == '-'
	if negative {
		number = number[1:]
	}
	var digits uint64
	exponent, full, fraction := 0, false, false
	for len(number) > 0 && number[0] != 'e' && number[0] != 'E' {
		c := number[0]
		number = number[1:]
		if c == '.' {
			// Digits that did not fit before the point do not keep those behind it out.
			fraction, full = true, false
			continue
		}
		d := uint64(c - '0')
		full = full || digits >= math.MaxUint64/10 && (digits > math.MaxUint64/10 || d > math.MaxUint64%10)
		switch {
		case !full:
			digits = 10*digits + d
			if fraction {
				exponent--
			}
		case !fraction:
			exponent++
		}
	}
	if len(number) > 0 {
		// Beyond an int the number is 0 or refused, as it is at its limits.
		e, err := strconv.Atoi(string(number[1:]))
		if err != nil || e > 1<<30 || e < -(1<<30) {
			if e = 1 << 30; number[1] == '-' {
				e = -e
			}
		}
		exponent += e
	}
	f := float64(digits)
	for ; exponent < -308 && f != 0; exponent += 308 {
		f /= 1e308
	}
	switch {
	case f == 0:
	case exponent > 308:
		f = math.Inf(1)
	case exponent >= 0:
		f *= powersOfTen[exponent]
	default:
		f /= powersOfTen[-exponent]
	}
	if negative {
		return -f
	}
	return f
}

// powersOfTen are the nearest float64 to 1, 10, 100 ... 1e308.
var powersOfTen = func() (p [309]float64) {
	for i := range p {
		p[i], _ = strconv.ParseFloat("1e"+strconv.Itoa(i), 64)
	}
	return p
}()
