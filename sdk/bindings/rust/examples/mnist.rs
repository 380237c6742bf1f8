//! The CNN of the Burn guide on digits, as sdk/examples/mnist in C: the same
//! numbers come out. mnist STACK TRAIN_ITEMS TEST_ITEMS EPOCHS
use burn::sys::*;
use burn::{check, module, Device, Error, Module, Result, Tensor};
use std::ffi::c_void;
use std::ptr;

module!(Model {
    conv1: BurnConv2d,
    conv2: BurnConv2d,
    pool: BurnAdaptiveAvgPool2d,
    dropout: BurnDropout,
    linear1: BurnLinear,
    linear2: BurnLinear,
});

impl Model {
    fn new(hidden: usize, classes: usize, device: &Device) -> Model {
        let (kernel, d) = (BurnSize2 { at: [3, 3] }, device.raw());
        unsafe {
            Model {
                conv1: burn_conv2d_new(BurnSize2 { at: [1, 8] }, kernel, d),
                conv2: burn_conv2d_new(BurnSize2 { at: [8, 16] }, kernel, d),
                pool: burn_adaptive_avg_pool2d_new(BurnSize2 { at: [8, 8] }, d),
                dropout: burn_dropout_new(0.5, d),
                linear1: burn_linear_new(16 * 8 * 8, hidden, d),
                linear2: burn_linear_new(hidden, classes, d),
            }
        }
    }

    fn forward(&self, x: Tensor) -> Tensor {
        let drop = |x| unsafe { burn_dropout_forward(&self.dropout, x) };
        unsafe {
            let x = drop(burn_conv2d_forward(&self.conv1, x.into_raw()));
            let x = drop(burn_conv2d_forward(&self.conv2, x));
            let x = Tensor::from_raw(x).relu().into_raw();
            let x = burn_adaptive_avg_pool2d_forward(&self.pool, x);
            let x = Tensor::from_raw(x).flatten(1, 3).into_raw();
            let x = drop(burn_linear_forward(&self.linear1, x));
            let x = Tensor::from_raw(x).relu().into_raw();
            Tensor::from_raw(burn_linear_forward(&self.linear2, x))
        }
    }
}

unsafe extern "C" fn step(
    _context: *mut c_void,
    model: *const c_void,
    batch: *mut BurnBatch,
) -> BurnStepOutput {
    let targets = Tensor::from_raw(burn_batch_take(batch, c"label".as_ptr()));
    let images = Tensor::from_raw(burn_batch_take(batch, c"image".as_ptr()));
    let output = (*(model as *const Model)).forward(images);
    let loss = output.clone().cross_entropy(targets.clone());
    burn_classification_output(
        loss.into_raw(),
        output.into_raw(),
        targets.into_raw(),
    )
}

fn loader(count: usize, seed: u64, shuffle: bool) -> Result<*mut BurnLoader> {
    let digits = BurnDigitsConfig { count, seed };
    let config = BurnLoaderConfig {
        batch_size: 64,
        shuffle,
        seed: 42,
        workers: 1,
        prefetch: 0,
        drop_last: false,
        read: BurnReadConfig { skip_bad: false, skipped: std::ptr::null_mut() },
    };
    let mut status = 0;
    unsafe {
        let raw = burn_dataset_digits(&digits, &mut status);
        let data = burn_dataset_mnist_normalize(raw, &mut status);
        let loader = burn_loader_create(data, &config, &mut status);
        check(status).map(|()| loader)
    }
}

fn train(stack: &str, items: [usize; 2], epochs: usize) -> Result<[f64; 3]> {
    let device = Device::open_training(stack)?;
    let train = loader(items[0], 84, true)?;
    let test = loader(items[1], 85, false)?;
    device.seed(42);
    let mut model = Model::new(512, 10, &device);
    let task = BurnTask { step: Some(step), context: ptr::null_mut() };
    unsafe {
        let optimizer = burn_adam_create(ptr::null());
        let mut config: BurnLearnerConfig = std::mem::zeroed();
        config.epochs = epochs;
        config.learning_rate = 1e-3;
        config.quiet = true;
        let mut result: BurnLearnerResult = std::mem::zeroed();
        let status = burn_learner_fit(
            &config,
            &task,
            device.raw(),
            model.as_module(),
            optimizer,
            train,
            test,
            &mut result,
        );
        burn_optimizer_destroy(optimizer);
        burn_loader_destroy(train);
        burn_loader_destroy(test);
        check(status)?;
        Ok(result.last.metrics[0].values)
    }
}

fn main() -> Result<()> {
    let given: Vec<String> = std::env::args().collect();
    let number = |i: usize, usual: usize| match given.get(i) {
        None => Ok(usual),
        Some(text) => text.parse().map_err(|e| Error(format!("{text}: {e}"))),
    };
    let stack = given.get(1).map_or("", |text| text.as_str());
    let items = [number(2, 20000)?, number(3, 4000)?];
    let [loss, test, ..] = train(stack, items, number(4, 4)?)?;
    println!("train loss {loss:?}, test loss {test:?}");
    Ok(())
}
