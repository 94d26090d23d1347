//! The one traversal that serves all rules.
//!
//! Graphs are walked as the reference does: the inputs and initializers of a graph first, then its nodes in order, each
//! with the graphs nested in it before its outputs. What there is to do stands on a stack, so nesting takes heap and no
//! stack, and whatever a rule could need about a node is looked up once.

use std::collections::BTreeSet;

use onnx_diag::Sink;
use onnx_ir::{
    AttrValue, Attribute, Constant, Function, FunctionId, GraphId, Model, Node, NodeId, OpsetImport, OwnInfo,
    Owner, SparseTensor, ValueId,
};
use onnx_types::tensor::Tensor;
use onnx_types::{Interner, Symbol, Type};

use crate::calls::Calls;
use crate::cx::{
    AttributeCx, Callee, Cx, GraphCx, NodeCx, SparseCx, TensorCx, TensorHolder, TensorPlace, TypeCx,
    TypePlace, ValueCx,
};
use crate::declared::{
    self, DeviceCx, Devices, FeatureCx, FunctionCx, Holder, MetadataCx, MetadataList, OpsetCx, ShardingCx,
    TrainingCx,
};
use crate::external::{self, Piece};
use crate::features::{Feature, Features};
use crate::imports::Imports;
use crate::names::{Mark, Names};
use crate::options::CheckOptions;
use crate::rules::{
    attribute, call, device, feature as feature_rules, function, graph, metadata, model as model_rules, node,
    opset, reference, sharding as sharding_rules, sparse as sparse_rules, tensor, training, ty, value,
};
use crate::sparse::IndexFaults;

/// The first IR version in which models have functions; in older ones the reference does not look at them.
const FIRST_IR_WITH_FUNCTIONS: i64 = 8;

/// The first IR version in which models import operator sets.
const FIRST_IR_WITH_IMPORTS: i64 = 3;

/// Finds everything that is wrong with a model, as far as the rules go.
pub(crate) fn run(model: &Model, options: &CheckOptions) -> Sink {
    let mut run = Run {
        cx: Cx::new(model, options),
        names: Names::new(model.names().len()),
        legacy: legacy_operators(model.names()),
        has_functions: !model.functions().is_empty(),
        features: Features::new(model.info().ir_version),
        devices: declared::devices(&model.info().configurations),
        tasks: Vec::new(),
    };
    run.model();
    run.too_early();
    external::check(&mut run.cx);
    run.cx.sink
}

struct Run<'a> {
    cx: Cx<'a>,
    names: Names,
    /// The symbols that the dropped experimental operators have in this model.
    legacy: Vec<Symbol>,
    has_functions: bool,
    features: Features,
    devices: Devices<'a>,
    tasks: Vec<Task>,
}

#[derive(Clone, Copy)]
enum Task {
    /// Begins a graph.
    Enter(GraphId),
    /// Goes on with this node and those after it.
    Nodes(NodeId),
    /// Goes on after the graphs nested in a node; restores whether the reference looks.
    After { node: NodeId, was_unchecked: bool },
    /// Ends a graph.
    Leave(Mark),
}

impl<'a> Run<'a> {
    fn model(&mut self) {
        for entry in model_rules::ENTRIES {
            (entry.check)(&mut self.cx);
        }
        let model = self.cx.model;
        let info = model.info();
        self.metadata(MetadataList::Symbols(&info.metadata), Holder::Model);
        self.opset(&info.opset_imports, None);
        self.beside_graphs();
        let imports = if info.opset_imports.is_empty() && info.ir_version < FIRST_IR_WITH_IMPORTS {
            Imports::implied()
        } else {
            Imports::new(&info.opset_imports, 0)
        };
        // Training algorithms see the names of the main graph, so they are walked before it ends.
        self.graph(model.main_graph(), &imports, model.algorithms());
        self.cx.is_unchecked = true;
        for initialization in info.training.iter().filter_map(|step| step.initialization) {
            if model.get_graph(initialization).is_some() {
                self.graph(initialization, &imports, std::iter::empty());
            }
        }
        self.cx.is_unchecked = info.ir_version < FIRST_IR_WITH_FUNCTIONS;
        let calls = Calls::of(model);
        for (index, &function) in model.functions().iter().enumerate() {
            self.function(function, &calls, u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1));
        }
    }

    fn function(&mut self, id: FunctionId, calls: &Calls, number: u32) {
        let record = self.cx.model.function(id);
        for entry in function::ENTRIES {
            (entry.check)(&mut FunctionCx { cx: &mut self.cx, id, function: record, calls });
        }
        self.features_of_function(id, record);
        self.metadata(MetadataList::Symbols(&record.metadata), Holder::Function(id));
        self.opset(&record.opset_imports, Some(id));
        let imports = Imports::new(&record.opset_imports, number);
        self.cx.function = Some(id);
        self.graph(record.body(), &imports, std::iter::empty());
        // The reference does not look at the defaults of attributes.
        let was_unchecked = std::mem::replace(&mut self.cx.is_unchecked, true);
        for default in &record.defaults {
            self.contents_of(TensorHolder::Default(id, default.name()), default);
            for &graph in default.value().graphs() {
                self.graph(graph, &imports, std::iter::empty());
            }
        }
        self.cx.is_unchecked = was_unchecked;
        self.cx.function = None;
    }

    /// Training information and devices, at which the reference does not look.
    fn beside_graphs(&mut self) {
        let info = self.cx.model.info();
        let was_unchecked = std::mem::replace(&mut self.cx.is_unchecked, true);
        for (index, info) in info.training.iter().enumerate() {
            self.features.uses(Feature::Training, Holder::Model);
            for entry in training::ENTRIES {
                (entry.check)(&mut TrainingCx { cx: &mut self.cx, index, info });
            }
        }
        for (index, configuration) in info.configurations.iter().enumerate() {
            self.features.uses(Feature::Device, Holder::Model);
            let devices = &self.devices;
            for entry in device::ENTRIES {
                (entry.check)(&mut DeviceCx { cx: &mut self.cx, index, configuration, devices });
            }
        }
        self.cx.is_unchecked = was_unchecked;
    }

    /// How a node is spread over devices.
    fn shardings(&mut self, id: NodeId, node: &'a Node) {
        let values = node.inputs().chain(node.outputs().iter().copied());
        let operands: BTreeSet<ValueId> = values.flatten().collect();
        for sharding in node.device_configurations() {
            self.features.uses(Feature::Device, Holder::Node(id));
            let device = self.devices.get(&sharding.configuration).map(|&(_, device)| device);
            for entry in sharding_rules::ENTRIES {
                let cx = &mut self.cx;
                (entry.check)(&mut ShardingCx { cx, id, sharding, device, operands: &operands });
            }
        }
    }

    /// What the model uses although its version of the format does not have it.
    fn too_early(&mut self) {
        for (feature, seen) in self.features.too_early() {
            for entry in feature_rules::ENTRIES {
                (entry.check)(&mut FeatureCx { cx: &mut self.cx, feature, seen });
            }
        }
    }

    /// Takes note of the parts of a function that came late.
    fn features_of_function(&mut self, id: FunctionId, function: &'a Function) {
        let holder = Holder::Function(id);
        self.features.uses(Feature::Function, holder);
        if !function.defaults.is_empty() {
            self.features.uses(Feature::AttributeDefault, holder);
        }
        if !function.overload().is_empty() {
            self.features.uses(Feature::Overload, holder);
        }
        if self.cx.model.value_info(function.body()).next().is_some() {
            self.features.uses(Feature::FunctionValueInfo, holder);
        }
    }

    /// Takes note of the parts of a type that came late.
    #[inline]
    fn features_of_type(&mut self, ty: Option<&'a Type>, place: TypePlace) {
        if !self.features.has_all() {
            for ty in std::iter::successors(ty, |ty| ty.inner()) {
                for feature in Feature::of_type(ty) {
                    self.features.uses(feature, Holder::Type(place));
                }
            }
        }
    }

    fn opset(&mut self, imports: &'a [OpsetImport], function: Option<FunctionId>) {
        for entry in opset::ENTRIES {
            (entry.check)(&mut OpsetCx { cx: &mut self.cx, imports, function });
        }
    }

    /// A list of metadata, which most things do not have.
    #[inline]
    fn metadata(&mut self, entries: MetadataList<'a>, holder: Holder) {
        if entries.len() == 0 {
            return;
        }
        if !matches!(holder, Holder::Model) {
            self.features.uses(Feature::Metadata, holder);
        }
        for entry in metadata::ENTRIES {
            (entry.check)(&mut MetadataCx { cx: &mut self.cx, entries, holder });
        }
    }

    /// The metadata of a graph, and of descriptions of values that differ from what the values say themselves.
    fn metadata_of_graph(&mut self, id: GraphId) {
        let model = self.cx.model;
        let record = model.graph(id);
        if !record.quantization.is_empty() {
            self.features.uses(Feature::QuantizationAnnotation, Holder::Graph(id));
        }
        self.metadata(MetadataList::Symbols(&record.metadata), Holder::Graph(id));
        for (index, output) in record.outputs().iter().enumerate() {
            if let Some(own) = output.own() {
                self.metadata(MetadataList::Symbols(&own.metadata), Holder::Output(id, index));
            }
        }
        for entry in model.value_info(id) {
            if let Some(own) = entry.own() {
                let holder = Holder::ValueInfo(id, entry.value());
                self.metadata(MetadataList::Symbols(&own.metadata), holder);
            }
        }
    }

    /// Walks an outermost graph with everything nested in it, then `inside`, to which its names are visible.
    fn graph(&mut self, root: GraphId, imports: &Imports, inside: impl Iterator<Item = GraphId>) {
        let mark = self.names.enter();
        self.begin(root);
        self.work(imports);
        let was_unchecked = std::mem::replace(&mut self.cx.is_unchecked, true);
        for graph in inside {
            self.tasks.push(Task::Enter(graph));
            self.work(imports);
        }
        self.cx.is_unchecked = was_unchecked;
        self.names.leave(mark);
    }

    fn work(&mut self, imports: &Imports) {
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Enter(graph) => {
                    let mark = self.names.enter();
                    self.tasks.push(Task::Leave(mark));
                    self.begin(graph);
                }
                Task::Leave(mark) => self.names.leave(mark),
                Task::After { node, was_unchecked } => {
                    self.cx.is_unchecked = was_unchecked;
                    self.outputs(node);
                    self.nodes(self.cx.model.node(node).next(), imports);
                }
                Task::Nodes(node) => self.nodes(Some(node), imports),
            }
        }
    }

    /// Everything about a graph but its nodes, which become a task.
    fn begin(&mut self, id: GraphId) {
        let model = self.cx.model;
        let record = model.graph(id);
        for entry in graph::ENTRIES {
            (entry.check)(&mut GraphCx { cx: &mut self.cx, id, graph: record });
        }
        self.metadata_of_graph(id);
        for &input in record.inputs() {
            self.value(input);
        }
        for initializer in model.initializers(id) {
            let record = model.value(initializer);
            // The name of an initializer that is the default of an input is bound by the input.
            if record.constant().is_some() {
                self.value(initializer);
            }
            match record.initializer().map(AsRef::as_ref) {
                Some(Constant::Dense(tensor)) => {
                    self.tensor(tensor, TensorPlace::of(TensorHolder::Initializer(initializer)));
                }
                Some(Constant::Sparse(sparse)) => {
                    self.sparse(sparse, TensorPlace::of(TensorHolder::Initializer(initializer)));
                }
                None => {}
            }
        }
        self.types(id);
        self.tasks.extend(record.first().map(Task::Nodes));
    }

    /// The types that a graph declares for its inputs, its outputs and other values.
    fn types(&mut self, id: GraphId) {
        let model = self.cx.model;
        let record = model.graph(id);
        // A function only names its inputs and outputs.
        if !matches!(record.owner(), Owner::Function(_)) {
            for (index, &input) in record.inputs().iter().enumerate() {
                self.ty(model.ty(input), None, TypePlace::Input(id, index));
            }
            for (index, output) in record.outputs().iter().enumerate() {
                let (ty, other) = declared(output.own(), model.ty(output.value()));
                self.ty(ty, other, TypePlace::Output(id, index));
            }
        }
        for entry in model.value_info(id) {
            let (ty, other) = declared(entry.own(), model.ty(entry.value()));
            if ty.is_some() {
                self.ty(ty, other, TypePlace::Info(id, entry.value()));
            }
        }
    }

    #[inline]
    fn ty(&mut self, ty: Option<&'a Type>, other: Option<&'a Type>, place: TypePlace) {
        self.features_of_type(ty, place);
        let mut cx = TypeCx { cx: &mut self.cx, ty, place, other };
        for entry in ty::ENTRIES {
            (entry.check)(&mut cx);
        }
    }

    /// Walks nodes from `at` on, as far as the next one that has nested graphs.
    fn nodes(&mut self, mut at: Option<NodeId>, imports: &Imports) {
        let model = self.cx.model;
        while let Some(id) = at {
            let was_unchecked = self.cx.is_unchecked;
            if self.node(id, imports) {
                self.tasks.push(Task::After { node: id, was_unchecked });
                let first = self.tasks.len();
                self.tasks.extend(model.node(id).nested_graphs().map(Task::Enter));
                if let Some(nested) = self.tasks.get_mut(first..) {
                    nested.reverse();
                }
                return;
            }
            self.cx.is_unchecked = was_unchecked;
            self.outputs(id);
            at = model.node(id).next();
        }
    }

    /// Everything about a node but its outputs; says whether graphs are nested in it.
    fn node(&mut self, id: NodeId, imports: &Imports) -> bool {
        let record = self.cx.model.node(id);
        let callee = self.callee(id, imports);
        let mut cx = NodeCx { cx: &mut self.cx, id, node: record, callee, imports };
        for entry in node::ENTRIES {
            (entry.check)(&mut cx);
        }
        for entry in attribute::NODE_ENTRIES {
            (entry.check)(&mut cx);
        }
        if self.has_functions {
            for entry in call::ENTRIES {
                (entry.check)(&mut cx);
            }
        }
        let schema = cx.schema();
        // Of such a node the reference does not look at the attributes, nor at the graphs in them.
        self.cx.is_unchecked |= matches!(callee, Callee::Experimental);
        let mut has_graphs = false;
        for attribute in record.attributes() {
            let formal = schema.and_then(|schema| schema.attribute(attribute.name()));
            let mut cx = AttributeCx { cx: &mut self.cx, node: id, attribute, schema, formal };
            for entry in attribute::ENTRIES {
                (entry.check)(&mut cx);
            }
            has_graphs |= !attribute.value().graphs().is_empty();
            if let AttrValue::Ref(_) = attribute.value() {
                for entry in reference::ENTRIES {
                    (entry.check)(&mut cx);
                }
            }
            self.contents_of(TensorHolder::Attribute(id, attribute.name()), attribute);
        }
        self.metadata(MetadataList::Symbols(record.metadata()), Holder::Node(id));
        if !record.device_configurations().is_empty() {
            self.shardings(id, record);
        }
        if !record.overload().is_empty() {
            self.features.uses(Feature::Overload, Holder::Node(id));
        }
        if !record.domain().is_empty() {
            self.features.uses(Feature::NodeDomain, Holder::Node(id));
        }
        has_graphs
    }

    /// Finds out what a node calls.
    fn callee(&self, id: NodeId, imports: &Imports) -> Callee {
        let model = self.cx.model;
        let node = model.node(id);
        let (domain, op) = (node.domain(), node.op());
        if op.is_empty() {
            return Callee::Unnamed;
        }
        if domain.is_empty() && self.legacy.contains(&op) {
            return Callee::Experimental;
        }
        let Some(version) = imports.version(domain) else { return Callee::NotImported };
        if let Some(schema) = onnx_schema::lookup(domain, op, version) {
            return Callee::Operator(schema);
        }
        // Only what is no operator of ONNX is looked up among the functions, which takes a hash.
        if let Some(function) = self.has_functions.then(|| model.callee(id)).flatten() {
            return Callee::Function(function);
        }
        if onnx_schema::opset_versions(domain).is_none() {
            Callee::Custom
        } else {
            Callee::Unknown { version }
        }
    }

    fn outputs(&mut self, node: NodeId) {
        for &output in self.cx.model.node(node).outputs().iter().flatten() {
            self.value(output);
        }
    }

    fn value(&mut self, id: ValueId) {
        let record = self.cx.model.value(id);
        let earlier = self.names.bind(record.name(), id);
        let mut cx = ValueCx { cx: &mut self.cx, id, value: record, earlier };
        for entry in value::ENTRIES {
            (entry.check)(&mut cx);
        }
        self.metadata(MetadataList::Symbols(record.metadata()), Holder::Value(id));
    }

    /// The tensors and types in an attribute.
    fn contents_of(&mut self, holder: TensorHolder, attribute: &'a Attribute) {
        let place = TensorPlace::of(holder);
        let at = |index| TensorPlace { element: Some(index), ..place };
        match attribute.value() {
            AttrValue::Tensor(tensor) => self.tensor(tensor, place),
            AttrValue::Tensors(tensors) => {
                tensors.iter().enumerate().for_each(|(index, tensor)| self.tensor(tensor, at(index)));
            }
            AttrValue::SparseTensor(sparse) => self.sparse(sparse, place),
            AttrValue::SparseTensors(tensors) => {
                tensors.iter().enumerate().for_each(|(index, sparse)| self.sparse(sparse, at(index)));
            }
            AttrValue::Type(ty) => self.ty(Some(ty), None, TypePlace::Attribute(holder, None)),
            AttrValue::Types(types) => {
                for (index, ty) in types.iter().enumerate() {
                    self.ty(Some(ty), None, TypePlace::Attribute(holder, Some(index)));
                }
            }
            _ => {}
        }
    }

    fn sparse(&mut self, sparse: &'a SparseTensor, place: TensorPlace) {
        for (part, tensor) in [("values", &sparse.values), ("indices", &sparse.indices)] {
            if let Some(tensor) = tensor {
                self.tensor(tensor, TensorPlace { part: Some(part), ..place });
            }
        }
        self.features.uses(Feature::SparseTensor, Holder::Tensor(place));
        let indices = IndexFaults::find(sparse);
        let mut cx = SparseCx { cx: &mut self.cx, sparse, place, indices };
        for entry in sparse_rules::ENTRIES {
            (entry.check)(&mut cx);
        }
    }

    fn tensor(&mut self, tensor: &'a Tensor, place: TensorPlace) {
        self.cx.pieces.extend(Piece::of(tensor, place, self.cx.is_unchecked));
        let faults = tensor.faults();
        let mut cx = TensorCx { cx: &mut self.cx, tensor, place, faults: &faults };
        for entry in tensor::ENTRIES {
            (entry.check)(&mut cx);
        }
        self.metadata(MetadataList::Texts(tensor.metadata()), Holder::Tensor(place));
        if let Some(feature) = Feature::of_elem(tensor.elem()) {
            self.features.uses(feature, Holder::Tensor(place));
        }
    }
}

/// The type that an output or an entry of `value_info` declares, and what the value itself says where that is another.
fn declared<'a>(own: Option<&'a OwnInfo>, value: Option<&'a Type>) -> (Option<&'a Type>, Option<&'a Type>) {
    match own {
        Some(own) => (own.ty.as_deref(), value),
        None => (value, None),
    }
}

/// Operators that ONNX tried out before it had a process for that, and dropped. There never was a schema that readers kept,
/// yet they accept nodes of these names.
const LEGACY_OPERATORS: [&str; 11] = [
    "ATen",
    "Affine",
    "ConstantFill",
    "Crop",
    "DynamicSlice",
    "GRUUnit",
    "GivenTensorFill",
    "ImageScaler",
    "ParametricSoftplus",
    "Scale",
    "ScaledTanh",
];

fn legacy_operators(names: &Interner) -> Vec<Symbol> {
    LEGACY_OPERATORS.iter().filter_map(|name| names.get(name)).collect()
}

/// Whether `graph` is directly the body of a function, where the reference tells the names of the default domain apart.
pub(crate) fn is_function_body(model: &Model, graph: GraphId) -> bool {
    matches!(model.graph(graph).owner(), Owner::Function(_))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use onnx_ir::LoadedNode;

    use super::*;
    use crate::check;
    use crate::testing::Builder;

    /// Checks a hostile model: it must end, soon, and find this many errors.
    fn check_hostile(model: &Model, errors: u64) {
        let start = Instant::now();
        let sink = check(model, &CheckOptions::default());
        assert_eq!(sink.counts().errors, errors);
        // Generous: it takes milliseconds where the work is linear, and hours where it is not.
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn nesting_takes_no_stack() {
        let mut m = Builder::new();
        m.import("d", 1);
        let [name, op, domain] = ["body", "Frob", "d"].map(|name| m.model.intern(name));
        let mut inner = None;
        for depth in 0..50_000 {
            let graph = if depth == 49_999 { m.graph() } else { m.model.new_graph(name) };
            let attributes = inner.map(|inner: GraphId| Attribute::new(name, inner)).into_iter().collect();
            m.model.load_node(
                graph,
                LoadedNode { op, domain, attributes, ..LoadedNode::default() },
                &[],
                &[],
            );
            inner = Some(graph);
        }
        check_hostile(&m.model, 50_000);
    }

    #[test]
    fn floods_are_counted_in_linear_time() {
        let mut m = Builder::new();
        for index in 0..20_000 {
            // A name that nothing defines, one that is defined twice, an operator that does not exist.
            m.node(&format!("y = Frobnicate (undefined{index})"));
        }
        m.model.mark_names_clean();
        check_hostile(&m.model, 20_000 + 19_999 + 20_000);
    }

    #[test]
    fn the_same_model_gives_the_same_findings() {
        let mut m = Builder::new();
        for index in 0..100 {
            m.node(&format!("y{} = Frob{} (u{})", index % 7, index % 5, index % 11));
        }
        m.model.mark_names_clean();
        let once = check(&m.model, &CheckOptions::default()).into_diagnostics();
        assert_eq!(once, check(&m.model.clone(), &CheckOptions::default()).into_diagnostics());
        assert!(once.len() > 100);
    }
}
