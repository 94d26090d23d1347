//! Operators with graphs.

mod collected;
mod conditional;
mod loops;
mod scan;
mod scan_batches;
mod sequence_map;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] =
    &[conditional::KERNELS, loops::KERNELS, scan::KERNELS, sequence_map::KERNELS];
