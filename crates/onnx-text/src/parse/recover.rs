//! Error recovery: skips to the start of the next construct.

use super::{Parser, Reported, Result};
use crate::lexer::Mark;

/// Synchronization points.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The beginning of a line inside a list of nodes, or the end of the list.
    Node,
    /// The comma after an item of a list, or the byte that ends the list.
    Item(u8),
    /// The end of the body of a graph or function.
    Body,
}

impl Parser<'_> {
    /// Moves to a synchronization point after an error in a construct that began at `start`.
    ///
    /// # Errors
    ///
    /// Returns the error if there is no such point, or if the maximum number of errors was reached.
    pub(super) fn recover(&mut self, start: Mark, next: Next, error: Reported) -> Result {
        if self.is_hopeless() || self.exhausted {
            return Err(error);
        }
        let wrong = self.lex.mark().at.max(start.at);
        let found = self.find(start, wrong, next);
        if !found {
            // The recovery of the enclosing construct also depends on the position of the error.
            self.lex.rewind(Mark { at: wrong });
            return Err(error);
        }
        Ok(())
    }

    /// Searches for a synchronization point after the byte `wrong` of the error.
    fn find(&mut self, start: Mark, wrong: usize, next: Next) -> bool {
        self.lex.rewind(start);
        let mut open = Open::default();
        let mut end = start.at;
        while let Some(byte) = self.lex.peek() {
            let mark = self.lex.mark();
            // The token at the position of the error may be the cause, or already the next construct.
            let past = mark.at >= wrong && mark.at > start.at;
            if past && self.is_next(byte, end, next, &open) {
                return true;
            }
            match byte {
                b'"' => {
                    if !self.lex.skip_string() {
                        return false;
                    }
                    end = self.lex.mark().at;
                    continue;
                }
                b'(' | b'[' | b'{' | b'<' => open.push(byte),
                b'}' if !open.has(b'{') => return next == Next::Node,
                b')' | b']' | b'}' | b'>' => {
                    open.close(byte);
                    if byte == b'}' && open.is_empty() && next == Next::Body && past {
                        self.lex.bump();
                        return true;
                    }
                }
                b'=' if self.lex.second() == Some(b'>') => self.lex.bump(),
                _ => {}
            }
            match self.lex.peek_word() {
                Some(_) => drop(self.lex.word()),
                None => self.lex.bump(),
            }
            end = self.lex.mark().at;
        }
        // The recovery of an enclosing construct would start earlier and scan the rest of the text again without
        // success.
        self.exhausted = true;
        false
    }

    /// Parses the items of a list up to the byte that ends it; the opening one was consumed. Continues after an invalid
    /// item.
    pub(super) fn items(&mut self, last: u8, mut item: impl FnMut(&mut Self) -> Result) -> Result {
        loop {
            self.lex.peek();
            let start = self.lex.mark();
            if let Err(error) = self.work().and_then(|()| item(self)).and_then(|()| self.end_of_item(last)) {
                self.recover(start, Next::Item(last), error)?;
            }
            if !self.lex.eat(b',') {
                return self.expect(last);
            }
        }
    }

    #[inline]
    fn end_of_item(&mut self, last: u8) -> Result {
        match self.lex.peek() {
            Some(byte) if byte == b',' || byte == last => Ok(()),
            _ => Err(self.expected(&format!("`,` or `{}`", char::from(last)))),
        }
    }

    /// Returns `true` if the token that begins with `byte` is a synchronization point; the one before it ends at `end`.
    fn is_next(&mut self, byte: u8, end: usize, next: Next, open: &Open) -> bool {
        match next {
            Next::Item(last) if byte == last => !open.has(opening(last)),
            Next::Item(_) => open.is_empty() && byte == b',',
            Next::Body => false,
            Next::Node if open.is_empty() && byte == b'}' => true,
            Next::Node => {
                let begins_line = self.lex.slice(end, self.lex.mark().at).contains(&b'\n');
                let begins_node = byte == b'[' || byte == b'"' || self.lex.peek_word().is_some();
                // A list that was not closed ends where a line looks like a node: nothing in a list of inputs is set, and
                // where a list of attributes ends was looked for before.
                begins_line
                    && begins_node
                    && (open.is_empty() || (open.is_unclosed_list() && self.sets_name()))
            }
        }
    }

    /// Whether a name and an equals sign come next.
    fn sets_name(&mut self) -> bool {
        let mark = self.lex.mark();
        let has_name = self.lex.word().is_some() || (self.lex.peek() == Some(b'"') && self.lex.skip_string());
        let sets = has_name && self.lex.peek() == Some(b'=') && self.lex.second() != Some(b'>');
        self.lex.rewind(mark);
        sets
    }
}

/// The open brackets, as far as the skipped text opened them.
#[derive(Default)]
struct Open {
    stack: Vec<u8>,
    /// Number of each kind, in the order `(`, `[`, `{`, `<`.
    counts: [usize; 4],
}

impl Open {
    /// Whether a list of inputs or attributes is open, and nothing else.
    fn is_unclosed_list(&self) -> bool {
        matches!(self.stack.as_slice(), [b'(' | b'<'])
    }

    const fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    #[cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "there are four kinds"))]
    const fn count(&mut self, bracket: u8) -> &mut usize {
        &mut self.counts[kind(bracket)]
    }

    #[cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "there are four kinds"))]
    const fn has(&self, bracket: u8) -> bool {
        self.counts[kind(bracket)] > 0
    }

    fn push(&mut self, bracket: u8) {
        self.stack.push(bracket);
        let count = self.count(bracket);
        *count = count.saturating_add(1);
    }

    fn pop(&mut self) -> Option<u8> {
        let bracket = self.stack.pop()?;
        let count = self.count(bracket);
        *count = count.saturating_sub(1);
        Some(bracket)
    }

    /// Consumes a closing bracket. Only a brace also closes the brackets inside it that are still open.
    fn close(&mut self, closing: u8) {
        let bracket = opening(closing);
        if closing == b'}' {
            while self.pop().is_some_and(|other| other != bracket) {}
        } else if self.stack.last() == Some(&bracket) {
            self.pop();
        }
    }
}

/// The number of a kind of brackets.
const fn kind(opening: u8) -> usize {
    match opening {
        b'(' => 0,
        b'[' => 1,
        b'{' => 2,
        _ => 3,
    }
}

/// The bracket that another one closes.
const fn opening(closing: u8) -> u8 {
    match closing {
        b')' => b'(',
        b']' => b'[',
        b'}' => b'{',
        _ => b'<',
    }
}
