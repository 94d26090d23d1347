//! The fast path of nodes: most consist of names only, and are parsed by a scanner that reports no errors.

use onnx_ir::{NodeFields, NodeId};
use onnx_types::Symbol;
use smallvec::SmallVec;

use super::Parser;
use crate::lexer::Lexer;

/// Names without quotes.
type Names<'a> = SmallVec<[&'a [u8]; 4]>;

/// A node that consists of an optional label, outputs, an operator with an optional domain, and inputs. Its names have no
/// escapes, and no operand is empty.
struct SimpleNode<'a> {
    /// Empty if there is none.
    label: &'a [u8],
    outputs: Names<'a>,
    /// Empty if there is none.
    domain: &'a [u8],
    op: &'a [u8],
    inputs: Names<'a>,
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
        let mut lexer = self.lex;
        let Some(node) = scan(&mut lexer) else { return false };
        let Some(id) = self.build(&node) else { return false };
        self.lex = lexer;
        if self.has_positions {
            let origin = self.origin(mark);
            self.model.set_node_origin(id, origin);
        }
        true
    }

    /// Builds a node; returns `None` if a name is not UTF-8.
    #[inline]
    fn build(&mut self, node: &SimpleNode<'_>) -> Option<NodeId> {
        let names = self.model.names_mut();
        let mut intern = |name: &[u8]| {
            if name.is_empty() {
                return Some(Symbol::EMPTY);
            }
            let hash = names.hash(name);
            names.intern_utf8(name, hash)
        };
        let name = intern(node.label)?;
        let outputs =
            node.outputs.iter().map(|name| intern(name)).collect::<Option<SmallVec<[Symbol; 4]>>>()?;
        let (domain, op) = (intern(node.domain)?, intern(node.op)?);
        let inputs =
            node.inputs.iter().map(|name| intern(name)).collect::<Option<SmallVec<[Symbol; 4]>>>()?;
        let fields = NodeFields { op, domain, name, ..NodeFields::default() };
        Some(self.model.write_node(fields, &inputs, &outputs))
    }
}

/// Scans a node; returns `None` if it is not simple.
#[inline]
fn scan<'a>(lexer: &mut Lexer<'a>) -> Option<SimpleNode<'a>> {
    let mut label = &b""[..];
    if lexer.eat(b'[') {
        label = name(lexer)?;
        lexer.eat(b']').then_some(())?;
    }
    let outputs = names(lexer)?;
    lexer.eat(b'=').then_some(())?;
    let (domain, op) = operator(lexer)?;
    lexer.eat(b'(').then_some(())?;
    let inputs = if lexer.peek()? == b')' { Names::new() } else { names(lexer)? };
    lexer.eat(b')').then_some(())?;
    // Attributes and annotations may follow.
    let is_complete = !matches!(lexer.peek(), Some(b'<' | b'@'));
    is_complete.then_some(SimpleNode { label, outputs, domain, op, inputs })
}

/// Scans names with commas between them.
#[inline]
fn names<'a>(lexer: &mut Lexer<'a>) -> Option<Names<'a>> {
    let mut names = Names::new();
    loop {
        names.push(name(lexer)?);
        if !lexer.eat(b',') {
            return Some(names);
        }
    }
}

/// Scans a name that is not empty.
#[inline]
fn name<'a>(lexer: &mut Lexer<'a>) -> Option<&'a [u8]> {
    if lexer.peek()? == b'"' { lexer.plain_string().filter(|name| !name.is_empty()) } else { lexer.word() }
}

/// Scans a domain, whose words have dots between them and behind them, and an operator.
#[inline]
fn operator<'a>(lexer: &mut Lexer<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let mut op = lexer.word()?;
    let mut domain = &b""[..];
    let mut end = lexer.mark().at;
    let start = end.checked_sub(op.len())?;
    while lexer.here() == Some(b'.') {
        domain = lexer.slice(start, end);
        lexer.bump();
        op = lexer.word_here()?;
        lexer.skip(op.len());
        end = lexer.mark().at;
    }
    Some((domain, op))
}
