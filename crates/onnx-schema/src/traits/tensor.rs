//! Operators that move, select, and describe elements.

use super::attribute::{AttributeTraits, AxisDomain, attribute};
use super::exclusion::{Exclusion, ExclusivePart, allowed};
use super::kinds::{Combines, CostWeight, Operations, Rounding};
use super::row::{
    Row, Traits, computed, elementwise_first, joined, reordered, reshaped, row, same, selected,
};
use crate::generated::names::{attr, op};

const SIZES_OR_NUMBER: &[Exclusion] =
    &[allowed(&[ExclusivePart::Input(1), ExclusivePart::Attribute(attr::NUM_OUTPUTS)], "doc")];

const OWN_AXIS_SINCE_11: &[AttributeTraits] = &[attribute(attr::AXIS).from(11).axis(AxisDomain::Own)];

const OWN_AXIS: &[AttributeTraits] = &[attribute(attr::AXIS).axis(AxisDomain::Own)];

const RESIZE: &[AttributeTraits] = &[
    attribute(attr::AXES).from(11).axis(AxisDomain::Own),
    attribute(attr::COORDINATE_TRANSFORMATION_MODE).from(11).one_of(&[
        "half_pixel",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_half_pixel_for_nn",
        "tf_crop_and_resize",
    ]),
    attribute(attr::COORDINATE_TRANSFORMATION_MODE).from(13).one_of(&[
        "half_pixel",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_crop_and_resize",
    ]),
    attribute(attr::COORDINATE_TRANSFORMATION_MODE).from(19).one_of(&[
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_crop_and_resize",
    ]),
    attribute(attr::KEEP_ASPECT_RATIO_POLICY).from(18).one_of(&["stretch", "not_larger", "not_smaller"]),
    attribute(attr::MODE).from(11).one_of(&["nearest", "linear", "cubic"]),
    attribute(attr::NEAREST_MODE).from(11).one_of(&[
        "round_prefer_floor",
        "round_prefer_ceil",
        "floor",
        "ceil",
    ]),
];

const RESIZED: Traits =
    computed().needs(Operations::Formula).weighs(CostWeight::Heavy).attributes_are(RESIZE);

const SPLIT: &[AttributeTraits] = &[
    attribute(attr::AXIS).from(11).axis(AxisDomain::Own),
    // By default, the sizes are given, or follow from the number of outputs.
    attribute(attr::NUM_OUTPUTS).least(1).neutral(),
];

pub(super) const ROWS: &[Row] = &[
    row(op::AFFINE_GRID, computed().sized_by(&[1])),
    row(
        op::CENTER_CROP_PAD,
        computed()
            .exact()
            .needs(Operations::None)
            .attributes_are(&[attribute(attr::AXES).axis(AxisDomain::Own)])
            .sized_by(&[1]),
    ),
    row(
        op::COL2IM,
        computed()
            .needs(Operations::None)
            .attributes_are(&[attribute(attr::DILATIONS).least(1), attribute(attr::STRIDES).least(1)])
            .sized_by(&[1, 2]),
    ),
    row(
        op::COMPRESS,
        selected().along(Combines::AxisOrAll(attr::AXIS)).attributes_are(OWN_AXIS_SINCE_11).counts(&[1]),
    ),
    row(op::CONCAT, joined().weighs(CostWeight::Moves).attributes_are(OWN_AXIS_SINCE_11)),
    row(
        op::DEPTH_TO_SPACE,
        reordered().along(Combines::AllButFirst).attributes_are(&[
            attribute(attr::BLOCKSIZE).least(1),
            attribute(attr::MODE).from(11).one_of(&["DCR", "CRD"]),
        ]),
    ),
    // In training, the element at an index is removed or scaled at random.
    row(op::DROPOUT, elementwise_first().needs(Operations::None).numbers(&[1, 2])).same_since(7),
    row(op::EXPAND, selected().weighs(CostWeight::Moves).sized_by(&[1])),
    row(
        op::FLATTEN,
        reshaped().weighs(CostWeight::Sizes).attributes_are(&[
            attribute(attr::AXIS).axis(AxisDomain::CutsFromFront),
            attribute(attr::AXIS).from(11).axis(AxisDomain::Cuts),
        ]),
    ),
    // The choice along the axis is that of the second operand.
    row(op::GATHER, selected().choosing().along_axis().weighs(CostWeight::Moves).attributes_are(OWN_AXIS)),
    row(op::GATHER_ELEMENTS, selected().choosing().attributes_are(OWN_AXIS)),
    row(op::GATHER_ND, selected().choosing()),
    row(
        op::GRID_SAMPLE,
        computed().weighs(CostWeight::Heavy).attributes_are(&[
            attribute(attr::MODE).one_of(&["bilinear", "nearest", "bicubic"]),
            attribute(attr::MODE).from(20).one_of(&["linear", "nearest", "cubic"]),
            attribute(attr::PADDING_MODE).one_of(&["zeros", "border", "reflection"]),
        ]),
    ),
    row(op::IDENTITY, same().weighs(CostWeight::Sizes).infallible()),
    // Where an element is in the result depends on all before it.
    row(
        op::NON_ZERO,
        computed()
            .jumping()
            .piecewise()
            .exact()
            .along(Combines::All)
            .positions()
            .needs(Operations::None)
            .counts(&[0]),
    ),
    row(
        op::ONE_HOT,
        computed()
            .choosing()
            .exact()
            .needs(Operations::None)
            .undefined_for_some()
            .attributes_are(&[attribute(attr::AXIS).from(11).axis(AxisDomain::OneMore)])
            .sized_by(&[1]),
    ),
    row(
        op::PAD,
        computed()
            .exact()
            .needs(Operations::None)
            .weighs(CostWeight::Moves)
            .undefined_for_some()
            .numbers(&[2])
            .attributes_are(&[
                attribute(attr::MODE).one_of(&["constant", "reflect", "edge"]),
                attribute(attr::MODE).from(19).one_of(&["constant", "reflect", "edge", "wrap"]),
            ])
            .sized_by(&[1, 3]),
    ),
    row(
        op::RESHAPE,
        reshaped()
            .weighs(CostWeight::Sizes)
            .attributes_are(&[
                // A 0 in the sizes stands for the size of the input.
                attribute(attr::ALLOWZERO).neutral(),
            ])
            .sized_by(&[1]),
    )
    .same_since(5),
    row(op::RESIZE, RESIZED.sized_by(&[1])).then(&[(11, RESIZED.sized_by(&[2, 3]))]).same_since(13),
    row(
        op::REVERSE_SEQUENCE,
        reordered().attributes_are(&[
            attribute(attr::BATCH_AXIS).between(0, 1),
            attribute(attr::TIME_AXIS).between(0, 1),
        ]),
    ),
    row(op::SCATTER, computed().needs(Operations::None).attributes_are(OWN_AXIS))
        .replaced_by(op::SCATTER_ELEMENTS),
    row(
        op::SCATTER_ELEMENTS,
        computed().choosing().ordering_zeros().needs(Operations::None).attributes_are(&[
            attribute(attr::AXIS).axis(AxisDomain::Own),
            attribute(attr::REDUCTION).from(16).one_of(&["none", "add", "mul"]),
            attribute(attr::REDUCTION).from(18).one_of(&["none", "add", "mul", "max", "min"]),
        ]),
    ),
    row(
        op::SCATTER_ND,
        computed().choosing().ordering_zeros().needs(Operations::None).attributes_are(&[
            attribute(attr::REDUCTION).from(16).one_of(&["none", "add", "mul"]),
            attribute(attr::REDUCTION).from(18).one_of(&["none", "add", "mul", "max", "min"]),
        ]),
    ),
    row(
        op::SHAPE,
        computed()
            .exact()
            .positions()
            .needs(Operations::None)
            .weighs(CostWeight::Sizes)
            .infallible()
            .attributes_are(&[
                // The whole shape.
                attribute(attr::END).neutral(),
                attribute(attr::START).neutral(),
            ]),
    ),
    row(
        op::SIZE,
        computed().exact().positions().needs(Operations::None).weighs(CostWeight::Sizes).infallible(),
    ),
    row(op::SLICE, selected().choosing().piecewise().weighs(CostWeight::Moves).sized_by(&[1, 2, 3, 4])),
    row(
        op::SPACE_TO_DEPTH,
        reordered().along(Combines::AllButFirst).attributes_are(&[
            attribute(attr::BLOCKSIZE).least(1),
            attribute(attr::MODE).from(28).one_of(&["DCR", "CRD"]),
        ]),
    ),
    row(op::SPLIT, selected().weighs(CostWeight::Moves).attributes_are(SPLIT).sized_by(&[1])).then(&[(
        18,
        selected().weighs(CostWeight::Moves).attributes_are(SPLIT).excludes(SIZES_OR_NUMBER).sized_by(&[1]),
    )]),
    row(
        op::SQUEEZE,
        reshaped()
            .weighs(CostWeight::Sizes)
            .attributes_are(&[attribute(attr::AXES).from(11).axis(AxisDomain::Own)])
            .sized_by(&[1]),
    ),
    row(
        op::TENSOR_SCATTER,
        computed().needs(Operations::None).attributes_are(&[
            attribute(attr::AXIS).axis(AxisDomain::Own),
            attribute(attr::MODE).one_of(&["linear", "circular"]),
        ]),
    ),
    row(op::TILE, selected().weighs(CostWeight::Moves).sized_by(&[1, 2])),
    row(
        op::TOP_K,
        computed()
            .jumping()
            .rounds(Rounding::Order)
            .along_axis()
            .positions()
            .weighs(CostWeight::Heavy)
            .undefined_for_some()
            .attributes_are(OWN_AXIS_SINCE_11)
            .sized_by(&[1]),
    ),
    row(op::TRANSPOSE, reordered().weighs(CostWeight::Moves)),
    row(op::TRILU, computed().exact().along(Combines::LastTwo).needs(Operations::None).numbers(&[1])),
    row(op::UNIQUE, computed().jumping().along(Combines::All).attributes_are(OWN_AXIS).counts(&[0])),
    row(
        op::UNSQUEEZE,
        reshaped()
            .weighs(CostWeight::Sizes)
            .attributes_are(&[attribute(attr::AXES).from(11).axis(AxisDomain::Inserted)])
            .sized_by(&[1]),
    ),
    row(
        op::UPSAMPLE,
        computed()
            .needs(Operations::Formula)
            .attributes_are(&[
                // From version 7 on, the linear modes have more names than the documentation lists; so they have in the first `Resize`.
                attribute(attr::MODE).one_of(&["nearest", "bilinear"]),
                attribute(attr::MODE).from(7).any_string(),
            ])
            .sized_by(&[1]),
    )
    .replaced_by(op::RESIZE),
];
