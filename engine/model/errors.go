package model

import "errors"

// Errors while a weights file is opened.
var (
	// ErrTruncated says that a weights file is shorter than its header claims.
	ErrTruncated = errors.New("truncated")
	// ErrHeader says that the header of a weights file is malformed.
	ErrHeader = errors.New("malformed safetensors header")
	// ErrDType says that a tensor has an element type that is not known.
	ErrDType = errors.New("unknown dtype")
)

// Errors while weights are matched with config.json.
var (
	// ErrMissingTensor says that the weights lack a tensor that the model needs.
	ErrMissingTensor = errors.New("missing tensor")
	// ErrShape says that a tensor's shape is not the one config.json asks for.
	ErrShape = errors.New("shape mismatch")
)

// Errors while the description files of a model are read.
var (
	// ErrConfig says that a description file is malformed or contradicts itself.
	ErrConfig = errors.New("bad model description")
	// ErrUnsupported says that the model asks for something that encbench does not know.
	ErrUnsupported = errors.New("unsupported model")
	// ErrPooling says that nothing tells how token states become one vector.
	ErrPooling = errors.New("pooling is not known")
)

// Errors while a model is looked up in the user's Hugging Face cache.
var (
	// ErrReference says that a reference is not of the form org/name[@rev].
	ErrReference = errors.New("bad model reference")
	// ErrNotCached says that the model or revision is not in the cache.
	ErrNotCached = errors.New("not in the Hugging Face cache")
	// ErrAmbiguous says that a commit prefix fits more than one revision.
	ErrAmbiguous = errors.New("ambiguous revision")
)
