//! Burn's C API in Rust: `sys` has all of it; here is what makes it safe to use: devices, tensors that are dropped and cloned, errors
//! with C's messages, and modules by a macro.
use std::ffi::{c_void, CStr, CString};
use std::os::raw::c_char;
use std::ptr;

#[path = "sys.rs"]
pub mod sys;

/// A failure, with C's message.
#[derive(Debug, Clone, PartialEq)]
pub struct Error(pub String);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;

/// A status of C as a result.
pub fn check(status: sys::BurnStatus) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    let message = unsafe { CStr::from_ptr(sys::burn_status_message(status)) };
    Err(Error(message.to_string_lossy().into_owned()))
}

/// A stack of plugins, closed at its end.
pub struct Device(*mut sys::BurnDevice);

impl Device {
    /// Opens a stack with autodiff on top; "" means BURN_BACKEND, a burn.json or the best there is.
    pub fn open_training(stack: &str) -> Result<Device> {
        let text = CString::new(stack).map_err(|e| Error(e.to_string()))?;
        let device = Device(unsafe { sys::burn_device_open_training(text.as_ptr()) });
        check(unsafe { sys::burn_device_status(device.0) })?;
        Ok(device)
    }
    pub fn seed(&self, seed: u64) {
        unsafe { sys::burn_device_seed(self.0, seed) }
    }
    pub fn raw(&self) -> *mut sys::BurnDevice {
        self.0
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        unsafe { sys::burn_device_close(self.0) }
    }
}

/// A tensor. Its methods take it, as functions of C do: clone where data forks.
pub struct Tensor(*mut sys::BurnTensor);

impl Tensor {
    /// # Safety
    /// `raw` is a tensor that belongs to the caller, and now to this object.
    pub unsafe fn from_raw(raw: *mut sys::BurnTensor) -> Tensor {
        Tensor(raw)
    }
    /// The handle, which the caller has to give to C.
    pub fn into_raw(self) -> *mut sys::BurnTensor {
        let raw = self.0;
        std::mem::forget(self);
        raw
    }
    pub fn from_f32(device: &Device, data: &[f32], dims: &[i64]) -> Tensor {
        assert_eq!(dims.iter().product::<i64>() as usize, data.len(), "the shape has another number of elements");
        Tensor(unsafe { sys::burn_tensor_f32(device.0, data.as_ptr(), shape(dims)) })
    }
    pub fn relu(self) -> Tensor {
        Tensor(unsafe { sys::burn_relu(self.into_raw()) })
    }
    pub fn matmul(self, rhs: Tensor) -> Tensor {
        Tensor(unsafe { sys::burn_matmul(self.into_raw(), rhs.into_raw()) })
    }
    pub fn flatten(self, start: i32, end: i32) -> Tensor {
        Tensor(unsafe { sys::burn_flatten(self.into_raw(), start, end) })
    }
    pub fn cross_entropy(self, targets: Tensor) -> Tensor {
        Tensor(unsafe { sys::burn_cross_entropy(self.into_raw(), targets.into_raw()) })
    }
    /// All elements in row-major order.
    pub fn to_f32(self) -> Result<Vec<f32>> {
        let mut out = vec![0f32; unsafe { sys::burn_element_count(self.0) } as usize];
        check(unsafe { sys::burn_read_f32(self.into_raw(), out.as_mut_ptr(), out.len()) })?;
        Ok(out)
    }
}

impl Clone for Tensor {
    fn clone(&self) -> Tensor {
        Tensor(unsafe { sys::burn_clone(self.0) })
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        unsafe { sys::burn_drop(self.0) }
    }
}

pub fn shape(dims: &[i64]) -> sys::BurnShape {
    let mut out = sys::BurnShape { rank: dims.len() as u32, dims: [0; 8] };
    out.dims[..dims.len()].copy_from_slice(dims); // panics beyond rank 8, which Burn has not
    out
}

/// What C calls a module: a struct of rows with a descriptor. `module!` defines one.
pub trait Module: Sized {
    fn descriptor() -> *const sys::BurnType;
    fn as_module(&mut self) -> sys::BurnModule {
        sys::BurnModule { type_: Self::descriptor(), data: self as *mut Self as *mut c_void }
    }
}

/// Makes the descriptor of `module!`, which lives as long as the process.
pub fn describe(name: &'static CStr, bytes: usize, rows: Vec<(&'static CStr, unsafe extern "C" fn() -> *const sys::BurnType, usize)>) -> usize {
    let fields: Vec<sys::BurnField> = rows
        .into_iter()
        .map(|(name, type_, offset)| sys::BurnField { name: name.as_ptr(), type_: Some(type_), offset, doc: b"\0".as_ptr() as *const c_char, required: false })
        .collect();
    let fields = Box::leak(fields.into_boxed_slice());
    let made = sys::BurnType {
        kind: sys::BURN_TYPE_MODULE,
        name: name.as_ptr(),
        bytes,
        field_count: fields.len() as u32,
        fields: fields.as_ptr(),
        defaults: ptr::null(),
        count: 0,
        variants: ptr::null(),
    };
    Box::leak(Box::new(made)) as *const sys::BurnType as usize
}

/// module!(Model { conv1: BurnConv2d, linear: BurnLinear }): the struct, its descriptor, and the release of its tensors.
#[macro_export]
macro_rules! module {
    ($name:ident { $($field:ident: $kind:ident),+ $(,)? }) => {
        #[repr(C)]
        struct $name { $($field: $crate::sys::$kind),+ }
        impl $crate::Module for $name {
            fn descriptor() -> *const $crate::sys::BurnType {
                static MADE: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
                fn c(text: &'static str) -> &'static std::ffi::CStr {
                    std::ffi::CStr::from_bytes_with_nul(text.as_bytes()).unwrap()
                }
                *MADE.get_or_init(|| {
                    let rows = vec![$((c(concat!(stringify!($field), "\0")), <$crate::sys::$kind as $crate::sys::Row>::TYPE,
                                       std::mem::offset_of!($name, $field))),+];
                    $crate::describe(c(concat!(stringify!($name), "\0")), std::mem::size_of::<$name>(), rows)
                }) as *const $crate::sys::BurnType
            }
        }
        impl Drop for $name {
            fn drop(&mut self) {
                unsafe { $crate::sys::burn_module_release($crate::Module::as_module(self)) }
            }
        }
    };
}
