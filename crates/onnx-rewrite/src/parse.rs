//! The parser of rule files: rules, their sections and conditions. Bodies of functions are in [`body`].

mod body;
mod condition;
mod select;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use foldhash::fast::RandomState;
use onnx_pass::Exactness;
use onnx_text::{TokenKind, tokens};
use onnx_types::{Interrupt, Stopped, Watch};

use crate::ast::{Arity, Rule, Side, Var};
use crate::fault::{Mistake, RuleFileError};
use crate::node_pattern::Selection;

/// The version of the default operator set that a rule needs if it does not state one: broadcasting of operands is that of
/// version 7 from here on.
const SINCE: i64 = 7;

/// The sections of a rule, in order.
const SECTIONS: [&str; 4] = ["from", "let", "where", "to"];

/// Mistakes that end the parser.
const MAX_MISTAKES: usize = 100;

/// A token other than a comment.
#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    kind: TokenKind,
    text: &'a str,
    at: usize,
}

type Result<T = ()> = std::result::Result<T, Mistake>;

/// Where lines of the canonical layout begin: the byte of the first token, and the depth of the indentation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) lines: Vec<(usize, usize)>,
}

/// The rules of a text, and the layout of the text.
///
/// # Errors
///
/// Returns every mistake, with its position.
pub(crate) fn parse(text: &str) -> std::result::Result<(Vec<Rule>, Layout), RuleFileError> {
    match parse_until(text, &Interrupt::NEVER) {
        Ok(parsed) => parsed,
        Err(Stopped) => Ok(Default::default()),
    }
}

/// Like [`parse`], until an interrupt.
#[allow(
    clippy::type_complexity,
    reason = "two results, of which one is about the work and one about the text"
)]
pub(crate) fn parse_until(
    text: &str,
    interrupt: &Interrupt,
) -> std::result::Result<std::result::Result<(Vec<Rule>, Layout), RuleFileError>, Stopped> {
    let mut watch = Watch::silent(interrupt, WATCHED_RULES);
    let mut parser = Parser::new(text);
    let mut rules: Vec<Rule> = Vec::new();
    let mut names: HashSet<String> = HashSet::new();
    let mut mistakes = Vec::new();
    while parser.peek().is_some() && mistakes.len() < MAX_MISTAKES {
        watch.work(1)?;
        let at = parser.at();
        match parser.rule() {
            Ok(rule) => {
                if !names.insert(rule.name.clone()) {
                    mistakes.push(Mistake::meaning(at, format!("there are two rules `{}`", rule.name)));
                }
                rules.push(rule);
            }
            Err(mistake) => {
                mistakes.push(mistake);
                parser.skip_to("rule");
            }
        }
    }
    if mistakes.is_empty() {
        return Ok(Ok((rules, parser.layout)));
    }
    Ok(Err(RuleFileError::new(text, mistakes)))
}

/// Rules between two checks of the interrupt.
pub(crate) const WATCHED_RULES: u64 = 16;

/// The idioms of a text, as rules without a right side.
///
/// # Errors
///
/// Returns every mistake, with its position.
pub(crate) fn parse_idioms(text: &str) -> std::result::Result<Vec<Rule>, RuleFileError> {
    let mut parser = Parser::new(text);
    let (mut idioms, mut mistakes) = (Vec::new(), Vec::new());
    while parser.peek().is_some() && mistakes.len() < MAX_MISTAKES {
        match parser.idiom() {
            Ok(idiom) => idioms.push(idiom),
            Err(mistake) => {
                mistakes.push(mistake);
                parser.skip_to("idiom");
            }
        }
    }
    if mistakes.is_empty() { Ok(idioms) } else { Err(RuleFileError::new(text, mistakes)) }
}

pub(crate) use select::parse_call;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    comments: Vec<Range<usize>>,
    next: usize,
    layout: Layout,
    /// The variables of the rule.
    names: Vec<String>,
    /// The byte at which each variable is defined.
    places: Vec<usize>,
    by_name: HashMap<&'a str, Var, RandomState>,
    depth: usize,
    /// The properties of a call that selects nodes which rules do not have.
    selection: Selection,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let (mut found, mut comments) = (Vec::new(), Vec::new());
        for token in tokens(text) {
            if token.kind == TokenKind::Comment {
                comments.push(token.range);
                continue;
            }
            let at = token.range.start;
            found.push(Token { kind: token.kind, text: text.get(token.range).unwrap_or_default(), at });
        }
        Self {
            text,
            tokens: found,
            comments,
            next: 0,
            layout: Layout::default(),
            names: Vec::new(),
            places: Vec::new(),
            by_name: HashMap::default(),
            depth: 0,
            selection: Selection::default(),
        }
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.next).copied()
    }

    fn peek_at(&self, offset: usize) -> Option<Token<'a>> {
        self.tokens.get(self.next.saturating_add(offset)).copied()
    }

    /// The byte of the next token, or of the end.
    fn at(&self) -> usize {
        self.peek().map_or(self.text.trim_end().len(), |token| token.at)
    }

    fn bump(&mut self) {
        self.next = self.next.saturating_add(1);
    }

    /// Returns `true` if the next tokens are these characters, without blanks between them.
    fn sees(&self, mark: &str) -> bool {
        let Some(first) = self.peek() else { return false };
        if first.kind == TokenKind::Word {
            return first.text == mark;
        }
        let is_token = |(offset, c): (usize, char)| {
            self.peek_at(offset).is_some_and(|token| {
                token.at == first.at.saturating_add(offset) && token.text.chars().eq([c])
            })
        };
        mark.chars().enumerate().all(is_token)
    }

    fn eat(&mut self, mark: &str) -> bool {
        let Some(first) = self.peek() else { return false };
        if !self.sees(mark) {
            return false;
        }
        let count = if first.kind == TokenKind::Word { 1 } else { mark.len() };
        self.next = self.next.saturating_add(count);
        true
    }

    fn expect(&mut self, mark: &str) -> Result {
        if self.eat(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    fn expected(&self, what: &str) -> Mistake {
        let found = self
            .peek()
            .map_or_else(|| "the end".to_owned(), |token| onnx_diag::Quoted(token.text).to_string());
        Mistake::syntax(self.at(), format!("expected {what}, found {found}"))
    }

    fn word(&mut self, what: &str) -> Result<&'a str> {
        match self.peek() {
            Some(token) if token.kind == TokenKind::Word => {
                self.bump();
                Ok(token.text)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn integer(&mut self) -> Result<i64> {
        let number = self.peek().filter(|token| token.kind == TokenKind::Number);
        let number =
            number.and_then(|token| token.text.parse().ok()).ok_or_else(|| self.expected("an integer"))?;
        self.bump();
        Ok(number)
    }

    /// The next token begins a line of the layout.
    fn line(&mut self, depth: usize) {
        let at = self.at();
        self.layout.lines.push((at, depth));
    }

    /// Skips to a word that begins a line.
    fn skip_to(&mut self, word: &str) {
        self.bump();
        while let Some(token) = self.peek() {
            let line = || self.text.get(..token.at).and_then(|before| before.rsplit('\n').next());
            if token.text == word && line().is_some_and(|line| line.trim().is_empty()) {
                return;
            }
            self.bump();
        }
    }

    /// The comment that ends directly before a byte.
    fn page(&self, at: usize) -> String {
        let mut lines = Vec::new();
        let mut end = at;
        for range in self.comments.iter().rev().filter(|range| range.end <= at) {
            let between = self.text.get(range.end..end).unwrap_or_default();
            let is_adjacent = between.trim().is_empty() && between.matches('\n').count() == 1;
            let before = self.text.get(..range.start).unwrap_or_default();
            let is_alone = before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
            if !is_adjacent || !is_alone {
                break;
            }
            let line = self.text.get(range.clone()).unwrap_or_default().trim_start_matches('#');
            lines.push(line.strip_prefix(' ').unwrap_or(line).trim_end());
            end = range.start;
        }
        lines.reverse();
        lines.join("\n")
    }

    /// The word that begins a rule or an idiom.
    fn begin(&mut self, word: &str) -> Result {
        self.line(0);
        self.names.clear();
        self.places.clear();
        self.by_name.clear();
        self.depth = 0;
        if self.peek().is_none_or(|token| token.text != word) {
            return Err(self.expected(&format!("`{word}`")));
        }
        self.bump();
        Ok(())
    }

    /// `idiom KERNEL from … where …`.
    fn idiom(&mut self) -> Result<Rule> {
        let at = self.at();
        self.begin("idiom")?;
        let name = self.hyphenated("the name of the kernel")?;
        self.section("from")?;
        let from = self.side(true)?;
        let conditions = if self.eat("where") { self.conditions()? } else { Vec::new() };
        let (names, places) = (std::mem::take(&mut self.names), std::mem::take(&mut self.places));
        let text = self.text.get(at..self.end()).unwrap_or_default().to_owned();
        let (page, class, since) = (self.page(at), Exactness::Exact, SINCE);
        let (lets, to) = (Vec::new(), Side::default());
        Ok(Rule { name, page, text, class, since, names, places, from, lets, conditions, to, at })
    }

    fn rule(&mut self) -> Result<Rule> {
        let at = self.at();
        self.begin("rule")?;
        let name = self.hyphenated("the name of the rule")?;
        self.expect(":")?;
        let class = match self.word("`exact` or `rounding`")? {
            "exact" => Exactness::Exact,
            "rounding" => Exactness::Rounding,
            _ => {
                self.next = self.next.saturating_sub(1);
                return Err(self.expected("`exact` or `rounding`"));
            }
        };
        let mut since = SINCE;
        if self.eat(",") {
            self.expect("since")?;
            let at = self.at();
            since = self.integer()?;
            let latest = onnx_schema::latest_opset(onnx_schema::domain::ONNX).unwrap_or(i64::MAX);
            if !(1..=latest).contains(&since) {
                let message = format!("the default operator set has the versions 1 to {latest}");
                return Err(Mistake::meaning(at, message));
            }
        }
        self.line(0);
        self.section("from")?;
        let from = self.side(true)?;
        let mut lets = Vec::new();
        if self.sees("let") {
            self.line(0);
            self.bump();
            lets = self.body(body::Kind::Let)?;
        }
        let mut conditions = Vec::new();
        if self.sees("where") {
            self.line(0);
            self.bump();
            conditions = self.conditions()?;
        }
        self.line(0);
        self.section("to")?;
        let to = self.side(false)?;
        if self.peek().is_some_and(|token| token.text != "rule") {
            return Err(self.expected_section("the next rule"));
        }
        let (names, places) = (std::mem::take(&mut self.names), std::mem::take(&mut self.places));
        let text = self.text.get(at..self.end()).unwrap_or_default().to_owned();
        let page = self.page(at);
        Ok(Rule { name, page, text, class, since, names, places, from, lets, conditions, to, at })
    }

    /// The word that begins a section.
    fn section(&mut self, name: &str) -> Result {
        if self.eat(name) { Ok(()) } else { Err(self.expected_section(&format!("`{name}`"))) }
    }

    /// Like [`expected`](Self::expected), with the order of sections if another one begins.
    fn expected_section(&self, what: &str) -> Mistake {
        let mut mistake = self.expected(what);
        if self.peek().is_some_and(|token| SECTIONS.contains(&token.text)) {
            let [first, second, third, last] = SECTIONS;
            mistake.message = format!(
                "{}: the sections of a rule are in the order `{first}`, `{second}`, `{third}`, `{last}`, each at most once",
                mistake.message
            );
        }
        mistake
    }

    /// Words with `-` between them.
    fn hyphenated(&mut self, what: &str) -> Result<String> {
        let first = self.at();
        self.word(what)?;
        let mut end = self.end();
        while let Some(token) = self.peek().filter(|token| token.at == end && token.text != ":") {
            if token.kind != TokenKind::Word && token.kind != TokenKind::Number && token.text != "-" {
                break;
            }
            self.bump();
            end = self.end();
        }
        Ok(self.text.get(first..end).unwrap_or_default().to_owned())
    }

    /// The end of the last token.
    fn end(&self) -> usize {
        let last = self.next.checked_sub(1).and_then(|index| self.tokens.get(index));
        last.map_or(0, |token| token.at.saturating_add(token.text.len()))
    }

    /// `(x, b?, xs*) => (y) { … }`.
    fn side(&mut self, is_from: bool) -> Result<Side> {
        let mut side = Side::default();
        self.expect("(")?;
        while !self.sees(")") {
            let at = self.at();
            let name = self.word("the name of an operand")?;
            let arity = match () {
                () if self.eat("?") => Arity::Optional,
                () if self.eat("*") => Arity::Rest,
                () => Arity::One,
            };
            let var = if is_from { self.define(name, at)? } else { self.known(name, at)? };
            side.inputs.push((var, arity));
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        self.expect("=>")?;
        self.expect("(")?;
        let mut outputs = Vec::new();
        loop {
            let at = self.at();
            outputs.push((self.word("the name of a result")?, at));
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        let kind = if is_from { body::Kind::From } else { body::Kind::To };
        if !is_from {
            // The results of the right side have the names of those of the left side, and are other values.
            let stays = |name: &str| {
                side.inputs.iter().any(|(var, _)| self.names.get(*var).is_some_and(|other| other == name))
            };
            let replaced: Vec<&str> =
                outputs.iter().map(|(name, _)| *name).filter(|name| !stays(name)).collect();
            for name in replaced {
                self.by_name.remove(name);
            }
        }
        side.nodes = self.body(kind)?;
        for (name, at) in outputs {
            side.outputs.push(self.known(name, at)?);
            side.output_places.push(at);
        }
        Ok(side)
    }

    fn define(&mut self, name: &'a str, at: usize) -> Result<Var> {
        if self.by_name.contains_key(name) {
            return Err(Mistake::meaning(at, format!("`{name}` is defined twice")));
        }
        let var = self.fresh(name, at);
        self.by_name.insert(name, var);
        Ok(var)
    }

    fn fresh(&mut self, name: &str, at: usize) -> Var {
        self.names.push(name.to_owned());
        self.places.push(at);
        self.names.len().saturating_sub(1)
    }

    fn known(&self, name: &str, at: usize) -> Result<Var> {
        let var = self.by_name.get(name).copied();
        var.ok_or_else(|| Mistake::meaning(at, format!("nothing defines `{name}`")))
    }
}
