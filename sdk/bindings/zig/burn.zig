//! Burn's C API in Zig: `sys` has all of it; here are what errors, shapes and modules need.
pub const sys = @import("sys.zig");

pub const Error = error{Burn};

/// The message of the failure that `check` has met last on this thread.
pub threadlocal var message: [*c]const u8 = "ok";

/// A status of C as an error; `message` says what failed.
pub fn check(status: sys.BurnStatus) Error!void {
    if (status == 0) return;
    message = sys.burn_status_message(status);
    return Error.Burn;
}

pub fn shape(dims: []const i64) sys.BurnShape {
    var out = sys.BurnShape{ .rank = @intCast(dims.len), .dims = @splat(0) };
    for (dims, 0..) |dim, i| out.dims[i] = dim;
    return out;
}

/// The descriptor of a module: an extern struct whose fields are modules of sys, in the order of their rows.
pub fn Module(comptime T: type, comptime name: [:0]const u8) type {
    return struct {
        const names = @typeInfo(T).@"struct".field_names;
        var fields: [names.len]sys.BurnField = undefined;
        var described: sys.BurnType = undefined;

        /// The module of C for an object, which stays the caller's.
        pub fn of(object: *T) sys.BurnModule {
            inline for (names, 0..) |field, i| {
                fields[i] = .{
                    .name = field,
                    .type = @FieldType(T, field).descriptor,
                    .offset = @offsetOf(T, field),
                    .doc = "",
                    .required = false,
                };
            }
            described = .{
                .kind = sys.BURN_TYPE_MODULE,
                .name = name,
                .bytes = @sizeOf(T),
                .field_count = names.len,
                .fields = &fields,
                .defaults = null,
                .count = 0,
                .variants = null,
            };
            return .{ .type = &described, .data = object };
        }
    };
}
