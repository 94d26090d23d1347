//! Readable listings, for debugging passes.
//!
//! The format is specific to this crate and cannot be parsed; ONNX text is implemented by another crate. Keys are
//! shown, because nodes and values of a model in memory need not have names. Names come from outside: they are escaped,
//! and truncated if they are long, as long lists are.

mod attribute;

use std::fmt::{self, Display as _};

use onnx_diag::{Clean, Name};
use onnx_types::expr::Dialect;
use onnx_types::{Dim, Symbol, TensorType, Type, TypeKind};

use crate::attr::Attribute;
use crate::entity::{GraphId, NodeId, ValueId};
use crate::graph::Owner;
use crate::model::Model;
use crate::walk::Event;

/// The most elements of a list that are shown.
const MOST_ELEMENTS: usize = 12;
/// The most nodes that `Debug` of a model shows.
const MOST_NODES: usize = 500;
/// The deepest indentation, in levels.
const DEEPEST: usize = 20;

/// A listing of a graph with everything nested in it; [`Model::listing`] makes it.
#[derive(Clone, Copy)]
pub struct Listing<'a> {
    model: &'a Model,
    graph: GraphId,
    most: usize,
}

/// A node, value, type or the value of an attribute in one line; [`Model::show`] and similar methods make it.
#[derive(Clone, Copy)]
pub struct Show<'a> {
    model: &'a Model,
    what: What<'a>,
}

#[derive(Clone, Copy)]
enum What<'a> {
    Node(NodeId),
    Value(ValueId),
    Attribute(&'a Attribute),
    Type(&'a Type),
}

impl Model {
    /// A readable listing of a graph with everything nested in it, one node a line.
    ///
    /// ```
    /// use onnx_ir::{Model, Position};
    /// use onnx_schema::{attr, op};
    ///
    /// let mut model = Model::new();
    /// let graph = model.main_graph();
    /// let x = model.add_graph_input(graph, "x", None);
    /// let y = model.build_at(Position::End(graph)).op(op::SOFTMAX, [x]).attr(attr::AXIS, 1_i64).output_named("y")?;
    /// model.push_graph_output(graph, y);
    /// assert_eq!(
    ///     model.listing(graph).to_string(),
    ///     "g0: graph (v0 \"x\") {\n  n0: v1 \"y\" = Softmax(v0 \"x\") {axis = 1}\n  return v1 \"y\"\n}\n",
    /// );
    /// # Ok::<(), onnx_ir::EditError>(())
    /// ```
    #[must_use]
    pub const fn listing(&self, graph: GraphId) -> Listing<'_> {
        Listing { model: self, graph, most: usize::MAX }
    }

    /// A node in one line. A node that is gone is shown as such.
    #[must_use]
    pub const fn show(&self, node: NodeId) -> Show<'_> {
        Show { model: self, what: What::Node(node) }
    }

    /// A value with its name. A value that is gone is shown as such.
    #[must_use]
    pub const fn show_value(&self, value: ValueId) -> Show<'_> {
        Show { model: self, what: What::Value(value) }
    }

    /// The value of an attribute in one line. Long lists are truncated, and nested graphs are shown by their keys.
    #[must_use]
    pub const fn show_attribute<'a>(&'a self, attribute: &'a Attribute) -> Show<'a> {
        Show { model: self, what: What::Attribute(attribute) }
    }

    /// A type in one line. Long shapes are truncated.
    #[must_use]
    pub const fn show_type<'a>(&'a self, ty: &'a Type) -> Show<'a> {
        Show { model: self, what: What::Type(ty) }
    }
}

impl fmt::Display for Show<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Node(node) => write_node(f, self.model, node),
            What::Value(value) => write_value(f, self.model, value),
            What::Attribute(value) => attribute::write_attribute_value(f, self.model, value),
            What::Type(ty) => write_type(f, self.model, ty),
        }
    }
}

impl fmt::Debug for Show<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Model {
    /// The head of the model and a listing of its graphs, cut where the model is large.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "model (IR version {}, opsets", self.info.ir_version)?;
        for import in self.info.opset_imports.iter().take(MOST_ELEMENTS) {
            write!(f, " {}:{}", Name::new(self.str(import.domain())), import.version())?;
        }
        writeln!(f, "), {} nodes, {} values", self.nodes.len(), self.values.len())?;
        let mut most = MOST_NODES;
        for root in self.roots().chain(self.algorithms()) {
            if most == 0 {
                return f.write_str("…\n");
            }
            fmt::Display::fmt(&Listing { model: self, graph: root, most }, f)?;
            most = most.saturating_sub(self.nodes_in(root).take(most).count());
        }
        Ok(())
    }
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = self.model;
        let mut left = self.most;
        let mut walk = model.walk(self.graph);
        while let Some(event) = walk.next() {
            match event {
                Event::Enter(graph) => {
                    indent(f, walk.depth() - 1)?;
                    write_head(f, model, graph)?;
                }
                Event::Node(_) if left == 0 => {
                    indent(f, walk.depth())?;
                    f.write_str("…\n")?;
                    walk.skip_rest();
                }
                Event::Node(node) => {
                    left -= 1;
                    indent(f, walk.depth())?;
                    write_node(f, model, node)?;
                    f.write_str("\n")?;
                }
                Event::After(_) => {}
                Event::Leave(graph) => {
                    write_end(f, model, graph, walk.depth() + 1)?;
                    indent(f, walk.depth())?;
                    f.write_str("}\n")?;
                }
            }
        }
        Ok(())
    }
}

fn indent(f: &mut fmt::Formatter<'_>, level: usize) -> fmt::Result {
    (0..level.min(DEEPEST)).try_for_each(|_| f.write_str("  "))
}

fn write_head(f: &mut fmt::Formatter<'_>, model: &Model, graph: GraphId) -> fmt::Result {
    let Some(record) = model.graphs.get(graph) else { return writeln!(f, "{graph}: gone {{") };
    write!(f, "{graph}: ")?;
    match record.owner {
        Owner::Detached => f.write_str("detached graph")?,
        Owner::Model | Owner::Node(_) => f.write_str("graph")?,
        Owner::Initialization => f.write_str("training initialization")?,
        Owner::Algorithm => f.write_str("training algorithm")?,
        Owner::Function(function) => {
            write!(f, "body of {function}")?;
            if let Some(function) = model.functions.get(function) {
                f.write_str(" ")?;
                write_word(f, model, function.domain())?;
                f.write_str(".")?;
                write_word(f, model, function.name)?;
            }
        }
    }
    if !record.name.is_empty() {
        write!(f, " {}", Name::new(model.str(record.name)))?;
    }
    f.write_str(" (")?;
    write_list(f, record.inputs.iter(), |f, &value| write_typed(f, model, value))?;
    f.write_str(") {\n")
}

fn write_end(f: &mut fmt::Formatter<'_>, model: &Model, graph: GraphId, level: usize) -> fmt::Result {
    let Some(record) = model.graphs.get(graph) else { return Ok(()) };
    let mut constants = model.initializers(graph).peekable();
    if constants.peek().is_some() {
        indent(f, level)?;
        f.write_str("constants ")?;
        write_list(f, constants, |f, value| write_typed(f, model, value))?;
        f.write_str("\n")?;
    }
    indent(f, level)?;
    f.write_str("return ")?;
    write_list(f, record.outputs.iter(), |f, output| write_typed(f, model, output.value))?;
    f.write_str("\n")
}

fn write_node(f: &mut fmt::Formatter<'_>, model: &Model, node: NodeId) -> fmt::Result {
    let Some(record) = model.nodes.get(node) else { return write!(f, "{node}: gone") };
    write!(f, "{node}: ")?;
    let optional = |f: &mut fmt::Formatter<'_>, value: Option<ValueId>| match value {
        Some(value) => write_value(f, model, value),
        None => f.write_str("_"),
    };
    write_list(f, record.outputs.iter().copied(), optional)?;
    f.write_str(" = ")?;
    if !record.domain().is_empty() {
        write_word(f, model, record.domain())?;
        f.write_str(".")?;
    }
    write_word(f, model, record.op)?;
    if !record.overload.is_empty() {
        f.write_str(":")?;
        write_word(f, model, record.overload)?;
    }
    f.write_str("(")?;
    write_list(f, record.inputs(), optional)?;
    f.write_str(")")?;
    if !record.name.is_empty() {
        write!(f, " {}", Name::new(model.str(record.name)))?;
    }
    if !record.attributes.is_empty() {
        f.write_str(" {")?;
        write_list(f, record.attributes.iter(), |f, attribute| attribute::write(f, model, attribute))?;
        f.write_str("}")?;
    }
    Ok(())
}

fn write_value(f: &mut fmt::Formatter<'_>, model: &Model, value: ValueId) -> fmt::Result {
    match model.values.get(value) {
        None => write!(f, "{value} (gone)"),
        Some(record) if record.name.is_empty() => write!(f, "{value}"),
        Some(record) => write!(f, "{value} {}", Name::new(model.str(record.name))),
    }
}

fn write_typed(f: &mut fmt::Formatter<'_>, model: &Model, value: ValueId) -> fmt::Result {
    write_value(f, model, value)?;
    let Some(record) = model.values.get(value) else { return Ok(()) };
    if let Some(ty) = &record.ty {
        f.write_str(": ")?;
        return write_type(f, model, ty);
    }
    if let Some(tensor) = record.constant.as_ref().and_then(|constant| constant.dense()) {
        return write!(f, ": {}{}", tensor.elem().name(), Dims(tensor.dims()));
    }
    Ok(())
}

/// A name as it is where it looks like an identifier, escaped and quoted elsewhere.
fn write_word(f: &mut fmt::Formatter<'_>, model: &Model, name: Symbol) -> fmt::Result {
    let text = model.str(name);
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    if plain && !text.is_empty() && text.len() <= 80 { f.write_str(text) } else { Name::new(text).fmt(f) }
}

fn write_list<T>(
    f: &mut fmt::Formatter<'_>,
    list: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (index, element) in list.enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        if index == MOST_ELEMENTS {
            return f.write_str("…");
        }
        write(f, element)?;
    }
    Ok(())
}

struct Dims<'a>(&'a [i64]);

impl fmt::Display for Dims<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        write_list(f, self.0.iter(), |f, dim| dim.fmt(f))?;
        f.write_str("]")
    }
}

/// Writes a type from the outside in; the part that follows an inner type is kept as a count of brackets.
fn write_type(f: &mut fmt::Formatter<'_>, model: &Model, ty: &Type) -> fmt::Result {
    let (mut at, mut brackets) = (Some(ty), 0_usize);
    while let Some(ty) = at {
        at = ty.inner();
        match &ty.kind {
            TypeKind::Undefined => f.write_str("?")?,
            TypeKind::Tensor(tensor) => write_tensor(f, model, tensor)?,
            TypeKind::SparseTensor(tensor) => {
                f.write_str("sparse ")?;
                write_tensor(f, model, tensor)?;
            }
            TypeKind::Sequence(_) => f.write_str("seq(")?,
            TypeKind::Optional(_) => f.write_str("optional(")?,
            TypeKind::Map { key, .. } => write!(f, "map({}, ", key.name())?,
            TypeKind::Opaque { domain, name } => {
                write!(f, "opaque({}, {})", Name::new(model.str(*domain)), Name::new(model.str(*name)))?;
            }
        }
        if matches!(ty.kind, TypeKind::Sequence(_) | TypeKind::Optional(_) | TypeKind::Map { .. }) {
            brackets += 1;
            if brackets > DEEPEST {
                f.write_str("…")?;
                break;
            }
        }
    }
    (0..brackets).try_for_each(|_| f.write_str(")"))
}

fn write_tensor(f: &mut fmt::Formatter<'_>, model: &Model, tensor: &TensorType) -> fmt::Result {
    f.write_str(tensor.elem.name())?;
    let Some(shape) = &tensor.shape else { return Ok(()) };
    f.write_str("[")?;
    write_list(f, shape.dims().iter(), |f, &dim| match dim {
        Dim::Known(size) => size.fmt(f),
        Dim::Var(name) => write_word(f, model, name),
        Dim::Unknown => f.write_str("?"),
        Dim::Expr(_) => match model.exprs.text(dim, &model.names, Dialect::Python) {
            Some(text) => Clean(&text).fmt(f),
            None => f.write_str("…"),
        },
    })?;
    f.write_str("]")
}
