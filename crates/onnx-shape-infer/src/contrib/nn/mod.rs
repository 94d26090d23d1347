//! Convolutions, pools and normalizations.
//!
//! Several operators have the channels on the last axis, always or by an attribute; their kernels and weights keep the order
//! of the standard operators. [`Axes`] converts between both orders.

pub(super) mod convolution;
pub(super) mod normalization;
pub(super) mod pool;

use crate::cx::{Cx, Outcome, Stop};
use crate::ty::Dims;

/// Where the channels are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Axes {
    /// `[N, C, spatial…]`
    ChannelsFirst,
    /// `[N, spatial…, C]`
    ChannelsLast,
}

impl Axes {
    /// What attribute `channels_last` says.
    pub(super) fn of_attribute(cx: &mut Cx<'_, '_>) -> Outcome<Self> {
        Ok(if cx.flag("channels_last")? { Self::ChannelsLast } else { Self::ChannelsFirst })
    }

    /// A shape in this order as `[N, C, spatial…]`.
    ///
    /// # Errors
    ///
    /// [`Stop::Unknown`] if it has fewer than three axes.
    pub(super) fn read(self, mut dims: Dims) -> Outcome<Dims> {
        if dims.len() < 3 {
            return Err(Stop::Unknown);
        }
        if self == Self::ChannelsLast
            && let Some(behind) = dims.get_mut(1..)
        {
            behind.rotate_right(1);
        }
        Ok(dims)
    }

    /// A shape `[N, C, spatial…]` in this order.
    pub(super) fn write(self, mut dims: Dims) -> Dims {
        if self == Self::ChannelsLast
            && let Some(behind) = dims.get_mut(1..)
            && !behind.is_empty()
        {
            behind.rotate_left(1);
        }
        dims
    }
}
