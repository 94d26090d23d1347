//! All hostile cases as a table: what came of each, what it took, and what it may take.

use std::fmt::Write as _;

use super::gauntlet::{Measured, Steps, measured};
use super::{
    Case, amplify, forms, functions, models, nesting, operands, reports, tensors, texts, traps, wire,
};

/// The cases of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// What they have in common.
    pub name: &'static str,
    /// Makes them.
    pub cases: fn() -> Vec<Case>,
}

/// All kinds of cases that are files or texts.
pub const SECTIONS: [Section; 11] = [
    Section { name: "nesting", cases: nesting::cases },
    Section { name: "wire", cases: wire::cases },
    Section { name: "tensors", cases: tensors::cases },
    Section { name: "models", cases: models::cases },
    Section { name: "functions", cases: functions::cases },
    Section { name: "texts", cases: texts::cases },
    Section { name: "operands", cases: operands::cases },
    Section { name: "amplification", cases: amplify::cases },
    Section { name: "reports", cases: reports::cases },
    Section { name: "forms", cases: forms::cases },
    Section { name: "traps", cases: traps::cases },
];

/// How a case went.
#[derive(Clone, Debug)]
pub struct Row {
    /// The kind of the case and its name.
    pub name: String,
    /// What it took, or what is wrong.
    pub result: Result<Measured, String>,
}

/// Runs the cases whose name contains `only`, tells each row as it comes, and returns how many are out of bounds.
pub fn run(only: &str, steps: Steps, mut tell: impl FnMut(&Row)) -> usize {
    let mut failed = 0;
    for section in SECTIONS {
        for case in (section.cases)() {
            let name = format!("{}/{}", section.name, case.name);
            if !name.contains(only) {
                continue;
            }
            let row = Row { name, result: measured(case, steps, |_| Ok(())) };
            failed += usize::from(row.result.is_err());
            tell(&row);
        }
    }
    failed
}

impl Row {
    /// The row as text, in columns.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{:<44.44} ", self.name.escape_debug().to_string());
        match &self.result {
            Ok(measured) => {
                let Measured { outcome, stage, peak, peak_bound, steps, step_bound } = measured;
                let memory = format!("{} of {} KiB in {stage}", peak >> 10, peak_bound >> 10);
                let steps = if *steps == 0 { String::new() } else { format!("{steps} of {step_bound}") };
                let _ = write!(text, "{memory:<32} {steps:<24} {outcome:.70}");
            }
            Err(problem) => {
                let _ = write!(text, "OUT OF BOUNDS: {problem:.400}");
            }
        }
        text
    }

    /// The heads of the columns.
    #[must_use]
    pub fn head() -> String {
        format!("{:<44} {:<32} {:<24} outcome", "case", "peak memory and bound", "steps and bound")
    }
}
