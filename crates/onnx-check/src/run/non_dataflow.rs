//! Parts of a model outside the data flow: training information, devices, opset imports and metadata.

use std::collections::BTreeSet;

use onnx_ir::{Function, FunctionId, GraphId, Node, NodeId, OpsetImport, ValueId};
use onnx_types::Type;

use super::Run;
use crate::cx::TypePlace;
use crate::declaration_cx::{
    DeviceCx, FeatureCx, Holder, MetadataCx, MetadataList, OpsetCx, ShardingCx, TrainingCx,
};
use crate::features::Feature;
use crate::rules::{device, feature, metadata, opset, sharding as sharding_rules, training};

impl<'a> Run<'a> {
    /// Training information and devices, at which the reference does not look.
    pub(super) fn non_dataflow(&mut self) {
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
    pub(super) fn shardings(&mut self, id: NodeId, node: &'a Node) {
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
    pub(super) fn too_early(&mut self) {
        for (feature, seen) in self.features.too_early() {
            for entry in feature::ENTRIES {
                (entry.check)(&mut FeatureCx { cx: &mut self.cx, feature, seen });
            }
        }
    }

    /// Takes note of the parts of a function that came late.
    pub(super) fn features_of_function(&mut self, id: FunctionId, function: &'a Function) {
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
    pub(super) fn features_of_type(&mut self, ty: Option<&'a Type>, place: TypePlace) {
        if !self.features.has_all() {
            for ty in std::iter::successors(ty, |ty| ty.inner()) {
                for feature in Feature::of_type(ty) {
                    self.features.uses(feature, Holder::Type(place));
                }
            }
        }
    }

    pub(super) fn opset(&mut self, imports: &'a [OpsetImport], function: Option<FunctionId>) {
        for entry in opset::ENTRIES {
            (entry.check)(&mut OpsetCx { cx: &mut self.cx, imports, function });
        }
    }

    /// A list of metadata, which most entities do not have.
    #[inline]
    pub(super) fn metadata(&mut self, entries: MetadataList<'a>, holder: Holder) {
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
    pub(super) fn metadata_of_graph(&mut self, id: GraphId) {
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
}
