//! Looking ahead: names that come soon are found, hashed, and looked for all at once.
//!
//! The table of the names of a large model is larger than the nearest caches, and a new name is looked for once, at a
//! place that nothing has touched. One name after the other, that is waiting for memory one time after the other. So the
//! names of some nodes are found before the nodes are parsed, and the parser takes them from here where it comes upon them.
//! What is a name at a byte does not depend on the way there, so what was found ahead is right whenever it is asked for.

use onnx_types::NameHash;

use super::Parser;
use crate::lexer::Lexer;

/// How many nodes to look at in one step.
const NODES: usize = 16;

/// A name in the text, without escapes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenName<'a> {
    /// Where it begins, at its opening quote if it has one.
    at: usize,
    /// The byte behind it, and its closing quote.
    pub(super) end: usize,
    /// Without quotes.
    pub(super) content: &'a [u8],
    pub(super) hash: NameHash,
}

/// Names that were found, and not met so far.
#[derive(Debug, Default)]
pub(super) struct Ahead<'a> {
    names: Vec<SeenName<'a>>,
    /// The number of names that were passed.
    passed: usize,
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
        self.ahead.names.clear();
        self.ahead.passed = 0;
        let mut lexer = self.lex;
        let table = self.model.names();
        let names = &mut self.ahead.names;
        for _ in 0..NODES {
            let node = names_of_node(&mut lexer, &mut |at, end, content| {
                names.push(SeenName { at, end, content, hash: table.hash(content) });
            });
            if node.is_none() {
                break;
            }
        }
        table.touch(names.iter().map(|name| name.hash));
        // At least this node was looked at, with or without success.
        self.ahead.end = lexer.mark().at.max(self.lex.mark().at + 1);
    }
}

/// Finds the names of a node, and its operator; stops early where something comes that most nodes do not have.
fn names_of_node<'a>(lexer: &mut Lexer<'a>, found: &mut impl FnMut(usize, usize, &'a [u8])) -> Option<()> {
    if lexer.eat(b'[') {
        next_name(lexer, found)?;
        lexer.eat(b']').then_some(())?;
    }
    names(lexer, found)?;
    lexer.eat(b'=').then_some(())?;
    next_name(lexer, found)?;
    if lexer.peek()? == b'<' {
        skip_attributes(lexer)?;
    }
    lexer.eat(b'(').then_some(())?;
    if lexer.peek()? != b')' {
        names(lexer, found)?;
    }
    lexer.eat(b')').then_some(())
}

/// Finds names with commas between them.
fn names<'a>(lexer: &mut Lexer<'a>, found: &mut impl FnMut(usize, usize, &'a [u8])) -> Option<()> {
    loop {
        next_name(lexer, found)?;
        if !lexer.eat(b',') {
            return Some(());
        }
    }
}

/// Finds a name, if one without escapes comes next.
#[inline]
fn next_name<'a>(lexer: &mut Lexer<'a>, found: &mut impl FnMut(usize, usize, &'a [u8])) -> Option<()> {
    let is_quoted = lexer.peek()? == b'"';
    let at = lexer.mark().at;
    let content = if is_quoted { lexer.plain_string() } else { lexer.word() }?;
    if !content.is_empty() {
        found(at, lexer.mark().at, content);
    }
    Some(())
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
