//! Line and column numbers. The parser tracks byte offsets only; lines and columns are computed on demand.

/// The last computed position; the next one is computed from there, forwards or backwards.
///
/// Queries are almost in the order of the text: they return at most by a graph's head or a node, so the total time is
/// linear in the text times the depth of nesting, also if the whole text is one line.
#[derive(Clone, Copy, Default)]
pub(super) struct Positions {
    at: usize,
    /// Counted from 0, as the column is.
    line: usize,
    column: usize,
}

impl Positions {
    /// Line and column of a byte, both counted from 1; columns in characters.
    pub(super) fn of(&mut self, text: &[u8], at: usize) -> (u32, u32) {
        if at >= self.at {
            self.forwards(text.get(self.at..at).unwrap_or_default());
        } else {
            self.backwards(text, at);
        }
        self.at = at;
        let from_one = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
        (from_one(self.line), from_one(self.column))
    }

    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "lines and characters are no more than bytes")
    )]
    fn forwards(&mut self, between: &[u8]) {
        let lines = count(between, |byte| byte == b'\n');
        self.line += lines;
        let mut rest = between;
        if lines > 0 {
            // The last line break usually precedes the position closely.
            let last = between.iter().rposition(|&byte| byte == b'\n').unwrap_or_default();
            (rest, self.column) = (between.get(last + 1..).unwrap_or_default(), 0);
        }
        self.column += characters(rest);
    }

    fn backwards(&mut self, text: &[u8], at: usize) {
        let between = text.get(at..self.at).unwrap_or_default();
        match count(between, |byte| byte == b'\n') {
            0 => self.column = self.column.saturating_sub(characters(between)),
            lines => {
                self.line = self.line.saturating_sub(lines);
                let before = text.get(..at).unwrap_or_default();
                let start =
                    before.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last.saturating_add(1));
                self.column = characters(before.get(start..).unwrap_or_default());
            }
        }
    }
}

/// The number of characters; continuation bytes of UTF-8 do not count.
fn characters(bytes: &[u8]) -> usize {
    count(bytes, |byte| byte & 0xc0 != 0x80)
}

/// The number of bytes of a kind. Sums of a byte each, over few bytes, are what processors do many of at once.
#[inline]
pub(super) fn count(bytes: &[u8], kind: impl Fn(u8) -> bool) -> usize {
    bytes.chunks(192).map(|few| usize::from(few.iter().map(|&byte| u8::from(kind(byte))).sum::<u8>())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_same_in_any_order() {
        let text = "ab\n\nälpha β\n  x".as_bytes();
        let plainly = |at: usize| {
            let before = &text[..at];
            let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
            let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
            let column = before[start..].iter().filter(|&&byte| byte & 0xc0 != 0x80).count() + 1;
            (line as u32, column as u32)
        };
        let mut positions = Positions::default();
        for from in 0..=text.len() {
            for to in 0..=text.len() {
                assert_eq!(positions.of(text, from), plainly(from));
                assert_eq!(positions.of(text, to), plainly(to), "{from} {to}");
            }
        }
    }

    #[test]
    fn many_bytes_are_counted() {
        assert_eq!(count(&[b'x'; 100_000], |byte| byte == b'x'), 100_000);
    }
}
