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
use onnx_types::{NameHash, NameHasher, Symbol};
use smallvec::SmallVec;

use super::Parser;
use crate::lexer::{Lexer, Mark};

/// How many nodes to look at in one step.
const NODES: usize = 16;

/// The places of how many names are touched at once.
const TOUCHED: usize = 64;

/// A name in the text, without escapes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenName {
    /// Where it begins, at its opening quote if it has one.
    at: usize,
    /// How many bytes it has without quotes.
    length: u32,
    hash: NameHash,
    is_quoted: bool,
}

impl SeenName {
    /// Where the name is without its quotes.
    #[inline]
    pub(super) fn content(self) -> std::ops::Range<usize> {
        let start = self.at + usize::from(self.is_quoted);
        start..start + self.length as usize
    }

    /// The place behind it, and its closing quote.
    #[inline]
    pub(super) fn end(self) -> Mark {
        Mark { at: self.content().end + usize::from(self.is_quoted) }
    }

    pub(super) fn hash(self) -> NameHash {
        self.hash
    }
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
    outputs: u32,
    inputs: u32,
    has_label: bool,
    has_domain: bool,
    is_plain: bool,
}

/// Names that were found, and not met so far.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    names: Vec<SeenName>,
    /// The number of names that were passed, and of those whose places in the table were touched.
    passed: usize,
    touched: usize,
    /// The plain nodes, and the number of those that were passed.
    nodes: Vec<SeenNode>,
    nodes_passed: usize,
    /// Up to where the text was looked at.
    end: usize,
}

impl Ahead {
    /// The name that begins at a byte, if it was found; names before it are passed.
    #[inline]
    pub(super) fn name_at(&mut self, at: usize) -> Option<SeenName> {
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
    fn node_at(&mut self, at: usize) -> Option<(SeenNode, &[SeenName])> {
        let ahead = self.nodes.get(self.nodes_passed..)?;
        let skipped = ahead.iter().position(|node| node.at >= at)?;
        let node = *ahead.get(skipped).filter(|node| node.at == at)?;
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

/// Finds nodes and their names.
struct Search<'a> {
    lexer: Lexer<'a>,
    hasher: NameHasher,
}

impl Search<'_> {
    /// Finds the next nodes, at most [`NODES`].
    fn find(&mut self, ahead: &mut Ahead) {
        let Ahead { names, nodes, passed, touched, nodes_passed, end } = ahead;
        names.clear();
        nodes.clear();
        (*passed, *touched, *nodes_passed) = (0, 0, 0);
        let mut names = Names { found: names, hasher: &self.hasher };
        for _ in 0..NODES {
            let Some(node) = names_of_node(&mut self.lexer, &mut names) else { break };
            nodes.extend(Some(node).filter(|node| node.is_plain));
        }
        *end = self.lexer.mark().at;
    }
}

impl Parser<'_> {
    /// Finds the names in the next nodes, unless that has been done.
    #[inline]
    pub(super) fn look_ahead(&mut self) {
        if self.lex.mark().at >= self.ahead.end {
            self.look_at_nodes();
        }
        if self.ahead.passed >= self.ahead.touched {
            self.touch();
        }
    }

    #[inline(never)]
    fn look_at_nodes(&mut self) {
        let here = self.lex.mark().at;
        let mut search = Search { lexer: self.lex, hasher: self.model.names().hasher() };
        search.find(&mut self.ahead);
        // At least this node was looked at, with or without success.
        self.ahead.end = self.ahead.end.max(here + 1);
    }

    /// Touches the places of the next names.
    #[inline(never)]
    fn touch(&mut self) {
        let Ahead { names, passed, touched, .. } = &mut self.ahead;
        let next = names.get(*passed..).unwrap_or_default();
        let next = next.get(..TOUCHED).unwrap_or(next);
        self.model.names().touch(next.iter().map(|name| name.hash));
        // One more where there are none, so that nobody comes here for each of the nodes that follow.
        *touched = *passed + next.len().max(1);
    }

    /// Takes the node that comes next if it is a plain one that was found ahead; says whether it was.
    #[inline]
    pub(super) fn plain_node(&mut self, graph: GraphId) -> bool {
        let mark = self.lex.mark();
        let (nodes, values) = (self.model.node_count() as u64, self.model.value_count() as u64);
        // Whoever comes to a limit is stopped by the other way.
        if nodes > self.limits.nodes
            || values > self.limits.values
            || self.watch.reach(mark.at as u64).is_err()
        {
            return false;
        }
        let Self { ahead, model, loader, plain: Some(text), .. } = self else { return false };
        let Some((node, names)) = ahead.node_at(mark.at) else { return false };
        let mut symbols: SmallVec<[Symbol; 8]> = SmallVec::new();
        for name in names {
            // What has escapes or is empty was not found.
            let Some(content) = text.get(name.content()) else { return false };
            symbols.push(model.names_mut().intern_plain(content, name.hash));
        }
        let mut rest = symbols.as_slice();
        let mut next = |count: usize| rest.split_off(..count).unwrap_or_default();
        let first = |name: &[Symbol]| name.first().copied().unwrap_or_default();
        let name = first(next(usize::from(node.has_label)));
        let outputs = next(node.outputs as usize);
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
fn names_of_node(lexer: &mut Lexer<'_>, names: &mut Names<'_>) -> Option<SeenNode> {
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
    is_plain &= names.next(lexer)? && names.found.last().is_some_and(|op| !op.is_quoted);
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
struct Names<'n> {
    found: &'n mut Vec<SeenName>,
    hasher: &'n NameHasher,
}

impl Names<'_> {
    /// Finds names with commas between them; says how many there are, and whether none is empty.
    fn list(&mut self, lexer: &mut Lexer<'_>) -> Option<(u32, bool)> {
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

    /// Adds a name that begins at a byte, with a quote perhaps.
    #[inline]
    fn push(&mut self, at: usize, is_quoted: bool, content: &[u8]) -> Option<()> {
        let length = u32::try_from(content.len()).ok()?;
        self.found.push(SeenName { at, length, hash: self.hasher.hash(content), is_quoted });
        Some(())
    }
}

/// Goes behind attributes, which the parser will look at: only brackets and strings matter here.
fn skip_attributes(lexer: &mut Lexer<'_>) -> Option<()> {
    let mut open = 0_usize;
    loop {
        match lexer.peek()? {
            b'"' => {
                lexer.skip_string().then_some(())?;
                continue;
            }
            // The arrow of a graph's signature is no bracket.
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
