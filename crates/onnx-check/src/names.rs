//! Resolution of names to definitions while graphs are traversed.

use onnx_ir::ValueId;
use onnx_types::Symbol;

/// The current definition of each name: the first one in the open graphs.
///
/// Symbols are small integers, so the names of all open graphs share one table. Names bound in a nested graph are
/// logged and removed when the graph ends; a number distinguishes those of an outermost graph from those of the next
/// one.
#[derive(Default)]
pub(crate) struct Names {
    table: Vec<Option<(ValueId, u32)>>,
    log: Vec<(Symbol, Option<(ValueId, u32)>)>,
    root: u32,
    depth: usize,
}

impl Names {
    /// A table for a model with this many symbols.
    pub(crate) fn new(symbols: usize) -> Self {
        Self { table: vec![None; symbols], ..Self::default() }
    }

    /// Enters a graph. In an outermost one nothing is bound.
    pub(crate) fn enter(&mut self) -> Mark {
        if self.depth == 0 {
            // There are fewer than 2^32 graphs, as each takes memory.
            self.root = self.root.wrapping_add(1);
        }
        self.depth = self.depth.saturating_add(1);
        Mark(self.log.len())
    }

    /// Leaves a graph and forgets what was bound in it.
    pub(crate) fn leave(&mut self, mark: Mark) {
        while self.log.len() > mark.0 {
            if let Some((name, old)) = self.log.pop()
                && let Some(slot) = self.table.get_mut(name.index() as usize)
            {
                *slot = old;
            }
        }
        self.depth = self.depth.saturating_sub(1);
    }

    /// Binds a name and returns what it meant before; the first binding stays.
    #[inline]
    pub(crate) fn bind(&mut self, name: Symbol, value: ValueId) -> Option<ValueId> {
        let slot = self.table.get_mut(name.index() as usize)?;
        match *slot {
            _ if name.is_empty() => None,
            Some((first, root)) if root == self.root => Some(first),
            old => {
                if self.depth > 1 {
                    self.log.push((name, old));
                }
                *slot = Some((value, self.root));
                None
            }
        }
    }
}

/// What to return to when a graph ends.
#[derive(Clone, Copy)]
pub(crate) struct Mark(usize);

#[cfg(test)]
mod tests {
    use onnx_ir::Model;

    use super::*;

    #[test]
    fn names_are_forgotten_with_their_graph() {
        let mut model = Model::new();
        let (x, y) = (model.intern("x"), model.intern("y"));
        let [a, b, c] = [x, x, y].map(|name| model.new_value(name));
        let mut names = Names::new(model.names().len());

        let outer = names.enter();
        assert_eq!(names.bind(x, a), None);
        let inner = names.enter();
        assert_eq!(names.bind(x, b), Some(a));
        assert_eq!(names.bind(y, c), None);
        names.leave(inner);
        let inner = names.enter();
        assert_eq!(names.bind(y, c), None);
        names.leave(inner);
        names.leave(outer);

        names.enter();
        assert_eq!(names.bind(x, b), None);
        assert_eq!(names.bind(Symbol::EMPTY, a), None);
        assert_eq!(names.bind(Symbol::EMPTY, b), None);
    }
}
