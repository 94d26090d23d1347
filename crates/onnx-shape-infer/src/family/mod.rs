//! What many operators have in common.

pub(crate) mod arithmetic;
pub(crate) mod broadcast;
pub(crate) mod comparison;
pub(crate) mod element;
pub(crate) mod element_type;
pub(crate) mod elementwise;
pub(crate) mod join;
pub(crate) mod layout;
pub(crate) mod window;
