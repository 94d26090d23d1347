//! Reading with two threads: one looks at nodes ahead and looks up their names, the other builds the graph.
//!
//! Both need the table of names. It goes from one to the other with each group of nodes that was looked at, and the builder
//! returns it at once: the next group is looked at while this one is built. In the meantime the builder has a stand-in, a
//! table of the names that ONNX knows and of those that it met on its way. A name that is not in it is rare, as the other
//! thread looks up those of nodes. Then the builder waits for the next group, with which the table comes, and keeps the
//! table for the rest of this one. So which symbol a name gets depends on the file alone, not on which thread is faster.

use onnx_ir::Scout;
use onnx_proto::wire::Input;
use onnx_types::{Interner, NameHash, Symbol};

use super::ahead::{Ahead, Search};
use super::node::Run;
use super::usual::Usual;
use super::{Cx, Result};

/// How many groups of nodes are handed over at once, at first and at most: at first so few that little is waited for, then
/// so many that handing them over is nothing beside the work.
const GROUPS: std::ops::RangeInclusive<usize> = 4..=128;

/// Nodes that were looked at, and the table of names.
#[derive(Default)]
struct Batch<'a> {
    ahead: Ahead<'a>,
    names: Interner,
    is_last: bool,
}

/// What the builder has while another thread looks ahead.
pub(super) struct Lent<'a> {
    scout: Scout<Batch<'a>>,
    /// The batch that came early, because the builder needed the table.
    early: Option<Batch<'a>>,
    /// How many batches were built, and how often the next one came early.
    batches: usize,
    stops: usize,
    /// The stand-in while the builder has the table.
    stand_in: Option<Interner>,
    /// How many names the stand-in began with. They have the same symbols in every table.
    known: usize,
    /// The symbols of the names that were added to the stand-in.
    added: Vec<Symbol>,
}

impl<'a> Lent<'a> {
    /// Starts the thread, unless the system gives none, and lends it the table; in its place comes the stand-in.
    fn start<'scope>(
        scope: &'scope std::thread::Scope<'scope, '_>,
        mut search: Search<'a>,
        names: &mut Interner,
    ) -> Option<Self>
    where
        'a: 'scope,
    {
        let mut groups = *GROUPS.start();
        let mut usual = Usual::default();
        let find = move |batch: &mut Batch<'a>| {
            batch.ahead.clear();
            let Batch { ahead, names, .. } = &mut *batch;
            let found = (0..groups).take_while(|_| search.next(ahead, names, &mut usual)).count();
            batch.is_last = found < groups;
            groups = groups.saturating_mul(2).min(*GROUPS.end());
            !batch.is_last
        };
        let scout = Scout::start(scope, find)?;
        let hasher = names.hasher();
        scout.give(Batch { names: std::mem::take(names), ..Batch::default() });
        // Made while the first batch is looked at.
        *names = onnx_schema::interner_with_hasher(hasher);
        let known = names.len();
        Some(Self { scout, early: None, batches: 0, stops: 0, stand_in: None, known, added: Vec::new() })
    }

    /// The next batch, with which the table comes.
    fn next(&mut self, names: &mut Interner) -> Option<Batch<'a>> {
        self.stops = self.stops.saturating_add(usize::from(self.early.is_some()));
        self.batches = self.batches.saturating_add(1);
        self.fetch(names);
        self.early.take()
    }

    /// Whether the two threads are in each other's way: where many nodes hold graphs, each batch waits for the next one.
    fn is_in_the_way(&self) -> bool {
        self.stops > 1 && self.stops > self.batches / 2
    }

    /// Lends the table again.
    fn lend(&mut self, names: &mut Interner, spare: Ahead<'a>) {
        if let Some(stand_in) = self.stand_in.take() {
            let names = std::mem::replace(names, stand_in);
            self.scout.give(Batch { ahead: spare, names, is_last: false });
        }
    }

    /// Takes the table back until it is lent again.
    fn fetch(&mut self, names: &mut Interner) {
        // A thread that panicked sends nothing; its panic goes on when both have ended.
        if self.stand_in.is_none()
            && let Some(mut batch) = self.scout.next()
        {
            self.stand_in = Some(std::mem::replace(names, std::mem::take(&mut batch.names)));
            self.early = Some(batch);
        }
    }

    /// The symbol for one that was found in the table that the builder has now.
    fn meaning(&self, symbol: Symbol) -> Symbol {
        let added = (symbol.index() as usize).checked_sub(self.known).filter(|_| self.stand_in.is_none());
        added.and_then(|index| self.added.get(index).copied()).unwrap_or(symbol)
    }

    /// Adds a name of the table to the stand-in.
    fn note(&mut self, text: &str, hash: NameHash, symbol: Symbol) {
        if let Some(stand_in) = &mut self.stand_in
            && stand_in.find(text.as_bytes(), hash).is_none()
        {
            stand_in.intern_hashed(text, hash);
            self.added.push(symbol);
        }
    }
}

impl<'a> Cx<'a> {
    /// Reads nodes while another thread looks at the next ones. Some are left where the system gives no such thread, or the
    /// two are in each other's way.
    pub(super) fn lent_nodes(
        &mut self,
        search: Search<'a>,
        input: &'a Input,
        run: &mut Run<'a>,
    ) -> Result<()> {
        std::thread::scope(|scope| {
            self.lent = Lent::start(scope, search.counted_by(input), self.model.names_mut());
            let result = self.batches(run);
            self.lent = None;
            result
        })
    }

    fn batches(&mut self, run: &mut Run<'a>) -> Result<()> {
        let mut spare = Ahead::default();
        while let Some(lent) = &mut self.lent
            && let Some(mut batch) = lent.next(self.model.names_mut())
        {
            let is_last = batch.is_last || lent.is_in_the_way();
            if !is_last {
                lent.lend(self.model.names_mut(), spare);
            }
            self.found_nodes(&mut batch.ahead, run)?;
            if is_last {
                break;
            }
            spare = batch.ahead;
        }
        Ok(())
    }

    /// Sees to it that the model has its own table of names, not the stand-in.
    #[inline]
    pub(super) fn fetch_names(&mut self) {
        if let Some(lent) = &mut self.lent {
            lent.fetch(self.model.names_mut());
        }
    }

    /// What a symbol means that was found in the table that the model has now.
    #[inline]
    pub(super) fn meaning(&self, symbol: Symbol) -> Symbol {
        self.lent.as_ref().map_or(symbol, |lent| lent.meaning(symbol))
    }

    /// Remembers a name for when the model has the stand-in again.
    #[inline]
    pub(super) fn note_name(&mut self, text: &str, hash: NameHash, symbol: Symbol) {
        if let Some(lent) = &mut self.lent {
            lent.note(text, hash, symbol);
        }
    }
}
