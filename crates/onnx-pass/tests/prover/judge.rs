//! The verdicts of the prover about claims, and how many of the wrong ones it refuses, by kind and level.

use std::collections::BTreeMap;

use onnx_ir::{CopyMap, Position, ValueId};
use onnx_pass::{Equivalence, Exactness, Level, PassCx, PassOptions, Verdict, prove};
use onnx_schema::op;
use onnx_text::{ParseOptions, parse_model};

use crate::claims::{Claim, Mutant, parse};
use crate::mutate::mutants;
use crate::witness;

const FILES: [&str; 7] = [
    include_str!("claims/arithmetic.txt"),
    include_str!("claims/layout.txt"),
    include_str!("claims/shapes.txt"),
    include_str!("claims/reductions.txt"),
    include_str!("claims/layers.txt"),
    include_str!("claims/quantization_and_control.txt"),
    include_str!("claims/pairs.txt"),
];

/// What becomes of an edit.
#[derive(Debug)]
pub(crate) enum Judgment {
    Accepted(String),
    /// It was committed, and its values were not compared.
    Untested(String),
    Refused(Level, String),
}

/// The judgment of a claim: as an edit of a model, or by itself if it has assumptions.
fn judge(claim: &Claim) -> Result<Judgment, String> {
    if claim.assume.is_empty() { edit(claim) } else { alone(claim) }
}

fn of_verdict(verdict: &Verdict) -> Judgment {
    match verdict {
        Verdict::Proved(_) | Verdict::Tested { .. } => Judgment::Accepted(verdict.to_string()),
        Verdict::Untested(reason) => Judgment::Untested(reason.clone()),
        Verdict::Measured { .. } => Judgment::Untested(verdict.to_string()),
        Verdict::Refuted(_) => Judgment::Refused(Level::Values, verdict.to_string()),
    }
}

fn alone(claim: &Claim) -> Result<Judgment, String> {
    let eq = Equivalence::parse(&claim.equivalence()).map_err(|error| error.to_string())?;
    Ok(of_verdict(&prove(&eq, &PassOptions::default())))
}

/// Commits a patch that replaces the old side by the new one in a model that computes the old side.
fn edit(claim: &Claim) -> Result<Judgment, String> {
    let mut model = parse_model(claim.host(), &ParseOptions::default()).map_err(|error| error.to_string())?;
    let function = model.functions()[0];
    let class = if claim.class == "exact" { Exactness::Exact } else { Exactness::Rounding };
    let main = model.main_graph();
    let outputs: Vec<ValueId> = model.graph(main).outputs().iter().map(|output| output.value()).collect();
    let inputs = model.graph(main).inputs().to_vec();
    let body = model.function(function).body();
    let results: Vec<ValueId> = model.graph(body).outputs().iter().map(|output| output.value()).collect();
    let mut map = CopyMap::new();
    for (&inner, &outer) in model.graph(body).inputs().iter().zip(&inputs) {
        map.map(inner, outer);
    }
    let constants = model.nodes(main).filter(|&node| model.node(node).is(op::CONSTANT));
    let constants: Vec<ValueId> = constants.filter_map(|node| model.node(node).output(0)).collect();
    let first = model.graph(main).first().ok_or("the old side is empty")?;
    let mut cx = PassCx::new(&mut model, PassOptions::default().with_untested(true));
    let mut patch = cx.patch("mutant", class);
    inputs.iter().for_each(|&input| patch.tap(input));
    for constant in constants {
        patch.constant(constant).ok_or("a constant is not read")?;
    }
    patch.copy_nodes(body, Position::Before(first), &mut map).map_err(|error| error.to_string())?;
    for (&old, &new) in outputs.iter().zip(&results) {
        patch.replace(old, map.get(new));
    }
    Ok(match patch.commit() {
        Ok(proof) => of_verdict(&proof.verdict),
        Err(refusal) => Judgment::Refused(refusal.level, refusal.reason),
    })
}

/// The counts of a kind of mutations.
#[derive(Default)]
struct Row {
    wrong: usize,
    levels: BTreeMap<Level, usize>,
    missed: usize,
    equivalent: usize,
    /// Those that the prover refuses, and no other inputs show to be wrong. They do not count.
    unshown: usize,
}

#[test]
fn mutations_of_correct_claims_are_refuted() {
    let only = std::env::var("PROVER_CLAIM").ok();
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let (mut problems, mut accepted) = (Vec::new(), Vec::new());
    let mut claims = 0;
    for family in FILES.into_iter().flat_map(parse) {
        if only.as_ref().is_some_and(|only| !family.claim.name.contains(only)) {
            continue;
        }
        claims += 1;
        match judge(&family.claim) {
            Ok(Judgment::Accepted(_)) => {}
            Ok(Judgment::Refused(level, reason)) => {
                problems.push(format!("{}: correct, but refused at {level}: {reason}", family.claim.name));
            }
            found => problems.push(format!("{}: correct, but {found:?}", family.claim.name)),
        }
        for mutant in mutants(&family) {
            let row = rows.entry(mutant.kind.clone()).or_default();
            let named = |text: String| format!("{}: {}: {text}", mutant.claim.name, mutant.change);
            match count(&mutant, row) {
                Ok(missed) => accepted.extend(missed.map(named)),
                Err(problem) => problems.push(named(problem)),
            }
        }
    }
    let total = |of: fn(&Row) -> usize| rows.values().map(of).sum::<usize>();
    let (wrong, missed) = (total(|row| row.wrong), total(|row| row.missed));
    println!(
        "{claims} correct claims, {wrong} wrong ones, {missed} accepted; {} mutations are correct",
        total(|row| row.equivalent)
    );
    for (kind, row) in &rows {
        println!(
            "{kind:16} {:4} wrong, {:2} accepted, {:2} correct; refused: {:?}",
            row.wrong, row.missed, row.equivalent, row.levels
        );
    }
    println!("{}", accepted.join("\n"));
    assert_eq!(problems, Vec::<String>::new());
    assert!(only.is_some() || wrong >= 1000, "{wrong} wrong claims");
    // What a particular number tells apart is not always found.
    assert!(only.is_some() || missed * 100 <= wrong, "{missed} of {wrong} wrong claims are accepted");
}

/// Judges a mutant. If it is accepted although inputs show that it is wrong, returns them. A mutant that no inputs show to be
/// wrong must have a reason to be correct.
fn count(mutant: &Mutant, row: &mut Row) -> Result<Option<String>, String> {
    let text = mutant.claim.equivalence();
    let judgment = judge(&mutant.claim)?;
    let eq = Equivalence::parse(&text).map_err(|error| error.to_string())?;
    let witness = witness::search(&eq, &format!("{} {}", mutant.claim.old, mutant.claim.new));
    if mutant.equivalent.is_some() {
        row.equivalent += 1;
        return match (&judgment, witness) {
            (Judgment::Refused(..), _) => Err(format!("is correct for a reason, but {judgment:?}")),
            (_, Some(witness)) => Err(format!("is correct for a reason, but not for {witness}")),
            _ => Ok(None),
        };
    }
    match (judgment, witness) {
        (Judgment::Refused(level, _), witness) => {
            // A rule that is broken is a fault for every input.
            if witness.is_some() || level == Level::Rules {
                row.wrong += 1;
                *row.levels.entry(level).or_default() += 1;
            } else {
                row.unshown += 1;
            }
            Ok(None)
        }
        (Judgment::Accepted(verdict) | Judgment::Untested(verdict), Some(witness)) => {
            row.wrong += 1;
            row.missed += 1;
            Ok(Some(format!("accepted ({verdict}), but wrong for {witness}")))
        }
        (judgment, None) => Err(format!("{judgment:?}, and no inputs show that it is wrong")),
    }
}
