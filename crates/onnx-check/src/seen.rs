//! Detection of repeated names in lists.

use onnx_types::Symbol;

/// Finds names that occur twice in a list. All lists share one table, indexed by symbol, so the cost of a list is
/// proportional to its length.
#[derive(Default)]
pub(crate) struct Seen {
    /// By symbol: the number of the list that had the name last, and the position there.
    table: Vec<(u32, u32)>,
    list: u32,
}

impl Seen {
    /// Begins another list, in which no name has occurred yet.
    pub(crate) fn begin(&mut self) {
        // A run makes a few lists for each graph, of which there are far fewer than 2^32, as each takes memory.
        self.list = self.list.wrapping_add(1);
    }

    /// Records a name at a position of the current list. Returns the position of its first occurrence, if there is one.
    #[inline]
    pub(crate) fn earlier(&mut self, name: Symbol, position: u32) -> Option<u32> {
        let index = name.index() as usize;
        if index >= self.table.len() {
            self.table.resize(index.saturating_add(1).next_power_of_two(), (0, 0));
        }
        let slot = self.table.get_mut(index)?;
        if slot.0 == self.list {
            return Some(slot.1);
        }
        *slot = (self.list, position);
        None
    }

    /// Returns `true` if a name has been recorded in the current list. Does not record it.
    #[inline]
    pub(crate) fn has(&self, name: Symbol) -> bool {
        self.table.get(name.index() as usize).is_some_and(|slot| slot.0 == self.list)
    }

    /// Records a name. Returns `true` if it is new in the current list.
    #[inline]
    pub(crate) fn is_new(&mut self, name: Symbol) -> bool {
        self.earlier(name, 0).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_begins_with_nothing() {
        let (x, y) = (Symbol::from_index(3), Symbol::from_index(900));
        let mut seen = Seen::default();
        for _ in 0..2 {
            seen.begin();
            assert_eq!(seen.earlier(x, 5), None);
            assert_eq!(seen.earlier(x, 6), Some(5));
            assert_eq!(seen.earlier(x, 7), Some(5));
            assert!(seen.has(x) && !seen.has(y));
            assert!(seen.is_new(y));
            assert!(!seen.is_new(y));
        }
    }
}
