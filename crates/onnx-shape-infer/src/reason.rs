//! Why a node does not say a part of the type of a result: the elements, the shapes or the graphs that decide it.

use onnx_diag::{Clean, Quoted};
use onnx_ir::{Callee, GraphId, Model, NodeId, ValueId};
use onnx_schema::{Registry, Traits, attr, op};
use onnx_types::{Dim, Symbol, TypeKind};

use crate::content::Elem;
use crate::result::Inference;
use crate::ty::Ty;
use crate::why::Gap;

/// Values that a reason names.
const MOST_NAMED: usize = 3;

impl Inference {
    /// Why a part of the type of a result is not known, if the node that makes it lost it: [`Why::node`](crate::Why::node) names that
    /// one. A clause such as ``the number depends on the elements of `x` ``; `None` for values that no node makes.
    ///
    /// ```
    /// use onnx_schema::Registry;
    /// use onnx_shape_infer::{Gap, InferOptions, infer};
    /// use onnx_text::{ParseOptions, parse_model};
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (y) { y = NonZero (x) }"#;
    /// let model = parse_model(text, &ParseOptions::default())?;
    /// let y = model.graph(model.main_graph()).outputs()[0].value();
    /// let reason = infer(&model, &InferOptions::default()).reason(&model, Registry::STANDARD, y, Gap::Size(1));
    /// assert_eq!(reason.unwrap(), "the number depends on the elements of `x`");
    /// # Ok::<(), onnx_text::ParseError>(())
    /// ```
    #[must_use]
    pub fn reason(&self, model: &Model, registry: &Registry, value: ValueId, gap: Gap) -> Option<String> {
        let node = model.value(value).producer()?;
        let contradiction = self.failures.iter().find(|failure| failure.node == Some(node));
        if let Some(failure) = contradiction {
            return Some(match failure.limit {
                Some(limit) => format!("a limit was reached: {} (`{limit}`)", failure.message),
                None => format!("the node contradicts itself: {}", failure.message),
            });
        }
        let name = Quoted(model.str(model.node(node).op())).to_string();
        let text = match model.callee(node, registry) {
            Callee::Standard(schema) => {
                let why = Asked { inference: self, model, node, value, gap };
                why.graphs().or_else(|| why.elements(schema.traits())).unwrap_or_else(|| why.operands())
            }
            Callee::Function(_) => format!("the body of the function {name} does not decide it"),
            Callee::Custom(_) => format!("the operator set that declares {name} has no rule for it"),
            Callee::Unnamed => "the node names no operator".to_owned(),
            Callee::NotImported => format!("the operator set of {name} is not imported"),
            Callee::Unknown { version } => {
                format!("version {version} of its operator set, which is imported, has no operator {name}")
            }
            Callee::Experimental | Callee::Undefined => match self.ty(value).is_unknown() {
                true => format!("no operator {name} is known, so nothing says what it returns"),
                false => Asked { inference: self, model, node, value, gap }.operands(),
            },
        };
        Some(text)
    }
}

/// A part of the type of a result of a node that is not known.
struct Asked<'a> {
    inference: &'a Inference,
    model: &'a Model,
    node: NodeId,
    value: ValueId,
    gap: Gap,
}

impl Asked<'_> {
    /// What of the graphs of the node decides it.
    fn graphs(&self) -> Option<String> {
        let index = self.output_index()?;
        match self.model.node(self.node).op() {
            op::IF => self.branches(index),
            op::LOOP => Some(self.iterations(index, attr::BODY, (1, 2))),
            op::SCAN => Some(self.iterations(index, attr::BODY, (0, 0))),
            op::SEQUENCE_MAP => {
                Some("the body gives the elements of the sequence different shapes".to_owned())
            }
            _ => None,
        }
    }

    fn output_index(&self) -> Option<usize> {
        self.model.node(self.node).outputs().iter().position(|&output| output == Some(self.value))
    }

    fn graph(&self, name: Symbol) -> Option<GraphId> {
        self.model.node(self.node).attribute(name)?.value().graphs().first().copied()
    }

    fn branches(&self, index: usize) -> Option<String> {
        let result = |name| Some(self.model.graph(self.graph(name)?).outputs().get(index)?.value());
        let (then, otherwise) = (result(attr::THEN_BRANCH)?, result(attr::ELSE_BRANCH)?);
        let lacks = |value: &&ValueId| self.inference.gaps(**value).contains(&self.gap);
        if let Some(&inner) = [then, otherwise].iter().find(lacks) {
            return Some(format!("a branch leaves it open: {} is {}", self.quoted(inner), self.ty(inner)));
        }
        let (then, otherwise) = (self.ty(then), self.ty(otherwise));
        Some(format!("the branches have different shapes: {then} and {otherwise}"))
    }

    /// Results of a body that runs several times: first what is carried from one iteration to the next, then what is collected. The
    /// body has `before` outputs before these, and `inputs` inputs.
    fn iterations(&self, index: usize, body: Symbol, (before, inputs): (usize, usize)) -> String {
        let node = self.model.node(self.node);
        let Some(body) = self.graph(body).map(|body| self.model.graph(body)) else {
            return "the node has no body".to_owned();
        };
        let result = body.outputs().get(index.saturating_add(before)).map(onnx_ir::GraphOutput::value);
        let carried = match node.op() {
            op::LOOP => node.input_count().saturating_sub(2),
            _ => {
                let scanned = node.int(attr::NUM_SCAN_INPUTS);
                let scanned = scanned.and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
                body.inputs().len().saturating_sub(scanned)
            }
        };
        if index < carried {
            let formal = body.inputs().get(index.saturating_add(inputs));
            return match (formal, result) {
                (Some(&formal), Some(result)) => format!(
                    "the iterations can change it: the body gets {} and returns {}",
                    self.ty(formal),
                    self.ty(result)
                ),
                _ => "the iterations can change it".to_owned(),
            };
        }
        match (self.gap, result) {
            (Gap::Size(0), _) if node.op() == op::LOOP => {
                "it is the number of iterations, which depends on the trip count and on conditions that are computed".to_owned()
            }
            (Gap::Size(0), _) => "it is the number of iterations, the size of what is scanned".to_owned(),
            (_, Some(result)) => format!(
                "what the iterations collect can differ: {} is {}",
                self.quoted(result),
                self.ty(result)
            ),
            _ => "the body does not return it".to_owned(),
        }
    }

    /// What of the elements of operands decides it.
    fn elements(&self, traits: &Traits) -> Option<String> {
        let node = self.model.node(self.node);
        let unread = |operands: &[usize]| -> Vec<ValueId> {
            let present = operands.iter().filter_map(|&index| node.input(index));
            present.filter(|&value| !self.is_read(value)).collect()
        };
        let counted = unread(traits.counted_operands());
        if !counted.is_empty() {
            return Some(format!("the number depends on the elements of {}", self.list(&counted)));
        }
        let values = unread(traits.shaping_operands());
        let first = *values.first()?;
        let list = self.list(&values);
        let long = values.iter().all(|&value| self.model.constant_tensor(value).is_some());
        Some(match self.gap {
            _ if long => format!("{list} has more elements than are read"),
            Gap::Rank if values.len() == 1 && self.inference.shape(first).is_none_or(has_open_size) => {
                format!("the rank is the number of elements of {list} or depends on them")
            }
            Gap::Rank => format!("the rank depends on the elements of {list}"),
            _ => format!("the size depends on the elements of {list}"),
        })
    }

    /// Whether all elements of a value are known.
    fn is_read(&self, value: ValueId) -> bool {
        let content = self.inference.content(value);
        content.is_some_and(|content| content.iter().all(|elem| !matches!(elem, Elem::Unknown)))
    }

    /// What of the types of operands decides it.
    fn operands(&self) -> String {
        let node = self.model.node(self.node);
        let mut inputs: Vec<ValueId> = Vec::new();
        for value in node.inputs().flatten() {
            if !inputs.contains(&value) {
                inputs.push(value);
            }
        }
        let lacking = |gap| -> Vec<ValueId> {
            inputs.iter().copied().filter(|&value| self.inference.gaps(value).contains(&gap)).collect()
        };
        for (gap, what) in [(Gap::Type, "type"), (Gap::Rank, "rank"), (Gap::Elem, "element type")] {
            let values = lacking(gap);
            if !values.is_empty() {
                let noun = if values.len() == 1 { what.to_owned() } else { format!("{what}s") };
                let verb = if values.len() == 1 { "is" } else { "are" };
                return format!("the {noun} of {} {verb} not known", self.list(&values));
            }
        }
        let is_sequence = |&value: &ValueId| matches!(self.inference.ty(value), Ty::Other(ty) if matches!(ty.kind, TypeKind::Sequence(_)));
        if let Some(sequence) = inputs.iter().copied().find(is_sequence) {
            return format!(
                "the tensors of {}, {}, can have different shapes",
                self.quoted(sequence),
                self.ty(sequence)
            );
        }
        let typed = inputs.iter().take(MOST_NAMED);
        let types: Vec<String> =
            typed.map(|&value| format!("{} is {}", self.quoted(value), self.ty(value))).collect();
        match types.is_empty() {
            true => "the node has no operands, and its attributes do not decide it".to_owned(),
            false => {
                let more = if inputs.len() > MOST_NAMED { ", …" } else { "" };
                format!(
                    "the types of the operands and the attributes do not decide it: {}{more}",
                    types.join(", ")
                )
            }
        }
    }

    fn quoted(&self, value: ValueId) -> String {
        Quoted(self.model.str(self.model.value(value).name())).to_string()
    }

    fn ty(&self, value: ValueId) -> String {
        // Names of sizes are those of the model.
        Clean(&self.inference.display_type(self.model, value).to_string()).to_string()
    }

    /// Values by their names.
    fn list(&self, values: &[ValueId]) -> String {
        let mut names: Vec<String> =
            values.iter().take(MOST_NAMED).map(|&value| self.quoted(value)).collect();
        if values.len() > MOST_NAMED {
            names.push(format!("{} more", values.len().saturating_sub(MOST_NAMED)));
        }
        match names.as_slice() {
            [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            _ => names.join(""),
        }
    }
}

fn has_open_size(dims: &[Dim]) -> bool {
    dims.iter().any(|dim| !matches!(dim, Dim::Known(_)))
}
