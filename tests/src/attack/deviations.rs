//! Deviations of the runtime from the specification: what it computes or accepts otherwise, and why that is its fault.
//!
//! An entry explains a mismatch only where its condition holds; everything else is a failure. The specification decides:
//! each entry names what it says.

use std::collections::BTreeMap;

use onnx_ir::{Model, NodeId};
use onnx_types::Dim;

use super::observation::Seen;

/// A deviation of the runtime.
pub struct Deviation {
    /// A short name.
    pub name: &'static str,
    /// What the runtime does, and what the specification says instead.
    pub reason: &'static str,
    /// Whether a mismatch of a result is explained.
    explains: fn(&Mismatch<'_>) -> bool,
    /// Whether it is explained that the runtime runs a node which inference reports as contradictory.
    accepts: fn(&Node<'_>) -> bool,
}

/// A result that differs from what is claimed.
pub struct Mismatch<'a> {
    /// The model.
    pub model: &'a Model,
    /// The node that gives the result.
    pub node: Option<NodeId>,
    /// All values of the run.
    pub run: &'a BTreeMap<String, Seen>,
    /// The claimed sizes.
    pub claimed: Option<&'a [Dim]>,
    /// What was observed.
    pub seen: &'a Seen,
}

/// A node of a run.
pub struct Node<'a> {
    model: &'a Model,
    node: NodeId,
    run: &'a BTreeMap<String, Seen>,
}

impl Node<'_> {
    fn op(&self) -> &str {
        self.model.str(self.model.node(self.node).op())
    }

    fn input_count(&self) -> usize {
        self.model.node(self.node).inputs().len()
    }

    fn input(&self, index: usize) -> Option<&Seen> {
        let value = self.model.node(self.node).input(index)?;
        self.run.get(self.model.str(self.model.value(value).name()))
    }

    fn dims(&self, index: usize) -> Option<Vec<i64>> {
        let value = self.model.node(self.node).input(index)?;
        let constant = || self.model.constant_tensor(value).map(|tensor| tensor.dims().to_vec());
        self.input(index).and_then(Seen::dims).map(<[i64]>::to_vec).or_else(constant)
    }

    fn ints(&self, index: usize) -> Vec<i64> {
        let of_run = || match self.input(index)? {
            Seen::Tensor { elements: Some(elements), .. } => {
                elements.iter().map(serde_json::Value::as_i64).collect::<Option<Vec<i64>>>()
            }
            _ => None,
        };
        let of_constant = || {
            let value = self.model.node(self.node).input(index)?;
            self.model.constant_tensor(value)?.get_i64s(&onnx_types::tensor::NoData, 64).ok()
        };
        of_run().or_else(of_constant).unwrap_or_default()
    }

    fn attribute_ints(&self, name: &str) -> Vec<i64> {
        let name = self.model.names().get(name);
        name.and_then(|name| self.model.node(self.node).ints(name)).unwrap_or_default().to_vec()
    }

    fn int(&self, name: &str) -> Option<i64> {
        self.model.node(self.node).int(self.model.names().get(name)?)
    }

    fn text(&self, name: &str) -> String {
        let name = self.model.names().get(name);
        let attribute = name.and_then(|name| self.model.node(self.node).attribute(name));
        match attribute.map(onnx_ir::Attribute::value) {
            Some(onnx_ir::AttrValue::String(text)) => String::from_utf8_lossy(text).into_owned(),
            _ => String::new(),
        }
    }

    fn is_empty(&self, index: usize) -> bool {
        self.dims(index).is_some_and(|dims| dims.contains(&0))
    }

    /// Returns `true` if the first output has no elements in the run.
    fn has_empty_output(&self) -> bool {
        let output = self.model.node(self.node).output(0);
        let seen = output.and_then(|value| self.run.get(self.model.str(self.model.value(value).name())));
        seen.and_then(Seen::dims).is_some_and(|dims| dims.contains(&0))
    }
}

fn at<'a>(mismatch: &'a Mismatch<'a>) -> Option<Node<'a>> {
    Some(Node { model: mismatch.model, node: mismatch.node?, run: mismatch.run })
}

/// Whether a node is a `Reshape` for which the size of -1 is not determined.
fn divides_by_nothing(node: &Node<'_>) -> bool {
    let shape = node.ints(1);
    node.op() == "Reshape" && node.int("allowzero") == Some(1) && shape.contains(&0) && shape.contains(&-1)
}

/// Whether a node joins tensors of which one has no elements.
fn joins_nothing(node: &Node<'_>) -> bool {
    match node.op() {
        "Concat" => (0..node.input_count()).any(|index| node.is_empty(index)),
        "ConcatFromSequence" => match node.input(0) {
            Some(Seen::Sequence(items)) => {
                items.iter().any(|item| item.dims().is_some_and(|dims| dims.contains(&0)))
            }
            _ => false,
        },
        _ => false,
    }
}

const NEVER: fn(&Node<'_>) -> bool = |_| false;

/// The known deviations.
pub const DEVIATIONS: &[Deviation] = &[
    Deviation {
        name: "Slice backwards to a large end",
        reason: "With a negative step, an end of at least INT32_MAX is taken for \"beyond the first element\". The \
                 specification clamps it to the last index, which leaves nothing.",
        explains: |mismatch| {
            at(mismatch).is_some_and(|node| {
                node.op() == "Slice"
                    && node.ints(4).iter().any(|&step| step < 0)
                    && node.ints(2).iter().any(|&end| end >= i64::from(i32::MAX))
            })
        },
        accepts: NEVER,
    },
    Deviation {
        name: "Reduce of nothing with negative axes",
        reason: "For an operand without elements, negative axes are not normalized: the axis is kept or the rank is wrong. \
                 The specification makes no exception for empty operands.",
        explains: |mismatch| {
            at(mismatch).is_some_and(|node| {
                node.op().starts_with("Reduce")
                    && node.is_empty(0)
                    && node.ints(1).iter().chain(&node.attribute_ints("axes")).any(|&axis| axis < 0)
            })
        },
        accepts: NEVER,
    },
    Deviation {
        name: "Reduce of a scalar along any axis",
        reason: "Axes are not checked where the operand is a scalar. The specification allows axes from -r to r - 1: none.",
        explains: |_| false,
        accepts: |node| node.op().starts_with("Reduce") && node.dims(0).is_some_and(|dims| dims.is_empty()),
    },
    Deviation {
        name: "NonZero of a scalar",
        reason: "The result has one row. The specification gives as many rows as the operand has dimensions: none.",
        explains: |mismatch| {
            at(mismatch).is_some_and(|node| {
                node.op() == "NonZero" && node.dims(0).is_some_and(|dims| dims.is_empty())
            })
        },
        accepts: NEVER,
    },
    Deviation {
        name: "pool with SAME padding and dilations",
        reason: "The padding is computed as if there were no dilations, so that the result is too small. The specification \
                 pads so that the result has ceil(size / stride) elements.",
        explains: |mismatch| {
            at(mismatch).is_some_and(|node| {
                node.op().ends_with("Pool")
                    && node.text("auto_pad").starts_with("SAME")
                    && node.attribute_ints("dilations").iter().any(|&dilation| dilation > 1)
            })
        },
        accepts: NEVER,
    },
    Deviation {
        name: "MatMul without inner elements",
        reason: "Where the inner size is 0, the batch dimensions are not broadcast, and operands that do not fit are \
                 accepted. The specification refers to numpy.matmul, which broadcasts them.",
        explains: |mismatch| {
            at(mismatch).is_some_and(|node| node.op() == "MatMul" && (node.is_empty(0) || node.is_empty(1)))
        },
        accepts: |node| node.op() == "MatMul" && (node.is_empty(0) || node.is_empty(1)),
    },
    Deviation {
        name: "SplitToSequence with sizes and keepdims = 0",
        reason: "The split axis of parts of size 1 is removed. The specification ignores `keepdims` where `split` is given.",
        explains: |mismatch| {
            at(mismatch).is_some_and(|node| {
                node.op() == "SplitToSequence" && node.dims(1).is_some() && node.int("keepdims") == Some(0)
            })
        },
        accepts: NEVER,
    },
    Deviation {
        name: "Reshape with allowzero, 0 and -1",
        reason: "A shape with both 0 and -1 is accepted with `allowzero`, and a size is made up for -1. The specification \
                 calls such a shape invalid.",
        explains: |mismatch| at(mismatch).is_some_and(|node| divides_by_nothing(&node)),
        accepts: divides_by_nothing,
    },
    Deviation {
        name: "Concat or ConcatFromSequence with an empty operand",
        reason: "An operand without elements is passed over, whatever its other sizes are. The specification requires that all \
                 operands have the same shape beside the axis.",
        explains: |mismatch| at(mismatch).is_some_and(|node| joins_nothing(&node)),
        accepts: joins_nothing,
    },
    Deviation {
        name: "Gemm of a vector",
        reason: "The first operand may be a vector, which counts as one row. The specification requires a matrix.",
        explains: |_| false,
        accepts: |node| node.op() == "Gemm" && node.dims(0).is_some_and(|dims| dims.len() == 1),
    },
    Deviation {
        name: "Split without a number of parts",
        reason: "From version 18 on, the number of outputs serves if neither `split` nor `num_outputs` is given. The \
                 specification says that one of them is to be given.",
        explains: |_| false,
        accepts: |node| node.op() == "Split" && node.dims(1).is_none() && node.int("num_outputs").is_none(),
    },
    Deviation {
        name: "Resize of nothing",
        reason: "The number of scales is not checked if the result has no elements. The specification requires one scale for \
                 each axis.",
        explains: |_| false,
        accepts: |node| matches!(node.op(), "Resize" | "Upsample") && node.has_empty_output(),
    },
    Deviation {
        name: "Tile or Expand of nothing",
        reason: "Operands that do not fit are accepted if they have no elements.",
        explains: |_| false,
        accepts: |node| matches!(node.op(), "Tile" | "Expand") && node.is_empty(0),
    },
];

impl Deviation {
    /// The deviation that explains a mismatch.
    #[must_use]
    pub fn explaining(mismatch: &Mismatch<'_>) -> Option<&'static Self> {
        DEVIATIONS.iter().find(|deviation| (deviation.explains)(mismatch))
    }

    /// The deviation that explains why the runtime accepts a node.
    #[must_use]
    pub fn accepting(
        model: &Model,
        node: Option<NodeId>,
        run: &BTreeMap<String, Seen>,
    ) -> Option<&'static Self> {
        let node = Node { model, node: node?, run };
        DEVIATIONS.iter().find(|deviation| (deviation.accepts)(&node))
    }
}
