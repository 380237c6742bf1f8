//! tensor.rs - tensors and their elements: memory, every dtype read as f64 or i64 and written back, places.
//!
//! Every tensor is row-major without gaps and never changes once its op has returned, so element i is simply number i.
use crate::boundary::{fail, Host, Result};
use crate::burn::*;
use std::mem::size_of;
use std::ops::Deref;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

pub const MAX_RANK: usize = BURN_MAX_RANK as usize;

// Functions of C's mathematical library that Rust does not have, or has in a version of its own.
#[link(name = "m")]
extern "C" {
    pub fn erf(x: f64) -> f64;
    pub fn rint(x: f64) -> f64;
    pub fn asinh(x: f64) -> f64;
    pub fn acosh(x: f64) -> f64;
    pub fn atanh(x: f64) -> f64;
}

/// The nearest integer, halves to even.
pub fn round_even(x: f64) -> f64 {
    unsafe { rint(x) }
}

// -- memory -----------------------------------------------------------------------------------------------------------

/// What stands before the elements of a tensor, in the same allocation. The header comes first, so that a pointer to it
/// is a pointer to all.
#[repr(C)]
struct Storage {
    header: BurnPrimitive,
    references: AtomicU32,
    bytes: u64, // of this allocation
    shape: [i64; MAX_RANK],
    strides: [i64; MAX_RANK],
}

const DATA: usize = (size_of::<Storage>() + 63) / 64 * 64;

/// Makes and ends the tensors of an instance, and counts them.
pub struct Memory {
    host: Host,
    owner: u32,
    live_tensors: AtomicI64,
    live_bytes: AtomicI64,
    peak_bytes: AtomicI64,
}

impl Memory {
    pub fn new(host: Host, owner: u32) -> Memory {
        let zero = || AtomicI64::new(0);
        Memory { host, owner, live_tensors: zero(), live_bytes: zero(), peak_bytes: zero() }
    }

    pub fn live_tensors(&self) -> i64 {
        self.live_tensors.load(Ordering::Relaxed)
    }
    pub fn live_bytes(&self) -> i64 {
        self.live_bytes.load(Ordering::Relaxed)
    }
    pub fn peak_bytes(&self) -> i64 {
        self.peak_bytes.load(Ordering::Relaxed)
    }

    /// A new tensor of zeros with one reference.
    pub fn new_tensor(&self, desc: &BurnTensorDesc) -> Result<*mut BurnPrimitive> {
        let rank = desc.rank as usize;
        let count = desc.shape[..rank].iter().try_fold(1u64, |count, &size| count.checked_mul(size as u64));
        let each = element_bytes(desc.dtype).unwrap_or(0) as u64;
        let bytes = count.and_then(|count| count.checked_mul(each)).and_then(|bytes| bytes.checked_add(DATA as u64));
        let room = bytes.map_or(ptr::null_mut(), |bytes| self.host.allocate(bytes)) as *mut Storage;
        let bytes = match bytes {
            Some(bytes) if !room.is_null() => bytes,
            _ => return fail(BURN_STATUS_OUT_OF_MEMORY, format!("no memory for a tensor {:?}", &desc.shape[..rank])),
        };
        unsafe {
            ptr::write_bytes(room as *mut u8, 0, bytes as usize);
            Memory::fill(&mut *room, desc, self.owner, bytes);
        }
        self.live_tensors.fetch_add(1, Ordering::Relaxed);
        let now = self.live_bytes.fetch_add(bytes as i64, Ordering::Relaxed) + bytes as i64;
        self.peak_bytes.fetch_max(now, Ordering::Relaxed);
        Ok(room as *mut BurnPrimitive)
    }

    fn fill(room: &mut Storage, desc: &BurnTensorDesc, owner: u32, bytes: u64) {
        let mut stride = 1;
        for axis in (0..desc.rank as usize).rev() {
            room.shape[axis] = desc.shape[axis];
            room.strides[axis] = stride;
            stride *= desc.shape[axis].max(1);
        }
        room.references = AtomicU32::new(1);
        room.bytes = bytes;
        room.header.struct_size = size_of::<BurnPrimitive>() as u32;
        room.header.flags = BURN_PRIMITIVE_HOST_MEMORY;
        room.header.owner = owner;
        room.header.dtype = desc.dtype;
        room.header.rank = desc.rank;
        room.header.shape = room.shape.as_ptr();
        room.header.strides = room.strides.as_ptr();
        room.header.buffer = unsafe { (room as *mut Storage as *mut u8).add(DATA) } as *mut _;
    }

    pub unsafe fn retain(x: *mut BurnPrimitive) {
        unsafe { &*(x as *const Storage) }.references.fetch_add(1, Ordering::Relaxed);
    }

    /// Null is allowed.
    pub unsafe fn release(&self, x: *mut BurnPrimitive) {
        if x.is_null() {
            return;
        }
        let storage = unsafe { &*(x as *const Storage) };
        if storage.references.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let bytes = storage.bytes;
        self.live_tensors.fetch_sub(1, Ordering::Relaxed);
        self.live_bytes.fetch_sub(bytes as i64, Ordering::Relaxed);
        unsafe { self.host.free(x as *mut u8, bytes) }
    }
}

// -- dtypes -----------------------------------------------------------------------------------------------------------

/// Bytes of one element; None for a dtype that this backend does not have.
pub fn element_bytes(dtype: BurnDType) -> Option<usize> {
    match dtype {
        BURN_DTYPE_BOOL | BURN_DTYPE_U8 | BURN_DTYPE_I8 => Some(1),
        BURN_DTYPE_I16 | BURN_DTYPE_F16 | BURN_DTYPE_BF16 => Some(2),
        BURN_DTYPE_I32 | BURN_DTYPE_F32 => Some(4),
        BURN_DTYPE_I64 | BURN_DTYPE_F64 => Some(8),
        _ => None,
    }
}

/// A 16-bit float: a sign, an exponent, a fraction.
struct Half {
    fraction_bits: i32,
    bias: i32,
}
const F16: Half = Half { fraction_bits: 10, bias: 15 };
const BF16: Half = Half { fraction_bits: 7, bias: 127 };

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

impl Half {
    fn to_f64(&self, bits: u16) -> f64 {
        let (highest, unit) = (2 * self.bias + 1, 1 - self.bias - self.fraction_bits);
        let exponent = (bits & 0x7fff) as i32 >> self.fraction_bits;
        let fraction = bits as i32 & ((1 << self.fraction_bits) - 1);
        let size = match (exponent, fraction) {
            (0, _) => fraction as f64 * power_of_two(unit),
            (_, 0) if exponent == highest => f64::INFINITY,
            _ if exponent == highest => f64::NAN,
            _ => (fraction + (1 << self.fraction_bits)) as f64 * power_of_two(exponent - 1 + unit),
        };
        if bits & 0x8000 != 0 { -size } else { size }
    }

    /// Nearest, ties to even. Counts in units of the last place: a count that reaches the next exponent carries over.
    fn from_f64(&self, value: f64) -> u16 {
        let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
        let infinity = ((2 * self.bias + 1) as u32) << self.fraction_bits;
        if value.is_nan() {
            return sign | infinity as u16 | 1 << (self.fraction_bits - 1);
        }
        let exponent = ((value.abs().to_bits() >> 52) as i32 - 1023).max(1 - self.bias);
        if exponent > self.bias + 1 {
            return sign | infinity as u16;
        }
        let units = round_even(value.abs() * power_of_two(self.fraction_bits - exponent)) as u32;
        let bits = (((exponent + self.bias - 1) as u32) << self.fraction_bits) + units;
        sign | bits.min(infinity) as u16
    }
}

/// An integer as f64 that still rounds right to fewer than 40 bits: bits that do not fit leave a trace in the last.
fn sticky_f64(value: i64) -> f64 {
    let size = value.unsigned_abs();
    let rounded = if size >> 53 != 0 {
        (size >> 11 | (size & 2047 != 0) as u64) as f64 * 2048.0
    } else {
        size as f64
    };
    if value < 0 { -rounded } else { rounded }
}

/// The value that an element of a float dtype takes.
pub fn round_to(dtype: BurnDType, value: f64) -> f64 {
    match dtype {
        BURN_DTYPE_F16 => F16.to_f64(F16.from_f64(value)),
        BURN_DTYPE_BF16 => BF16.to_f64(BF16.from_f64(value)),
        BURN_DTYPE_F32 => value as f32 as f64,
        _ => value,
    }
}

/// The nearest value that an integer dtype has.
pub fn saturate(dtype: BurnDType, value: i64) -> i64 {
    match dtype {
        BURN_DTYPE_BOOL | BURN_DTYPE_U8 => value.clamp(0, 255),
        BURN_DTYPE_I8 => value.clamp(i8::MIN as i64, i8::MAX as i64),
        BURN_DTYPE_I16 => value.clamp(i16::MIN as i64, i16::MAX as i64),
        BURN_DTYPE_I32 => value.clamp(i32::MIN as i64, i32::MAX as i64),
        _ => value,
    }
}

// -- attributes -------------------------------------------------------------------------------------------------------

/// The values of an attribute. A tag that is not the one of ops.def is a mistake: it panics, so the call fails.
pub trait Attr {
    fn int(&self) -> i64;
    fn list(&self) -> &[i64];
    /// A number of a float tensor: an I64 is rounded to the nearest f64.
    fn number_f64(&self) -> f64;
    /// A number of an integer tensor: an F64 is cut toward zero and saturated, NaN is 0 - as Rust's `as` does.
    fn number_i64(&self) -> i64;
}

impl Attr for BurnAttr {
    fn int(&self) -> i64 {
        assert!(matches!(self.tag, BURN_ATTR_I64 | BURN_ATTR_BOOL | BURN_ATTR_DTYPE), "an attribute is not an integer");
        unsafe { self.value.i64_ }
    }
    fn list(&self) -> &[i64] {
        assert_eq!(self.tag, BURN_ATTR_I64S, "an attribute is not a list");
        unsafe { slice::from_raw_parts(self.value.i64s, self.count as usize) }
    }
    fn number_f64(&self) -> f64 {
        match self.tag {
            BURN_ATTR_F64 => unsafe { self.value.f64_ },
            _ => self.int() as f64,
        }
    }
    fn number_i64(&self) -> i64 {
        match self.tag {
            BURN_ATTR_F64 => unsafe { self.value.f64_ as i64 },
            _ => self.int(),
        }
    }
}

// -- elements ---------------------------------------------------------------------------------------------------------

/// A tensor of this backend for the length of a call, to be read.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    header: &'a BurnPrimitive,
    count: usize,
}

impl<'a> Tensor<'a> {
    pub unsafe fn new(raw: *const BurnPrimitive) -> Tensor<'a> {
        let header = unsafe { &*raw };
        let shape = unsafe { slice::from_raw_parts(header.shape, header.rank as usize) };
        Tensor { header, count: shape.iter().product::<i64>() as usize }
    }
    pub fn dtype(self) -> BurnDType {
        self.header.dtype
    }
    pub fn rank(self) -> usize {
        self.header.rank as usize
    }
    pub fn shape(self) -> &'a [i64] {
        unsafe { slice::from_raw_parts(self.header.shape, self.rank()) }
    }
    /// In elements.
    pub fn strides(self) -> &'a [i64] {
        unsafe { slice::from_raw_parts(self.header.strides, self.rank()) }
    }
    pub fn size(self, axis: usize) -> usize {
        self.shape()[axis] as usize
    }
    pub fn count(self) -> usize {
        self.count
    }
    pub fn bytes(self) -> usize {
        self.count * element_bytes(self.dtype()).unwrap_or(0)
    }
    pub fn is_float(self) -> bool {
        matches!(self.dtype(), BURN_DTYPE_F16 | BURN_DTYPE_BF16 | BURN_DTYPE_F32 | BURN_DTYPE_F64)
    }

    /// The address of element i, which is inside, whatever a kernel has computed.
    fn at<T>(self, i: usize) -> *mut T {
        assert!(i < self.count, "element {i} of {}", self.count);
        unsafe { (self.header.buffer as *mut T).add(i) }
    }

    /// Element i of integers and bools.
    pub fn int(self, i: usize) -> i64 {
        unsafe {
            match self.dtype() {
                BURN_DTYPE_I8 => *self.at::<i8>(i) as i64,
                BURN_DTYPE_I16 => *self.at::<i16>(i) as i64,
                BURN_DTYPE_I32 => *self.at::<i32>(i) as i64,
                BURN_DTYPE_I64 => *self.at::<i64>(i),
                _ => *self.at::<u8>(i) as i64,
            }
        }
    }

    /// Element i of floats.
    pub fn float(self, i: usize) -> f64 {
        unsafe {
            match self.dtype() {
                BURN_DTYPE_F16 => F16.to_f64(*self.at::<u16>(i)),
                BURN_DTYPE_BF16 => BF16.to_f64(*self.at::<u16>(i)),
                BURN_DTYPE_F32 => *self.at::<f32>(i) as f64,
                BURN_DTYPE_F64 => *self.at::<f64>(i),
                _ => self.int(i) as f64,
            }
        }
    }
}

/// A tensor that is being made. Its elements are zero until they are put.
pub struct Output<'a>(Tensor<'a>);

impl<'a> Deref for Output<'a> {
    type Target = Tensor<'a>;
    fn deref(&self) -> &Tensor<'a> {
        &self.0
    }
}

impl<'a> Output<'a> {
    pub unsafe fn new(raw: *mut BurnPrimitive) -> Output<'a> {
        Output(unsafe { Tensor::new(raw) })
    }

    /// Element i becomes the value: floats round once, integers take the low bits, bool is value != 0.
    pub fn put_int(&self, i: usize, value: i64) {
        unsafe {
            match self.dtype() {
                BURN_DTYPE_BOOL => *self.at::<u8>(i) = (value != 0) as u8,
                BURN_DTYPE_U8 => *self.at::<u8>(i) = value as u8,
                BURN_DTYPE_I8 => *self.at::<i8>(i) = value as i8,
                BURN_DTYPE_I16 => *self.at::<i16>(i) = value as i16,
                BURN_DTYPE_I32 => *self.at::<i32>(i) = value as i32,
                BURN_DTYPE_I64 => *self.at::<i64>(i) = value,
                BURN_DTYPE_F16 => *self.at::<u16>(i) = F16.from_f64(sticky_f64(value)),
                BURN_DTYPE_BF16 => *self.at::<u16>(i) = BF16.from_f64(sticky_f64(value)),
                BURN_DTYPE_F32 => *self.at::<f32>(i) = value as f32,
                _ => *self.at::<f64>(i) = value as f64,
            }
        }
    }

    /// Element i becomes the value: floats round once, integers cut toward zero and saturate, bool is value != 0.
    pub fn put_float(&self, i: usize, value: f64) {
        unsafe {
            match self.dtype() {
                BURN_DTYPE_F16 => *self.at::<u16>(i) = F16.from_f64(value),
                BURN_DTYPE_BF16 => *self.at::<u16>(i) = BF16.from_f64(value),
                BURN_DTYPE_F32 => *self.at::<f32>(i) = value as f32,
                BURN_DTYPE_F64 => *self.at::<f64>(i) = value,
                BURN_DTYPE_BOOL => *self.at::<u8>(i) = (value != 0.0) as u8, // NaN is not 0
                dtype => self.put_int(i, saturate(dtype, value as i64)),
            }
        }
    }

    /// Element i becomes the number of an attribute.
    pub fn put_number(&self, i: usize, number: &BurnAttr) {
        if self.is_float() || self.dtype() == BURN_DTYPE_BOOL {
            self.put_float(i, number.number_f64())
        } else {
            self.put_int(i, saturate(self.dtype(), number.number_i64()))
        }
    }

    /// The same bits at another place; both tensors have the same dtype.
    pub fn copy(&self, i: usize, from: Tensor, j: usize) {
        unsafe {
            match element_bytes(self.dtype()) {
                Some(1) => *self.at::<u8>(i) = *from.at::<u8>(j),
                Some(2) => *self.at::<u16>(i) = *from.at::<u16>(j),
                Some(4) => *self.at::<u32>(i) = *from.at::<u32>(j),
                _ => *self.at::<u64>(i) = *from.at::<u64>(j),
            }
        }
    }
}

/// What kernels compute in: f64 for floats, i64 for integers and bools.
pub trait Number: Copy + Default + PartialOrd {
    fn get(x: Tensor, i: usize) -> Self;
    fn put(self, out: &Output, i: usize);

    /// All elements.
    fn all(x: Tensor) -> Result<Vec<Self>> {
        let mut values = zeros(0)?;
        values.try_reserve_exact(x.count())?;
        values.extend((0..x.count()).map(|i| Self::get(x, i)));
        Ok(values)
    }
}

impl Number for f64 {
    fn get(x: Tensor, i: usize) -> f64 {
        x.float(i)
    }
    fn put(self, out: &Output, i: usize) {
        out.put_float(i, self)
    }
}

impl Number for i64 {
    fn get(x: Tensor, i: usize) -> i64 {
        x.int(i)
    }
    fn put(self, out: &Output, i: usize) {
        out.put_int(i, self)
    }
}

/// So many zeros, or OUT_OF_MEMORY.
pub fn zeros<N: Copy + Default>(count: usize) -> Result<Vec<N>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count)?;
    values.resize(count, N::default());
    Ok(values)
}

/// Values that were summed in f64 or i64 become the elements: each is rounded once.
pub fn put_all<N: Number>(out: &Output, values: &[N]) {
    for (i, value) in values.iter().enumerate() {
        value.put(out, i);
    }
}

// -- places -----------------------------------------------------------------------------------------------------------

/// By how much a place moves per axis.
pub type Steps = [i64; MAX_RANK];

/// Steps that broadcast x to a shape of this rank: its strides, but 0 along axes of size 1 and new leading axes.
pub fn broadcast(x: Tensor, rank: usize) -> Steps {
    let mut steps = [0; MAX_RANK];
    for axis in 0..x.rank() {
        steps[rank - x.rank() + axis] = if x.shape()[axis] == 1 { 0 } else { x.strides()[axis] };
    }
    steps
}

/// Walks over all elements of a shape in row-major order, with N places that start somewhere and move by steps.
pub struct Walk<'a, const N: usize> {
    shape: &'a [i64],
    steps: [Steps; N],
    places: [i64; N],
    coordinates: [i64; MAX_RANK],
    left: usize,
}

impl<'a, const N: usize> Walk<'a, N> {
    pub fn new(shape: &'a [i64], starts: [i64; N], steps: [Steps; N]) -> Walk<'a, N> {
        let left = shape.iter().product::<i64>() as usize;
        Walk { shape, steps, places: starts, coordinates: [0; MAX_RANK], left }
    }

    fn advance(&mut self) {
        for axis in (0..self.shape.len()).rev() {
            self.coordinates[axis] += 1;
            let wraps = self.coordinates[axis] == self.shape[axis];
            let moved = if wraps { 1 - self.shape[axis] } else { 1 };
            for k in 0..N {
                self.places[k] += moved * self.steps[k][axis];
            }
            if !wraps {
                return;
            }
            self.coordinates[axis] = 0;
        }
    }
}

impl<'a, const N: usize> Iterator for Walk<'a, N> {
    type Item = [usize; N];

    fn next(&mut self) -> Option<[usize; N]> {
        if self.left == 0 {
            return None;
        }
        let places = self.places.map(|place| place as usize);
        self.left -= 1;
        if self.left > 0 {
            self.advance();
        }
        Some(places)
    }
}
