//! Sets and maps of nodes and values of which an edit concerns a few: their cost does not depend on the size of the model, as
//! that of a table with a place for each key does.

use foldhash::fast::RandomState;
use slotmap::SparseSecondaryMap;

/// Entries for a few keys. It is never iterated where the order counts.
pub(crate) type KeyMap<K, V> = SparseSecondaryMap<K, V, RandomState>;

/// A few keys.
pub(crate) type KeySet<K> = KeyMap<K, ()>;
