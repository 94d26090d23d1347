//! Branches, loops and scans: what they compute is in their graphs.

use super::attribute::{AttributeTraits, attribute};
use super::kinds::CostWeight;
use super::row::{Row, computed, row};
use crate::generated::names::{attr, op};

const SCAN: &[AttributeTraits] = &[
    attribute(attr::DIRECTIONS).between(0, 1),
    attribute(attr::NUM_SCAN_INPUTS).least(1),
    attribute(attr::SCAN_INPUT_DIRECTIONS).between(0, 1),
    attribute(attr::SCAN_OUTPUT_DIRECTIONS).between(0, 1),
];

pub(super) const ROWS: &[Row] = &[
    row(op::IF, computed().piecewise().weighs(CostWeight::Heavy)),
    row(op::LOOP, computed().weighs(CostWeight::Heavy)),
    row(op::SCAN, computed().weighs(CostWeight::Heavy).attributes_are(SCAN)),
    row(op::SEQUENCE_MAP, computed()),
];
