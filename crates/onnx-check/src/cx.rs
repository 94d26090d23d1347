//! The input of rules: one context for each unit of the model that rules check.
//!
//! A context holds the entity to check and the information that the traversal computes once for all rules. Every
//! context dereferences to [`Cx`], which reports diagnostics.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

use onnx_diag::{Diagnostic, Locus, Reference, Rule, Sink};
use onnx_ir::{
    Attribute, Callee, FunctionId, Graph, GraphId, Model, Node, NodeId, OpsetVersions, Owner, SparseTensor,
    Value, ValueId,
};
use onnx_schema::{DeclaredSchema, FormalAttribute, Schema, SchemaRef};
use onnx_types::tensor::{DataError, Tensor, TensorError, TensorFault};
use onnx_types::{Symbol, Type};
use slotmap::Key;

use crate::external::Piece;
use crate::functions::Functions;
use crate::imports::{Imports, versions_of_all};
use crate::options::{CheckOptions, Part, Profile};
use crate::places::Places;
use crate::seen::Seen;
use crate::sparse::IndexFaults;

/// What makes a finding, if it is kept.
type Build<'a, 'b> = Box<dyn FnOnce(&Places<'a>) -> Diagnostic + 'b>;

/// The context that all rules share. Rules about the model as a whole receive it directly.
pub(crate) struct Cx<'a> {
    pub(crate) model: &'a Model,
    pub(crate) options: &'a CheckOptions,
    pub(crate) sink: Sink,
    places: Places<'a>,
    /// Whether the reference does not check the current unit, so that it enforces none of the rules there.
    pub(crate) is_unchecked: bool,
    /// The external data visited so far.
    pub(crate) pieces: Vec<Piece<'a>>,
    /// Why elements in files could not be read: the first reason for each location.
    pub(crate) unread: BTreeMap<String, DataError>,
    /// The symbol of `*`, if the model has that name anywhere.
    pub(crate) asterisk: Option<Symbol>,
    /// For rules about names that occur twice in a list.
    pub(crate) seen: Seen,
    versions_of_all: OnceCell<OpsetVersions>,
    functions: OnceCell<Functions<'a>>,
    /// The function that is being walked.
    pub(crate) function: Option<FunctionId>,
    /// The part of the model that is checked.
    pub(crate) part: Part,
    said: BTreeSet<(u16, u64, u32)>,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(model: &'a Model, part: Part, options: &'a CheckOptions) -> Self {
        Self {
            model,
            options,
            sink: Sink::with(options.profile.severities(options.policy.clone()), options.caps()),
            places: Places::new(model, part),
            is_unchecked: false,
            pieces: Vec::new(),
            unread: BTreeMap::new(),
            asterisk: model.names().get("*"),
            seen: Seen::default(),
            versions_of_all: OnceCell::new(),
            functions: OnceCell::new(),
            function: None,
            part,
            said: BTreeSet::new(),
        }
    }

    /// The operator sets that the model imports, and of the others those that a function imports first.
    pub(crate) fn versions_of_all(&self) -> &OpsetVersions {
        self.versions_of_all.get_or_init(|| versions_of_all(self.model))
    }

    /// What the functions of the model declare.
    pub(crate) fn functions(&self) -> &Functions<'a> {
        self.functions.get_or_init(|| Functions::of(self.model))
    }

    /// Records that a limit is the reason for a finding of `rule`, whether or not it is kept.
    pub(crate) fn exceed(&mut self, rule: &'static Rule, limit: &'static str) {
        // In the profile of the reference, a limit is the reason of a finding only if the finding is reported.
        if self.options.profile != Profile::Reference {
            self.sink.exceed(rule, limit);
        }
    }

    /// Reports a finding of `rule`; `build` runs only when the finding is kept.
    #[cold]
    pub(crate) fn report(&mut self, rule: &'static Rule, build: impl FnOnce(&Places<'a>) -> Diagnostic) {
        self.report_boxed(rule, Box::new(build));
    }

    /// The same, compiled once and not for each of the callers.
    fn report_boxed(&mut self, rule: &'static Rule, build: Build<'a, '_>) {
        if self.options.profile == Profile::Reference {
            return self.report_as_reference(rule, build);
        }
        let Self { sink, places, is_unchecked, .. } = self;
        sink.report_with(rule, || {
            let found = build(places);
            if *is_unchecked { found.beyond_reference(true) } else { found }
        });
    }

    /// Whether this is the first time that `rule` asks at all: one finding says it all.
    #[cold]
    pub(crate) fn first_time(&mut self, rule: &'static Rule) -> bool {
        self.said.insert((rule.code, 0, 0))
    }

    /// Reports a finding unless the reference would not have it, which only the finding itself says.
    fn report_as_reference(&mut self, rule: &'static Rule, build: Build<'a, '_>) {
        if self.is_unchecked || rule.reference == Reference::NotEnforced {
            return;
        }
        let kept = self.sink.rule_counts().find(|count| count.rule == rule).map_or(0, |count| count.kept);
        let caps = self.options.caps();
        let is_full = self.sink.diagnostics().len() >= caps.total
            || usize::try_from(kept).is_ok_and(|kept| kept >= caps.per_rule);
        // A finding that is only counted needs no place, and finding one takes time.
        self.places.set_terse(is_full);
        let found = build(&self.places);
        self.places.set_terse(false);
        if !found.beyond_reference {
            self.sink.report(found);
        }
    }

    /// Whether this is the first time that `rule` asks about a name: one finding says it all.
    #[cold]
    pub(crate) fn first_time_for_symbol(&mut self, rule: &'static Rule, symbol: Symbol) -> bool {
        self.said.insert((rule.code, 0, symbol.index()))
    }

    /// Whether this is the first time that `rule` asks about a value: one finding says it all.
    #[cold]
    pub(crate) fn first_time_for_value(&mut self, rule: &'static Rule, value: ValueId) -> bool {
        self.said.insert((rule.code, value.data().as_ffi(), 0))
    }

    /// Whether this is the first time that `rule` asks about a domain under these imports.
    #[cold]
    pub(crate) fn first_time_for_domain(
        &mut self,
        rule: &'static Rule,
        imports: &Imports,
        domain: Symbol,
    ) -> bool {
        self.said.insert((rule.code, imports.number.into(), domain.index()))
    }
}

impl Cx<'_> {
    /// The rank of an input of a node, as far as its type is declared.
    fn rank_of_input(&self, node: NodeId, index: usize) -> Option<usize> {
        let value = self.model.value(self.model.node(node).input(index)?);
        match value.ty() {
            Some(ty) => ty.shape().map(onnx_types::Shape::rank),
            None => value.constant()?.dense().map(Tensor::rank),
        }
    }
}

/// The sizes of a tensor, those that are known.
pub(crate) type Sizes = smallvec::SmallVec<[Option<i64>; 8]>;

impl Cx<'_> {
    /// The sizes of an input of a node, as far as its type is declared.
    fn sizes_of_input(&self, node: NodeId, index: usize) -> Option<Sizes> {
        let value = self.model.value(self.model.node(node).input(index)?);
        match value.ty() {
            Some(ty) => ty.shape().map(|shape| shape.dims().iter().map(|dim| dim.known()).collect()),
            None => value.constant()?.dense().map(|tensor| tensor.dims().iter().copied().map(Some).collect()),
        }
    }
}

/// Gives a context the fields and methods of the [`Cx`] in it.
macro_rules! leads_to_cx {
    ($($context:ident)*) => {$(
        impl<'a> Deref for $context<'_, 'a> {
            type Target = Cx<'a>;

            fn deref(&self) -> &Cx<'a> {
                self.cx
            }
        }

        impl<'a> DerefMut for $context<'_, 'a> {
            fn deref_mut(&mut self) -> &mut Cx<'a> {
                self.cx
            }
        }
    )*};
}

leads_to_cx!(GraphCx ValueCx NodeCx AttributeCx TensorCx SparseCx ExternalCx TypeCx);

pub(crate) use leads_to_cx;

/// A graph: the main one, a nested one, the body of a function or a training graph.
pub(crate) struct GraphCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) id: GraphId,
    pub(crate) graph: &'a Graph,
}

impl GraphCx<'_, '_> {
    /// Whether the graph is the body of a function, which has no name and whose outputs have no types.
    pub(crate) fn is_function(&self) -> bool {
        matches!(self.graph.owner(), Owner::Function(_))
    }

    /// Returns `true` if the graph is the main one, for which rules run that check the whole model at once.
    pub(crate) fn is_main(&self) -> bool {
        self.id == self.cx.model.main_graph()
    }
}

/// A definition of a value: a graph input, an initializer that is not an input, or an output of a node. Definitions are
/// visited in the order in which readers reach them: the outputs of a node come after the graphs nested in it.
pub(crate) struct ValueCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) id: ValueId,
    pub(crate) value: &'a Value,
    /// The first of the definitions of the same name that are visible here, if this is not it.
    pub(crate) earlier: Option<ValueId>,
}

impl ValueCx<'_, '_> {
    /// Returns `true` if the file gives the name of this value to other values as well.
    ///
    /// Rules ignore values that share a name only in memory: the encoder writes them with different names.
    pub(crate) fn is_name_shared_in_file(&self) -> bool {
        !self.cx.model.names_touched() || self.value.is_name_as_read()
    }
}

/// A node.
pub(crate) struct NodeCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) id: NodeId,
    pub(crate) node: &'a Node,
    /// What the node calls.
    pub(crate) callee: Callee<'a>,
    /// The operator sets that the node sees.
    pub(crate) imports: &'c Imports,
}

impl<'a> NodeCx<'_, 'a> {
    /// Returns `true` if the node is checked as a part, without the definitions that it uses.
    pub(crate) fn is_alone(&self) -> bool {
        self.cx.part == Part::Node(self.id)
    }

    /// The signature that the node has to follow, if ONNX defines one.
    ///
    /// `None` for a deprecated operator: it must not be used at all, so its signature is irrelevant.
    pub(crate) fn schema(&self) -> Option<&'static Schema> {
        match self.callee {
            Callee::Standard(schema) if !schema.is_deprecated() => Some(schema),
            _ => None,
        }
    }

    /// The signature that the node has to follow, whether ONNX or the registry defines it.
    pub(crate) fn signature(&self) -> Option<SchemaRef<'a>> {
        match self.callee {
            Callee::Custom(schema) if !schema.is_deprecated => Some(SchemaRef::Declared(schema)),
            _ => self.schema().map(SchemaRef::Standard),
        }
    }

    /// The rank of an input, as far as its type is declared.
    pub(crate) fn input_rank(&self, index: usize) -> Option<usize> {
        self.cx.rank_of_input(self.id, index)
    }

    /// The sizes of an input, as far as they are declared.
    pub(crate) fn input_sizes(&self, index: usize) -> Option<Sizes> {
        self.cx.sizes_of_input(self.id, index)
    }
}

/// An attribute of a node.
pub(crate) struct AttributeCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) node: NodeId,
    pub(crate) attribute: &'a Attribute,
    /// The signature that the node has to follow, if there is one.
    pub(crate) schema: Option<&'static Schema>,
    /// What the signature says about the attribute.
    pub(crate) formal: Option<&'static FormalAttribute>,
    /// The signature that the registry declares, where ONNX has none.
    pub(crate) declared: Option<&'a DeclaredSchema>,
}

impl AttributeCx<'_, '_> {
    /// The rank of an input of the node, as far as its type is declared.
    pub(crate) fn input_rank(&self, index: usize) -> Option<usize> {
        self.cx.rank_of_input(self.node, index)
    }
}

/// A tensor.
pub(crate) struct TensorCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) tensor: &'a Tensor,
    pub(crate) place: TensorPlace,
    /// Everything that is wrong with its type, dimensions and amount of data.
    pub(crate) faults: &'c [TensorFault],
}

impl TensorCx<'_, '_> {
    /// What was read of the elements. The rule about the file reports why they cannot be read.
    pub(crate) fn read<T>(&mut self, result: Result<T, TensorError>) -> Option<T> {
        match result {
            Ok(read) => Some(read),
            Err(TensorError::Data(error)) => {
                self.cx.unread.entry(error.location.clone()).or_insert(error);
                None
            }
            Err(_) => None,
        }
    }
}

/// A sparse tensor. Its values and indices are tensors that have been checked as such before.
pub(crate) struct SparseCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) sparse: &'a SparseTensor,
    pub(crate) place: TensorPlace,
    /// What is wrong with the indices.
    pub(crate) indices: IndexFaults,
}

/// A file of external data, with all tensors that are stored in it.
pub(crate) struct ExternalCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    /// The first of the tensors.
    pub(crate) first: Piece<'a>,
    /// The pieces, in the order of the traversal.
    pub(crate) pieces: &'c [Piece<'a>],
    /// The size of the file in bytes, if files are checked.
    pub(crate) size: Option<Result<u64, DataError>>,
    /// Why the elements of a tensor in the file could not be read.
    pub(crate) unread: Option<DataError>,
    /// The digest of the file, if the model states one and digests are compared.
    pub(crate) digest: Option<Result<String, DataError>>,
}

/// The site of a tensor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorPlace {
    pub(crate) holder: TensorHolder,
    /// The position in the holder's list, where it holds one.
    pub(crate) element: Option<usize>,
    /// `values` or `indices`, where the tensor is part of a sparse one.
    pub(crate) part: Option<&'static str>,
}

/// What a tensor belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TensorHolder {
    /// An initializer.
    Initializer(ValueId),
    /// An attribute of a node.
    Attribute(NodeId, Symbol),
    /// The default of an attribute of a function.
    Default(FunctionId, Symbol),
}

impl TensorPlace {
    pub(crate) const fn of(holder: TensorHolder) -> Self {
        Self { holder, element: None, part: None }
    }

    pub(crate) fn locate(self, places: &Places<'_>) -> Locus {
        let mut place = match self.holder {
            TensorHolder::Initializer(value) => places.initializer(value),
            TensorHolder::Attribute(node, name) => places.attribute(node, name),
            TensorHolder::Default(function, name) => places.function_attribute(function, name),
        };
        if let Some(index) = self.element {
            place = place.element(index);
        }
        match self.part {
            Some(field) => place.field(field),
            None => place,
        }
    }
}

/// A declaration of a value's type: that of a graph input or output, one in `value_info`, or a type in an attribute.
pub(crate) struct TypeCx<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    /// What is declared; graph inputs and outputs may leave it out.
    pub(crate) ty: Option<&'a Type>,
    pub(crate) place: TypePlace,
    /// The type in another declaration of the same value, if the two types differ.
    pub(crate) other: Option<&'a Type>,
}

impl<'a> TypeCx<'_, 'a> {
    /// Whether this is an input or output of the main graph, which must have a complete type.
    pub(crate) fn is_interface(&self) -> bool {
        match self.place {
            TypePlace::Input(graph, _) | TypePlace::Output(graph, _) => graph == self.cx.model.main_graph(),
            TypePlace::Info(..) | TypePlace::Attribute(..) => false,
        }
    }

    /// The type and the types inside it, outermost first.
    pub(crate) fn levels(&self) -> impl Iterator<Item = &'a Type> + use<'a> {
        std::iter::successors(self.ty, |ty| ty.inner())
    }
}

/// Where a type is declared.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TypePlace {
    /// An input of a graph, by position.
    Input(GraphId, usize),
    /// An output of a graph, by position.
    Output(GraphId, usize),
    /// An entry of a graph's `value_info`.
    Info(GraphId, ValueId),
    /// An attribute, with the position in its list where it holds one.
    Attribute(TensorHolder, Option<usize>),
}

impl TypePlace {
    /// The locus of the entity that has the type.
    pub(crate) fn holder(self, places: &Places<'_>) -> Locus {
        match self {
            Self::Input(graph, index) => places.graph_input(graph, index),
            Self::Output(graph, index) => places.graph_output(graph, index),
            Self::Info(graph, value) => places.value_info(graph, value),
            Self::Attribute(holder, element) => {
                TensorPlace { element, ..TensorPlace::of(holder) }.locate(places)
            }
        }
    }

    /// The locus of the type, or of the type `level` levels inside it.
    pub(crate) fn locate(self, places: &Places<'_>, level: usize) -> Locus {
        (0..=level).fold(self.holder(places), |place, _| place.ty())
    }
}
