//! The parser of selectors.

use onnx_ir::{Glob, read_quoted};
use onnx_types::ElemType;

use super::{
    Direction, ElementSet, NumberRange, NumberRelation, Refinement, Selector, SelectorError, SelectorScope,
    TextPattern, ValueFact, is_word,
};

/// Maximum nesting of a selector, which bounds the recursion of the parser and of the resolution.
const MAX_DEPTH: usize = 80;

type Result<T> = std::result::Result<T, SelectorError>;

/// A selector as text.
pub(super) fn parse(text: &str) -> Result<Selector> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let selector = parser.selector(true)?;
    parser.blanks();
    if parser.at < text.len() {
        return Err(parser.error("unexpected text"));
    }
    Ok(selector)
}

/// The functions of selectors.
pub(super) const FUNCTIONS: &[&str] = &[
    "all", "between", "body", "bytes", "constant", "down", "finding", "function", "in", "inputs", "main",
    "metadata", "near", "node", "outputs", "rank", "type", "unknown", "up", "weights",
];

/// The units of sizes.
const UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("k", 1_000),
    ("kB", 1_000),
    ("KB", 1_000),
    ("M", 1_000_000),
    ("MB", 1_000_000),
    ("G", 1_000_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn error(&self, message: impl Into<String>) -> SelectorError {
        SelectorError::new(message, self.at)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn advance(&mut self, count: usize) {
        self.at = self.at.saturating_add(count);
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.advance(rest.len().saturating_sub(rest.trim_start().len()));
    }

    /// Consumes a character after blanks.
    fn eat(&mut self, c: char) -> bool {
        self.blanks();
        let found = self.rest().starts_with(c);
        self.advance(if found { c.len_utf8() } else { 0 });
        found
    }

    fn expect(&mut self, c: char, message: &'static str) -> Result<()> {
        if self.eat(c) { Ok(()) } else { Err(self.error(message)) }
    }

    /// A union. Where a comma begins the next argument, only `|` joins.
    fn selector(&mut self, has_commas: bool) -> Result<Selector> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH {
            return Err(self.error("the selector nests too deeply"));
        }
        let mut terms = vec![self.term()?];
        while self.eat('|') || (has_commas && self.eat(',')) {
            terms.push(self.term()?);
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(match terms.len() {
            1 => terms.swap_remove(0),
            _ => Selector::Union(terms),
        })
    }

    fn term(&mut self) -> Result<Selector> {
        let first = self.primary()?;
        let mut rest = Vec::new();
        loop {
            let refinement = if self.eat('&') {
                Refinement::And
            } else if self.eat('~') {
                Refinement::Without
            } else {
                break;
            };
            rest.push((refinement, self.primary()?));
        }
        Ok(if rest.is_empty() { first } else { Selector::Refined(Box::new(first), rest) })
    }

    fn primary(&mut self) -> Result<Selector> {
        if self.eat('(') {
            let selector = self.selector(true)?;
            self.expect(')', "expected `)`")?;
            return Ok(selector);
        }
        match self.function_name()? {
            Some(name) => {
                let selector = self.function(name)?;
                self.expect(')', "expected `)`")?;
                Ok(selector)
            }
            None => self.name_or_pattern(),
        }
    }

    /// The name of a function and the parenthesis after it; `None` if something else follows, which is not consumed.
    fn function_name(&mut self) -> Result<Option<&'a str>> {
        let start = self.at;
        if self.rest().starts_with('"') {
            return Ok(None);
        }
        let word = self.word()?;
        if !self.eat('(') {
            self.at = start;
            return Ok(None);
        }
        if FUNCTIONS.contains(&word) {
            return Ok(Some(word));
        }
        self.at = start;
        let is_operator = word.contains(['.', '*']) || word.starts_with(|c: char| c.is_uppercase());
        if is_operator { Ok(None) } else { Err(self.error("no selector function has this name")) }
    }

    fn name_or_pattern(&mut self) -> Result<Selector> {
        let start = self.at;
        if self.rest().starts_with('"') {
            let name = self.quoted()?;
            return if self.is_arrow() { self.pattern(start) } else { Ok(Selector::Name(name)) };
        }
        let word = self.word()?;
        self.blanks();
        if self.rest().starts_with(['<', '(']) {
            return self.pattern(start);
        }
        if self.is_arrow() {
            return Err(self.error("write a name before `->` between quotes"));
        }
        Ok(match Glob::is_pattern(word) {
            true => Selector::Glob(Glob::new(word)),
            false => Selector::Name(word.to_owned()),
        })
    }

    /// Returns `true` if `->` follows.
    fn is_arrow(&mut self) -> bool {
        self.blanks();
        self.rest().starts_with("->")
    }

    /// The calls of a pattern, from its first byte to its last parenthesis. The matcher parses them.
    fn pattern(&mut self, start: usize) -> Result<Selector> {
        self.at = start;
        loop {
            self.blanks();
            if self.rest().starts_with('"') {
                self.quoted()?;
            } else {
                self.word()?;
                self.blanks();
                if self.rest().starts_with('<') {
                    self.brackets()?;
                    self.blanks();
                }
                if !self.rest().starts_with('(') {
                    return Err(self.error("expected `(` and operands"));
                }
                self.brackets()?;
            }
            let end = self.at;
            if !self.is_arrow() {
                let text = self.text.get(start..end).unwrap_or_default();
                return Ok(Selector::Pattern(text.to_owned(), start));
            }
            self.advance(2);
        }
    }

    /// Skips what is between a bracket and its counterpart.
    fn brackets(&mut self) -> Result<()> {
        let mut closing = Vec::new();
        loop {
            let rest = self.rest();
            if rest.starts_with("->") && closing.last() != Some(&'>') {
                self.advance(2);
                continue;
            }
            let Some(c) = rest.chars().next() else { return Err(self.error("a bracket does not end")) };
            match c {
                '"' => {
                    self.quoted_bytes()?;
                    continue;
                }
                '(' => closing.push(')'),
                '[' => closing.push(']'),
                '{' => closing.push('}'),
                '<' => closing.push('>'),
                ')' | ']' | '}' | '>' if closing.pop() != Some(c) => {
                    return Err(self.error("the brackets do not match"));
                }
                _ => {}
            }
            self.advance(c.len_utf8());
            if closing.is_empty() {
                return Ok(());
            }
        }
    }

    /// Skips a string of the text format, whose escapes are its own.
    fn quoted_bytes(&mut self) -> Result<()> {
        let mut is_escaped = true;
        for (at, byte) in self.rest().bytes().enumerate() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => {
                    self.advance(at.saturating_add(1));
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(self.error("a quoted name does not end"))
    }

    /// The arguments of a function. Those that contain selectors have a function each, which keeps the frames of the recursion
    /// small.
    fn function(&mut self, name: &str) -> Result<Selector> {
        match name {
            "near" => self.flow(Direction::Near),
            "up" => self.flow(Direction::Up),
            "down" => self.flow(Direction::Down),
            "between" => self.between(),
            "in" => self.within(),
            "body" => self.body(),
            _ => self.simple(name),
        }
    }

    /// `S` or `S, N`.
    fn flow(&mut self, direction: Direction) -> Result<Selector> {
        let selector = Box::new(self.selector(false)?);
        let distance = if self.eat(',') { Some(self.index()?) } else { None };
        Ok(Selector::Flow(direction, selector, distance))
    }

    fn between(&mut self) -> Result<Selector> {
        let from = Box::new(self.selector(false)?);
        self.expect(',', "expected `,` and a selector")?;
        Ok(Selector::Between(from, Box::new(self.selector(false)?)))
    }

    /// `graph, S`.
    fn within(&mut self) -> Result<Selector> {
        self.blanks();
        let at = self.at;
        let Selector::Graph(scope) = self.selector(false)? else {
            self.at = at;
            return Err(self.error("expected a graph: `main()`, `body(…)` or `function(…)`"));
        };
        self.expect(',', "expected `,` and a selector")?;
        Ok(Selector::In(scope, Box::new(self.selector(false)?)))
    }

    /// `S, attribute` or `S, attribute, K`.
    fn body(&mut self) -> Result<Selector> {
        let node = Box::new(self.selector(false)?);
        self.expect(',', "expected `,` and the name of an attribute")?;
        let attribute = self.name()?;
        let index = if self.eat(',') { self.index()? } else { 0 };
        Ok(Selector::Graph(SelectorScope::Body { node, attribute, index }))
    }

    fn simple(&mut self, name: &str) -> Result<Selector> {
        Ok(match name {
            "node" => Selector::Node(self.index()?),
            "main" => Selector::Graph(SelectorScope::Main),
            "function" => Selector::Graph(SelectorScope::Function(self.name()?)),
            "inputs" => Selector::Set(ElementSet::Inputs),
            "outputs" => Selector::Set(ElementSet::Outputs),
            "weights" => Selector::Set(ElementSet::Weights),
            "all" => Selector::Set(ElementSet::All),
            "metadata" => self.metadata()?,
            "finding" => Selector::Finding(self.name()?),
            _ => Selector::Fact(self.fact(name)?),
        })
    }

    fn fact(&mut self, name: &str) -> Result<ValueFact> {
        Ok(match name {
            "unknown" => ValueFact::Unknown,
            "constant" => ValueFact::Constant,
            "rank" => ValueFact::Rank(self.comparison(&[])?),
            "bytes" => ValueFact::Bytes(self.comparison(UNITS)?),
            _ => {
                let mut elems = vec![self.elem()?];
                while self.eat(',') {
                    elems.push(self.elem()?);
                }
                ValueFact::Type(elems)
            }
        })
    }

    fn elem(&mut self) -> Result<ElemType> {
        self.blanks();
        let at = self.at;
        let word = self.word()?;
        ElemType::from_name(word)
            .ok_or_else(|| SelectorError::new("expected an element type, such as `float16`", at))
    }

    /// `key` or `key = value`.
    fn metadata(&mut self) -> Result<Selector> {
        let key = self.name()?;
        if !self.eat('=') {
            return Ok(Selector::Metadata(key, None));
        }
        self.blanks();
        let value = if self.rest().starts_with('"') {
            TextPattern::Exact(self.quoted()?)
        } else {
            let word = self.word()?;
            match Glob::is_pattern(word) {
                true => TextPattern::Glob(Glob::new(word)),
                false => TextPattern::Exact(word.to_owned()),
            }
        };
        Ok(Selector::Metadata(key, Some(value)))
    }

    /// A number, possibly after a relation, and possibly with a unit.
    fn comparison(&mut self, units: &[(&str, u64)]) -> Result<NumberRange> {
        let relation = match (self.eat('<'), self.eat('>')) {
            (true, false) if self.eat('=') => NumberRelation::AtMost,
            (true, false) => NumberRelation::Less,
            (false, true) if self.eat('=') => NumberRelation::AtLeast,
            (false, true) => NumberRelation::Greater,
            _ => {
                self.eat('=');
                NumberRelation::Equal
            }
        };
        self.blanks();
        let at = self.at;
        let number = self.digits()?;
        let rest = self.rest();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = rest.get(..letters).unwrap_or_default();
        let scale = match units.iter().find(|(name, _)| *name == unit) {
            Some(&(_, scale)) => scale,
            None if unit.is_empty() => 1,
            None if units.is_empty() => return Err(self.error("expected `)`")),
            None => return Err(self.error("expected a unit: `B`, `kB`, `MB`, `GB`, `KiB`, `MiB` or `GiB`")),
        };
        self.advance(letters);
        let number = number.checked_mul(scale).ok_or_else(|| SelectorError::new("expected a number", at))?;
        Ok(NumberRange { relation, number })
    }

    fn digits(&mut self) -> Result<u64> {
        self.blanks();
        let rest = self.rest();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest.get(..digits).and_then(|digits| digits.parse().ok());
        let number = number.ok_or_else(|| self.error("expected a number"))?;
        self.advance(digits);
        Ok(number)
    }

    fn index(&mut self) -> Result<usize> {
        let number = self.digits()?;
        usize::try_from(number).map_err(|_| self.error("expected a number"))
    }

    /// A name: a word without the meaning of a pattern, or a text between quotes.
    fn name(&mut self) -> Result<String> {
        self.blanks();
        if self.rest().starts_with('"') { self.quoted() } else { Ok(self.word()?.to_owned()) }
    }

    fn word(&mut self) -> Result<&'a str> {
        let rest = self.rest();
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        // `>` is not part of a word, so `->` can only be at its end.
        let is_arrow = rest.get(end..).is_some_and(|after| after.starts_with('>'));
        let word = rest.get(..end).unwrap_or_default();
        let word = if is_arrow { word.strip_suffix('-').unwrap_or(word) } else { word };
        if word.is_empty() {
            return Err(self.error("expected a name or a selector function"));
        }
        self.advance(word.len());
        Ok(word)
    }

    fn quoted(&mut self) -> Result<String> {
        let (name, rest) = read_quoted(self.rest())
            .map_err(|error| SelectorError::new(error.message, self.at.saturating_add(error.offset)))?;
        self.advance(self.rest().len().saturating_sub(rest.len()));
        Ok(name)
    }
}
