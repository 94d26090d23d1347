//! Looking ahead: names that come soon are looked for all at once.
//!
//! The table of the names of a large model is larger than the nearest caches, and a new name is looked for once, at a
//! place that nothing has touched. One name after the other, that is waiting for memory one time after the other.

use smallvec::SmallVec;

use super::Parser;
use crate::lexer::Lexer;

/// How many lines to look at in one step.
const LINES: usize = 8;

/// Tables of fewer names stay in the nearest caches.
const MANY_NAMES: usize = 1 << 13;

impl Parser<'_> {
    /// Touches the names that the nodes of the next lines define, unless that has been done. It only costs time where
    /// lines hold something else.
    #[inline]
    pub(super) fn look_ahead(&mut self) {
        if self.lex.mark().at >= self.seen {
            self.look_at_lines();
        }
    }

    #[inline(never)]
    fn look_at_lines(&mut self) {
        if self.model.names().capacity() < MANY_NAMES {
            self.seen = usize::MAX;
            return;
        }
        let mut names: SmallVec<[&[u8]; 2 * LINES]> = SmallVec::new();
        let mut lines = self.lex.rest();
        for _ in 0..LINES {
            let mut lexer = Lexer::new(lines);
            if lexer.eat(b'[') {
                names.extend(next_name(&mut lexer));
                lexer.eat(b']');
            }
            names.extend(next_name(&mut lexer));
            let read = lexer.mark().at;
            let rest = lines.get(read..).unwrap_or_default();
            let Some(end) = memchr::memchr(b'\n', rest) else {
                lines = &[];
                break;
            };
            lines = rest.get(end..).unwrap_or_default();
        }
        self.seen = self.lex.text().len() - lines.len();
        let table = self.model.names();
        table.touch(names.iter().map(|name| table.hash(name)));
    }
}

/// Takes a name, if one without escapes comes next.
fn next_name<'a>(lexer: &mut Lexer<'a>) -> Option<&'a [u8]> {
    if lexer.peek() == Some(b'"') { lexer.plain_string() } else { lexer.word() }
}
