//! Small edits: operators and attributes of nodes, declared types, and the order of the axes of inputs and outputs.

use std::collections::HashSet;

use onnx_check::{CheckOptions, check};
use onnx_compose::{ComposeError, EditOptions, set_outputs};
use onnx_diag::{Caps, Policy, Severity, Sink};
use onnx_ir::{AttrValue, Attribute, GraphOutput, Model, NewNode, NodeId, Position, User, ValueId};
use onnx_schema::{AttrKind, Registry, SchemaRef, normalize_domain, op};
use onnx_shape_infer::fault::CONDITIONAL;
use onnx_shape_infer::{InferOptions, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::{Dim, ElemType, Shape, Type, TypeKind};

use crate::args::SmallEditArgs;
use crate::exit::Failure;
use crate::input::Loaded;
use crate::output::shown;
use crate::selection;

/// The small edits that the arguments ask for, about elements of the model as it was read.
#[derive(Default)]
pub(super) struct SmallEdits {
    operators: Vec<(NodeId, Operator)>,
    attributes: Vec<(NodeId, Change)>,
    types: Vec<(ValueId, Type)>,
    layouts: Vec<Layout>,
}

/// The operator that a node calls afterwards.
#[derive(Clone)]
struct Operator {
    domain: String,
    name: String,
    overload: String,
}

/// A new value of an attribute, or that it is left out.
struct Change {
    name: String,
    value: Option<AttrValue>,
}

/// A value whose callers see its axes in another order.
struct Layout {
    value: ValueId,
    /// The axes of the model, by the axes that callers see.
    outside: Vec<usize>,
}

/// What was changed, for the summary.
#[derive(Clone, Copy, Default)]
pub(super) struct SmallCounts {
    pub(super) operators: usize,
    pub(super) attributes: usize,
    pub(super) types: usize,
    pub(super) layouts: usize,
}

impl SmallEdits {
    pub(super) fn new(model: &mut Model, args: &SmallEditArgs, registry: &Registry) -> Result<Self, Failure> {
        let mut edits = Self::default();
        for text in &args.operator {
            let found = operators(model, text)?;
            let is_known = |node: &NodeId| edits.operators.iter().any(|(other, _)| other == node);
            refuse_second(model, found.iter().map(|(node, _)| *node).find(is_known), "operator", text)?;
            edits.operators.extend(found);
        }
        for text in &args.attribute {
            let changes = attribute(model, text, &edits.operators, registry)?;
            let is_known = |(node, change): &&(NodeId, Change)| {
                edits.attributes.iter().any(|(other, known)| other == node && known.name == change.name)
            };
            let second = changes.iter().find(is_known).map(|(node, _)| *node);
            refuse_second(model, second, "attribute", text)?;
            edits.attributes.extend(changes);
        }
        for text in &args.declare {
            let (name, ty) = super::added_input(model, text)?;
            for value in selection::values(model, std::slice::from_ref(&name))? {
                if edits.types.iter().any(|(other, _)| *other == value) {
                    let name = shown(model.str(model.value(value).name()));
                    return Err(Failure::new(format_args!("`{name}` is given two types"))
                        .help("give each value one `--declare`"));
                }
                edits.types.push((value, ty.clone()));
            }
        }
        for text in &args.layout {
            for layout in layouts(model, text)? {
                if edits.layouts.iter().any(|other| other.value == layout.value) {
                    return Err(Failure::new(format_args!(
                        "`--layout {}` gives a second layout",
                        shown(text)
                    ))
                    .help("give each input and output one layout"));
                }
                edits.layouts.push(layout);
            }
        }
        Ok(edits)
    }

    /// Sets operators, attributes and declared types.
    pub(super) fn apply(&self, model: &mut Model) -> Result<SmallCounts, ComposeError> {
        let mut counts = SmallCounts { layouts: self.layouts.len(), ..SmallCounts::default() };
        for (node, operator) in &self.operators {
            let domain = model.intern(&operator.domain);
            let name = model.intern(&operator.name);
            let overload = model.intern(&operator.overload);
            let record = model.node(*node);
            let before = (record.domain(), record.op(), record.overload());
            counts.operators += usize::from(before != (normalize_domain(domain), name, overload));
            model.set_op(*node, domain, name, overload);
        }
        for (node, change) in &self.attributes {
            let name = model.intern(&change.name);
            let before = model.node(*node).attributes().iter().find(|attribute| attribute.name() == name);
            counts.attributes += usize::from(before.map(Attribute::value) != change.value.as_ref());
            match &change.value {
                Some(value) => model.set_attribute(*node, Attribute::new(name, value.clone()))?,
                None => _ = model.remove_attribute(*node, name),
            }
        }
        for (value, ty) in &self.types {
            counts.types += usize::from(model.ty(*value) != Some(ty));
            model.set_type(*value, Some(ty.clone()));
        }
        Ok(counts)
    }

    /// Puts transpositions behind inputs and before outputs.
    pub(super) fn apply_layouts(
        &self,
        model: &mut Model,
        options: &EditOptions<'_>,
    ) -> Result<(), ComposeError> {
        for layout in &self.layouts {
            let graph = model.main_graph();
            if model.graph(graph).inputs().contains(&layout.value) {
                transpose_input(model, layout)?;
            } else {
                transpose_output(model, layout, options)?;
            }
        }
        Ok(())
    }
}

/// Refuses a second value of one node.
fn refuse_second(model: &Model, second: Option<NodeId>, what: &str, text: &str) -> Result<(), Failure> {
    let Some(node) = second else { return Ok(()) };
    let record = model.node(node);
    let node =
        [record.name(), record.op()].map(|name| model.str(name)).into_iter().find(|name| !name.is_empty());
    let node = shown(node.unwrap_or_default());
    let message = format_args!("`--{what} {}` gives the node `{node}` a second value", shown(text));
    Err(Failure::new(message).help("give it once: selectors of several options may denote one node"))
}

/// Reads `SEL=OP`, where a selector can contain `=`.
fn operators(model: &Model, text: &str) -> Result<Vec<(NodeId, Operator)>, Failure> {
    let malformed = || {
        Failure::new(format_args!("`{}` is not SEL=OP", shown(text)))
            .help("write nodes and the operator that they call: `/act/Relu=Gelu`, `Swish()=com.acme.Swish`")
    };
    let (nodes, operator) = text.rsplit_once('=').ok_or_else(malformed)?;
    let (operator, overload) = operator.split_once(':').unwrap_or((operator, ""));
    let (domain, name) = operator.rsplit_once('.').unwrap_or(("", operator));
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if nodes.is_empty() || !is_name {
        return Err(malformed());
    }
    let operator =
        Operator { domain: domain.to_owned(), name: name.to_owned(), overload: overload.to_owned() };
    let found = selection::nodes(model, &[nodes.to_owned()])?;
    Ok(found.into_iter().map(|node| (node, operator.clone())).collect())
}

/// Reads `SEL.name=value`, where a selector can contain `.` and `=`.
fn attribute(
    model: &Model,
    text: &str,
    operators: &[(NodeId, Operator)],
    registry: &Registry,
) -> Result<Vec<(NodeId, Change)>, Failure> {
    let malformed = || {
        Failure::new(format_args!("`{}` is not SEL.name=value", shown(text)))
            .help("write nodes, an attribute and its value: `Cast().to=float16`, `node(3).axis=-1`")
    };
    let split = text.match_indices('=').find_map(|(at, _)| {
        let (nodes, name) = text.get(..at)?.rsplit_once('.')?;
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (is_name && !nodes.is_empty()).then(|| (nodes, name, text.get(at + 1..).unwrap_or_default()))
    });
    let (nodes, name, value) = split.ok_or_else(malformed)?;
    let nodes = selection::nodes(model, &[nodes.to_owned()])?;
    if nodes.is_empty() {
        return Err(Failure::new(format_args!("no node matches in `{}`", shown(text)))
            .help("`onnx find MODEL 'SEL'` shows what a selector denotes"));
    }
    let mut changes = Vec::new();
    for node in nodes {
        let new = operators.iter().rev().find(|(other, _)| *other == node).map(|(_, operator)| operator);
        // What is left out may be an attribute of the former operator only.
        let kind = match value {
            "" => None,
            _ => kind(model, node, (name, new), registry)?,
        };
        let value = match value {
            "" => None,
            value => Some(read(value, kind).ok_or_else(|| {
                let expected = kind.map_or("a value", AttrKind::text_name);
                Failure::new(format_args!("`{}` is not {expected}, as `{name}` takes it", shown(value)))
                    .help("write a value as in the text format: `1`, `0.5`, `[1, 2]`, `nearest`, `float16`")
            })?),
        };
        changes.push((node, Change { name: name.to_owned(), value }));
    }
    Ok(changes)
}

/// The kind that the operator of a node, or the one that it gets, declares for an attribute; `None` if the operator is not known.
fn kind(
    model: &Model,
    node: NodeId,
    (name, new): (&str, Option<&Operator>),
    registry: &Registry,
) -> Result<Option<AttrKind>, Failure> {
    let record = model.node(node);
    let (domain, operator) = match new {
        Some(new) => (new.domain.as_str(), new.name.as_str()),
        None => (model.str(record.domain()), model.str(record.op())),
    };
    let symbol = model.names().get(domain);
    let version = symbol.and_then(|symbol| onnx_version::imported_version(model, symbol));
    let Some(schema) = version.and_then(|version| registry.lookup(domain, operator, version)) else {
        return Ok(None);
    };
    let (kind, names): (Option<Option<AttrKind>>, Vec<String>) = match schema {
        SchemaRef::Standard(schema) => {
            let all = schema.attributes();
            let found = all.iter().find(|formal| formal.text() == name);
            (
                found.map(|formal| Some(formal.kind)),
                all.iter().map(|formal| formal.text().to_owned()).collect(),
            )
        }
        SchemaRef::Declared(schema) => (schema.attribute(name).map(|formal| formal.kind), Vec::new()),
    };
    kind.ok_or_else(|| {
        let failure = Failure::new(format_args!("`{}` has no attribute `{}`", shown(operator), shown(name)));
        match onnx_schema::nearest(name, names.iter().map(String::as_str)) {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None => failure.help(format!("`onnx ops show {}` lists its attributes", shown(operator))),
        }
    })
}

/// Reads the value of an attribute: as in the text format, a name of an element type for its number, and a word for a string.
fn read(text: &str, kind: Option<AttrKind>) -> Option<AttrValue> {
    if kind == Some(AttrKind::Int)
        && let Some(elem) = ElemType::all().find(|elem| elem.to_string() == text)
    {
        return Some(AttrValue::Int(elem.code().into()));
    }
    let is_word = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+/".contains(c));
    let parsed = parsed(text).or_else(|| if is_word { parsed(&format!("\"{text}\"")) } else { None })?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "the attribute holds the nearest float, as if it were written with a point"
    )]
    let value = match (kind, parsed) {
        (Some(AttrKind::Float), AttrValue::Int(number)) => AttrValue::Float(number as f32),
        (Some(AttrKind::Floats), AttrValue::Ints(numbers)) => {
            AttrValue::Floats(numbers.into_iter().map(|number| number as f32).collect())
        }
        (Some(AttrKind::String), AttrValue::Int(_) | AttrValue::Float(_)) => {
            AttrValue::String(text.as_bytes().to_vec().into())
        }
        (_, value) => value,
    };
    (kind.is_none() || value.kind() == kind).then_some(value)
}

/// A value in the text format, without tensors, graphs and types, whose parts belong to a model.
fn parsed(text: &str) -> Option<AttrValue> {
    let source = format!(
        "<ir_version: 10, opset_import: [\"\": 21, \"d\": 1]> g () => () {{ y = d.Op <a = {text}> () }}"
    );
    let other = parse_model(source, &ParseOptions::default()).ok()?;
    let node = other.nodes(other.main_graph()).next()?;
    match other.node(node).attributes() {
        [one] => match one.value() {
            value @ (AttrValue::Float(_)
            | AttrValue::Int(_)
            | AttrValue::String(_)
            | AttrValue::Floats(_)
            | AttrValue::Ints(_)
            | AttrValue::Strings(_)
            | AttrValue::Tensor(_)) => Some(value.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// The orders of axes: channels behind the batch, and channels last.
const LAYOUTS: [(&str, &str); 3] = [("NCL", "NLC"), ("NCHW", "NHWC"), ("NCDHW", "NDHWC")];

/// Reads `x=NHWC`: the order in which callers see the axes of an input or output, or of those that a selector denotes.
fn layouts(model: &Model, text: &str) -> Result<Vec<Layout>, Failure> {
    let malformed = || {
        Failure::new(format_args!("`{}` is not SEL=LAYOUT", shown(text)))
            .help("write an input or output and the order of its axes for callers: `x=NHWC`, `x=NCHW`")
    };
    let (name, wanted) = text.rsplit_once('=').ok_or_else(malformed)?;
    let pair = LAYOUTS.iter().find_map(|&(first, last)| match () {
        () if wanted.eq_ignore_ascii_case(last) => Some((last, first)),
        () if wanted.eq_ignore_ascii_case(first) => Some((first, last)),
        () => None,
    });
    let unknown = || {
        Failure::new(format_args!("`{}` is not a layout", shown(wanted))).help(
            "the layouts are `NCL`, `NCHW` and `NCDHW`, with the channels behind the batch, and `NLC`, `NHWC` and `NDHWC`, with \
             the channels last: a letter for each axis",
        )
    };
    let (outer, inner) = pair.ok_or_else(unknown)?;
    super::ports_of(model, name)?.into_iter().map(|value| layout(model, value, outer, inner)).collect()
}

/// A layout of an input or output.
fn layout(model: &Model, value: ValueId, outer: &str, inner: &str) -> Result<Layout, Failure> {
    let name = model.str(model.value(value).name());
    let rank = model.ty(value).and_then(Type::shape).map(|shape| shape.dims().len());
    if rank != Some(outer.len()) {
        let layouts = "a layout has a letter for each axis: `NLC`, `NHWC` or `NDHWC`, or with the channels behind the batch";
        let declared = "`onnx edit MODEL --declare 'NAME=float[N, 3, 224, 224]' -o NEW` declares a type";
        let help = rank.map_or(declared, |_| layouts);
        let rank = rank.map_or("an unknown number of".to_owned(), |rank| rank.to_string());
        return Err(Failure::new(format_args!(
            "`{}` has {rank} axes, `{outer}` has {}",
            shown(name),
            outer.len()
        ))
        .help(help));
    }
    let outside = outer.chars().filter_map(|axis| inner.find(axis)).collect();
    Ok(Layout { value, outside })
}

/// The type with its axes in another order.
fn permuted(ty: &Type, axes: &[usize]) -> Type {
    let mut ty = ty.clone();
    if let TypeKind::Tensor(tensor) = &mut ty.kind
        && let Some(shape) = &tensor.shape
    {
        let dims: Vec<Dim> = axes.iter().filter_map(|&axis| shape.dims().get(axis).copied()).collect();
        tensor.shape = Some(Shape::from_iter(dims));
    }
    ty
}

fn transposition(model: &mut Model, axes: &[usize], from: ValueId, to: ValueId) -> NewNode {
    let perm: Vec<i64> = axes.iter().map(|&axis| i64::try_from(axis).unwrap_or_default()).collect();
    let (operator, name) = (op::TRANSPOSE, model.intern("perm"));
    let attribute = Attribute::new(name, AttrValue::Ints(perm));
    NewNode::new(operator).attribute(attribute).inputs([from]).outputs([to])
}

/// A new value of the main graph, whose name begins with that of another value.
fn new_value_like(model: &mut Model, value: ValueId, end: &str) -> ValueId {
    let name = format!("{}{end}", model.str(model.value(value).name()));
    let name = model.unused_name(&name);
    model.new_value_in(model.main_graph(), name)
}

fn transpose_input(model: &mut Model, layout: &Layout) -> Result<(), ComposeError> {
    let (graph, input) = (model.main_graph(), layout.value);
    let ty = model.ty(input).cloned();
    if let Some(ty) = &ty {
        model.set_type(input, Some(permuted(ty, &layout.outside)));
    }
    if model.value(input).uses().iter().all(|at| at.user == User::Graph(graph)) {
        return Ok(());
    }
    let inner = new_value_like(model, input, "_transposed");
    // An output that is the input has the layout of both.
    model.replace_uses_where(input, inner, |_, at| at.user != User::Graph(graph));
    let inside = inverse(&layout.outside);
    let node = transposition(model, &inside, input, inner);
    model.add_node(Position::Start(graph), node)?;
    model.set_type(inner, ty);
    Ok(())
}

fn transpose_output(
    model: &mut Model,
    layout: &Layout,
    options: &EditOptions<'_>,
) -> Result<(), ComposeError> {
    let (graph, inner) = (model.main_graph(), layout.value);
    if !model.is_graph_output(inner) {
        let name = shown(model.str(model.value(inner).name()));
        let reason = format!("`{name}` is not an output any more, so that it has no layout");
        return Err(ComposeError::Refused(reason, Some(inner)));
    }
    let outer = new_value_like(model, inner, "_before_transposition");
    let node = transposition(model, &layout.outside, inner, outer);
    model.add_node(Position::End(graph), node)?;
    let ty = model.ty(inner).map(|ty| permuted(ty, &layout.outside));
    model.set_type(outer, ty);
    let outputs = model.graph(graph).outputs().iter().map(GraphOutput::value);
    let outputs: Vec<ValueId> = outputs.map(|value| if value == inner { outer } else { value }).collect();
    set_outputs(model, &outputs, options)?;
    model.take_name(outer, inner);
    Ok(())
}

/// The permutation that undoes another one.
fn inverse(axes: &[usize]) -> Vec<usize> {
    (0..axes.len()).filter_map(|axis| axes.iter().position(|&other| other == axis)).collect()
}

/// Every defect that the checker and inference find.
pub(super) fn defects(loaded: &Loaded, registry: &Registry) -> Result<Sink, Failure> {
    let source = loaded.source()?;
    let options =
        CheckOptions::default().with_registry(registry.clone()).with_execution(loaded.execution.clone());
    let mut sink = Sink::with(Policy::new(), Caps::NONE);
    sink.merge(check(&loaded.model, &options));
    let mut options = InferOptions::default().with_registry(registry).with_data(&source);
    options.check_types = true;
    options.execution = loaded.execution.clone();
    sink.merge(infer(&loaded.model, &options).findings().clone());
    loaded.execution.interrupt.check()?;
    Ok(sink)
}

/// The severities of what an edit causes: a branch that need not run is meant to be valid, too.
pub(super) fn policy() -> Policy {
    Policy::new().deny(&CONDITIONAL)
}

/// The errors that a model has after an edit and did not have before.
pub(super) fn new_errors(before: &Sink, after: Sink) -> Sink {
    let known: HashSet<String> = before.diagnostics().iter().map(identity).collect();
    let mut sink = Sink::with(policy(), Caps::NONE);
    for found in after.into_diagnostics() {
        let is_error = found.severity == Severity::Error || found.rule.id() == CONDITIONAL.id();
        if is_error && !known.contains(&identity(&found)) {
            sink.report(found);
        }
    }
    sink
}

fn identity(found: &onnx_diag::Diagnostic) -> String {
    format!("{} {:#}", found.rule.id(), found.locus)
}
