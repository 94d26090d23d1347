//! Tests of dimension expressions.

mod canonical;
mod dialects;
mod limits;
mod random;

use super::{Dim, ExprTable};
use crate::symbol::{Interner, Symbol};

/// A table with its names, and the few operations that tests write often.
struct World {
    table: ExprTable,
    names: Interner,
}

impl World {
    fn new() -> Self {
        Self { table: ExprTable::new(), names: Interner::new() }
    }

    /// Reads a text that must be an expression.
    #[track_caller]
    fn dim(&mut self, text: &str) -> Dim {
        match self.table.try_parse(&mut self.names, text) {
            Ok(dim) => dim,
            Err(error) => panic!("`{text}`: {error}"),
        }
    }

    fn text(&self, dim: Dim) -> String {
        self.table.display(dim, &self.names).to_string()
    }

    fn symbol(&mut self, name: &str) -> Symbol {
        self.names.intern(name)
    }

    /// All texts mean the same dimension, which is printed as the first one.
    #[track_caller]
    fn check(&mut self, texts: &[&str]) {
        let mut first = None;
        for text in texts {
            let dim = self.dim(text);
            let first = *first.get_or_insert(dim);
            assert_eq!(dim, first, "`{text}` is {}, not {}", self.text(dim), self.text(first));
            if Some(text) == texts.first() {
                assert_eq!(self.text(dim), *text);
            }
        }
    }
}
