//! Selectors: text that denotes graphs, nodes and values of a model.
//!
//! ```text
//! selector = name | node(K) | near(selector, N) | in(graph, selector) | graph | (selector)
//! graph    = main() | body(selector, attribute) | body(selector, attribute, K) | function(domain.name:overload)
//! ```
//!
//! * A complete text that equals the name of a value or node of the main graph, or of a graph nested in it, is that name.
//! * A name is a run of characters other than blanks and `, | & ~ ( ) < > [ ] " = * ?`; every other name is written
//!   between double quotes with the escapes `\"`, `\\`, `\n`, `\r`, `\t` and `\u{HEX}`.
//! * Names and `node(K)` (the node at index K of a graph, counted from 0 in the order of the file) are resolved in the main
//!   graph; names also in the graphs nested in it, if the main graph has none of the name. `in` resolves them in one graph.
//! * `near(S, N)` selects the nodes that at most N edges separate from a node of S, in the graphs of these nodes.
//! * Where nodes are expected, a value denotes the node that produces it; where values are expected, a node denotes its
//!   outputs.
//!
//! [`Selectors::text`] returns the selector of an element. It resolves to exactly this element, or there is none.

mod resolve;

use std::fmt::{self, Write as _};

use thiserror::Error;

pub use resolve::{Element, Selectors};

/// Maximum nesting of a selector, which bounds the recursion of the parser and of the resolution.
const MAX_DEPTH: usize = 200;

/// A parsed selector.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selector {
    /// The name of values and nodes.
    Name(String),
    /// The node at this index of a graph.
    Node(usize),
    /// The nodes at most this many edges away from those of a selector.
    Near(Box<Self>, usize),
    /// The entity that a selector denotes in one graph.
    In(Scope, Box<Self>),
    /// A graph.
    Graph(Scope),
}

/// A graph in a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// The main graph.
    Main,
    /// A graph that is the value of an attribute of a node.
    Body {
        /// The node.
        node: Box<Selector>,
        /// The name of the attribute.
        attribute: String,
        /// The position in a list of graphs.
        index: usize,
    },
    /// The body of a function, by `domain.name:overload`; an empty domain or overload is omitted with its separator.
    Function(String),
}

/// Why a text is not a selector: a message and the byte at which it applies.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message} at byte {offset} of the selector")]
pub struct SelectorError {
    /// The message that states the defect.
    pub message: &'static str,
    /// The offset in bytes.
    pub offset: usize,
}

impl Selector {
    /// Parses a selector. The rule that a complete text may be a name needs a model: see [`Selectors::parse`].
    ///
    /// # Errors
    ///
    /// If the text is not a selector.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let selector = parser.selector()?;
        parser.blanks();
        if parser.at < text.len() {
            return Err(parser.error("unexpected text"));
        }
        Ok(selector)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write_name(f, name),
            Self::Node(index) => write!(f, "node({index})"),
            Self::Near(selector, distance) => write!(f, "near({selector}, {distance})"),
            Self::In(scope, selector) => write!(f, "in({scope}, {selector})"),
            Self::Graph(scope) => scope.fmt(f),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("main()"),
            Self::Body { node, attribute, index } => {
                write!(f, "body({node}, ")?;
                write_name(f, attribute)?;
                if *index > 0 { write!(f, ", {index})") } else { f.write_char(')') }
            }
            Self::Function(name) => {
                f.write_str("function(")?;
                write_name(f, name)?;
                f.write_char(')')
            }
        }
    }
}

/// Whether a character can be in a name without quotes.
fn is_word(c: char) -> bool {
    !(c.is_whitespace() || ",|&~()<>[]\"=*?\\".contains(c) || onnx_diag::is_unprintable(c))
}

/// Writes a name, between quotes if it is not a word.
fn write_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    if !name.is_empty() && !name.contains("->") && name.chars().all(is_word) {
        return f.write_str(name);
    }
    f.write_char('"')?;
    for c in name.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if onnx_diag::is_unprintable(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn error(&self, message: &'static str) -> SelectorError {
        SelectorError { message, offset: self.at }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Consumes a character after blanks.
    fn eat(&mut self, c: char) -> bool {
        self.blanks();
        let found = self.rest().starts_with(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, c: char, message: &'static str) -> Result<(), SelectorError> {
        if self.eat(c) { Ok(()) } else { Err(self.error(message)) }
    }

    fn selector(&mut self) -> Result<Selector, SelectorError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("the selector nests too deeply"));
        }
        let selector = self.primary();
        self.depth -= 1;
        selector
    }

    fn primary(&mut self) -> Result<Selector, SelectorError> {
        if self.eat('(') {
            let selector = self.selector()?;
            self.expect(')', "expected `)`")?;
            return Ok(selector);
        }
        let start = self.at;
        let is_quoted = self.rest().starts_with('"');
        let name = self.name()?;
        if is_quoted || !self.rest().starts_with('(') {
            return Ok(Selector::Name(name));
        }
        self.at += 1;
        let selector = match name.as_str() {
            "node" => Selector::Node(self.number()?),
            "near" => {
                let selector = self.selector()?;
                self.expect(',', "expected `,` and a distance")?;
                Selector::Near(Box::new(selector), self.number()?)
            }
            "in" => {
                let at = self.at;
                let Selector::Graph(scope) = self.selector()? else {
                    self.at = at;
                    return Err(self.error("expected a graph: `main()`, `body(…)` or `function(…)`"));
                };
                self.expect(',', "expected `,` and a selector")?;
                Selector::In(scope, Box::new(self.selector()?))
            }
            "main" => Selector::Graph(Scope::Main),
            "function" => {
                self.blanks();
                Selector::Graph(Scope::Function(self.name()?))
            }
            "body" => {
                let node = Box::new(self.selector()?);
                self.expect(',', "expected `,` and the name of an attribute")?;
                self.blanks();
                let attribute = self.name()?;
                let index = if self.eat(',') { self.number()? } else { 0 };
                Selector::Graph(Scope::Body { node, attribute, index })
            }
            _ => {
                self.at = start;
                return Err(self.error("no selector function has this name"));
            }
        };
        self.expect(')', "expected `)`")?;
        Ok(selector)
    }

    fn number(&mut self) -> Result<usize, SelectorError> {
        self.blanks();
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = rest.get(..digits).and_then(|digits| digits.parse().ok());
        let number = number.ok_or_else(|| self.error("expected a number"))?;
        self.at += digits;
        Ok(number)
    }

    fn name(&mut self) -> Result<String, SelectorError> {
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.quoted();
        }
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let end = rest.find("->").map_or(end, |arrow| arrow.min(end));
        if end == 0 {
            return Err(self.error("expected a name or a selector function"));
        }
        self.at += end;
        Ok(rest.get(..end).unwrap_or_default().to_owned())
    }

    fn quoted(&mut self) -> Result<String, SelectorError> {
        self.at += 1;
        let mut name = String::new();
        loop {
            let c = self.next().ok_or_else(|| self.error("a quoted name does not end"))?;
            match c {
                '"' => return Ok(name),
                '\\' => name.push(self.escape()?),
                c => name.push(c),
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn escape(&mut self) -> Result<char, SelectorError> {
        match self.next() {
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some(c @ ('"' | '\\')) => Ok(c),
            Some('u') => {
                let code = self.rest().strip_prefix('{').and_then(|rest| rest.split_once('}'));
                let found = code.and_then(|(hex, _)| {
                    Some((hex.len(), char::from_u32(u32::from_str_radix(hex, 16).ok()?)?))
                });
                let (len, c) = found.ok_or_else(|| self.error("expected `\\u{HEX}`"))?;
                self.at += len + 2;
                Ok(c)
            }
            _ => Err(self.error("unknown escape in a quoted name")),
        }
    }
}
