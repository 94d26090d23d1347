//! Looking ahead: names that come soon are found, hashed, and looked for all at once.
//!
//! The table of the names of a large model is larger than the nearest caches, and a new name is looked for once, at a
//! place that nothing has touched. One name after the other, that is waiting for memory one time after the other. So the
//! names of some nodes are found before the nodes are parsed, and the parser takes them from here where it comes upon them.
//! What is a name at a byte does not depend on the way there, so what was found ahead is right whenever it is asked for.
//!
//! Most nodes are plain: names in their places, and nothing else. Who has found the names of such a node has parsed it, so
//! it is built from them.

#![cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "all numbers are places in a text that is in memory, or fewer"
    )
)]

use onnx_ir::{GraphId, LoadedNode};
use onnx_types::{Interner, NameHash, Symbol};
use smallvec::SmallVec;

use super::Parser;
use crate::lexer::{Lexer, Mark};

/// How many nodes to look at in one step.
const NODES: usize = 16;

/// A name in the text, without escapes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenName<'a> {
    /// Where it begins, at its opening quote if it has one, and where its content begins.
    at: usize,
    start: usize,
    /// The byte behind it, and its closing quote.
    pub(super) end: usize,
    /// Without quotes.
    pub(super) content: &'a [u8],
    pub(super) hash: NameHash,
}

/// A node that was found. It is plain if it has nothing but a label perhaps, outputs, an operator, with its domain
/// perhaps, and inputs, all with names that the text spells without escapes.
#[derive(Clone, Copy, Debug)]
struct SeenNode {
    /// Where it begins.
    at: usize,
    /// Where the token behind it begins.
    end: usize,
    /// The position of its first name among those that were found.
    names: usize,
    /// The number of its outputs and of its inputs.
    outputs: usize,
    inputs: usize,
    has_label: bool,
    has_domain: bool,
    is_plain: bool,
}

/// Names that were found, and not met so far.
#[derive(Debug, Default)]
pub(super) struct Ahead<'a> {
    names: Vec<SeenName<'a>>,
    /// The number of names that were passed.
    passed: usize,
    /// The plain nodes, and the number of those that were passed.
    nodes: Vec<SeenNode>,
    nodes_passed: usize,
    /// Up to where the text was looked at.
    end: usize,
}

impl<'a> Ahead<'a> {
    /// The name that begins at a byte, if it was found; names before it are passed.
    #[inline]
    pub(super) fn name_at(&mut self, at: usize) -> Option<SeenName<'a>> {
        loop {
            let name = *self.names.get(self.passed)?;
            if name.at >= at {
                let found = name.at == at;
                self.passed += usize::from(found);
                return found.then_some(name);
            }
            self.passed += 1;
        }
    }

    /// The plain node that begins at a byte, if one was found, and its names, which are passed.
    #[inline]
    fn node_at(&mut self, at: usize) -> Option<(SeenNode, &[SeenName<'a>])> {
        let ahead = self.nodes.get(self.nodes_passed..)?;
        let skipped = ahead.iter().position(|node| node.at >= at)?;
        let node = *ahead.get(skipped).filter(|node| node.at == at)?;
        self.nodes_passed += skipped + 1;
        let count =
            usize::from(node.has_label) + node.outputs + usize::from(node.has_domain) + 1 + node.inputs;
        self.passed = node.names + count;
        Some((node, self.names.get(node.names..self.passed)?))
    }
}

impl Parser<'_> {
    /// Finds the names in the next nodes, unless that has been done.
    #[inline]
    pub(super) fn look_ahead(&mut self) {
        if self.lex.mark().at >= self.ahead.end {
            self.look_at_nodes();
        }
    }

    #[inline(never)]
    fn look_at_nodes(&mut self) {
        let Ahead { names, nodes, passed, nodes_passed, end } = &mut self.ahead;
        names.clear();
        nodes.clear();
        (*passed, *nodes_passed) = (0, 0);
        let mut lexer = self.lex;
        let table = self.model.names();
        let mut names = Names { found: names, table };
        for _ in 0..NODES {
            let Some(node) = names_of_node(&mut lexer, &mut names) else { break };
            if node.is_plain {
                nodes.push(node);
            }
        }
        table.touch(names.found.iter().map(|name| name.hash));
        // At least this node was looked at, with or without success.
        *end = lexer.mark().at.max(self.lex.mark().at + 1);
    }

    /// Takes the node that comes next if it is a plain one that was found ahead; says whether it was.
    #[inline]
    pub(super) fn plain_node(&mut self, graph: GraphId) -> bool {
        let mark = self.lex.mark();
        let (nodes, values) = (self.model.node_count() as u64, self.model.value_count() as u64);
        // Whoever comes to a limit is stopped by the other way.
        if nodes > self.limits.nodes || values > self.limits.values {
            return false;
        }
        let Self { ahead, model, loader, plain: Some(text), .. } = self else { return false };
        let Some((node, names)) = ahead.node_at(mark.at) else { return false };
        let mut symbols: SmallVec<[Symbol; 8]> = SmallVec::new();
        for name in names {
            // What has escapes or is empty was not found.
            let Some(content) = text.get(name.start..name.start + name.content.len()) else { return false };
            symbols.push(model.names_mut().intern_plain(content, name.hash));
        }
        let mut rest = symbols.as_slice();
        let mut next = |count: usize| rest.split_off(..count).unwrap_or_default();
        let first = |name: &[Symbol]| name.first().copied().unwrap_or_default();
        let name = first(next(usize::from(node.has_label)));
        let outputs = next(node.outputs);
        let domain = first(next(usize::from(node.has_domain)));
        let op = first(next(1));
        let loaded = LoadedNode { op, domain, name, ..LoadedNode::default() };
        let id = loader.begin_node(model, graph);
        for &input in rest {
            loader.operand(model, graph, id, input);
        }
        loader.finish_node(model, id, loaded, outputs);
        self.lex.rewind(Mark { at: node.end });
        if !self.no_positions {
            let origin = self.origin(mark);
            self.model.set_node_origin(id, origin);
        }
        true
    }
}

/// Finds the names of a node, and its operator; stops early where something comes that most nodes do not have. What is
/// found is a plain node if nothing else belongs to it.
fn names_of_node<'a>(lexer: &mut Lexer<'a>, names: &mut Names<'a, '_>) -> Option<SeenNode> {
    lexer.peek()?;
    let (at, first) = (lexer.mark().at, names.found.len());
    let has_label = lexer.eat(b'[');
    let mut is_plain = true;
    if has_label {
        is_plain &= names.next(lexer)?;
        lexer.eat(b']').then_some(())?;
    }
    let (outputs, are_plain) = names.list(lexer)?;
    is_plain &= are_plain;
    lexer.eat(b'=').then_some(())?;
    is_plain &= names.next(lexer)? && names.found.last().is_some_and(|op| op.start == op.at);
    let has_domain = is_plain && lexer.here() == Some(b'.');
    if has_domain {
        names.behind_domain(lexer)?;
    }
    if lexer.peek()? == b'<' {
        skip_attributes(lexer)?;
        is_plain = false;
    }
    lexer.eat(b'(').then_some(())?;
    let mut inputs = 0;
    if lexer.peek()? != b')' {
        let are_plain;
        (inputs, are_plain) = names.list(lexer)?;
        is_plain &= are_plain;
    }
    lexer.eat(b')').then_some(())?;
    is_plain &= !matches!(lexer.peek(), Some(b'<' | b'@'));
    Some(SeenNode {
        at,
        end: lexer.mark().at,
        names: first,
        outputs,
        inputs,
        has_label,
        has_domain,
        is_plain,
    })
}

/// Where names go that are found.
struct Names<'a, 'n> {
    found: &'n mut Vec<SeenName<'a>>,
    table: &'n Interner,
}

impl<'a> Names<'a, '_> {
    /// Finds names with commas between them; says how many there are, and whether none is empty.
    fn list(&mut self, lexer: &mut Lexer<'a>) -> Option<(usize, bool)> {
        let (mut count, mut are_plain) = (0, true);
        loop {
            are_plain &= self.next(lexer)?;
            count += 1;
            if !lexer.eat(b',') {
                return Some((count, are_plain));
            }
        }
    }

    /// Finds a name, if one without escapes comes next; says whether it is one, and not empty.
    #[inline]
    fn next(&mut self, lexer: &mut Lexer<'a>) -> Option<bool> {
        let is_quoted = lexer.peek()? == b'"';
        let at = lexer.mark().at;
        let content = if is_quoted { lexer.plain_string() } else { lexer.word() }?;
        if content.is_empty() {
            return Some(false);
        }
        self.push(at, at + usize::from(is_quoted), lexer.mark().at, content);
        Some(true)
    }

    /// Finds the operator whose first word was found and a dot comes next: that word and those up to the last dot are the
    /// domain.
    fn behind_domain(&mut self, lexer: &mut Lexer<'a>) -> Option<()> {
        let start = self.found.pop()?.start;
        loop {
            let end = lexer.mark().at;
            lexer.bump();
            let word = lexer.word_here()?;
            lexer.skip(word.len());
            if lexer.here() != Some(b'.') {
                self.push(start, start, end, lexer.slice(start, end));
                self.push(end + 1, end + 1, lexer.mark().at, word);
                return Some(());
            }
        }
    }

    /// Adds a name that begins at a byte, and its content at this one or behind its quote.
    #[inline]
    fn push(&mut self, at: usize, start: usize, end: usize, content: &'a [u8]) {
        self.found.push(SeenName { at, start, end, content, hash: self.table.hash(content) });
    }
}

/// Goes behind attributes that hold neither graphs nor tensors.
fn skip_attributes(lexer: &mut Lexer<'_>) -> Option<()> {
    lexer.bump();
    loop {
        match lexer.peek()? {
            b'>' => {
                lexer.bump();
                return Some(());
            }
            b'"' => {
                lexer.plain_string()?;
            }
            b'{' | b'(' | b'<' => return None,
            _ => lexer.bump(),
        }
    }
}
