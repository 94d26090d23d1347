//! Nodes.

use onnx_ir::raw::NodeFields;
use onnx_ir::{GraphId, NodeId};
use onnx_types::Symbol;
use smallvec::SmallVec;

use super::meta::Form;
use super::recover::Next;
use super::{Parser, Result, Step};

impl<'a> Parser<'a> {
    /// Parses the nodes of a graph, with the braces.
    pub(super) fn nodes(&mut self, graph: GraphId) -> Result {
        self.expect(b'{')?;
        loop {
            match self.lex.peek() {
                Some(b'}') => {
                    self.lex.bump();
                    return Ok(());
                }
                None => return Err(self.expected("a node or `}`")),
                Some(_) => {}
            }
            if self.simple_node() {
                continue;
            }
            let start = self.lex.mark();
            if let Err(error) = self.node(graph) {
                self.recover(start, Next::Node, error)?;
            }
        }
    }

    /// Parses a node and adds it to a graph.
    pub(super) fn node(&mut self, graph: GraphId) -> Result<NodeId> {
        self.steps.push(Step::Node { graph, op: Symbol::EMPTY, name: Symbol::EMPTY, output: Symbol::EMPTY });
        let node = self.node_inside(graph);
        self.steps.pop();
        node
    }

    #[inline]
    fn node_inside(&mut self, graph: GraphId) -> Result<NodeId> {
        self.lex.peek();
        let mark = self.lex.mark();
        let mut node = NodeFields::default();
        if self.lex.eat(b'[') {
            node.name = self.try_name()?.unwrap_or_default();
            self.expect(b']')?;
        }
        let mut outputs: SmallVec<[Symbol; 4]> = SmallVec::new();
        self.operands(|name| outputs.push(name))?;
        self.expect(b'=')?;
        self.operator(&mut node)?;
        if let Some(step) = self.steps.last_mut() {
            let output = outputs.first().copied().unwrap_or_default();
            *step = Step::Node { graph, op: node.op, name: node.name, output };
        }
        if self.lex.eat(b'<') {
            self.attributes(&mut node.attributes)?;
        }
        let mut inputs: SmallVec<[Symbol; 8]> = SmallVec::new();
        self.expect(b'(')?;
        self.operands(|name| inputs.push(name))?;
        self.expect(b')')?;
        if matches!(self.lex.peek(), Some(b'<' | b'@')) {
            if node.attributes.is_empty() && self.lex.eat(b'<') {
                self.attributes(&mut node.attributes)?;
            }
            if self.is_annotation() {
                self.node_annotation(&mut node)?;
            }
        }
        self.work()?;
        self.check_size()?;
        let id = self.model.write_node(node, &inputs, &outputs);
        if self.has_positions {
            let origin = self.origin(mark);
            self.model.set_node_origin(id, origin);
        }
        Ok(id)
    }

    /// Parses names with commas between them. An absent name before a comma is the empty one; a comma at the end adds
    /// nothing.
    #[inline]
    fn operands(&mut self, mut push: impl FnMut(Symbol)) -> Result {
        loop {
            let name = self.try_name()?;
            let more = self.lex.eat(b',');
            if more || name.is_some() {
                push(name.unwrap_or_default());
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Parses domain, operator and overload.
    fn operator(&mut self, node: &mut NodeFields) -> Result {
        if let Some(word) = self.lex.word() {
            node.op = self.intern(word);
            match self.lex.peek() {
                Some(b'.') => self.qualified(word, node)?,
                Some(b':') => {}
                // Nearly all operators have neither domain nor overload.
                _ => return Ok(()),
            }
        } else if self.lex.peek() == Some(b'.') {
            self.qualified(b"", node)?;
        } else if self.lex.peek() == Some(b'"') {
            node.op = self.text("an operator")?;
            if self.lex.eat(b'.') {
                node.domain = node.op;
                node.op = self.text("an operator in quotes")?;
            }
        }
        if self.lex.eat(b':') {
            node.overload = self.name("an overload")?;
        }
        Ok(())
    }

    /// The rest of an operator's name that has dots in it: the last part is the operator, the others are its domain.
    #[inline(never)]
    fn qualified(&mut self, first: &[u8], node: &mut NodeFields) -> Result {
        let mut domain = first.to_vec();
        self.lex.eat(b'.');
        loop {
            let word = self.word("an operator after the dot")?;
            if !self.lex.eat(b'.') {
                node.op = self.intern(word);
                node.domain = self.intern(&domain);
                return Ok(());
            }
            // A dot before everything is read over.
            if !domain.is_empty() {
                domain.push(b'.');
            }
            domain.extend_from_slice(word);
        }
    }

    #[inline(never)]
    fn node_annotation(&mut self, node: &mut NodeFields) -> Result {
        let mut form = Form::default();
        let mut devices = Vec::new();
        self.annotation(|parser, key| {
            if key != b"device_configurations" {
                return parser.form_entry(key, &mut form);
            }
            parser.list(|parser| {
                devices.push(parser.node_devices()?);
                Ok(())
            })?;
            Ok(true)
        })?;
        node.forms = std::mem::take(&mut form.forms);
        let extras = form.into_extras();
        node.extras = if devices.is_empty() {
            extras
        } else {
            let mut extras = extras.unwrap_or_default();
            extras.device_configurations = devices;
            Some(extras)
        };
        Ok(())
    }
}
