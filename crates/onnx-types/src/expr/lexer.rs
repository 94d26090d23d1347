//! The words of dimension texts.

/// One word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// An integer, or a decimal fraction that a binary fraction equals: numerator and power-of-two denominator.
    Number(i64, i64),
    /// A name, as written or unquoted.
    Name(String),
    Plus,
    Minus,
    Star,
    Power,
    Slash,
    FloorSlash,
    ExactSlash,
    Percent,
    Caret,
    Comma,
    Open,
    Close,
    End,
}

/// Why a text cannot be split into words at a place.
pub(super) type LexError = (usize, &'static str);

fn starts_name(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn continues_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The length of the name at the start of `text`; 0 when there is none.
///
/// A name is an identifier of C or Python. It may continue after a dot, as in the names of exported values
/// (`present.0.key_dim_2`).
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "lengths of parts of a text that is in memory")
)]
fn name_len(text: &str) -> usize {
    let mut len = 0;
    let mut chars = text.chars().peekable();
    if !chars.peek().copied().is_some_and(starts_name) {
        return 0;
    }
    while let Some(c) = chars.next() {
        let dotted = c == '.' && chars.peek().copied().is_some_and(continues_name);
        if !continues_name(c) && !dotted {
            break;
        }
        len += c.len_utf8();
    }
    len
}

/// Whether the whole text is one name.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && name_len(text) == text.len()
}

/// Splits a text into words, one at a time.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Whether a name or an opening parenthesis follows without space, as in `2N`.
    pub(super) fn touches_operand(&self) -> bool {
        self.rest().chars().next().is_some_and(|c| starts_name(c) || c == '(' || c == '`')
    }

    /// The next word and the byte position where it starts.
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "places in a text that is in memory")
    )]
    pub(super) fn next(&mut self) -> Result<(usize, Token), LexError> {
        self.at += self.rest().len() - self.rest().trim_start().len();
        let start = self.at;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok((start, Token::End)) };
        let (token, len) = if first.is_ascii_digit() {
            number(rest).ok_or((start, "the number is too large or not exact in binary"))?
        } else if first == '`' {
            quoted(rest).ok_or((start, "the quoted name does not end"))?
        } else if starts_name(first) {
            let len = name_len(rest);
            (Token::Name(rest.get(..len).unwrap_or("").to_owned()), len)
        } else {
            symbol(rest).ok_or((start, "no operator starts like this"))?
        };
        self.at += len;
        Ok((start, token))
    }
}

fn symbol(rest: &str) -> Option<(Token, usize)> {
    const LONG: [(&str, Token); 3] =
        [("**", Token::Power), ("//", Token::FloorSlash), ("/:", Token::ExactSlash)];
    for (text, token) in LONG {
        if rest.starts_with(text) {
            return Some((token, 2));
        }
    }
    let token = match rest.chars().next()? {
        '+' => Token::Plus,
        '-' => Token::Minus,
        '*' => Token::Star,
        '/' => Token::Slash,
        '%' => Token::Percent,
        '^' => Token::Caret,
        ',' => Token::Comma,
        '(' => Token::Open,
        ')' => Token::Close,
        _ => return None,
    };
    Some((token, 1))
}

/// An integer or decimal fraction. A fraction such as 0.1, which no binary fraction equals, is refused: its exact value
/// is not what a program computes with.
#[cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "lengths of parts of a text that is in memory; the divisors are 2 and a power of 5"
    )
)]
fn number(rest: &str) -> Option<(Token, usize)> {
    let whole_len = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (whole, after) = rest.split_at_checked(whole_len)?;
    let fraction_len = after
        .strip_prefix('.')
        .map_or(0, |digits| digits.len() - digits.trim_start_matches(|c: char| c.is_ascii_digit()).len());
    if fraction_len == 0 {
        let point = usize::from(after.starts_with('.'));
        return Some((Token::Number(whole.parse().ok()?, 1), whole_len + point));
    }
    let digits = after.get(1..=fraction_len)?;
    let len = whole_len + 1 + fraction_len;
    let digits = digits.trim_end_matches('0');
    let mut numerator: i64 = whole.parse().ok()?;
    if digits.is_empty() {
        return Some((Token::Number(numerator, 1), len));
    }
    let places = u32::try_from(digits.len()).ok()?;
    let ten = 10_i64.checked_pow(places)?;
    numerator = numerator.checked_mul(ten)?.checked_add(digits.parse().ok()?)?;
    // 10^n = 2^n * 5^n, and the last digit is not 0, so the fraction is binary exactly if 5^n cancels.
    let five = 5_i64.checked_pow(places)?;
    if numerator % five != 0 {
        return None;
    }
    let (mut numerator, mut denominator) = (numerator / five, ten / five);
    while numerator % 2 == 0 && denominator % 2 == 0 {
        (numerator, denominator) = (numerator / 2, denominator / 2);
    }
    Some((Token::Number(numerator, denominator), len))
}

/// A name in backquotes, in which a doubled backquote stands for one.
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "a place in a text that is in memory")
)]
fn quoted(rest: &str) -> Option<(Token, usize)> {
    let mut name = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != '`' {
            name.push(c);
        } else if chars.next_if(|&(_, c)| c == '`').is_some() {
            name.push('`');
        } else {
            return Some((Token::Name(name), at + 1));
        }
    }
    None
}
