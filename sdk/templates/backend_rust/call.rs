//! call.rs - one op that is being run: its inputs, its attributes by name, the outputs that are made for it.
use crate::boundary::{Host, Result};
use crate::burn::*;
use crate::tensor::{Memory, Output, Tensor};
use std::cell::Cell;
use std::mem::size_of;
use std::ptr;
use std::slice;

const MAX_OUTPUTS: usize = BURN_MAX_OUTPUTS as usize;

/// Structs that have the layout of the attributes of a call: members of type BurnAttr only.
pub unsafe trait Attrs {}

macro_rules! attrs {
    ($($name:ident),* $(,)?) => { $(unsafe impl Attrs for $name {})* };
}
attrs! {
    BurnAttrs_random_uniform, BurnAttrs_random_normal, BurnAttrs_random_bernoulli, BurnAttrs_argsort, BurnAttrs_slice,
    BurnAttrs_conv2d, BurnAttrs_conv2d_weight_backward, BurnAttrs_conv_transpose2d, BurnAttrs_max_pool2d_with_indices,
    BurnAttrs_avg_pool2d, BurnAttrs_avg_pool2d_backward,
}

/// Shapes, dtypes and attributes have been checked by the host. Outputs exist from the start, every element 0; a kernel
/// that fails leaves them to be dropped.
pub struct Call<'a> {
    pub host: Host,
    memory: &'a Memory,
    raw: &'a BurnOpCall,
    outputs: [Cell<*mut BurnPrimitive>; MAX_OUTPUTS],
}

impl<'a> Call<'a> {
    pub unsafe fn new(host: Host, memory: &'a Memory, raw: &'a BurnOpCall) -> Result<Call<'a>> {
        let call = Call { host, memory, raw, outputs: [(); MAX_OUTPUTS].map(|_| Cell::new(ptr::null_mut())) };
        for i in 0..raw.output_count as usize {
            call.outputs[i].set(memory.new_tensor(unsafe { &*raw.output_descs.add(i) })?);
        }
        Ok(call)
    }

    pub fn op(&self) -> u32 {
        self.raw.op
    }

    pub fn input_count(&self) -> usize {
        self.raw.input_count as usize
    }

    /// An input that is optional.
    pub fn optional(&self, i: usize) -> Option<Tensor<'a>> {
        if i >= self.input_count() {
            return None;
        }
        let x = unsafe { *self.raw.inputs.add(i) };
        if x.is_null() { None } else { Some(unsafe { Tensor::new(x) }) }
    }

    pub fn input(&self, i: usize) -> Tensor<'a> {
        self.optional(i).expect("an input that is not optional")
    }

    pub fn output(&self, i: usize) -> Output<'_> {
        assert!(i < self.raw.output_count as usize);
        unsafe { Output::new(self.outputs[i].get()) }
    }

    pub fn attr(&self, i: usize) -> &'a BurnAttr {
        let attrs = unsafe { slice::from_raw_parts(self.raw.attrs, self.raw.attr_count as usize) };
        &attrs[i]
    }

    /// The attributes by name: `call.attrs::<BurnAttrs_conv2d>().stride`.
    pub fn attrs<T: Attrs>(&self) -> &'a T {
        assert!(self.raw.attr_count as usize * size_of::<BurnAttr>() >= size_of::<T>());
        unsafe { &*(self.raw.attrs as *const T) }
    }

    /// The op has succeeded: its outputs, one reference each, go to the caller.
    pub fn give_out(self) {
        for i in 0..self.raw.output_count as usize {
            unsafe { *self.raw.outputs.add(i) = self.outputs[i].replace(ptr::null_mut()) };
        }
    }
}

/// What has not been given out is released, after a failure and after a panic.
impl Drop for Call<'_> {
    fn drop(&mut self) {
        for output in &self.outputs {
            unsafe { self.memory.release(output.get()) };
        }
    }
}
