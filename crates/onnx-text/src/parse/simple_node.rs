//! The fast path of nodes: most consist of names only, and are parsed by a scanner that reports no errors.

use onnx_ir::raw::NodeFields;
use onnx_types::Symbol;
use smallvec::SmallVec;

use super::Parser;
use crate::lexer::Lexer;

/// The names of a node in the order of the text, without quotes. None has escapes, and none is empty.
type Names<'a> = SmallVec<[&'a [u8]; 8]>;

/// The meaning of the [`Names`] of a node that consists of an optional label, outputs, an operator with an optional domain,
/// and inputs.
struct SimpleNode {
    has_label: bool,
    /// Number of outputs.
    outputs: usize,
    has_domain: bool,
}

impl Parser<'_> {
    /// Builds the next node if it is simple. Returns `false` otherwise, and if it cannot be built; the general path then
    /// parses it and reports errors.
    #[inline]
    pub(super) fn simple_node(&mut self) -> bool {
        let mark = self.lex.mark();
        let (nodes, values) = (self.model.node_count() as u64, self.model.value_count() as u64);
        if nodes > self.limits.nodes
            || values > self.limits.values
            || self.watch.reach(mark.at as u64).is_err()
        {
            return false;
        }
        let (mut lexer, mut names) = (self.lex, Names::new());
        let Some(node) = scan(&mut lexer, &mut names) else { return false };
        let mut symbols: SmallVec<[Symbol; 8]> = SmallVec::new();
        let interner = self.model.names_mut();
        for &name in &names {
            if name == self.last_output.0 {
                symbols.push(self.last_output.1);
                continue;
            }
            let hash = interner.hash(name);
            // A name that is not UTF-8 is not simple.
            let Some(symbol) = interner.intern_utf8(name, hash) else { return false };
            symbols.push(symbol);
        }
        let last = usize::from(node.has_label).saturating_add(node.outputs).saturating_sub(1);
        if let (Some(&name), Some(&symbol)) = (names.get(last), symbols.get(last)) {
            self.last_output = (name, symbol);
        }
        let mut rest = symbols.as_slice();
        let mut next = |count: usize| rest.split_off(..count).unwrap_or_default();
        let optional = |names: &[Symbol]| names.first().copied().unwrap_or_default();
        let name = optional(next(usize::from(node.has_label)));
        let outputs = next(node.outputs);
        let domain = optional(next(usize::from(node.has_domain)));
        let op = optional(next(1));
        let fields = NodeFields { op, domain, name, ..NodeFields::default() };
        let id = self.model.write_node(fields, rest, outputs);
        self.lex = lexer;
        if self.has_positions {
            let origin = self.origin(mark);
            self.model.set_node_origin(id, origin);
        }
        true
    }
}

/// Scans a node; returns `None` if it is not simple.
#[inline]
fn scan<'a>(lexer: &mut Lexer<'a>, names: &mut Names<'a>) -> Option<SimpleNode> {
    let has_label = lexer.eat(b'[');
    if has_label {
        name(lexer, names)?;
        lexer.eat(b']').then_some(())?;
    }
    let outputs = list(lexer, names)?;
    lexer.eat(b'=').then_some(())?;
    let has_domain = operator(lexer, names)?;
    lexer.eat(b'(').then_some(())?;
    if lexer.peek()? != b')' {
        list(lexer, names)?;
    }
    lexer.eat(b')').then_some(())?;
    // Attributes and annotations may follow.
    let is_complete = !matches!(lexer.peek(), Some(b'<' | b'@'));
    is_complete.then_some(SimpleNode { has_label, outputs, has_domain })
}

/// Scans names with commas between them; returns their number.
#[inline]
fn list<'a>(lexer: &mut Lexer<'a>, names: &mut Names<'a>) -> Option<usize> {
    let before = names.len();
    loop {
        name(lexer, names)?;
        if !lexer.eat(b',') {
            return names.len().checked_sub(before);
        }
    }
}

/// Scans a name.
#[inline]
fn name<'a>(lexer: &mut Lexer<'a>, names: &mut Names<'a>) -> Option<()> {
    let is_quoted = lexer.peek()? == b'"';
    let name = if is_quoted { lexer.plain_string() } else { lexer.word() }?;
    (!name.is_empty()).then(|| names.push(name))
}

/// Scans an operator, and its domain if it has one; returns `true` if it has. The words of a domain have dots between them
/// and behind them.
#[inline]
fn operator<'a>(lexer: &mut Lexer<'a>, names: &mut Names<'a>) -> Option<bool> {
    let mut op = lexer.word()?;
    let mut end = lexer.mark().at;
    let start = end.checked_sub(op.len())?;
    let mut domain = None;
    while lexer.here() == Some(b'.') {
        domain = Some(lexer.slice(start, end));
        lexer.bump();
        op = lexer.word_here()?;
        lexer.skip(op.len());
        end = lexer.mark().at;
    }
    if let Some(domain) = domain {
        names.push(domain);
    }
    names.push(op);
    Some(domain.is_some())
}
