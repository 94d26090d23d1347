//! The pre-scan of nodes: locates and hashes the names of some nodes before the nodes are parsed.
//!
//! Whether a name begins at a byte does not depend on the tokens before it, so the parser can use the pre-scanned names
//! wherever it resumes.
//!
//! Most nodes are simple: they consist of names. The pre-scan has then parsed the node, which is built without the parser.

#![cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "all numbers are offsets in a text that is in memory, or smaller"
    )
)]

use onnx_ir::NodeFields;
use onnx_types::{Interner, NameHash, Symbol};
use smallvec::SmallVec;

use super::Parser;
use crate::lexer::{Lexer, Mark};

/// Number of nodes in a batch.
const NODES: usize = 16;

/// A name in the text, without escapes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScannedName {
    /// The offset of its first byte, or of its opening quote.
    at: usize,
    /// Its length in bytes, without quotes.
    length: u32,
    hash: NameHash,
    is_quoted: bool,
}

impl ScannedName {
    /// The range of the name without its quotes.
    #[inline]
    pub(super) fn content(self) -> std::ops::Range<usize> {
        let start = self.at + usize::from(self.is_quoted);
        start..start + self.length as usize
    }

    /// The source position after the name and its closing quote.
    #[inline]
    pub(super) fn end(self) -> Mark {
        Mark { at: self.content().end + usize::from(self.is_quoted) }
    }

    pub(super) fn hash(self) -> NameHash {
        self.hash
    }
}

/// A pre-scanned node. It is simple if it consists of an optional label, outputs, an operator with an optional domain, and
/// inputs, and all names are written without escapes.
#[derive(Clone, Copy, Debug)]
struct ScannedNode {
    /// The offset of its first byte.
    at: usize,
    /// The offset of the token after it.
    end: usize,
    /// The index of its first name in [`ScannedNodes`].
    names: usize,
    /// The number of its outputs and of its inputs.
    outputs: u32,
    inputs: u32,
    has_label: bool,
    has_domain: bool,
    is_simple: bool,
}

/// The output of the pre-scan: a batch of nodes and their names.
#[derive(Debug, Default)]
pub(super) struct ScannedNodes {
    names: Vec<ScannedName>,
    /// Number of names that the parser has passed.
    passed: usize,
    /// The simple nodes, and the number of those that the parser has passed.
    nodes: Vec<ScannedNode>,
    nodes_passed: usize,
    /// The end of the scanned text.
    end: usize,
}

impl ScannedNodes {
    /// The pre-scanned name at a byte offset. Passes the names before it.
    #[inline]
    pub(super) fn name_at(&mut self, at: usize) -> Option<ScannedName> {
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

    /// The simple node at a byte offset, and its names, which are passed.
    #[inline]
    fn node_at(&mut self, at: usize) -> Option<(ScannedNode, &[ScannedName])> {
        let scanned = self.nodes.get(self.nodes_passed..)?;
        let skipped = scanned.iter().position(|node| node.at >= at)?;
        let node = *scanned.get(skipped).filter(|node| node.at == at)?;
        self.nodes_passed += skipped + 1;
        let count = usize::from(node.has_label)
            + node.outputs as usize
            + usize::from(node.has_domain)
            + 1
            + node.inputs as usize;
        self.passed = node.names + count;
        Some((node, self.names.get(node.names..self.passed)?))
    }
}

/// Scans nodes and their names.
struct NodeScanner<'a> {
    lexer: Lexer<'a>,
    interner: &'a Interner,
}

impl NodeScanner<'_> {
    /// Scans the next batch, at most [`NODES`] nodes.
    fn find(&mut self, scanned: &mut ScannedNodes) {
        let ScannedNodes { names, nodes, passed, nodes_passed, end } = scanned;
        names.clear();
        nodes.clear();
        (*passed, *nodes_passed) = (0, 0);
        let mut names = Names { found: names, interner: self.interner };
        for _ in 0..NODES {
            let Some(node) = names_of_node(&mut self.lexer, &mut names) else { break };
            nodes.extend(Some(node).filter(|node| node.is_simple));
        }
        *end = self.lexer.mark().at;
    }
}

impl Parser<'_> {
    /// Scans the next batch if the parser has passed the previous one.
    #[inline]
    pub(super) fn prescan(&mut self) {
        if self.lex.mark().at >= self.scanned.end {
            self.scan_nodes();
        }
    }

    #[inline(never)]
    fn scan_nodes(&mut self) {
        let here = self.lex.mark().at;
        let mut scanner = NodeScanner { lexer: self.lex, interner: self.model.names() };
        scanner.find(&mut self.scanned);
        // Guarantees progress if nothing was found at this node.
        self.scanned.end = self.scanned.end.max(here + 1);
    }

    /// The fast path: builds the next node if it is a pre-scanned simple one. Returns `false` otherwise.
    #[inline]
    pub(super) fn simple_node(&mut self) -> bool {
        let mark = self.lex.mark();
        let (nodes, values) = (self.model.node_count() as u64, self.model.value_count() as u64);
        // The general path reports exceeded limits.
        if nodes > self.limits.nodes
            || values > self.limits.values
            || self.watch.reach(mark.at as u64).is_err()
        {
            return false;
        }
        let Self { scanned, model, lex, .. } = self;
        let Some((node, names)) = scanned.node_at(mark.at) else { return false };
        let mut symbols: SmallVec<[Symbol; 8]> = SmallVec::new();
        for name in names {
            // Names that are empty or have escapes are not simple.
            let content = lex.text().get(name.content()).unwrap_or_default();
            let Some(symbol) = model.names_mut().intern_utf8(content, name.hash) else { return false };
            symbols.push(symbol);
        }
        let mut rest = symbols.as_slice();
        let mut next = |count: usize| rest.split_off(..count).unwrap_or_default();
        let first = |name: &[Symbol]| name.first().copied().unwrap_or_default();
        let name = first(next(usize::from(node.has_label)));
        let outputs = next(node.outputs as usize);
        let domain = first(next(usize::from(node.has_domain)));
        let op = first(next(1));
        let loaded = NodeFields { op, domain, name, ..NodeFields::default() };
        let id = model.write_node(loaded, rest, outputs);
        self.lex.rewind(Mark { at: node.end });
        if self.has_positions {
            let origin = self.origin(mark);
            self.model.set_node_origin(id, origin);
        }
        true
    }
}

/// Scans the names and the operator of a node. Stops at a token that most nodes do not have; the node is then not simple.
fn names_of_node(lexer: &mut Lexer<'_>, names: &mut Names<'_>) -> Option<ScannedNode> {
    lexer.peek()?;
    let (at, first) = (lexer.mark().at, names.found.len());
    let has_label = lexer.eat(b'[');
    let mut is_simple = true;
    if has_label {
        is_simple &= names.next(lexer)?;
        lexer.eat(b']').then_some(())?;
    }
    let (outputs, are_simple) = names.list(lexer)?;
    is_simple &= are_simple;
    lexer.eat(b'=').then_some(())?;
    is_simple &= names.next(lexer)? && names.found.last().is_some_and(|op| !op.is_quoted);
    let has_domain = is_simple && lexer.here() == Some(b'.');
    if has_domain {
        names.behind_domain(lexer)?;
    }
    if lexer.peek()? == b'<' {
        skip_attributes(lexer)?;
        is_simple = false;
    }
    lexer.eat(b'(').then_some(())?;
    let mut inputs = 0;
    if lexer.peek()? != b')' {
        let are_simple;
        (inputs, are_simple) = names.list(lexer)?;
        is_simple &= are_simple;
    }
    lexer.eat(b')').then_some(())?;
    is_simple &= !matches!(lexer.peek(), Some(b'<' | b'@'));
    Some(ScannedNode {
        at,
        end: lexer.mark().at,
        names: first,
        outputs,
        inputs,
        has_label,
        has_domain,
        is_simple,
    })
}

/// The buffer of scanned names.
struct Names<'n> {
    found: &'n mut Vec<ScannedName>,
    interner: &'n Interner,
}

impl Names<'_> {
    /// Finds names with commas between them; says how many there are, and whether none is empty.
    fn list(&mut self, lexer: &mut Lexer<'_>) -> Option<(u32, bool)> {
        let (mut count, mut are_simple) = (0, true);
        loop {
            are_simple &= self.next(lexer)?;
            count += 1;
            if !lexer.eat(b',') {
                return Some((count, are_simple));
            }
        }
    }

    /// Scans a name, if one without escapes comes next; returns `Some(true)` if the name is not empty.
    #[inline]
    fn next(&mut self, lexer: &mut Lexer<'_>) -> Option<bool> {
        let is_quoted = lexer.peek()? == b'"';
        let at = lexer.mark().at;
        let content = if is_quoted { lexer.plain_string() } else { lexer.word() }?;
        if content.is_empty() {
            return Some(false);
        }
        self.push(at, is_quoted, content)?;
        Some(true)
    }

    /// Finds the operator whose first word was found and a dot comes next: that word and those up to the last dot are the
    /// domain.
    fn behind_domain(&mut self, lexer: &mut Lexer<'_>) -> Option<()> {
        let start = self.found.pop()?.at;
        loop {
            let end = lexer.mark().at;
            lexer.bump();
            let word = lexer.word_here()?;
            lexer.skip(word.len());
            if lexer.here() != Some(b'.') {
                self.push(start, false, lexer.slice(start, end))?;
                return self.push(end + 1, false, word);
            }
        }
    }

    /// Adds a name at a byte offset, which may be quoted.
    #[inline]
    fn push(&mut self, at: usize, is_quoted: bool, content: &[u8]) -> Option<()> {
        let length = u32::try_from(content.len()).ok()?;
        self.found.push(ScannedName { at, length, hash: self.interner.hash(content), is_quoted });
        Some(())
    }
}

/// Skips attributes, which the parser reads later: only brackets and strings matter here.
fn skip_attributes(lexer: &mut Lexer<'_>) -> Option<()> {
    let mut open = 0_usize;
    loop {
        match lexer.peek()? {
            b'"' => {
                lexer.skip_string().then_some(())?;
                continue;
            }
            // The arrow of a graph's signature is not a bracket.
            b'=' if lexer.second() == Some(b'>') => lexer.bump(),
            b'<' | b'(' | b'{' | b'[' => open += 1,
            b'>' | b')' | b'}' | b']' => open -= 1,
            _ => {}
        }
        lexer.bump();
        if open == 0 {
            return Some(());
        }
    }
}
