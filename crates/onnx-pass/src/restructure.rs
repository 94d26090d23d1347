//! Edits that change no computed value: removal of what nothing uses, order, names, storage of constants.
//!
//! They are not patches, which replace values. A restructuring edits the model without restrictions, and the whole
//! model is compared with its state before: every remaining node calls the same operator on the same operands, where
//! constants of equal elements are the same. Keys of nodes and values are the same in both, so the comparison is linear
//! and proves the edit.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_diag::Quoted;
use onnx_ir::{Attribute, Constant, Def, FunctionId, GraphId, Model, NodeId, ValueId};
use onnx_schema::{Registry, op};
use onnx_types::Symbol;
use onnx_types::tensor::DataSource;

use crate::assumption::Exactness;
use crate::cx::{Checkpoint, Entry, PassCx};
use crate::determinism::BY_NAME;
use crate::passes::Report;
use crate::patch::{Level, Refusal};
use crate::references::References;
use crate::verdict::Verdict;

/// The change of the interface of the model that a restructuring may make.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Interface {
    /// Nothing.
    #[default]
    Same,
    /// Initializers become inputs with a default. Callers that do not know these inputs are not affected.
    MoreDefaults,
    /// Inputs with a default become initializers. Callers that override a default are no longer accepted.
    FewerDefaults,
}

impl PassCx<'_> {
    /// Edits the model without changing any computed value: `edit` returns the number of its edits. The result is compared
    /// with the model before; if they do not compute the same, or if the model has changed although no edit is counted, the model is
    /// restored, and the report has the refusal.
    pub fn restructure(&mut self, pass: &str, edit: impl FnOnce(&mut Model) -> usize) -> Report {
        self.restructure_with(pass, Interface::Same, edit)
    }

    /// Like [`restructure`](Self::restructure), with a change of the interface.
    pub fn restructure_with(
        &mut self,
        pass: &str,
        interface: Interface,
        edit: impl FnOnce(&mut Model) -> usize,
    ) -> Report {
        // What is around the edit is compiled once, not for each caller.
        match self.before_restructuring(pass) {
            Ok(before) => {
                let edits = edit(self.model_mut());
                self.after_restructuring(pass, interface, before, edits)
            }
            Err(report) => report,
        }
    }

    /// What an edit is compared with, or the report if there can be none.
    fn before_restructuring(&mut self, pass: &str) -> Result<(Checkpoint, Arc<References>), Report> {
        if self.refers_by_name {
            return Err(refused(pass, BY_NAME.to_owned()));
        }
        if self.is_exhausted() {
            return Err(Report::default());
        }
        let references = self.references();
        Ok((self.checkpoint(), references))
    }

    /// Keeps an edit that is proved, and restores the model otherwise.
    fn after_restructuring(
        &mut self,
        pass: &str,
        interface: Interface,
        (checkpoint, references): (Checkpoint, Arc<References>),
        edits: usize,
    ) -> Report {
        if edits == 0 {
            // An edit that is not counted would escape the comparison.
            if self.is_unchanged(&checkpoint) {
                (self.saved, self.references) = (Some(checkpoint), Some(references));
                return Report::default();
            }
            self.roll_back(checkpoint);
            return refused(pass, "it edits the model, but counts no edit".to_owned());
        }
        let is_gone = |node: &NodeId| self.model().get_node(*node).is_none();
        let erases = self.options().except.is_some_and(|except| {
            except.iter().any(|node| checkpoint.model.get_node(*node).is_some() && is_gone(node))
        });
        if erases || self.options().only.is_some() {
            self.roll_back(checkpoint);
            return refused(pass, "it edits the model as a whole, and only a part is selected".to_owned());
        }
        let (data, registry) = (self.options().data, self.options().registry);
        let before = &checkpoint.model;
        let references = &*references;
        let (after, twins) = (self.model(), RefCell::default());
        let comparison = Comparison { before, after, data, registry, interface, references, twins };
        if let Err(reason) = comparison.run() {
            self.roll_back(checkpoint);
            return refused(pass, reason);
        }
        self.refresh();
        self.record(Entry::whole(pass, Exactness::Exact, Verdict::Proved("congruence"), edits));
        Report { edits, ..Report::default() }
    }
}

/// The report about an edit that is not made, or was taken back.
fn refused(pass: &str, reason: String) -> Report {
    Report { refusals: vec![Refusal::new(pass, Level::Structure, reason)], ..Report::default() }
}

/// A comparison of a model with itself before an edit: the keys of nodes and values are the same in both.
struct Comparison<'a> {
    before: &'a Model,
    after: &'a Model,
    data: &'a dyn DataSource,
    registry: &'a Registry,
    interface: Interface,
    /// The values that annotations, bindings and shardings of the model before name.
    references: &'a References,
    /// Whether two functions of the model after compute the same, for pairs that were compared.
    twins: RefCell<HashMap<(FunctionId, FunctionId), bool, RandomState>>,
}

impl Comparison<'_> {
    fn run(&self) -> Result<(), String> {
        if let Err(faults) = self.after.verify() {
            let fault = faults.first().map(ToString::to_string).unwrap_or_default();
            return Err(format!("the model is not in order: {fault}"));
        }
        self.functions()?;
        if let Some((value, by)) = self.references.lost(self.after) {
            let name = crate::query::label(self.before, value);
            return Err(format!("it removes {name}, to which {by} refers"));
        }
        for graph in self.after.all_graphs() {
            if self.before.get_graph(graph).is_none() {
                return Err("it makes a graph".to_owned());
            }
            self.graph(graph)?;
        }
        Ok(())
    }

    fn functions(&self) -> Result<(), String> {
        let known: HashSet<FunctionId, RandomState> = self.before.functions().iter().copied().collect();
        for &function in self.after.functions() {
            if !known.contains(&function) {
                return Err("it makes a function".to_owned());
            }
            let (old, new) = (self.before.function(function), self.after.function(function));
            let identity =
                |function: &onnx_ir::Function| (function.domain(), function.name(), function.overload());
            if identity(old) != identity(new)
                || old.attributes != new.attributes
                || old.defaults != new.defaults
            {
                return Err(format!("it changes the function {}", Quoted(self.after.str(new.name()))));
            }
        }
        Ok(())
    }

    fn graph(&self, graph: GraphId) -> Result<(), String> {
        let (old, new) = (self.before.graph(graph), self.after.graph(graph));
        if old.owner() != new.owner() {
            return Err("it moves a graph to another owner".to_owned());
        }
        self.inputs(graph)?;
        if old.outputs().len() != new.outputs().len() {
            return Err("it changes the number of outputs of a graph".to_owned());
        }
        for (old, new) in old.outputs().iter().zip(new.outputs()) {
            self.same_value(old.value(), new.value())?;
        }
        if graph == self.after.main_graph() {
            self.names(old.outputs().iter().map(onnx_ir::GraphOutput::value), new.outputs())?;
        }
        let was_sorted = self.before.is_sorted(graph);
        if was_sorted && !self.after.is_sorted(graph) {
            return Err("it places a node before one that it uses".to_owned());
        }
        for node in self.after.nodes(graph) {
            self.node(node)?;
        }
        let has_effect = |node: &NodeId| self.before.node(*node).outputs().iter().flatten().next().is_none();
        match self.before.nodes(graph).filter(has_effect).find(|&node| self.after.get_node(node).is_none()) {
            Some(node) => Err(format!("it drops {}, which has no outputs", self.label(self.before, node))),
            None => Ok(()),
        }
    }

    /// The outputs of the main graph keep their names and types.
    fn names(&self, old: impl Iterator<Item = ValueId>, new: &[onnx_ir::GraphOutput]) -> Result<(), String> {
        for (old, new) in old.zip(new) {
            let (old, new) = (self.before.value(old), self.after.value(new.value()));
            if old.ty() != new.ty() {
                let name = Quoted(self.before.str(old.name()));
                return Err(format!("it changes the type of the output {name}"));
            }
            let (old, new) = (old.name(), new.name());
            if self.before.str(old) != self.after.str(new) {
                return Err(format!("it renames the output {}", Quoted(self.before.str(old))));
            }
        }
        Ok(())
    }

    fn inputs(&self, graph: GraphId) -> Result<(), String> {
        let (old, new) = (self.before.graph(graph).inputs(), self.after.graph(graph).inputs());
        let is_main = graph == self.after.main_graph();
        if is_main {
            self.changed_inputs(old, new)?;
        } else if old != new {
            return Err("it changes the inputs of a graph".to_owned());
        }
        let known: HashSet<ValueId, RandomState> = old.iter().copied().collect();
        for &input in new.iter().filter(|input| known.contains(input)) {
            let (one, two) = (self.before.value(input), self.after.value(input));
            let same_default = match (one.initializer(), two.initializer()) {
                (None, None) => true,
                (Some(one), Some(two)) => self.same_constant(one, two),
                _ => false,
            };
            let is_renamed = is_main && self.before.str(one.name()) != self.after.str(two.name());
            // No caller of the model sees an input of a nested graph, so it may be declared in more detail.
            let same_type = match (one.ty(), two.ty()) {
                (None, new) => new.is_none() || !is_main,
                (Some(old), Some(new)) => old == new || !is_main && old.completed_by(new) == *new,
                (Some(_), None) => false,
            };
            if !same_default || !same_type || is_renamed {
                return Err(format!("it changes the input {}", Quoted(self.before.str(one.name()))));
            }
        }
        Ok(())
    }

    /// Inputs that are added or removed, if the edit may do that; the others keep their order.
    fn changed_inputs(&self, old: &[ValueId], new: &[ValueId]) -> Result<(), String> {
        let [had, has] = [old, new].map(|inputs| inputs.iter().copied().collect::<HashSet<_, RandomState>>());
        let has_default =
            |model: &Model, value| model.get_value(value).is_some_and(|value| value.initializer().is_some());
        let may_come = |input| self.interface == Interface::MoreDefaults && has_default(self.after, input);
        let may_go = |input| self.interface == Interface::FewerDefaults && has_default(self.before, input);
        let all_may_come = new.iter().all(|input| had.contains(input) || may_come(*input));
        let all_may_go = old.iter().all(|input| has.contains(input) || may_go(*input));
        if !all_may_come || !all_may_go {
            return Err("it changes the inputs of the model".to_owned());
        }
        let kept = |list: &[ValueId], other: &HashSet<ValueId, RandomState>| -> Vec<ValueId> {
            list.iter().copied().filter(|input| other.contains(input)).collect()
        };
        if kept(old, &has) != kept(new, &had) {
            return Err("it changes the order of the inputs of the model".to_owned());
        }
        Ok(())
    }

    fn node(&self, node: NodeId) -> Result<(), String> {
        let new = self.after.node(node);
        let Some(old) = self.before.get_node(node) else {
            return if new.is(op::CONSTANT) {
                Ok(())
            } else {
                Err(format!("it makes {}", self.label(self.after, node)))
            };
        };
        let identity = |node: &onnx_ir::Node| (node.domain(), node.op(), node.overload());
        let version = |model: &Model, graph| model.versions_in(graph).get(new.domain());
        let is_called = self.before.function_called(old) == self.after.function_called(new);
        let is_twin = || self.calls_twin(old, new);
        if (identity(old) != identity(new) || !is_called) && !is_twin()
            || version(self.before, old.graph()) != version(self.after, new.graph())
        {
            return Err(format!("it changes what {} calls", self.label(self.before, node)));
        }
        if new.is(op::CONSTANT) {
            // Its value is compared where it is used.
            return Ok(());
        }
        if old.graph() != new.graph() {
            return Err(format!("it moves {} to another graph", self.label(self.after, node)));
        }
        self.attributes(node)?;
        let count = old.input_count().max(new.input_count());
        for index in 0..count {
            match (old.input(index), new.input(index)) {
                (None, None) => {}
                (Some(one), Some(two)) => self.same_value(one, two)?,
                _ => return Err(format!("it changes the operands of {}", self.label(self.after, node))),
            }
        }
        self.outputs(node)
    }

    /// Returns `true` if both nodes call functions, and these compute the same. They are compared as they are after the edit, when
    /// calls in both of them have been redirected: that each function computes what it did before is compared node by node, and
    /// holds by induction over the depth of calls.
    fn calls_twin(&self, old: &onnx_ir::Node, new: &onnx_ir::Node) -> bool {
        let functions = (self.before.function_called(old), self.after.function_called(new));
        let (Some(one), Some(two)) = functions else { return false };
        // The function that was called may have been removed, with its body.
        let is_kept = || self.after.get_graph(self.before.function(one).body()).is_some();
        let mut twins = self.twins.borrow_mut();
        let is_twin = || is_kept() && same_function(self.after, one, two, self.data);
        *twins.entry((one, two)).or_insert_with(is_twin)
    }

    /// The attributes are the same, where one that has its default is the same as none.
    fn attributes(&self, node: NodeId) -> Result<(), String> {
        let (old, new) = (self.before.node(node).attributes(), self.after.node(node).attributes());
        // Most nodes are as they were.
        if self.same_attributes(old.iter(), new.iter()) {
            return Ok(());
        }
        let (old, new) = (self.given(node, old), self.given(node, new));
        if self.same_attributes(old.into_iter(), new.into_iter()) {
            return Ok(());
        }
        Err(format!("it changes the attributes of {}", self.label(self.after, node)))
    }

    /// The attributes of a node that do not have their defaults, ordered by name.
    fn given<'n>(&self, node: NodeId, attributes: &'n [Attribute]) -> Vec<&'n Attribute> {
        let schema = self.before.callee(node, self.registry).standard();
        let is_given = |attribute: &&Attribute| {
            let default = schema.and_then(|schema| schema.attribute(attribute.name())?.default);
            !default.is_some_and(|default| attribute.value().is_default(default))
        };
        let mut given: Vec<&Attribute> = attributes.iter().filter(is_given).collect();
        given.sort_by_key(|attribute| attribute.name());
        given
    }

    fn same_attributes<'n>(
        &self,
        old: impl ExactSizeIterator<Item = &'n Attribute>,
        new: impl ExactSizeIterator<Item = &'n Attribute>,
    ) -> bool {
        let is_same = |one: &Attribute, two: &Attribute| {
            one.name() == two.name()
                && one.value().graphs() == two.value().graphs()
                && self.after.same_attribute_meaning(one, two, self.data)
        };
        old.len() == new.len() && old.zip(new).all(|(one, two)| is_same(one, two))
    }

    /// The outputs are the same, up to optional ones that nothing uses.
    fn outputs(&self, node: NodeId) -> Result<(), String> {
        let (old, new) = (self.before.node(node), self.after.node(node));
        let schema = self.after.callee(node, self.registry).standard();
        for index in 0..old.outputs().len().max(new.outputs().len()) {
            let (one, two) = (old.output(index), new.output(index));
            if one == two {
                continue;
            }
            let output = schema.and_then(|schema| schema.outputs().get(index));
            let is_optional = output.is_some_and(onnx_schema::Formal::is_optional);
            // The number of outputs decides whether it computes the statistics of the batch, or must match the attribute that
            // does.
            let is_mode = new.is(op::BATCH_NORMALIZATION);
            if two.is_some() || !is_optional || is_mode {
                return Err(format!("it changes the outputs of {}", self.label(self.after, node)));
            }
        }
        Ok(())
    }

    /// A value is the same computation, or a constant of equal elements.
    fn same_value(&self, one: ValueId, two: ValueId) -> Result<(), String> {
        let constants = (constant_of(self.before, one), constant_of(self.after, two));
        let is_same = match constants {
            (Some(one), Some(two)) => self.same_constant(&one, &two),
            (None, None) => {
                let kind =
                    |model: &Model| model.get_value(two).map(|value| std::mem::discriminant(&value.def()));
                one == two && kind(self.before) == kind(self.after)
            }
            // An initializer becomes the default of an input, or the reverse.
            _ => one == two && self.interface != Interface::Same && self.same_default(one),
        };
        let name = |model: &Model, value: ValueId| crate::query::label(model, value);
        if is_same && one != two {
            if let Some(by) = self.references.to(one) {
                return Err(format!("it replaces {}, to which {by} refers", name(self.before, one)));
            }
            if self.references.is_trained(two) {
                return Err(format!("it uses {}, which training sets", name(self.after, two)));
            }
        }
        if is_same {
            return Ok(());
        }
        Err(format!("it replaces {} by {}, another value", name(self.before, one), name(self.after, two)))
    }

    fn same_default(&self, value: ValueId) -> bool {
        match (self.before.value(value).initializer(), self.after.value(value).initializer()) {
            (Some(one), Some(two)) => self.same_constant(one, two),
            _ => false,
        }
    }

    fn same_constant(&self, one: &Constant, two: &Constant) -> bool {
        one.same_meaning(two, self.data)
    }

    fn label(&self, model: &Model, node: NodeId) -> String {
        Quoted(model.str(model.node(node).op())).to_string()
    }
}

/// Returns `true` if two functions of one domain compute the same from the same operands and attributes.
pub(crate) fn same_function(model: &Model, one: FunctionId, two: FunctionId, data: &dyn DataSource) -> bool {
    let (first, second) = (model.function(one), model.function(two));
    let imports = |function: &onnx_ir::Function| {
        let mut imports: Vec<(Symbol, i64)> =
            function.opset_imports.iter().map(|import| (import.domain(), import.version())).collect();
        imports.sort_unstable();
        imports
    };
    let same_defaults = || {
        let (first, second) = (&first.defaults, &second.defaults);
        first.len() == second.len()
            && first.iter().zip(second.iter()).all(|(one, two)| model.same_attribute_meaning(one, two, data))
    };
    first.domain() == second.domain()
        && first.attributes == second.attributes
        && imports(first) == imports(second)
        && same_defaults()
        && model.same_graph_meaning(first.body(), second.body(), data)
}

/// The constant that a value is: an initializer that is not an input, or what a `Constant` node holds.
pub(crate) fn constant_of(model: &Model, value: ValueId) -> Option<std::borrow::Cow<'_, Constant>> {
    let record = model.get_value(value)?;
    if let Some(constant) = record.constant() {
        return Some(std::borrow::Cow::Borrowed(constant));
    }
    let Def::Output { node, .. } = record.def() else { return None };
    model.node(node).constant_tensor().map(|tensor| std::borrow::Cow::Owned(Constant::Dense(tensor)))
}
