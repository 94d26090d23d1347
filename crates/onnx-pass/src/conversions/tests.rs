//! The equations are compared with the evaluator.

use onnx_types::ElemType;

use super::*;
use crate::cx::PassOptions;
use crate::prove::prove;
use crate::verdict::Verdict;

/// A claim about the chains of two sides, which begin with the type of the operand.
fn claim(class: &str, before: &[ElemType], after: &[ElemType]) -> Equivalence {
    let body = |types: &[ElemType]| {
        let mut text = String::new();
        for (index, elem) in types.iter().skip(1).enumerate() {
            let made = if index + 2 == types.len() { "y".to_owned() } else { format!("v{}", index + 1) };
            text.push_str(&format!("{made} = Cast <to = {}> (v{index})\n", elem.code()));
        }
        text
    };
    let text = format!(
        r#"<ir_version: 13, opset_import: ["": 28, "onnx.pass": 1], metadata_props: ["equivalence.class": "{class}"]>
        g ({}[N] x) => (a, b) {{ a = onnx.pass.before (x)  b = onnx.pass.after (x) }}
        <domain: "onnx.pass", opset_import: ["": 28]> before (v0) => (y) {{ {} }}
        <domain: "onnx.pass", opset_import: ["": 28]> after (v0) => (y) {{ {} }}"#,
        before[0].name(),
        body(before),
        body(after),
    );
    Equivalence::parse(&text).expect("the claim is a model")
}

fn verdict(before: &[ElemType], after: &[ElemType]) -> Verdict {
    prove(&claim("exact", before, after), &PassOptions::default())
}

fn numbers() -> impl Iterator<Item = ElemType> {
    let is_number = |elem: &ElemType| elem.is_float() || elem.is_integer() || *elem == ElemType::Bool;
    ElemType::all().filter(is_number)
}

#[test]
fn double_rounding_is_refuted() {
    use ElemType as E;
    for (chain, input) in [
        (&[E::Int64, E::Double, E::Float][..], "x = int64[1] {"),
        (&[E::Uint64, E::Double, E::Float], "x = uint64[1] {"),
        (&[E::Double, E::Float, E::Int32], "x = double[1] {"),
        (&[E::Double, E::Float, E::Float16], "x = double[1] {"),
        (&[E::Double, E::Float, E::Bfloat16], "x = double[1] {"),
        (&[E::Int64, E::Double, E::Bfloat16], "x = int64[1] {"),
        (&[E::Int32, E::Float, E::Bfloat16], "x = int32[1] {"),
        (&[E::Double, E::Float, E::Float8E4M3Fn], "x = double[1] {"),
        (&[E::Double, E::Bfloat16, E::Float16], "x = double[1] {"),
        (&[E::Float, E::Float16, E::Float8E5M2], "x = float[1] {"),
        // The sides differ only where the standard leaves the result of the old one open: runs find it.
        (&[E::Int64, E::Double, E::Int32], "x = int64[3] {"),
        (&[E::Int64, E::Float16, E::Float8E5M2], "x = int64[1] {"),
        (&[E::Double, E::Float, E::Bool], "x = double[1] {"),
        (&[E::Int64, E::Int32, E::Bool], "x = int64[1] {"),
        (&[E::Uint32, E::Int32, E::Float], "x = uint32[1] {"),
        (&[E::Int16, E::Float16, E::Bfloat16], "x = int16[1] {"),
        // A float beyond the integers of 32 bits has no defined integer of 32 bits.
        (&[E::Double, E::Int64, E::Int32], "x = double[1] {"),
    ] {
        let (source, target) = (chain[0], chain[chain.len() - 1]);
        match verdict(chain, &[source, target]) {
            Verdict::Refuted(found) => assert!(found.to_string().contains(input), "{chain:?}: {found}"),
            other => panic!("{chain:?}: {other}"),
        }
    }
}

#[test]
fn conversions_that_agree_are_proved() {
    use ElemType as E;
    for chain in [
        &[E::Int32, E::Float, E::Float16][..],
        &[E::Uint32, E::Double, E::Float16],
        &[E::Int64, E::Double, E::Float16],
        &[E::Int64, E::Double, E::Float8E4M3Fn],
        &[E::Int64, E::Float16, E::Float8E4M3Fn],
        &[E::Float, E::Double, E::Bfloat16],
        &[E::Int64, E::Int32, E::Int8],
        &[E::Int32, E::Uint32, E::Int32],
        &[E::Int32, E::Double, E::Int32],
        &[E::Float16, E::Double, E::Int8],
        &[E::Bool, E::Float8E5M2, E::Int64],
        &[E::Uint32, E::Int64, E::Uint64],
        &[E::Float8E5M2, E::Float16, E::Float],
    ] {
        let direct = [chain[0], chain[chain.len() - 1]];
        assert!(
            matches!(verdict(chain, &direct), Verdict::Proved(_)),
            "{chain:?}: {}",
            verdict(chain, &direct)
        );
    }
}

/// What the equations say about operands of at most 16 bits is what trying all of them shows.
#[test]
fn the_equations_hold_for_all_values_of_narrow_types() {
    use ElemType as E;
    let run = EvalOptions::default();
    let mut equal = 0;
    for source in
        [E::Uint8, E::Int8, E::Bool, E::Int4, E::Float8E5M2, E::Float8E4M3Fnuz, E::Int16, E::Float16]
    {
        let is_wide = source.bits() == Some(16);
        let is_through = |elem: &E| !is_wide || [E::Double, E::Int32, E::Bfloat16, E::Uint16].contains(elem);
        let is_target = |elem: &E| !is_wide || [E::Int8, E::Float8E4M3Fn, E::Float, E::Bool].contains(elem);
        for through in numbers().filter(is_through) {
            for to in numbers().filter(is_target) {
                let (long, short) = ([source, through, to], [source, to]);
                for (before, after) in [(&long[..], &short[..]), (&short[..], &long[..])] {
                    if reduced(before, EquivalenceSide::Before) == reduced(after, EquivalenceSide::After) {
                        equal += 1;
                        let decision = decide(&claim("exact", before, after), &run);
                        assert!(matches!(decision, Some(Decision::Equal(_))), "{before:?} {after:?}");
                    }
                }
            }
        }
    }
    assert!(equal > 500, "{equal}");
}
