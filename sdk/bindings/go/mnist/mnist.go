// The CNN of the Burn guide on digits, as sdk/examples/mnist in C: the same
// numbers come out. mnist STACK TRAIN_ITEMS TEST_ITEMS EPOCHS
package main

/*
#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>
#include <stdlib.h>

#define MODEL_FIELDS(X)             \
  X(BurnConv2d, conv1, "")          \
  X(BurnConv2d, conv2, "")          \
  X(BurnAdaptiveAvgPool2d, pool, "") \
  X(BurnDropout, dropout, "")       \
  X(BurnLinear, linear1, "")        \
  X(BurnLinear, linear2, "")
BURN_MODULE(Model, MODEL_FIELDS);

extern BurnStepOutput goStep(void *context, void *module, BurnBatch *batch);

static inline BurnStepOutput step(void *context, const void *module,
                                  BurnBatch *batch) {
  return goStep(context, (void *)module, batch);
}
static inline BurnStatus fit(const BurnLearnerConfig *config,
                             BurnDevice *device, Model *model,
                             BurnOptimizer *optimizer, BurnLoader *train,
                             BurnLoader *test, BurnLearnerResult *result) {
  const BurnTask task = {step, NULL};
  return burn_learner_fit(config, &task, device, burn_module(Model, model),
                          optimizer, train, test, result);
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"burn"
)

func tensor(c *C.BurnTensor) *burn.Tensor {
	return burn.Own(unsafe.Pointer(c))
}
func give(x *burn.Tensor) *C.BurnTensor { return (*C.BurnTensor)(x.Give()) }

func size2(first, second int) C.BurnSize2 {
	return C.BurnSize2{at: [2]C.size_t{C.size_t(first), C.size_t(second)}}
}

// In memory of C, which keeps pointers to what is in it.
func newModel(hidden, classes int, d *C.BurnDevice) *C.Model {
	m := (*C.Model)(C.calloc(1, C.sizeof_Model))
	m.conv1 = C.burn_conv2d_new(size2(1, 8), size2(3, 3), d)
	m.conv2 = C.burn_conv2d_new(size2(8, 16), size2(3, 3), d)
	m.pool = C.burn_adaptive_avg_pool2d_new(size2(8, 8), d)
	m.dropout = C.burn_dropout_new(0.5, d)
	m.linear1 = C.burn_linear_new(16*8*8, C.size_t(hidden), d)
	m.linear2 = C.burn_linear_new(C.size_t(hidden), C.size_t(classes), d)
	return m
}

func forward(m *C.Model, images *C.BurnTensor) *burn.Tensor {
	x := C.burn_dropout_forward(&m.dropout,
		C.burn_conv2d_forward(&m.conv1, images))
	x = C.burn_dropout_forward(&m.dropout, C.burn_conv2d_forward(&m.conv2, x))
	x = C.burn_adaptive_avg_pool2d_forward(&m.pool, give(tensor(x).Relu()))
	x = C.burn_linear_forward(&m.linear1, give(tensor(x).Flatten(1, 3)))
	x = C.burn_dropout_forward(&m.dropout, x)
	return tensor(C.burn_linear_forward(&m.linear2, give(tensor(x).Relu())))
}

//export goStep
func goStep(context, module unsafe.Pointer,
	batch *C.BurnBatch) C.BurnStepOutput {
	label, image := C.CString("label"), C.CString("image")
	defer C.free(unsafe.Pointer(label))
	defer C.free(unsafe.Pointer(image))
	targets := tensor(C.burn_batch_take(batch, label))
	output := forward((*C.Model)(module), C.burn_batch_take(batch, image))
	loss := output.CrossEntropy(targets)
	return C.burn_classification_output(give(loss), give(output), give(targets))
}

func loader(count, seed int, shuffle bool) (*C.BurnLoader, error) {
	digits := C.BurnDigitsConfig{count: C.size_t(count), seed: C.uint64_t(seed)}
	config := C.BurnLoaderConfig{batch_size: 64, shuffle: C.bool(shuffle),
		seed: 42, workers: 1}
	var status C.BurnStatus
	raw := C.burn_dataset_digits(&digits, &status)
	data := C.burn_dataset_mnist_normalize(raw, &status)
	made := C.burn_loader_create(data, &config, &status)
	return made, burn.Check(uint64(status))
}

func train(stack string, items [2]int, epochs int) ([3]C.double, error) {
	text := C.CString(stack)
	defer C.free(unsafe.Pointer(text))
	device := C.burn_device_open_training(text)
	defer C.burn_device_close(device)
	result := (*C.BurnLearnerResult)(C.calloc(1, C.sizeof_BurnLearnerResult))
	defer C.free(unsafe.Pointer(result))
	err := burn.Check(uint64(C.burn_device_status(device)))
	if err != nil {
		return result.last.metrics[0].values, err
	}
	training, err := loader(items[0], 84, true)
	defer C.burn_loader_destroy(training)
	if err != nil {
		return result.last.metrics[0].values, err
	}
	test, err := loader(items[1], 85, false)
	defer C.burn_loader_destroy(test)
	if err != nil {
		return result.last.metrics[0].values, err
	}
	C.burn_device_seed(device, 42)
	model := newModel(512, 10, device)
	defer C.free(unsafe.Pointer(model))
	defer C.Model_release(model)
	optimizer := C.burn_adam_create(nil)
	defer C.burn_optimizer_destroy(optimizer)
	config := C.BurnLearnerConfig{epochs: C.size_t(epochs),
		learning_rate: 1e-3, quiet: true}
	status := C.fit(&config, device, model, optimizer, training, test, result)
	return result.last.metrics[0].values, burn.Check(uint64(status))
}

func main() {
	numbers := []int{20000, 4000, 4}
	stack := ""
	for i, text := range os.Args[1:] {
		if i == 0 {
			stack = text
		} else if number, err := strconv.Atoi(text); err == nil && i < 4 {
			numbers[i-1] = number
		} else {
			fmt.Fprintf(os.Stderr, "mnist: '%s' is not a number\n", text)
			os.Exit(2)
		}
	}
	losses, err := train(stack, [2]int{numbers[0], numbers[1]}, numbers[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Printf("train loss %v, test loss %v\n", losses[0], losses[1])
}
