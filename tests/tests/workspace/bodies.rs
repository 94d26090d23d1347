//! Kernels and function bodies agree: a part of the suite `bodies`, which `cargo xtask conformance` runs as a whole.

use std::collections::BTreeSet;

use onnx_tests::conformance::data::{Case, Data};
use onnx_tests::conformance::runner::Suite as _;
use onnx_tests::conformance::suites::bodies::BodiesSuite;

/// Operators whose kernel and body agree on all inputs, and which take little time.
const AGREE: &[&str] = &["Celu", "Elu", "HannWindow", "LeakyRelu", "Mish", "PRelu", "Relu", "SequenceMap"];

#[test]
fn kernels_compute_what_bodies_define() {
    let suite = BodiesSuite::default();
    let mut cases: Vec<Case> = Vec::new();
    suite
        .cases(&Data::default(), &mut |case| {
            cases.push(case);
            Ok(())
        })
        .unwrap();
    let operator = |case: &Case| case.id.split('/').next().unwrap_or_default().to_owned();
    let versions: BTreeSet<String> = cases.iter().map(operator).collect();
    // All that the pinned release of the reference has.
    assert_eq!(versions.len(), 76);
    let mut equal = 0;
    for case in cases.iter().filter(|case| AGREE.contains(&operator(case).split('-').next().unwrap())) {
        let outcome = suite.check(case);
        assert!(outcome.failures.is_empty(), "{}: {:?}", case.id, outcome.failures);
        equal += outcome.counts.iter().filter(|count| *count == "equal").count();
    }
    assert!(equal > 1000, "only {equal} runs are equal");
}
