//! Layered layout: boxes in ranks from top to bottom, with edges that only point down.
//!
//! The steps are those of Sugiyama's method: [`rank`] gives every box a rank below all boxes that it depends on,
//! [`layers`] adds a vertex for each rank that an edge passes, [`order`] orders each rank for few crossings, [`place`]
//! chooses coordinates after Brandes and Köpf, and [`route`] connects the boxes. All steps are deterministic and take time
//! linear in the graph up to a logarithm.

mod layers;
mod order;
mod place;
mod rank;
mod route;
#[cfg(test)]
mod tests;

use layers::Layers;

/// Space between boxes of one rank.
pub(crate) const GAP: f64 = 18.0;

/// Width and height.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Size {
    /// The width in pixels.
    pub width: f64,
    /// The height in pixels.
    pub height: f64,
}

/// The rank that a box must have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// Any rank.
    #[default]
    Free,
    /// The first rank.
    First,
    /// The last rank.
    Last,
}

/// A box that is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Block {
    /// Its size.
    pub size: Size,
    /// Its rank, if that is given.
    pub pin: Pin,
    /// `true` if edges arrive in the order of [`Link::slot`], `false` if they arrive in the order of their origins.
    pub is_ordered: bool,
    /// Distance of the places where edges begin, if it is more than the default.
    pub start_gap: f64,
}

/// An edge that is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// Index of the box where it begins.
    pub from: usize,
    /// Index of the box where it ends.
    pub to: usize,
    /// The place among the edges that arrive at an ordered box.
    pub slot: u32,
    /// Edges of one box with the same trunk share their way until they part.
    pub trunk: u32,
    /// The place where it begins, from the left side of its box; `None` if any.
    pub from_x: Option<f64>,
    /// The place where it ends, from the left side of its box; `None` if any.
    pub to_x: Option<f64>,
}

/// The vertical extent of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Band {
    /// The upper side of all boxes of the rank.
    pub top: f64,
    /// The lower side of the highest box of the rank.
    pub bottom: f64,
}

/// The place of a box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spot {
    /// The left side.
    pub x: f64,
    /// The upper side.
    pub y: f64,
    /// Index of the rank.
    pub rank: usize,
}

/// The way of an edge. Between two ranks it is a curve; it passes a rank vertically.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    /// The place at the lower side of the box where it begins.
    pub start: f64,
    /// The place at the upper side of the box where it ends.
    pub end: f64,
    /// The ranks that it passes, with the places.
    pub via: Vec<(usize, f64)>,
    /// `true` if only the two ends are drawn: the way is so long that it would not help.
    pub is_cut: bool,
    /// `true` if the edge points up, which happens in cycles only.
    pub is_back: bool,
}

/// A layout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoxLayout {
    /// The size of everything.
    pub size: Size,
    /// The ranks from top to bottom.
    pub bands: Vec<Band>,
    /// The places of the boxes.
    pub spots: Vec<Spot>,
    /// The ways of the edges.
    pub routes: Vec<Route>,
}

/// Lays out a graph. Edges with an end that is not a box, and edges from a box to itself, get an empty route that is cut.
///
/// ```
/// use onnx_draw::{Block, Link, Size, layout};
///
/// let block = Block { size: Size { width: 80.0, height: 30.0 }, ..Block::default() };
/// let link = |from, to| Link { from, to, ..Link::default() };
/// let placed = layout(&[block; 3], &[link(0, 1), link(1, 2), link(0, 2)]);
/// assert!(placed.spots[0].y < placed.spots[1].y && placed.spots[1].y < placed.spots[2].y);
/// // The third edge passes the second rank.
/// assert_eq!(placed.routes[2].via.len(), 1);
/// ```
#[must_use]
pub fn layout(blocks: &[Block], links: &[Link]) -> BoxLayout {
    let valid = |link: &Link| link.from < blocks.len() && link.to < blocks.len() && link.from != link.to;
    let ranking = rank::ranks(blocks, links, &valid);
    let mut layers = Layers::new(blocks, links, &ranking, &valid);
    order::reduce_crossings(&mut layers);
    let centers = place::centers(&layers);
    route::finish(blocks, links, &ranking, &layers, &centers)
}
