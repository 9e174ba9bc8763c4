// Package cudatest runs tests on a driver: a GPU's, or the fake one of cuda/fake, which it
// compiles with g++. It is empty without the build tag cuda.
package cudatest
