package bench

import (
	"fmt"
	"strings"
)

// Limits are what a gate asks of an encoder.
type Limits struct {
	Level  string
	Cosine float64 // least cosine of a row
	Mean   float64 // least mean cosine of the rows; 0 = none
	// Diff is the largest difference of one value, as a share of the vector's length
	// or, for logits, of their spread; 0 = none.
	Diff  float64
	Batch float64 // the same between a row alone and in a batch; 0 = Diff covers it
}

// Gate limits of float32. The reference encoder accumulates in float64, so what
// separates a float32 engine from it is its own rounding: about 1e-7 a value on unit
// vectors. One weight off by a few percent of its layer's spread moves values by 1e-5.
const (
	GateCosine = 0.999999
	GateDiff   = 2e-6 // of one value of a unit vector
)

// Element types of weights, as the limits know them.
const (
	dtypeFloat32  = "float32"
	dtypeFloat16  = "float16"
	dtypeBFloat16 = "bfloat16"
	dtypeInt8     = "int8"
	dtypeTF32     = "tf32"
)

// typeLimits are what one element type has to reach.
type typeLimits struct {
	rows   Limits  // on the gate's rows of random ids
	logits float64 // Diff of logits
	// On real texts, of trained models: the least and the mean cosine.
	least, mean float64
}

// gateLimits are the limits by element type and, of int8, by the bits of its
// activations. The rows of random ids are the hardest that there are, and random
// weights lose more than trained ones: distances from one grow with the layers. Seen of
// 22 random layers of Granite R2's shape, 1 − least cosine (mean): float16 1.7e-5
// (1.2e-5), bfloat16 1.3e-3 (7e-4), int8 0.015 (0.009), with 7 bits 0.045 (0.026);
// of all-MiniLM-L6-v2 1.1e-6, 6.7e-5, 6.7e-3 and 0.021, and on 1,500 texts of
// techdocs-qa 1e-6, 4.5e-5 (mean 2.7e-5), 8.0e-3 (2.1e-3) and 0.017 (4.2e-3). Logits
// of random rerankers were off by up to 6 % of their spread with int8, 10 % with 7
// bits. The limits are two to five times as far. ONNX Runtime's own dynamic int8 of
// MiniLM, which has one scale for a whole batch, is at 0.11 (0.06).
var gateLimits = map[string]map[int]typeLimits{
	dtypeFloat32:  {0: {Limits{Level: LevelReference, Cosine: GateCosine, Diff: GateDiff}, 1e-3, GateCosine, GateCosine}},
	dtypeFloat16:  {0: {Limits{Level: LevelReference + "-float16", Cosine: 0.9999, Mean: 0.99995, Batch: GateDiff}, 0.02, 0.9999, 0.99995}},
	dtypeBFloat16: {0: {Limits{Level: LevelReference + "-bfloat16", Cosine: 0.995, Mean: 0.997, Batch: GateDiff}, 0.1, 0.9995, 0.9998}},
	dtypeInt8: {
		8: {Limits{Level: LevelReference + "-int8", Cosine: 0.96, Mean: 0.97, Batch: GateDiff}, 0.2, 0.97, 0.99},
		7: {Limits{Level: LevelReference + "-int8", Cosine: 0.92, Mean: 0.95, Batch: GateDiff}, 0.3, 0.95, 0.98},
	},
}

func limitsOf(dtype string, bits int) typeLimits {
	if l, ok := gateLimits[dtype][bits]; ok {
		return l
	}
	return gateLimits[dtypeFloat32][0]
}

// GateLimits gives the limits for weights that were converted to dtype and are held
// against a reference on the weights before; float32 stands for weights as they are,
// however they are stored, because the engine computes in float32 with both. bits are
// those of an int8 model's activations, 7 or 8, and 0 for other types. logits says that
// the output is a reranker's.
func GateLimits(dtype string, bits int, logits bool) Limits {
	l := limitsOf(dtype, bits)
	if logits {
		return Limits{Level: l.rows.Level, Diff: l.logits, Batch: l.rows.Batch}
	}
	return l.rows
}

// deviceLimits are those of products on a device, by the type that they are made of. A
// device adds in float32, in an order of its own that goes with the shape of the batch; of
// 16 bits and of tf32 the states are rounded before every product too, not only weights
// once, so a row alone and in a batch differ as well. On paper: a product's relative error
// is about 2^-11 (tf32 and float16) or 2^-8 (bfloat16) for each factor, and adds up over
// layers as that of weights does, in which the limits of gateLimits were measured; these are
// wider by the factor of two that the second factor brings, and no device has confirmed
// them yet.
var deviceLimits = map[string]typeLimits{
	dtypeFloat32:  {rows: Limits{Level: LevelReference, Cosine: GateCosine, Diff: 5e-6}, logits: 1e-3},
	dtypeTF32:     {rows: Limits{Level: LevelReference + "-tf32", Cosine: 0.9998, Mean: 0.9999, Batch: 0.01}, logits: 0.04},
	dtypeFloat16:  {rows: Limits{Level: LevelReference + "-float16", Cosine: 0.9998, Mean: 0.9999, Batch: 0.01}, logits: 0.04},
	dtypeBFloat16: {rows: Limits{Level: LevelReference + "-bfloat16", Cosine: 0.99, Mean: 0.994, Batch: 0.08}, logits: 0.2},
}

// DeviceLimits gives the limits of products on a device in the type engaged: float32,
// tf32, float16 or bfloat16, held against the reference on the weights as the directory
// has them. logits says that the output is a reranker's.
func DeviceLimits(engaged string, logits bool) Limits {
	l, ok := deviceLimits[engaged]
	if !ok {
		l = deviceLimits[dtypeFloat32]
	}
	if logits {
		return Limits{Level: l.rows.Level, Diff: l.logits, Batch: l.rows.Batch}
	}
	return l.rows
}

// ratioLimit is what converted weights have to keep of nDCG@10.
const ratioLimit = 0.99

// RetrievalLimits gives what converted weights have to reach on a labelled collection:
// the least and the mean cosine over its texts, and the ratio of nDCG@10.
func RetrievalLimits(dtype string, bits int) (least, mean, ratio float64) {
	l := limitsOf(dtype, bits)
	return l.least, l.mean, ratioLimit
}

// Fault says in what the converted weights fall short, "" when in nothing.
func (r *Retrieval) Fault() string {
	switch {
	case !(r.Ratio >= r.RatioLimit):
		return fmt.Sprintf("%s on %s is %.4f of the original weights', %.4f against %.4f, at least %g expected", r.Measure, r.Collection, r.Ratio, r.Value, r.Original, r.RatioLimit)
	case !(r.Min >= r.Least):
		return fmt.Sprintf("a text of %s has cosine %.6f to its vector from the original weights, at least %g expected", r.Collection, r.Min, r.Least)
	case !(r.Mean >= r.Average):
		return fmt.Sprintf("the texts of %s have the mean cosine %.6f to their vectors from the original weights, at least %g expected", r.Collection, r.Mean, r.Average)
	}
	return ""
}

// Referenced says whether the gate compared with a reference, of whatever type.
func (a *Accuracy) Referenced() bool { return strings.HasPrefix(a.Level, LevelReference) }
