//! Operators that move, join and cut tensors.

mod affine_grid;
mod center_crop_pad;
mod col2im;
mod compress;
pub(super) mod concat;
mod depth_space;
mod dropout;
mod expand;
mod flatten;
pub(crate) mod gather;
mod gather_elements;
mod gather_nd;
mod grid_sample;
mod identity;
mod non_zero;
mod one_hot;
mod pad;
mod reshape;
mod resize;
mod reverse_sequence;
mod scatter;
mod scatter_nd;
mod shape;
mod size;
mod slice;
pub(super) mod split;
mod squeeze;
mod tensor_scatter;
mod tile;
pub(super) mod top_k;
mod transpose;
mod trilu;
mod unique;
mod unsqueeze;
mod upsample;

use crate::registry::OpKernels;

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    affine_grid::KERNELS,
    center_crop_pad::KERNELS,
    col2im::KERNELS,
    compress::KERNELS,
    concat::KERNELS,
    depth_space::DEPTH_TO_SPACE,
    depth_space::SPACE_TO_DEPTH,
    dropout::KERNELS,
    expand::KERNELS,
    flatten::KERNELS,
    gather::KERNELS,
    gather_elements::KERNELS,
    gather_nd::KERNELS,
    grid_sample::KERNELS,
    identity::KERNELS,
    non_zero::KERNELS,
    one_hot::KERNELS,
    pad::KERNELS,
    reshape::KERNELS,
    resize::KERNELS,
    reverse_sequence::KERNELS,
    scatter::ELEMENTS,
    scatter::SCATTER,
    scatter_nd::KERNELS,
    shape::KERNELS,
    size::KERNELS,
    slice::KERNELS,
    split::KERNELS,
    squeeze::KERNELS,
    tensor_scatter::KERNELS,
    tile::KERNELS,
    top_k::KERNELS,
    transpose::KERNELS,
    trilu::KERNELS,
    unique::KERNELS,
    unsqueeze::KERNELS,
    upsample::KERNELS,
];
