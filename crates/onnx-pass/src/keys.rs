//! Sets and maps for edits that concern few nodes and values: their cost is proportional to the number of entries,
//! whereas that of a table indexed by key is proportional to the size of the model.

use foldhash::fast::RandomState;
use slotmap::SparseSecondaryMap;

/// Entries for a few keys. It is never iterated where the order counts.
pub(crate) type KeyMap<K, V> = SparseSecondaryMap<K, V, RandomState>;

/// A few keys.
pub(crate) type KeySet<K> = KeyMap<K, ()>;
