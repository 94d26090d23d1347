//! Contexts of rules about what a model declares beside its graphs: functions, opset imports, metadata.

use std::ops::{Deref, DerefMut};

use onnx_diag::Locus;
use onnx_ir::{Function, FunctionId, GraphId, MetadataEntry, NodeId, OpsetImport, ValueId};
use onnx_types::tensor::TensorMetadata;

use crate::calls::Calls;
use crate::cx::{Cx, TensorPlace, leads_to_cx};
use crate::places::Places;

leads_to_cx!(FunctionCx OpsetCx MetadataCx);

/// A function of the model.
pub(crate) struct FunctionCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) id: FunctionId,
    pub(crate) function: &'a Function,
    /// Which functions call which.
    pub(crate) calls: &'c Calls,
}

/// The opset imports of the model or of a function.
pub(crate) struct OpsetCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) imports: &'a [OpsetImport],
    /// The function whose imports they are; `None` for those of the model.
    pub(crate) function: Option<FunctionId>,
}

impl OpsetCx<'_, '_> {
    /// What to do to find the place of an import later.
    pub(crate) fn place(&self, import: &OpsetImport) -> impl FnOnce(&Places<'_>) -> Locus + use<> {
        let (function, domain) = (self.function, import.written_domain());
        move |places| {
            let place = function.map_or_else(Locus::model, |function| places.function(function));
            place.opset_import(places.str(domain))
        }
    }
}

/// A list of metadata that is not empty.
pub(crate) struct MetadataCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) entries: MetadataList<'a>,
    pub(crate) holder: MetadataHolder,
}

/// The entries of a list of metadata.
#[derive(Clone, Copy)]
pub(crate) enum MetadataList<'a> {
    /// Those of everything but tensors.
    Symbols(&'a [MetadataEntry]),
    /// Those of a tensor.
    Texts(&'a [TensorMetadata]),
}

/// What a list of metadata belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MetadataHolder {
    /// The model.
    Model,
    /// A graph.
    Graph(GraphId),
    /// A function.
    Function(FunctionId),
    /// A node.
    Node(NodeId),
    /// A value.
    Value(ValueId),
    /// An output of a graph, where it differs from the value.
    Output(GraphId, usize),
    /// An entry of a graph's value info, where it differs from the value.
    ValueInfo(GraphId, ValueId),
    /// A tensor.
    Tensor(TensorPlace),
}

impl<'a> MetadataCx<'_, 'a> {
    /// The keys in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let (symbols, texts): (&[_], &[_]) = match self.entries {
            MetadataList::Symbols(entries) => (entries, &[]),
            MetadataList::Texts(entries) => (&[], entries),
        };
        let model = self.cx.model;
        let symbols = symbols.iter().map(move |entry| model.str(entry.key()));
        symbols.chain(texts.iter().map(|entry| entry.key.as_str()))
    }
}

impl MetadataList<'_> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Symbols(entries) => entries.len(),
            Self::Texts(entries) => entries.len(),
        }
    }
}

impl MetadataHolder {
    pub(crate) fn locate(self, places: &Places<'_>) -> Locus {
        match self {
            Self::Model => Locus::model(),
            Self::Graph(graph) => places.graph(graph),
            Self::Function(function) => places.function(function),
            Self::Node(node) => places.node(node),
            Self::Value(value) => places.definition(value),
            Self::Output(graph, index) => places.graph_output(graph, index),
            Self::ValueInfo(graph, value) => places.value_info(graph, value),
            Self::Tensor(place) => place.locate(places),
        }
    }
}
