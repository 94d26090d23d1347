//! Going on after an error: finding the place where the next thing begins.

use super::{Parser, Reported, Result};
use crate::lexer::Mark;

/// What to look for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The beginning of a line inside a list of nodes, or the end of the list.
    Node,
    /// The comma after an attribute, or the end of the list.
    Attribute,
    /// The place after the body of a graph or function.
    Body,
}

impl Parser<'_> {
    /// Moves to where parsing can go on after an error in something that began at `start`.
    ///
    /// # Errors
    ///
    /// When there is no such place, or enough errors were found.
    pub(super) fn recover(&mut self, start: Mark, next: Next, error: Reported) -> Result {
        if self.is_hopeless() {
            return Err(error);
        }
        let wrong = self.lex.mark().at.max(start.at);
        self.lex.rewind(start);
        let mut depth = 0_usize;
        let mut end = start.at;
        while let Some(byte) = self.lex.peek() {
            let mark = self.lex.mark();
            // What stands at the very place of the error may be the culprit, but also what comes next.
            let past = mark.at >= wrong && mark.at > start.at;
            if depth == 0 && past {
                let begins_line = self.lex.slice(end, mark.at).contains(&b'\n');
                let begins_node =
                    begins_line && (byte == b'[' || byte == b'"' || self.lex.peek_word().is_some());
                let found = match next {
                    Next::Node => byte == b'}' || begins_node,
                    Next::Attribute => matches!(byte, b',' | b'>'),
                    Next::Body => false,
                };
                if found {
                    return Ok(());
                }
            }
            match byte {
                b'"' => {
                    if self.lex.string().is_err() {
                        return Err(error);
                    }
                    end = self.lex.mark().at;
                    continue;
                }
                b'(' | b'[' | b'{' | b'<' => depth += 1,
                b'}' if depth == 0 => return if next == Next::Node { Ok(()) } else { Err(error) },
                b')' | b']' | b'}' | b'>' => {
                    depth = depth.saturating_sub(1);
                    if byte == b'}' && depth == 0 && next == Next::Body && past {
                        self.lex.bump();
                        return Ok(());
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
        Err(error)
    }
}
