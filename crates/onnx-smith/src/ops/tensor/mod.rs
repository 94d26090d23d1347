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
mod one_hot;
mod pad;
mod reshape;
mod resize;
mod reverse_sequence;
mod scatter;
mod scatter_nd;
mod slice;
mod split;
mod squeeze;
mod tensor_scatter;
mod tile;
mod top_k;
mod transpose;
mod trilu;
mod unsqueeze;
mod upsample;

use crate::ops::Row;

pub(super) const RECIPES: &[&[Row]] = &[
    affine_grid::RECIPES,
    center_crop_pad::RECIPES,
    col2im::RECIPES,
    compress::RECIPES,
    concat::RECIPES,
    depth_space::RECIPES,
    dropout::RECIPES,
    expand::RECIPES,
    flatten::RECIPES,
    gather::RECIPES,
    gather_elements::RECIPES,
    gather_nd::RECIPES,
    grid_sample::RECIPES,
    one_hot::RECIPES,
    pad::RECIPES,
    reshape::RECIPES,
    resize::RECIPES,
    reverse_sequence::RECIPES,
    scatter::RECIPES,
    scatter_nd::RECIPES,
    slice::RECIPES,
    split::RECIPES,
    squeeze::RECIPES,
    tensor_scatter::RECIPES,
    tile::RECIPES,
    top_k::RECIPES,
    transpose::RECIPES,
    trilu::RECIPES,
    unsqueeze::RECIPES,
    upsample::RECIPES,
];
