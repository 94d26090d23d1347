//! What came to the format after its first version, and whether a model uses it too early.

use onnx_types::{ElemType, Type, TypeKind};

use crate::declaration_cx::Holder;

/// Something that the format has since a later version than the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Feature {
    NodeDomain,
    Bfloat16,
    QuantizationAnnotation,
    SparseTensor,
    Training,
    Function,
    SparseTensorType,
    OptionalType,
    AttributeDefault,
    Float8,
    FourBitInteger,
    Overload,
    Metadata,
    FunctionValueInfo,
    Float4,
    Device,
    Float8E8M0,
    TwoBitInteger,
    Float6,
}

/// How many there are.
const COUNT: usize = Feature::ALL.len();

impl Feature {
    /// All of them, in the order in which they are declared.
    const ALL: [Self; 19] = [
        Self::NodeDomain,
        Self::Bfloat16,
        Self::QuantizationAnnotation,
        Self::SparseTensor,
        Self::Training,
        Self::Function,
        Self::SparseTensorType,
        Self::OptionalType,
        Self::AttributeDefault,
        Self::Float8,
        Self::FourBitInteger,
        Self::Overload,
        Self::Metadata,
        Self::FunctionValueInfo,
        Self::Float4,
        Self::Device,
        Self::Float8E8M0,
        Self::TwoBitInteger,
        Self::Float6,
    ];

    /// The first IR version that has it, and what it is called.
    pub(crate) const fn facts(self) -> (i64, &'static str) {
        match self {
            Self::NodeDomain => (3, "domains of nodes"),
            Self::Bfloat16 => (4, "the element type `bfloat16`"),
            Self::QuantizationAnnotation => (5, "quantization annotations"),
            Self::SparseTensor => (6, "sparse tensors"),
            Self::Training => (7, "training information"),
            Self::Function => (8, "functions"),
            Self::SparseTensorType => (8, "types of sparse tensors"),
            Self::OptionalType => (8, "optional types"),
            Self::AttributeDefault => (9, "defaults for attributes of functions"),
            Self::Float8 => (9, "element types of 8-bit floats"),
            Self::FourBitInteger => (10, "element types of 4-bit integers"),
            Self::Overload => (10, "overloads"),
            Self::Metadata => (10, "metadata of parts of a model"),
            Self::FunctionValueInfo => (10, "value info of functions"),
            Self::Float4 => (11, "the element type `float4e2m1`"),
            Self::Device => (11, "device configurations"),
            Self::Float8E8M0 => (12, "the element type `float8e8m0`"),
            Self::TwoBitInteger => (13, "element types of 2-bit integers"),
            Self::Float6 => (14, "element types of 6-bit floats"),
        }
    }

    /// Whether a reader that does not know it can leave it out and still compute the same.
    pub(crate) const fn is_annotation(self) -> bool {
        matches!(
            self,
            Self::QuantizationAnnotation
                | Self::Training
                | Self::Metadata
                | Self::FunctionValueInfo
                | Self::Device
        )
    }

    /// Whether it is an element type.
    pub(crate) const fn is_elem(self) -> bool {
        matches!(
            self,
            Self::Bfloat16
                | Self::Float8
                | Self::FourBitInteger
                | Self::Float4
                | Self::Float8E8M0
                | Self::TwoBitInteger
                | Self::Float6
        )
    }

    /// What an element type needs.
    pub(crate) const fn of_elem(elem: ElemType) -> Option<Self> {
        Some(match elem {
            ElemType::Bfloat16 => Self::Bfloat16,
            ElemType::Float8E4M3Fn
            | ElemType::Float8E4M3Fnuz
            | ElemType::Float8E5M2
            | ElemType::Float8E5M2Fnuz => Self::Float8,
            ElemType::Uint4 | ElemType::Int4 => Self::FourBitInteger,
            ElemType::Float4E2M1 => Self::Float4,
            ElemType::Float8E8M0 => Self::Float8E8M0,
            ElemType::Uint2 | ElemType::Int2 => Self::TwoBitInteger,
            ElemType::Float6E2M3 | ElemType::Float6E3M2 => Self::Float6,
            _ => return None,
        })
    }

    /// What a type needs, not counting the types inside it.
    pub(crate) fn of_type(ty: &Type) -> impl Iterator<Item = Self> {
        let (kind, elem) = match &ty.kind {
            TypeKind::Tensor(tensor) => (None, tensor.elem),
            TypeKind::SparseTensor(tensor) => (Some(Self::SparseTensorType), tensor.elem),
            TypeKind::Optional(_) => (Some(Self::OptionalType), ElemType::Undefined),
            TypeKind::Map { key, .. } => (None, *key),
            TypeKind::Undefined | TypeKind::Sequence(_) | TypeKind::Opaque { .. } => {
                (None, ElemType::Undefined)
            }
        };
        kind.into_iter().chain(Self::of_elem(elem))
    }
}

/// Where something was seen first, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) first: Holder,
    pub(crate) count: u64,
}

/// What a model uses although its version of the format does not have it.
pub(crate) struct Features {
    version: i64,
    seen: [Option<Seen>; COUNT],
}

impl Features {
    /// For a model of this IR version. Versions that do not exist are for another rule, and have everything.
    pub(crate) fn new(version: i64) -> Self {
        let version = if version < 1 { onnx_schema::LATEST_IR_VERSION } else { version };
        Self { version, seen: [None; COUNT] }
    }

    /// Returns `true` if the IR version of the model has all features, so that uses of them need no check.
    pub(crate) const fn has_all(&self) -> bool {
        self.version >= onnx_schema::LATEST_IR_VERSION
    }

    /// Takes note that the model uses something.
    #[inline]
    pub(crate) fn uses(&mut self, feature: Feature, holder: Holder) {
        if feature.facts().0 > self.version
            && let Some(slot) = self.seen.get_mut(feature as usize)
        {
            let seen = slot.get_or_insert(Seen { first: holder, count: 0 });
            seen.count = seen.count.saturating_add(1);
        }
    }

    /// What was used too early.
    pub(crate) fn too_early(&self) -> Vec<(Feature, Seen)> {
        Feature::ALL.into_iter().zip(self.seen).filter_map(|(feature, seen)| Some((feature, seen?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_stand_where_their_number_says() {
        for (index, feature) in Feature::ALL.into_iter().enumerate() {
            assert_eq!(feature as usize, index);
            assert!(feature.facts().0 <= onnx_schema::LATEST_IR_VERSION);
        }
    }
}
