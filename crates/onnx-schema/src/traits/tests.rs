//! Tests of the rows and of what cannot be built.

use super::row::{computed, elementwise, normalized, reshaped, row, selected};
use super::*;
use crate::generated::names::op;
use crate::{AttrDefault, all};

#[test]
fn every_operator_has_a_row_at_every_version() {
    let rows = GROUPS.iter().map(|rows| rows.len()).sum::<usize>();
    assert_eq!(rows, crate::operators().len());
    for schema in all() {
        let place = &PLACES[schema.id().index()];
        let row = &GROUPS[usize::from(place.group)][usize::from(place.row)];
        assert!(row.is_of(schema), "{schema}");
    }
}

#[test]
fn operands_are_those_of_the_schema() {
    for schema in all() {
        let traits = schema.traits();
        if traits.is_elementwise() || traits.keeps_elements() {
            assert!(schema.min_inputs() > 0, "{schema}");
        }
        if traits.broadcasts() {
            assert_ne!(schema.max_inputs(), Some(1), "{schema}");
        }
        if let Some(weights) = traits.window_weights() {
            assert!(schema.input_for(weights).is_some(), "{schema}");
        }
        if let Operations::Convolution { bias: Some(bias) } = traits.operations() {
            assert!(schema.input_for(bias).is_some(), "{schema}");
        }
    }
}

#[test]
fn defaults_are_possible() {
    for schema in all() {
        for formal in schema.attributes() {
            if let (Some(choices), Some(AttrDefault::String(default))) =
                (schema.choices(formal.name), formal.default)
            {
                assert!(choices.contains(&default), "{schema} {}", formal.text());
            }
            let Some(range) = schema.attribute_range(formal.name) else { continue };
            let defaults = match &formal.default {
                Some(AttrDefault::Int(default)) => std::slice::from_ref(default),
                Some(AttrDefault::Ints(defaults)) => defaults,
                _ => &[],
            };
            assert!(defaults.iter().all(|default| range.contains(default)), "{schema} {}", formal.text());
        }
    }
}

#[test]
fn rows_differ_by_version() {
    let of = |op, version| lookup(domain::ONNX, op, version).unwrap();
    assert_eq!(of(op::SOFTMAX, 12).traits().combines(), Combines::From(attr::AXIS));
    assert_eq!(of(op::SOFTMAX, 13).traits().combines(), Combines::Axis(attr::AXIS));
    assert_eq!([6, 7].map(|version| of(op::MUL, version).traits().commutes()), [false, true]);
    assert_eq!([12, 13].map(|version| of(op::SOFTMAX, version).means_as_newest()), [false, true]);
    assert_eq!(of(op::PAD, 18).choices(attr::MODE), Some(["constant", "reflect", "edge"].as_slice()));
    assert_eq!(of(op::PAD, 19).choices(attr::MODE).map(<[_]>::len), Some(4));
    assert_eq!(of(op::CAST, 1).choices(attr::TO).map(<[_]>::len), Some(12));
    assert_eq!(of(op::CAST, 6).choices(attr::TO), None);
    assert_eq!(of(op::SCATTER_ELEMENTS, 16).exclusions().count(), 0);
    assert_eq!(
        [10, 11].map(|version| of(op::RESIZE, version).traits().shaping_operands()),
        [&[1][..], &[2, 3]]
    );
    assert_eq!(of(op::COMPRESS, 11).traits().counted_operands(), [1]);
}

/// What the compiler reports for a row that contradicts itself: each of these is evaluated at compile time elsewhere.
#[test]
fn contradictions_panic() {
    const AXIS: &[AttributeTraits] = &[attribute::attribute(attr::AXIS)];
    let rows: &[fn() -> Traits] = &[
        || elementwise().along_axis(),
        || elementwise().rounds(Rounding::Once).exact(),
        || elementwise().commuting(),
        || elementwise().broadcasts_all().broadcasts_all(),
        || elementwise().positions(),
        || elementwise().contracting(),
        || computed().broadcasts_all(),
        || normalized().broadcasts_all(),
        || normalized().along_axis().along(Combines::All),
        || reshaped().needs(Operations::Each(1)),
        || reshaped().rounds(Rounding::Once),
        || selected().positions(),
        || selected().moves_window(Window::Pooling),
        || computed().attributes_are(AXIS).attributes_are(&[]),
    ];
    for (index, &traits) in rows.iter().enumerate() {
        assert!(std::panic::catch_unwind(traits).is_err(), "{index}");
    }
    let attributes: &[fn() -> AttributeTraits] = &[
        || attribute::attribute(attr::AXIS).least(1).axis(AxisDomain::Own),
        || attribute::attribute(attr::AXIS).between(1, 0),
        || attribute::attribute(attr::MODE).one_of(&[]),
    ];
    for (index, &attribute) in attributes.iter().enumerate() {
        assert!(std::panic::catch_unwind(attribute).is_err(), "{index}");
    }
}

#[test]
fn rows_that_do_not_fit_the_schemas_panic() {
    const NO_SUCH: &[AttributeTraits] = &[attribute::attribute(attr::AXIS)];
    const UNKNOWN: &[(u16, Traits)] = &[(2, computed())];
    const UNSORTED: &[(u16, Traits)] = &[(13, computed()), (6, computed())];
    let rows: &[fn() -> Row] = &[
        || row(op::ABS, computed()).of(domain::ML),
        || row(op::ABS, computed()).then(UNKNOWN),
        || row(op::ABS, computed()).then(UNSORTED),
        || row(op::ABS, computed().attributes_are(NO_SUCH)),
        || row(op::ABS, computed().sized_by(&[1])),
        || row(op::ABS, computed().counts(&[1])),
        || row(op::ABS, elementwise().broadcasts_all().commuting()),
    ];
    for (index, &row) in rows.iter().enumerate() {
        assert!(std::panic::catch_unwind(|| table::lay_alone(&row())).is_err(), "{index}");
    }
    table::lay_alone(&row(op::ABS, computed().attributes_are(&[])));
}
