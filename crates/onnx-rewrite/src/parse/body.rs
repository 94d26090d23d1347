//! Bodies: nodes, nested calls, literals and attributes.

use std::ops::Range;

use onnx_ir::AttrValue;
use onnx_text::{ParseOptions, TokenKind, parse_node};

use super::{Parser, Result};
use crate::ast::{AttributeTerm, FlatNode, Literal, Operand, Var};
use crate::fault::Mistake;

/// Maximum depth of nested calls.
const MAX_DEPTH: usize = 32;

/// The section whose body is parsed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The left side, where `@p` stands for any value.
    From,
    Let,
    To,
    /// A call that selects nodes.
    Select,
}

impl Parser<'_> {
    /// `{ y = Op <…> (x)  … }`.
    pub(super) fn body(&mut self, kind: Kind) -> Result<Vec<FlatNode>> {
        self.expect("{")?;
        let mut nodes = Vec::new();
        while !self.sees("}") {
            self.line(1);
            self.statement(kind, &mut nodes)?;
        }
        self.line(0);
        self.expect("}")?;
        Ok(nodes)
    }

    fn statement(&mut self, kind: Kind, nodes: &mut Vec<FlatNode>) -> Result {
        let start = self.at();
        let mut outputs = Vec::new();
        loop {
            let at = self.at();
            if self.sees(",") || self.sees("=") {
                outputs.push(None);
            } else {
                outputs.push(Some((self.word("the name of a result")?, at)));
            }
            if !self.eat(",") {
                break;
            }
        }
        self.expect("=")?;
        let calls = self.alternatives(kind, nodes)?;
        if calls.len() > 1 && outputs.len() > 1 {
            return Err(Mistake::syntax(start, "a node with alternatives has one result"));
        }
        let mut vars = Vec::new();
        for output in outputs {
            vars.push(output.map(|(name, at)| self.define(name, at)).transpose()?);
        }
        push(nodes, calls, &vars);
        Ok(())
    }

    /// `A (x) | B (x)`: the calls, each with the nodes that are nested in it.
    fn alternatives(
        &mut self,
        kind: Kind,
        nodes: &mut Vec<FlatNode>,
    ) -> Result<Vec<(FlatNode, Range<usize>)>> {
        let mut calls = Vec::new();
        loop {
            let begin = nodes.len();
            let call = self.call(kind, nodes)?;
            calls.push((call, begin..nodes.len()));
            if !self.sees("|") {
                return Ok(calls);
            }
            if kind != Kind::From {
                return Err(Mistake::syntax(self.at(), "only the left side of a rule has alternatives"));
            }
            self.bump();
        }
    }

    /// `Op <attributes> (operands)`; operands that are calls become nodes before it.
    pub(super) fn call(&mut self, kind: Kind, nodes: &mut Vec<FlatNode>) -> Result<FlatNode> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH {
            return Err(Mistake::syntax(self.at(), format!("calls are nested deeper than {MAX_DEPTH}")));
        }
        let at = self.at();
        let mut domain = String::new();
        let mut op = match kind {
            Kind::Select => self.operator_pattern()?,
            _ => self.word("an operator")?.to_owned(),
        };
        while self.eat(".") {
            let word = self.word("an operator after the dot")?;
            if !domain.is_empty() {
                domain.push('.');
            }
            domain.push_str(&std::mem::replace(&mut op, word.to_owned()));
        }
        // The name of the default domain, which operators have without it.
        if domain == "ai.onnx" {
            domain.clear();
        }
        let mut node = FlatNode {
            domain,
            op,
            attributes: Vec::new(),
            attribute_places: Vec::new(),
            is_open: kind == Kind::Select,
            operands: Vec::new(),
            outputs: Vec::new(),
            within: None,
            at,
        };
        if self.sees("<") {
            self.attributes(kind, &mut node)?;
        }
        self.expect("(")?;
        while !self.sees(")") {
            let operand = if self.sees(",") { Operand::Omitted } else { self.operand(kind, nodes)? };
            node.operands.push(operand);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        self.depth = self.depth.saturating_sub(1);
        Ok(node)
    }

    fn operand(&mut self, kind: Kind, nodes: &mut Vec<FlatNode>) -> Result<Operand> {
        if self.is_literal() {
            return Ok(Operand::Literal(self.literal()?));
        }
        if kind == Kind::Select {
            return Ok(Operand::Var(if self.eat("_") {
                self.fresh("", self.at())
            } else {
                self.chain(nodes)?
            }));
        }
        let at = self.at();
        if self.eat("@") {
            if kind == Kind::From {
                let message = "an attribute is not an operand on the left side of a rule";
                return Err(Mistake::syntax(at, message));
            }
            let name = self.word("the name of an attribute")?;
            return Ok(Operand::Var(self.known(name, at)?));
        }
        let is_call = self.peek_at(1).is_some_and(|token| matches!(token.text, "(" | "<" | "."));
        if is_call {
            return self.nested(kind, nodes);
        }
        let name = self.word("an operand")?;
        let var = self.known(name, at)?;
        if self.eat("*") {
            return Ok(Operand::Rest(var));
        }
        if self.eat(":") {
            if kind == Kind::From {
                return Err(Mistake::syntax(at, "the left side of a rule has no defaults of operands"));
            }
            return Ok(Operand::Default(var, self.literal()?));
        }
        Ok(Operand::Var(var))
    }

    /// A nested call, possibly with alternatives.
    fn nested(&mut self, kind: Kind, nodes: &mut Vec<FlatNode>) -> Result<Operand> {
        let at = self.at();
        let calls = self.alternatives(kind, nodes)?;
        let var: Var = self.fresh("", at);
        push(nodes, calls, &[Some(var)]);
        Ok(Operand::Var(var))
    }

    fn is_literal(&self) -> bool {
        let is_infinity = |text: &str| text == "inf" || text == "nan";
        self.peek().is_some_and(|token| match token.kind {
            TokenKind::Number => true,
            TokenKind::Word => is_infinity(token.text) && !self.by_name.contains_key(token.text),
            _ => token.text == "[" || token.text == "-",
        })
    }

    /// A number, or a list of numbers in brackets.
    fn literal(&mut self) -> Result<Literal> {
        let mut literal = Literal { numbers: Vec::new(), is_list: self.eat("["), integers: Some(Vec::new()) };
        if !literal.is_list {
            self.number(&mut literal)?;
            return Ok(literal);
        }
        while !self.sees("]") {
            self.number(&mut literal)?;
            if !self.eat(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(literal)
    }

    fn number(&mut self, literal: &mut Literal) -> Result {
        let is_negative = self.eat("-");
        let token = self.peek().ok_or_else(|| self.expected("a number"))?;
        let is_word = matches!(token.text, "inf" | "nan");
        if token.kind != TokenKind::Number && !is_word {
            return Err(self.expected("a number"));
        }
        let text = format!("{}{}", if is_negative { "-" } else { "" }, token.text);
        let number: f64 = text.parse().map_err(|_| self.expected("a number"))?;
        let integer = text.parse::<i64>().ok();
        let is_too_large = integer.is_none() && token.text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_word && (number.is_infinite() || is_too_large) {
            return Err(Mistake::meaning(token.at, format!("the number {text} cannot be represented")));
        }
        self.bump();
        literal.numbers.push(number);
        literal.integers = literal.integers.take().zip(integer).map(|(mut integers, integer)| {
            integers.push(integer);
            integers
        });
        Ok(())
    }

    /// `<axis = 1, perm = @p, ...>`: the syntax of attributes is that of ONNX text.
    fn attributes(&mut self, kind: Kind, node: &mut FlatNode) -> Result {
        let start = self.at();
        self.bump();
        let mut depth = 0_usize;
        let mut text = String::from("<");
        let mut from = start.saturating_add(1);
        while depth > 0 || !self.sees(">") {
            let Some(token) = self.peek() else { return Err(self.expected("`>`")) };
            if depth == 0 && self.sees("...") {
                // A comma before `...` belongs to it; blanks keep the columns.
                let before = self.text.get(from..token.at).unwrap_or_default();
                text.push_str(before);
                let length = text.trim_end().len();
                if text.trim_end().ends_with(',') {
                    text.replace_range(length.saturating_sub(1)..length, " ");
                }
                text.push_str("   ");
                from = token.at.saturating_add(3);
                node.is_open = true;
                self.eat("...");
                if !self.sees(">") {
                    return Err(self.expected("`>` after `...`"));
                }
                continue;
            }
            match token.text {
                "[" | "(" | "{" => depth = depth.saturating_add(1),
                "]" | ")" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.bump();
        }
        text.push_str(self.text.get(from..self.at()).unwrap_or_default());
        self.expect(">")?;
        if text.trim_start_matches('<').trim().is_empty() {
            return Ok(());
        }
        self.entries(&text, start, kind, node)
    }

    fn entries(&mut self, text: &str, start: usize, kind: Kind, node: &mut FlatNode) -> Result {
        const PREFIX: &str = "=X";
        let source = format!("{PREFIX}{text}>()");
        let (model, parsed) = parse_node(&source, &ParseOptions::default()).map_err(|error| {
            let findings = error.into_findings();
            let first = findings.diagnostics().first();
            let position = first.and_then(|first| first.locus.position());
            let at = position.map_or(0, |position| byte(&source, position));
            let message = first.map_or_else(String::new, |first| first.message.clone());
            let at = start.saturating_add(at).saturating_sub(PREFIX.len());
            self.bare_word(start, at).unwrap_or_else(|| Mistake::syntax(at, message))
        })?;
        for attribute in model.node(parsed).attributes() {
            let name = model.str(attribute.name()).to_owned();
            let term = match attribute.value() {
                AttrValue::Ref(target) => {
                    AttributeTerm::Var(self.attribute_var(model.str(*target), start, kind)?)
                }
                AttrValue::Graph(_) | AttrValue::Graphs(_) => {
                    let message = format!("the attribute `{name}` of a rule is a graph");
                    return Err(Mistake::syntax(start, message));
                }
                value => AttributeTerm::Value(value.clone()),
            };
            let given = node.attributes.iter().filter(|(other, _)| *other == name).count();
            let at = self.attribute_at(&name, start, given);
            if given > 0 {
                return Err(Mistake::syntax(at, format!("the attribute `{name}` is given twice")));
            }
            node.attributes.push((name, term));
            node.attribute_places.push(at);
        }
        Ok(())
    }

    /// The mistake of a word where a list of attributes needs a value, if an error at a byte of the list is due to it.
    fn bare_word(&self, start: usize, at: usize) -> Option<Mistake> {
        let end = self.tokens.partition_point(|token| token.at <= at);
        let mut before = self.tokens.get(..end)?.iter().rev().take_while(|token| token.at > start).peekable();
        // The parser reports the word, or a token after it.
        while before.next_if(|token| matches!(token.text, "," | "]" | ">" | ".")).is_some() {}
        let (word, mark) = (before.next()?, before.next()?);
        if word.kind != TokenKind::Word || !matches!(mark.text, "=" | "[") {
            return None;
        }
        let text = word.text;
        Some(Mistake::syntax(
            word.at,
            match mark.text {
                "=" => format!(
                    "`{text}` is not a value: an attribute variable is written `@{text}`, a string `\"{text}\"`"
                ),
                _ => format!(
                    "`{text}` is not a number: an attribute variable stands for a whole list, as in `axes = @{text}`"
                ),
            },
        ))
    }

    /// The byte of an occurrence of a name in a list of attributes that begins at a byte.
    fn attribute_at(&self, name: &str, start: usize, occurrence: usize) -> usize {
        let begin = self.tokens.partition_point(|token| token.at < start);
        let list = self.tokens.get(begin..self.next).unwrap_or_default().windows(2);
        let mut named = list.filter_map(|pair| match pair {
            [token, mark] if token.text.trim_matches('"') == name && matches!(mark.text, "=" | ":") => {
                Some(token.at)
            }
            _ => None,
        });
        named.nth(occurrence).unwrap_or(start)
    }

    /// The variable of `@name` in a list of attributes that begins at a byte.
    fn attribute_var(&mut self, name: &str, start: usize, kind: Kind) -> Result<Var> {
        let begin = self.tokens.partition_point(|token| token.at < start);
        let rest = self.tokens.get(begin..).unwrap_or_default();
        let token = rest.windows(2).find_map(|pair| match pair {
            [mark, token] if mark.text == "@" && token.text == name => Some(*token),
            _ => None,
        });
        let Some(token) = token else {
            return Err(Mistake::syntax(start, "the name of an attribute variable is a word"));
        };
        match self.by_name.get(name) {
            Some(&var) => Ok(var),
            None if matches!(kind, Kind::From | Kind::Select) => self.define(token.text, token.at),
            None => self.known(token.text, token.at),
        }
    }
}

/// Adds calls with the same results, after the nodes that are nested in them.
fn push(nodes: &mut Vec<FlatNode>, calls: Vec<(FlatNode, Range<usize>)>, outputs: &[Option<Var>]) {
    let are_alternatives = calls.len() > 1;
    for (owner, (mut call, inner)) in (nodes.len()..).zip(calls) {
        let inner = nodes.get_mut(inner).unwrap_or_default();
        for node in inner.iter_mut().filter(|node| are_alternatives && node.within.is_none()) {
            node.within = Some(owner);
        }
        call.outputs = outputs.to_vec();
        nodes.push(call);
    }
}

/// The byte of a position.
fn byte(text: &str, position: onnx_diag::Position) -> usize {
    match position {
        onnx_diag::Position::Text { line, column, .. } => {
            let before = (line as usize).saturating_sub(1);
            let lines: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
            let rest = text.get(lines..).unwrap_or_default();
            let columns = rest.char_indices().nth((column as usize).saturating_sub(1));
            lines.saturating_add(columns.map_or(rest.len(), |(at, _)| at))
        }
        onnx_diag::Position::Byte(at) => usize::try_from(at).unwrap_or(0),
    }
}
