//! The keys of the arenas.

use std::fmt;

use slotmap::{Key, new_key_type};

new_key_type! {
    /// The key of a [`Node`](crate::Node); printed `n12`.
    pub struct NodeId;
    /// The key of a [`Value`](crate::Value); printed `v3`.
    pub struct ValueId;
    /// The key of a [`Graph`](crate::Graph); printed `g0`.
    pub struct GraphId;
    /// The key of a [`Function`](crate::Function); printed `f1`.
    pub struct FunctionId;
}

macro_rules! display_as {
    ($($key:ident $prefix:literal),*) => {$(
        impl fmt::Display for $key {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // The lower half of a slotmap key is the slot; slots count from 1.
                let slot = self.data().as_ffi() & u64::from(u32::MAX);
                write!(f, concat!($prefix, "{}"), slot.saturating_sub(1))
            }
        }
    )*};
}

display_as!(NodeId "n", ValueId "v", GraphId "g", FunctionId "f");
