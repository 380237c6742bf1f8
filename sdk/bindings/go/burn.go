// Package burn is Burn's C API in Go: tensors that are released by themselves. Everything else is there through cgo, which reads the
// headers: import "C" with #include <burn/train.h> beside this package.
package burn

/*
#cgo LDFLAGS: -lburn_train -lburn_nn -lburn
#include <burn/burn.h>
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// Tensor is a value: methods leave it as it is.
type Tensor struct{ c *C.BurnTensor }

func own(c *C.BurnTensor) *Tensor {
	if c == nil {
		return nil
	}
	x := &Tensor{c}
	runtime.SetFinalizer(x, (*Tensor).Drop)
	return x
}

// Own makes a tensor of a handle of C (*C.BurnTensor) that belongs to the caller.
func Own(handle unsafe.Pointer) *Tensor { return own((*C.BurnTensor)(handle)) }

// Give is a handle for C to take (*C.BurnTensor); nil for a nil tensor. The tensor stays.
func (x *Tensor) Give() unsafe.Pointer { return unsafe.Pointer(x.taken()) }

func (x *Tensor) taken() *C.BurnTensor {
	if x == nil {
		return nil
	}
	defer runtime.KeepAlive(x)
	return C.burn_clone(x.c)
}

// Drop lets the values go before the garbage collector would.
func (x *Tensor) Drop() {
	runtime.SetFinalizer(x, nil)
	C.burn_drop(x.c)
	x.c = nil
}

// Check is the failure of a status of C with its message, or nil.
func Check(status uint64) error {
	if status == 0 {
		return nil
	}
	return errors.New(C.GoString(C.burn_status_message(C.BurnStatus(status))))
}

// Float32s are all elements in row-major order.
func (x *Tensor) Float32s() ([]float32, error) {
	defer runtime.KeepAlive(x)
	out := make([]float32, int(C.burn_element_count(x.c)))
	var data *C.float
	if len(out) > 0 {
		data = (*C.float)(unsafe.Pointer(&out[0]))
	}
	return out, Check(uint64(C.burn_read_f32(C.burn_clone(x.c), data, C.size_t(len(out)))))
}

func shapeOf(dims []int64) C.BurnShape {
	out := C.BurnShape{rank: C.uint32_t(len(dims))}
	for i, dim := range dims {
		out.dims[i] = C.int64_t(dim)
	}
	return out
}
