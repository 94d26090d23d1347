//! What the recipes of several operators share.

pub(crate) mod bodies;
pub(crate) mod broadcast;
pub(crate) mod channels;
pub(crate) mod default_recipe;
pub(crate) mod image;
pub(crate) mod indices;
pub(crate) mod resizing;
pub(crate) mod samples;
pub(crate) mod sequences;
pub(crate) mod sizes;
