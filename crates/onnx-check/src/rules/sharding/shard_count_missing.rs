//! The rule `shard-count-missing`: a sharding does not say into how many shards an axis is split.

use onnx_diag::{Diagnostic, Rule, Severity};

use crate::declaration_cx::ShardingCx;

pub(crate) static RULE: Rule = Rule::new(
    2853,
    "shard-count-missing",
    Severity::Error,
    "A sharding does not say into how many shards an axis is split.",
)
.with_spec("IR: Multi-Device Configuration")
.with_explain(include_str!("shard_count_missing.md"));

pub(crate) fn check(cx: &mut ShardingCx<'_, '_>) {
    for entry in &cx.sharding.shardings {
        for piece in entry.dims.iter().flat_map(|dim| &dim.simple) {
            let count = piece.num_shards;
            if count >= 1 {
                continue;
            }
            let place = cx.place(Some(entry.tensor));
            cx.report(&RULE, |places| {
                Diagnostic::new(&RULE, place(places), format!("an axis is split into {count} shards"))
                    .help("set `num_shards` to the number of shards, 1 or more")
                    .beyond_reference(true)
            });
        }
    }
}
