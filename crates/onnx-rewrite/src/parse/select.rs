//! Calls that select nodes: operators with `*`, operands by name, and `->`.

use onnx_text::TokenKind;

use super::body::Kind;
use super::{Parser, Result};
use crate::ast::{FlatNode, Rule, Side, Var};
use crate::fault::Mistake;
use crate::node_pattern::Selection;

/// Maximum number of calls of a pattern, which bounds the state of the search.
const MAX_CALLS: usize = 64;

/// A call, as the left side of a rule whose result is that of the call.
pub(crate) fn parse_call(text: &str) -> Result<(Rule, Selection)> {
    let mut parser = Parser::new(text);
    if let Some(comment) = parser.comments.first() {
        return Err(Mistake::syntax(comment.start, "a pattern has no comments"));
    }
    let mut nodes = Vec::new();
    let root = parser.chain(&mut nodes)?;
    if parser.peek().is_some() {
        return Err(parser.expected("the end, `->` or `|`"));
    }
    if nodes.is_empty() {
        return Err(Mistake::syntax(0, "expected a call, such as `Conv()`"));
    }
    let from = Side { inputs: Vec::new(), outputs: vec![root], output_places: Vec::new(), nodes };
    let rule = Rule {
        name: String::new(),
        page: String::new(),
        text: String::new(),
        class: onnx_pass::Exactness::Exact,
        since: 0,
        names: std::mem::take(&mut parser.names),
        places: std::mem::take(&mut parser.places),
        from,
        lets: Vec::new(),
        conditions: Vec::new(),
        to: Side::default(),
        at: 0,
    };
    Ok((rule, parser.selection))
}

impl Parser<'_> {
    /// `Conv() -> Relu()`: each call has the one before among its operands. The first may be the name of a value.
    pub(super) fn chain(&mut self, nodes: &mut Vec<FlatNode>) -> Result<Var> {
        let mut last = match self.peek().filter(|token| token.kind == TokenKind::String) {
            Some(token) => {
                self.bump();
                let Ok((name, "")) = onnx_ir::read_quoted(token.text) else {
                    return Err(Mistake::syntax(token.at, "the name between quotes does not end"));
                };
                let var = self.fresh("", token.at);
                self.selection.name(var, name);
                var
            }
            None => self.calls(None, nodes)?,
        };
        while self.eat("->") {
            last = self.calls(Some(last), nodes)?;
        }
        Ok(last)
    }

    /// Calls with `|` between them.
    fn calls(&mut self, feeder: Option<Var>, nodes: &mut Vec<FlatNode>) -> Result<Var> {
        let result = self.fresh("", self.at());
        loop {
            let mut call = self.call(Kind::Select, nodes)?;
            call.outputs = vec![Some(result)];
            if nodes.len() >= MAX_CALLS {
                let message = format!("a pattern has at most {MAX_CALLS} calls");
                return Err(Mistake::syntax(call.at, message));
            }
            self.selection.feed(nodes.len(), feeder);
            nodes.push(call);
            if !self.eat("|") {
                return Ok(result);
            }
        }
    }

    /// `Op`, `domain.Op`, `domain.*` or `domain.Op:overload`, without blanks, up to `<` or `(`.
    pub(super) fn operator_pattern(&mut self) -> Result<String> {
        let start = self.at();
        let mut end = start;
        while let Some(token) = self.peek().filter(|token| token.at == end) {
            let is_part = matches!(token.kind, TokenKind::Word | TokenKind::Number)
                || matches!(token.text, "." | "*" | "?" | ":" | "-" | "/");
            if !is_part {
                break;
            }
            self.bump();
            end = self.end();
        }
        if end == start {
            return Err(self.expected("an operator, `_` or a name between quotes"));
        }
        Ok(self.text.get(start..end).unwrap_or_default().to_owned())
    }
}
