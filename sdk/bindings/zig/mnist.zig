//! The CNN of the Burn guide on digits, as sdk/examples/mnist in C: the same
//! numbers come out. mnist STACK TRAIN_ITEMS TEST_ITEMS EPOCHS
const burn = @import("burn.zig");
const c = burn.sys;

extern fn printf(format: [*:0]const u8, ...) c_int;
extern fn atoll(text: [*:0]const u8) c_longlong;

const Model = extern struct {
    conv1: c.BurnConv2d,
    conv2: c.BurnConv2d,
    pool: c.BurnAdaptiveAvgPool2d,
    dropout: c.BurnDropout,
    linear1: c.BurnLinear,
    linear2: c.BurnLinear,

    fn init(hidden: usize, classes: usize, device: ?*c.BurnDevice) Model {
        const kernel = c.BurnSize2{ .at = .{ 3, 3 } };
        const first = c.BurnSize2{ .at = .{ 1, 8 } };
        const second = c.BurnSize2{ .at = .{ 8, 16 } };
        const pooled = c.BurnSize2{ .at = .{ 8, 8 } };
        return .{ // fields are made in this order: it decides the numbers
            .conv1 = c.burn_conv2d_new(first, kernel, device),
            .conv2 = c.burn_conv2d_new(second, kernel, device),
            .pool = c.burn_adaptive_avg_pool2d_new(pooled, device),
            .dropout = c.burn_dropout_new(0.5, device),
            .linear1 = c.burn_linear_new(16 * 8 * 8, hidden, device),
            .linear2 = c.burn_linear_new(hidden, classes, device),
        };
    }

    fn forward(m: *const Model, images: ?*c.BurnTensor) ?*c.BurnTensor {
        var x = c.burn_conv2d_forward(&m.conv1, images);
        x = c.burn_dropout_forward(&m.dropout, x);
        x = c.burn_conv2d_forward(&m.conv2, x);
        x = c.burn_relu(c.burn_dropout_forward(&m.dropout, x));
        x = c.burn_adaptive_avg_pool2d_forward(&m.pool, x);
        x = c.burn_linear_forward(&m.linear1, c.burn_flatten(x, 1, 3));
        x = c.burn_relu(c.burn_dropout_forward(&m.dropout, x));
        return c.burn_linear_forward(&m.linear2, x);
    }
};

fn step(
    _: ?*anyopaque,
    module: ?*const anyopaque,
    batch: [*c]c.BurnBatch,
) callconv(.c) c.BurnStepOutput {
    const model: *const Model = @ptrCast(@alignCast(module));
    const targets = c.burn_batch_take(batch, "label");
    const output = model.forward(c.burn_batch_take(batch, "image"));
    const copy = c.burn_clone(output);
    const loss = c.burn_cross_entropy(copy, c.burn_clone(targets));
    return c.burn_classification_output(loss, output, targets);
}

fn loader(count: usize, seed: u64, shuffle: bool) !?*c.BurnLoader {
    const digits = c.BurnDigitsConfig{ .count = count, .seed = seed };
    const config = c.BurnLoaderConfig{
        .batch_size = 64,
        .shuffle = shuffle,
        .seed = 42,
        .workers = 1,
        .prefetch = 0,
        .drop_last = false,
        .read = .{ .skip_bad = false, .skipped = null },
    };
    var status: c.BurnStatus = 0;
    const raw = c.burn_dataset_digits(&digits, &status);
    const data = c.burn_dataset_mnist_normalize(raw, &status);
    const made = c.burn_loader_create(data, &config, &status);
    try burn.check(status);
    return made;
}

fn train(stack: [*c]const u8, items: [2]usize, epochs: usize) ![3]f64 {
    const device = c.burn_device_open_training(stack);
    defer c.burn_device_close(device);
    try burn.check(c.burn_device_status(device));
    const training = try loader(items[0], 84, true);
    defer c.burn_loader_destroy(training);
    const testing = try loader(items[1], 85, false);
    defer c.burn_loader_destroy(testing);
    c.burn_device_seed(device, 42);
    var model = Model.init(512, 10, device);
    const module = burn.Module(Model, "Model").of(&model);
    defer c.burn_module_release(module);
    const optimizer = c.burn_adam_create(null);
    defer c.burn_optimizer_destroy(optimizer);
    var config: c.BurnLearnerConfig = undefined;
    @memset(@as(*[@sizeOf(c.BurnLearnerConfig)]u8, @ptrCast(&config)), 0);
    config.epochs = epochs;
    config.learning_rate = 1e-3;
    config.quiet = true;
    const task = c.BurnTask{ .step = step, .context = null };
    var result: c.BurnLearnerResult = undefined;
    try burn.check(c.burn_learner_fit(
        &config,
        &task,
        device,
        module,
        optimizer,
        training,
        testing,
        &result,
    ));
    return result.last.metrics[0].values;
}

pub export fn main(argc: c_int, argv: [*][*:0]u8) c_int {
    const given: usize = @intCast(argc);
    const items = [2]usize{
        if (given > 2) @intCast(atoll(argv[2])) else 20000,
        if (given > 3) @intCast(atoll(argv[3])) else 4000,
    };
    const epochs: usize = if (given > 4) @intCast(atoll(argv[4])) else 4;
    const stack: [*c]const u8 = if (given > 1) argv[1] else null;
    const losses = train(stack, items, epochs) catch {
        _ = printf("error: %s\n", burn.message);
        return 1;
    };
    _ = printf("train loss %.16g, test loss %.16g\n", losses[0], losses[1]);
    return 0;
}
