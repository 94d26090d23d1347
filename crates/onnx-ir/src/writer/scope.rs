//! The current binding of each name while graphs are read.
//!
//! Names are symbols, small integers, so one table indexed by symbol contains the bindings of all open graphs. Entering
//! a nested graph starts a log; leaving it undoes the logged changes.

use onnx_types::Symbol;

use crate::entity::ValueId;

/// The current meaning of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    pub(super) value: ValueId,
    /// The serial number of the graph that the name was bound in.
    pub(super) graph: u32,
}

#[derive(Default, Debug)]
pub(super) struct Scope {
    /// By symbol, 1 more than the position in `bindings`, or 0. Most names of a model name nodes and bind nothing, so this
    /// table is kept narrow.
    table: Vec<u32>,
    bindings: Vec<Binding>,
    /// The state to restore when the innermost graph ends.
    log: Vec<(Symbol, u32)>,
    /// Bindings of graphs with smaller numbers are those of other functions: they are not visible.
    root: u32,
    current: u32,
    /// Whether another graph is open around the current one.
    is_inner: bool,
    next: u32,
    /// Values that are used and not defined so far, of all open graphs.
    unresolved: Vec<(Symbol, ValueId)>,
}

/// The state to restore when a graph ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
    log: usize,
    unresolved: usize,
    root: u32,
    current: u32,
    is_inner: bool,
}

impl Scope {
    /// A scope with capacity for `names` names.
    pub(super) fn with_capacity(names: usize) -> Self {
        Self { table: vec![0; names], ..Self::default() }
    }

    /// Reserves capacity for `names` names in total, and for `bindings` additional bindings.
    pub(super) fn reserve(&mut self, names: usize, bindings: usize) {
        self.bindings.reserve(bindings);
        if names > self.table.len() {
            self.table.resize(names, 0);
        }
    }

    /// Enters a graph; in an isolated one, such as a function's body, no outer name is visible.
    pub(super) fn enter(&mut self, isolated: bool) -> Outer {
        let outer = Outer {
            log: self.log.len(),
            unresolved: self.unresolved.len(),
            root: self.root,
            current: self.current,
            is_inner: self.is_inner,
        };
        // Numbers start at 1, so that an entry that was never bound is of no graph. There are fewer than 2^32 graphs, as
        // each takes two bytes at least and is held in memory.
        self.next += 1;
        self.is_inner = self.current != 0;
        self.current = self.next;
        if isolated {
            self.root = self.current;
        }
        outer
    }

    /// Forgets, of the values that the innermost graph used before anything defined them, those that it defined after all:
    /// they are its own, and no graph around it sees them.
    pub(super) fn settle(&mut self, outer: Outer, is_unresolved: impl Fn(ValueId) -> bool) {
        if self.unresolved.len() > outer.unresolved {
            let own = self.unresolved.split_off(outer.unresolved);
            self.unresolved.extend(own.into_iter().filter(|&(_, value)| is_unresolved(value)));
        }
    }

    /// Leaves a graph. Names that it used without a definition become uses of the enclosing graph; without an enclosing
    /// graph, they stay unresolved.
    pub(super) fn leave(&mut self, outer: Outer, mut moved: impl FnMut(ValueId)) {
        let isolated = self.root == self.current;
        while self.log.len() > outer.log {
            if let Some((name, number)) = self.log.pop()
                && let Some(entry) = self.table.get_mut(name.index() as usize)
            {
                *entry = number;
            }
        }
        self.root = outer.root;
        self.current = outer.current;
        self.is_inner = outer.is_inner;
        if isolated {
            self.unresolved.truncate(outer.unresolved);
            return;
        }
        for position in outer.unresolved..self.unresolved.len() {
            if let Some(&(name, value)) = self.unresolved.get(position) {
                // The name is not bound outside: a lookup would have found it there.
                self.bind(name, value);
                moved(value);
            }
        }
    }

    /// The graph that is open innermost.
    pub(super) fn current(&self) -> u32 {
        self.current
    }

    /// The binding of a name, if any open graph binds it.
    #[inline]
    pub(super) fn get(&self, name: Symbol) -> Option<Binding> {
        let number = *self.table.get(name.index() as usize)?;
        let binding = *self.bindings.get((number as usize).checked_sub(1)?)?;
        (binding.graph >= self.root).then_some(binding)
    }

    /// Binds a name in the innermost graph.
    #[inline]
    pub(super) fn bind(&mut self, name: Symbol, value: ValueId) {
        let index = name.index() as usize;
        if index >= self.table.len() {
            self.table.resize(index + 1 + index / 2, 0);
        }
        self.bindings.push(Binding { value, graph: self.current });
        // There are fewer bindings than values and uses of them, which are in memory.
        let number = self.bindings.len() as u32;
        if let Some(entry) = self.table.get_mut(index) {
            let old = std::mem::replace(entry, number);
            // The outermost graph's bindings are not read after it ends.
            if self.is_inner {
                self.log.push((name, old));
            }
        }
    }

    /// Records a value that is used and not defined so far.
    pub(super) fn note_unresolved(&mut self, name: Symbol, value: ValueId) {
        self.unresolved.push((name, value));
    }
}
