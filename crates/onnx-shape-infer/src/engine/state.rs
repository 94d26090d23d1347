//! What a run knows, apart from where it stands.

use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use onnx_diag::Rule;
use onnx_ir::{GraphId, Model, NodeId, ValueId};
use onnx_types::expr::{ExprTable, SymbolBounds};
use onnx_types::{Dim, Interner, Symbol};
use slotmap::SecondaryMap;

use crate::facts::Facts;
use crate::options::Options;
use crate::table::Table;

/// A contradiction, before its place is looked up.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) rule: &'static Rule,
    pub(crate) node: Option<NodeId>,
    pub(crate) value: Option<ValueId>,
    pub(crate) message: String,
}

/// More contradictions than this are counted as one: nobody reads them, and each costs memory.
const MAX_FAILURES: usize = 10_000;

/// The symbols that were made for sizes which nothing is known about, by the place of the size.
///
/// A place has one symbol however often it is visited, so that visiting it again gives the same result; but a place in a
/// nested graph or a function has one for each visit of the graph, as what was concluded in one visit need not hold in the
/// next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fresh {
    places: HashMap<(ValueId, u32, u32), Symbol, RandomState>,
    origins: HashMap<Symbol, (ValueId, u32), RandomState>,
    visits: SecondaryMap<GraphId, u32>,
}

impl Fresh {
    pub(crate) fn origin(&self, symbol: Symbol) -> Option<(ValueId, u32)> {
        self.origins.get(&symbol).copied()
    }
}

pub(crate) struct State<'m> {
    pub(crate) model: &'m Model,
    pub(crate) options: &'m Options<'m>,
    pub(crate) names: Interner,
    pub(crate) exprs: ExprTable,
    pub(crate) table: Table,
    pub(crate) facts: Facts,
    pub(crate) fresh: Fresh,
    pub(crate) failures: Vec<Failure>,
    /// What was found before an edit.
    pub(crate) earlier: Option<(Facts, Vec<Failure>)>,
    /// The formal inputs of functions that the current call leaves out.
    absent: SecondaryMap<ValueId, ()>,
}

impl<'m> State<'m> {
    pub(crate) fn new(model: &'m Model, options: &'m Options<'m>, names: Interner, exprs: ExprTable) -> Self {
        Self {
            model,
            options,
            names,
            exprs,
            table: Table::default(),
            facts: Facts::default(),
            fresh: Fresh::default(),
            failures: Vec::new(),
            earlier: None,
            absent: SecondaryMap::new(),
        }
    }

    pub(crate) fn fail(&mut self, rule: &'static Rule, node: NodeId, message: impl fmt::Display) {
        self.failure(rule, Some(node), None, message);
    }

    pub(crate) fn failure(
        &mut self,
        rule: &'static Rule,
        node: Option<NodeId>,
        value: Option<ValueId>,
        message: impl fmt::Display,
    ) {
        if self.failures.len() < MAX_FAILURES {
            self.failures.push(Failure { rule, node, value, message: message.to_string() });
        }
    }

    pub(crate) fn is_absent(&self, value: ValueId) -> bool {
        self.absent.contains_key(value)
    }

    pub(crate) fn set_absent(&mut self, value: ValueId, is_absent: bool) {
        if is_absent {
            self.absent.insert(value, ());
        } else {
            self.absent.remove(value);
        }
    }

    /// The symbol for the unknown size at a place.
    pub(crate) fn fresh(&mut self, value: ValueId, axis: u32) -> Symbol {
        let visit = self.fresh.visits.get(self.model.graph_of(value)).copied().unwrap_or(0);
        let (names, origins) = (&mut self.names, &mut self.fresh.origins);
        *self.fresh.places.entry((value, axis, visit)).or_insert_with(|| {
            let symbol = names.fresh("unk_");
            origins.insert(symbol, (value, axis));
            symbol
        })
    }

    /// Notes that a visit of a graph has ended: the next one gets symbols of its own.
    pub(crate) fn end_visit(&mut self, graph: GraphId) {
        if let Some(entry) = self.fresh.visits.entry(graph) {
            let visits = entry.or_insert(0);
            *visits = visits.wrapping_add(1);
        }
    }

    /// Whether a symbol was made by this run.
    pub(crate) fn is_fresh(&self, symbol: Symbol) -> bool {
        self.fresh.origins.contains_key(&symbol)
    }

    /// The place that a symbol was made for.
    pub(crate) fn origin(&self, symbol: Symbol) -> Option<(ValueId, u32)> {
        self.fresh.origin(symbol)
    }

    /// Gives every unknown size a symbol.
    pub(crate) fn materialize(&mut self, value: ValueId, dims: &mut [Dim]) {
        for (axis, dim) in dims.iter_mut().enumerate() {
            if dim.is_unknown() {
                *dim = Dim::Var(self.fresh(value, u32::try_from(axis).unwrap_or(u32::MAX)));
            }
        }
    }

    /// Replaces the symbols that were made inside a graph by symbols of `owner`, a value outside of it: what a run of the
    /// graph does not determine may be another number in the next run. `round` tells the runs of one node apart.
    pub(crate) fn export(
        &mut self,
        dims: &mut [Dim],
        inside: GraphId,
        owner: ValueId,
        round: u32,
        map: &mut Vec<(Symbol, Symbol)>,
    ) {
        for dim in dims {
            let local: Vec<Symbol> = match *dim {
                Dim::Known(_) | Dim::Unknown => continue,
                Dim::Var(symbol) => vec![symbol],
                Dim::Expr(_) => self.exprs.symbols(*dim),
            };
            let mut is_local = false;
            for symbol in local {
                let Some((value, _)) = self.origin(symbol) else { continue };
                if !self.model.is_inside(self.model.graph_of(value), inside) {
                    continue;
                }
                is_local = true;
                if !map.iter().any(|&(from, _)| from == symbol) {
                    let number = u32::try_from(map.len()).unwrap_or(u32::MAX >> 17);
                    let outer =
                        self.fresh(owner, 0x1_0000_u32.wrapping_add(round << 10).wrapping_add(number));
                    let bounds = SymbolBounds::bounds(&self.facts, symbol);
                    self.facts.bound(outer, bounds.lo, bounds.hi);
                    map.push((symbol, outer));
                }
            }
            if is_local {
                let binding =
                    |symbol| map.iter().find(|&&(from, _)| from == symbol).map(|&(_, to)| Dim::Var(to));
                *dim = self.exprs.substitute(*dim, &binding);
            }
        }
    }
}
