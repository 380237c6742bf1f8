//! kernels.rs - which op has which kernel: a table by op number, filled from the families.
use crate::boundary::Result;
use crate::burn::BURN_OP_LIMIT;
use crate::call::Call;
use crate::{conv, create, elementwise, index, linalg, lines, moves, pool};

pub type Kernel = fn(&Call) -> Result;

pub const OP_COUNT: usize = BURN_OP_LIMIT as usize;

/// Each says by `kernel(op)` whether the op is one of its own. A new file of kernels joins here.
const FAMILIES: [fn(u32) -> Option<Kernel>; 8] = [
    create::kernel,
    elementwise::kernel,
    lines::kernel,
    linalg::kernel,
    moves::kernel,
    index::kernel,
    conv::kernel,
    pool::kernel,
];

/// The kernel of each op; None: the host decomposes it.
pub fn table() -> [Option<Kernel>; OP_COUNT] {
    let mut table = [None; OP_COUNT];
    for (op, kernel) in table.iter_mut().enumerate() {
        *kernel = FAMILIES.iter().find_map(|family| family(op as u32));
    }
    table
}
