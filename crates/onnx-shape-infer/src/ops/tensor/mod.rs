//! Operators that move, join and cut tensors.

mod affine_grid;
mod center_crop_pad;
mod col2im;
mod compress;
mod concat;
mod depth_space;
mod dropout;
mod expand;
mod flatten;
mod gather;
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
mod split;
mod squeeze;
mod tensor_scatter;
mod tile;
mod top_k;
mod transpose;
mod trilu;
mod unique;
mod unsqueeze;
mod upsample;

use crate::registry::OpRules;

pub(in crate::ops) const RULES: &[OpRules] = &[
    affine_grid::RULES,
    center_crop_pad::RULES,
    col2im::RULES,
    compress::RULES,
    concat::RULES,
    depth_space::DEPTH_TO_SPACE,
    depth_space::SPACE_TO_DEPTH,
    dropout::RULES,
    expand::RULES,
    flatten::RULES,
    gather::RULES,
    gather_elements::RULES,
    gather_nd::RULES,
    grid_sample::RULES,
    identity::RULES,
    non_zero::RULES,
    one_hot::RULES,
    pad::RULES,
    reshape::RULES,
    resize::RULES,
    reverse_sequence::RULES,
    scatter::ELEMENTS,
    scatter::SCATTER,
    scatter_nd::RULES,
    shape::RULES,
    size::RULES,
    slice::RULES,
    split::RULES,
    squeeze::RULES,
    tensor_scatter::RULES,
    tile::RULES,
    top_k::RULES,
    transpose::RULES,
    trilu::RULES,
    unique::RULES,
    unsqueeze::RULES,
    upsample::RULES,
];
