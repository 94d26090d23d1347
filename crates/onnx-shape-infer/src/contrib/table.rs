//! Which rule applies to which schema of onnxruntime.

use onnx_schema::onnxruntime::{RuntimeOp, RuntimeSchema};

use crate::registry::RuleFn;

/// The rule from a version on, until the next row.
#[derive(Clone, Copy)]
pub(super) struct Row {
    since: i64,
    rule: RuleFn,
}

/// From this version on, until the next row of the operator, `rule` applies.
pub(super) const fn since(version: i64, rule: RuleFn) -> Row {
    Row { since: version, rule }
}

/// The rules of one operator.
#[derive(Clone, Copy)]
pub(super) struct OpRules {
    op: RuntimeOp,
    rows: &'static [Row],
    values: &'static [Row],
}

/// What the rows infer about types and shapes.
pub(super) const fn infer(op: RuntimeOp, rows: &'static [Row]) -> OpRules {
    OpRules { op, rows, values: &[] }
}

impl OpRules {
    /// How the operator computes small tensors; runs after the types of the outputs are known.
    pub(super) const fn values(mut self, rows: &'static [Row]) -> Self {
        self.values = rows;
        self
    }
}

/// The rules of one schema.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) infer: Option<RuleFn>,
    pub(super) values: Option<RuleFn>,
}

/// The rules of all schemas, by index.
pub(super) static TABLE: [Entry; RuntimeSchema::COUNT] = fold(super::GROUPS);

/// Distributes the rows over the schemas. A version that the operator does not have, and an operator with two sets of rows,
/// do not compile.
#[expect(clippy::panic, reason = "the compiler evaluates it")]
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "the compiler evaluates it, and refuses overflow")
)]
const fn fold(groups: &[&[OpRules]]) -> [Entry; RuntimeSchema::COUNT] {
    let mut table = [Entry { infer: None, values: None }; RuntimeSchema::COUNT];
    let mut group = 0;
    while group < groups.len() {
        let mut at = 0;
        while at < groups[group].len() {
            let rules = groups[group][at];
            let schemas = rules.op.schemas();
            let mut schema = 0;
            while schema < schemas.len() {
                let entry = &mut table[schemas[schema].index()];
                if entry.infer.is_some() {
                    panic!("an operator has rules twice");
                }
                entry.infer = rule_for(rules.rows, schemas[schema].since_version());
                entry.values = rule_for(rules.values, schemas[schema].since_version());
                schema += 1;
            }
            check(rules.rows, schemas);
            check(rules.values, schemas);
            at += 1;
        }
        group += 1;
    }
    table
}

#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "the compiler evaluates it, and refuses overflow")
)]
const fn rule_for(rows: &'static [Row], version: i64) -> Option<RuleFn> {
    let mut found = None;
    let mut at = 0;
    while at < rows.len() {
        if rows[at].since <= version {
            found = Some(rows[at].rule);
        }
        at += 1;
    }
    found
}

#[expect(clippy::panic, reason = "the compiler evaluates it")]
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "the compiler evaluates it, and refuses overflow")
)]
const fn check(rows: &[Row], schemas: &[RuntimeSchema]) {
    let mut at = 0;
    while at < rows.len() {
        let mut known = false;
        let mut schema = 0;
        while schema < schemas.len() {
            known |= schemas[schema].since_version() == rows[at].since;
            schema += 1;
        }
        if !known || (at > 0 && rows[at - 1].since >= rows[at].since) {
            panic!("a row names a version that the operator does not have, or is not in ascending order");
        }
        at += 1;
    }
}
