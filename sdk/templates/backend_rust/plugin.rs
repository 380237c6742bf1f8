//! plugin.rs - the plugin: descriptor, probe, open, and the backend table. Start here, at the end.
//!
//! It has a kernel for every primitive op and for nothing else, and no options. Every function that the host calls is
//! `extern "C"` and runs its body in `guard` or `guard_or`, because a panic must not leave the plugin.
#![deny(unsafe_op_in_unsafe_fn, unreachable_patterns, non_snake_case)]
#![allow(non_upper_case_globals)] // the names of ops, as C has them

/// The headers of the ABI as bindgen translates them.
#[allow(dead_code, non_camel_case_types, non_snake_case, non_upper_case_globals)]
mod burn {
    include!(env!("BURN_BINDINGS"));
}

mod boundary;
mod call;
mod conv;
mod create;
mod elementwise;
mod index;
mod kernels;
mod linalg;
mod lines;
mod moves;
mod pool;
mod tensor;

use crate::boundary::{fail, guard, guard_or, Host};
use crate::burn::*;
use crate::call::Call;
use crate::kernels::{Kernel, OP_COUNT};
use crate::tensor::{element_bytes, Memory, Tensor};
use std::ffi::{c_void, CStr};
use std::mem::size_of;
use std::os::raw::c_char;
use std::ptr;

/// Ends with a zero byte, as C wants it.
const NAME: &str = "my_backend\0";

/// An opened instance: `self` of all functions below.
struct Instance {
    host: Host,
    memory: Memory,
    kernels: [Option<Kernel>; OP_COUNT],
}

/// The host gives `self` back as it was filled in by `open`, and calls nothing after `close`.
unsafe fn instance<'a>(this: *mut c_void) -> &'a Instance {
    unsafe { &*(this as *const Instance) }
}

// -- calls ------------------------------------------------------------------------------------------------------------

unsafe extern "C" fn op_support(this: *mut c_void, op: u32) -> u32 {
    guard_or(BURN_SUPPORT_NO, || match unsafe { instance(this) }.kernels.get(op as usize) {
        Some(Some(_)) => BURN_SUPPORT_YES,
        _ => BURN_SUPPORT_NO,
    })
}

unsafe extern "C" fn submit(this: *mut c_void, raw: *const BurnOpCall) -> BurnStatus {
    let (this, raw) = unsafe { (instance(this), &*raw) };
    let name = this.host.op_name(raw.op);
    guard(this.host, name, || {
        let kernel = match this.kernels.get(raw.op as usize) {
            Some(Some(kernel)) => kernel,
            _ => return fail(BURN_STATUS_UNIMPLEMENTED, "there is no kernel"),
        };
        let call = unsafe { Call::new(this.host, &this.memory, raw)? };
        kernel(&call)?;
        call.give_out();
        Ok(())
    })
}

// -- tensors ----------------------------------------------------------------------------------------------------------

unsafe extern "C" fn create(
    this: *mut c_void,
    desc: *const BurnTensorDesc,
    data: *const c_void,
    out: *mut *mut BurnPrimitive,
) -> BurnStatus {
    let this = unsafe { instance(this) };
    guard(this.host, NAME, || unsafe {
        let x = this.memory.new_tensor(&*desc)?;
        let tensor = Tensor::new(x);
        if !data.is_null() {
            ptr::copy_nonoverlapping(data as *const u8, (*x).buffer as *mut u8, tensor.bytes());
        }
        *out = x;
        Ok(())
    })
}

unsafe extern "C" fn read(this: *mut c_void, x: *mut BurnPrimitive, data: *mut c_void, bytes: u64) -> BurnStatus {
    guard(unsafe { instance(this) }.host, NAME, || unsafe {
        let tensor = Tensor::new(x);
        if bytes != tensor.bytes() as u64 {
            return fail(BURN_STATUS_INVALID_ARGUMENT, format!("{} bytes, but {bytes} are read", tensor.bytes()));
        }
        if bytes > 0 {
            ptr::copy_nonoverlapping((*x).buffer as *const u8, data as *mut u8, tensor.bytes());
        }
        Ok(())
    })
}

unsafe extern "C" fn retain(_this: *mut c_void, x: *mut BurnPrimitive) {
    guard_or((), || unsafe { Memory::retain(x) })
}

unsafe extern "C" fn release(this: *mut c_void, x: *mut BurnPrimitive) {
    guard_or((), || unsafe { instance(this).memory.release(x) })
}

// -- questions --------------------------------------------------------------------------------------------------------

unsafe extern "C" fn dtype_usage(_this: *mut c_void, dtype: BurnDType) -> u32 {
    guard_or(0, || match element_bytes(dtype) {
        Some(_) => BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC,
        None => 0,
    })
}

unsafe extern "C" fn query(this: *mut c_void, key: u32, out: *mut i64) -> BurnStatus {
    let this = unsafe { instance(this) };
    guard(this.host, NAME, || {
        let value = match key {
            BURN_QUERY_BYTES_IN_USE | BURN_QUERY_BYTES_RESERVED => this.memory.live_bytes(),
            BURN_QUERY_BYTES_PEAK => this.memory.peak_bytes(),
            BURN_QUERY_LIVE_TENSORS => this.memory.live_tensors(),
            _ => return fail(BURN_STATUS_NOT_FOUND, format!("there is no query {key}")),
        };
        unsafe { *out = value };
        Ok(())
    })
}

// -- the plugin -------------------------------------------------------------------------------------------------------

unsafe extern "C" fn close(this: *mut c_void) {
    guard_or((), || unsafe {
        let host = instance(this).host;
        ptr::drop_in_place(this as *mut Instance);
        host.free(this as *mut u8, size_of::<Instance>() as u64);
    })
}

/// There are no options: the host refuses those that nobody asks for.
unsafe extern "C" fn open(
    host: *const BurnHost,
    index: u32,
    _options: *const BurnOptions,
    owner: u32,
    out: *mut BurnBackend,
) -> BurnStatus {
    boundary::keep_panics_quiet();
    let host = unsafe { Host::new(host) };
    guard(host, NAME, || unsafe {
        host.check(&*out)?;
        if index != 0 {
            return fail(BURN_STATUS_NOT_FOUND, format!("there is no device {index}, only 0"));
        }
        let room = host.allocate(size_of::<Instance>() as u64) as *mut Instance;
        if room.is_null() {
            return fail(BURN_STATUS_OUT_OF_MEMORY, "no memory for an instance");
        }
        ptr::write(room, Instance { host, memory: Memory::new(host, owner), kernels: kernels::table() });
        fill(&mut *out, room as *mut c_void);
        Ok(())
    })
}

/// What is not set here stays NULL, and the host does it.
fn fill(out: &mut BurnBackend, this: *mut c_void) {
    out.self_ = this;
    out.name = NAME.as_ptr() as *const c_char;
    out.close = Some(close);
    out.op_support = Some(op_support);
    out.submit = Some(submit);
    out.create = Some(create);
    out.read = Some(read);
    out.retain = Some(retain);
    out.release = Some(release);
    out.dtype_usage = Some(dtype_usage);
    out.query = Some(query);
}

fn copy_text(out: &mut [c_char], text: &str) {
    let room = out.len() - 1; // the host has cleared it, so it stays terminated
    for (to, from) in out[..room].iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
}

/// Score 1: it works everywhere and is nobody's first choice. CPU backends have about 100, GPU backends 1000 and more.
unsafe extern "C" fn probe(_host: *const BurnHost, out: *mut BurnProbe) {
    guard_or((), || {
        let out = unsafe { &mut *out };
        out.score = 1;
        copy_text(&mut out.reason, "always here");
        if out.device_capacity > 0 {
            let device = unsafe { &mut *out.devices }; // the first; the next is out.device_bytes after it
            device.struct_size = out.device_bytes.min(size_of::<BurnDeviceInfo>() as u32);
            copy_text(&mut device.name, "any processor, one thread");
            out.device_count = 1;
        }
    })
}

/// Read-only data with pointers to read-only data.
struct Shared<T>(T);
unsafe impl<T> Sync for Shared<T> {}

static BACKEND: Shared<BurnBackendInterface> = Shared(BurnBackendInterface {
    struct_size: size_of::<BurnBackendInterface>() as u32,
    version: 1,
    probe: Some(probe),
    open: Some(open),
});

static OPTIONS: Shared<BurnOptionsInterface> = Shared(BurnOptionsInterface {
    struct_size: size_of::<BurnOptionsInterface>() as u32,
    version: 1,
    option_count: 0,
    option_bytes: size_of::<BurnOptionInfo>() as u32,
    options: ptr::null(),
});

unsafe extern "C" fn get_interface(name: *const c_char, min_version: u32) -> *const c_void {
    guard_or(ptr::null(), || match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"burn.backend" if min_version <= 1 => &BACKEND as *const _ as *const c_void,
        b"burn.options" if min_version <= 1 => &OPTIONS as *const _ as *const c_void,
        _ => ptr::null(),
    })
}

static PLUGIN: Shared<BurnPlugin> = Shared(BurnPlugin {
    struct_size: size_of::<BurnPlugin>() as u32,
    abi_major: BURN_ABI_MAJOR,
    abi_minor: BURN_ABI_MINOR,
    min_host_minor: BURN_TARGET_MINOR,
    kind: BURN_PLUGIN_BACKEND,
    reserved: 0,
    name: NAME.as_ptr() as *const c_char,
    version: "0.1.0\0".as_ptr() as *const c_char,
    license: "MIT OR Apache-2.0\0".as_ptr() as *const c_char,
    description: "every primitive op in Rust; slow\0".as_ptr() as *const c_char,
    get_interface: Some(get_interface),
});

/// The one symbol that the host looks up; its name is BURN_PLUGIN_SYMBOL.
#[no_mangle]
pub extern "C" fn burn_plugin_query_v0(_query: *const BurnHostInfo) -> *const BurnPlugin {
    &PLUGIN.0
}
