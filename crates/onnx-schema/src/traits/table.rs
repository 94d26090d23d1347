//! The table of the rows of all operators. The compiler makes it, and refuses rows that do not fit the schemas.

use super::GROUPS;
use super::row::{Row, Traits};
use crate::facts::{Schema, SchemaId};
use crate::lookup::versions;

/// Where the traits of a schema are: the group, the row, and the position in the row.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) group: u8,
    pub(super) row: u8,
    pub(super) version: u8,
}

const NOWHERE: Place = Place { group: u8::MAX, row: 0, version: 0 };

/// The places of the traits of all schemas.
pub(super) static PLACES: [Place; SchemaId::COUNT] = fold();

#[expect(clippy::panic, reason = "it is evaluated by the compiler")]
const fn fold() -> [Place; SchemaId::COUNT] {
    let mut places = [NOWHERE; SchemaId::COUNT];
    let mut group = 0;
    while group < GROUPS.len() {
        let mut row = 0;
        while row < GROUPS[group].len() {
            lay(&mut places, &GROUPS[group][row], group, row);
            row += 1;
        }
        group += 1;
    }
    let mut at = 0;
    while at < places.len() {
        if places[at].group == u8::MAX {
            panic!("an operator has no row of traits");
        }
        at += 1;
    }
    places
}

#[expect(clippy::panic, reason = "it is evaluated by the compiler")]
const fn lay(places: &mut [Place; SchemaId::COUNT], row: &Row, group: usize, index: usize) {
    let schemas = versions(row.domain, row.op);
    if schemas.is_empty() {
        panic!("traits of an operator that ONNX does not define");
    }
    let mut at = 0;
    while at < schemas.len() {
        let place = &mut places[schemas[at].id().index()];
        if place.group != u8::MAX {
            panic!("an operator has two rows of traits");
        }
        let version = row.position(schemas[at].since_version());
        *place = Place { group: group as u8, row: index as u8, version };
        at += 1;
    }
    let mut later = 0;
    while later < row.later.len() {
        if !has_version(schemas, row.later[later].0)
            || later > 0 && row.later[later - 1].0 >= row.later[later].0
        {
            panic!("traits since a version that the operator does not have, or out of order");
        }
        check(schemas, &row.later[later].1);
        later += 1;
    }
    check(schemas, &row.first);
}

/// Checks a row as if it were the only one.
#[cfg(test)]
pub(super) fn lay_alone(row: &Row) {
    lay(&mut [NOWHERE; SchemaId::COUNT], row, 0, 0);
}

const fn has_version(schemas: &[Schema], since: u16) -> bool {
    let mut at = 0;
    while at < schemas.len() {
        if schemas[at].since_version() == since as i64 {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether a version takes each of these operands.
const fn has_inputs(schemas: &[Schema], operands: &[usize]) -> bool {
    let mut at = 0;
    while at < operands.len() {
        let mut is_known = false;
        let mut version = 0;
        while version < schemas.len() {
            is_known |= match schemas[version].max_inputs() {
                Some(most) => operands[at] < most,
                None => true,
            };
            version += 1;
        }
        if !is_known {
            return false;
        }
        at += 1;
    }
    true
}

/// Every attribute must be one of a version that the facts about it hold for, and an operator that commutes has two operands.
#[expect(clippy::panic, reason = "it is evaluated by the compiler")]
const fn check(schemas: &[Schema], traits: &Traits) {
    let mut at = 0;
    while at < traits.attributes.len() {
        let mut is_known = false;
        let mut version = 0;
        while version < schemas.len() {
            let schema = &schemas[version];
            is_known |= schema.since_version() >= traits.attributes[at].first_version()
                && schema.attribute(traits.attributes[at].name()).is_some();
            version += 1;
        }
        if !is_known {
            panic!("traits of an attribute that the operator does not have");
        }
        at += 1;
    }
    if !has_inputs(schemas, traits.shaping)
        || !has_inputs(schemas, traits.counted)
        || !has_inputs(schemas, traits.scalars)
    {
        panic!("traits of an operand that the operator does not have");
    }
    let newest = &schemas[schemas.len() - 1];
    if traits.commutes() && matches!(newest.max_inputs(), Some(0 | 1)) {
        panic!("an operator of one operand commutes");
    }
}
