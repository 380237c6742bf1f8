//! boundary.rs - what lies between Rust and the host: the host's functions, failures, and panics that stay inside.
use crate::burn::*;
use std::cell::RefCell;
use std::collections::TryReserveError;
use std::ffi::{CStr, CString};
use std::mem::size_of;
use std::panic::{catch_unwind, AssertUnwindSafe, Location};
use std::sync::Once;

pub const OK: BurnStatus = BURN_STATUS_OK as BurnStatus;

// -- failures ---------------------------------------------------------------------------------------------------------

/// Why something did not work: it becomes a status when it leaves the plugin.
pub struct Failure {
    code: u32,
    message: String,
    place: &'static Location<'static>,
}

pub type Result<T = ()> = std::result::Result<T, Failure>;

/// A failure with a code BURN_STATUS_* and a message that carries the values.
#[track_caller]
pub fn fail<T>(code: u32, message: impl Into<String>) -> Result<T> {
    Err(Failure { code, message: message.into(), place: Location::caller() })
}

/// `try_reserve` and `?`: collections that grow without asking end the program when there is no memory.
impl From<TryReserveError> for Failure {
    #[track_caller]
    fn from(_: TryReserveError) -> Failure {
        let message = "no memory for intermediate values".to_string();
        Failure { code: BURN_STATUS_OUT_OF_MEMORY, message, place: Location::caller() }
    }
}

// -- panics -----------------------------------------------------------------------------------------------------------

thread_local!(static LAST_PANIC: RefCell<String> = RefCell::new(String::new()));

/// Instead of printing, a panic leaves its text for `guard`. Only this library's own copy of Rust's runtime is changed.
pub fn keep_panics_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let text = panic.to_string();
            let _ = LAST_PANIC.try_with(|last| *last.borrow_mut() = text);
        }))
    });
}

/// Runs the body of a function that returns a status. A panic becomes the status INTERNAL with its text. `name`, in
/// front of the message, may end with a zero byte.
pub fn guard(host: Host, name: &str, body: impl FnOnce() -> Result) -> BurnStatus {
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let outcome = outcome.unwrap_or_else(|_| {
        let text = LAST_PANIC.try_with(|last| last.take()).unwrap_or_default();
        fail(BURN_STATUS_INTERNAL, text)
    });
    match outcome {
        Ok(()) => OK,
        Err(failure) => host.fail(name.trim_end_matches('\0'), failure),
    }
}

/// Runs the body of a function that cannot fail; after a panic its value is `fallback`.
pub fn guard_or<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(fallback)
}

// -- the host ---------------------------------------------------------------------------------------------------------

/// The host's table, which lives as long as the process.
#[derive(Clone, Copy)]
pub struct Host(&'static BurnHost);

/// A function of the host: `host_call!(self.free)(memory, bytes)`. None is missing, as `check` has seen.
macro_rules! host_call {
    ($this:ident.$function:ident) => {
        ($this.0.$function.expect("a function of the host"))
    };
}

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

impl Host {
    pub unsafe fn new(raw: *const BurnHost) -> Host {
        Host(unsafe { &*raw })
    }

    /// The first thing in open: is the host one that these bindings describe?
    pub fn check(self, out: &BurnBackend) -> Result {
        let is_long = self.0.struct_size as usize >= size_of::<BurnHost>();
        if is_long && out.struct_size as usize >= size_of::<BurnBackend>() && self.0.abi_minor >= BURN_TARGET_MINOR {
            return Ok(());
        }
        let (major, minor) = (self.0.abi_major, self.0.abi_minor);
        let message = format!("the host has ABI {major}.{minor}, this plugin needs 0.{BURN_TARGET_MINOR}: update Burn");
        fail(BURN_STATUS_INCOMPATIBLE, message)
    }

    /// Memory aligned to 64 bytes, not cleared; null when there is none.
    pub fn allocate(self, bytes: u64) -> *mut u8 {
        unsafe { host_call!(self.allocate)(bytes) as *mut u8 }
    }

    pub unsafe fn free(self, memory: *mut u8, bytes: u64) {
        unsafe { host_call!(self.free)(memory as *mut _, bytes) }
    }

    pub fn op_name(self, op: u32) -> &'static str {
        unsafe {
            match host_call!(self.op_info)(op).as_ref() {
                Some(info) => CStr::from_ptr(info.name).to_str().unwrap_or("?"),
                None => "?",
            }
        }
    }

    /// The host copies the message, and reads the file's name during this call only.
    fn fail(self, name: &str, failure: Failure) -> BurnStatus {
        let (file, line) = (c_text(failure.place.file()), failure.place.line() as i32);
        let message = c_text(&format!("{}: {}", name, failure.message));
        unsafe { host_call!(self.fail)(failure.code, file.as_ptr(), line, message.as_ptr()) }
    }

    /// The words of elements first, first + 1, .. of a random op, as burn/plugin/random.h defines them.
    pub fn random_words(self, seed: u64, offset: u64, first: u64, words: &mut [u32]) -> Result {
        let name = BURN_RANDOM_INTERFACE_NAME.as_ptr() as *const _;
        let table = unsafe { host_call!(self.get_interface)(name, 1) as *const BurnRandomInterface };
        match unsafe { table.as_ref() }.and_then(|random| random.words) {
            Some(fill) => unsafe { fill(seed, offset, first, words.len() as u64, words.as_mut_ptr()) },
            None => return fail(BURN_STATUS_INCOMPATIBLE, "the host has no random numbers to lend"),
        }
        Ok(())
    }
}
