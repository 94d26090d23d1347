//! Rules whose violations do not keep a runtime from loading a model.

use onnx_diag::{Locus, LocusStep, Quoted, Severity, Sink};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// A part of models in which a rule is tolerated.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RulePlace {
    /// The main graph, without the graphs nested in it.
    MainGraph,
    /// The functions of the model, without the graphs nested in them.
    Functions,
    /// Initializers of the main graph, dense and sparse.
    Initializers,
}

impl RulePlace {
    /// Returns `true` if the place of a finding is in this one.
    #[must_use]
    pub fn contains(&self, locus: &Locus) -> bool {
        let steps = locus.steps();
        let graphs = steps.iter().filter(|step| matches!(step, LocusStep::Graph { .. })).count();
        let is_main = graphs == 1 && matches!(steps.first(), Some(LocusStep::Graph { .. }));
        match self {
            Self::MainGraph => is_main,
            Self::Functions => graphs == 0 && matches!(steps.first(), Some(LocusStep::Function { .. })),
            Self::Initializers => {
                is_main
                    && steps.iter().any(|step| {
                        matches!(step, LocusStep::Initializer { .. } | LocusStep::SparseInitializer { .. })
                    })
            }
        }
    }
}

/// The innermost node of the place of a finding is of one of the operators.
fn is_of_operator(locus: &Locus, operators: &[String]) -> bool {
    let node = locus.steps().iter().rev().find_map(|step| match step {
        LocusStep::Node { op, .. } => Some(op),
        _ => None,
    });
    node.is_some_and(|op| !op.is_cut() && operators.iter().any(|name| op.as_str() == name))
}

/// A rule whose errors do not keep a runtime from loading a model, everywhere or in places.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ToleratedRule {
    /// The code of the rule, such as `ONNX3025`.
    pub rule: String,
    /// Where it is tolerated; empty for everywhere.
    pub places: Vec<RulePlace>,
    /// The operators at whose nodes it is tolerated, their domains in front where those are not the one of ONNX; empty for all.
    pub operators: Vec<String>,
}

impl ToleratedRule {
    /// Returns `true` if it is tolerated without conditions.
    #[must_use]
    pub const fn is_everywhere(&self) -> bool {
        self.places.is_empty() && self.operators.is_empty()
    }

    /// Returns `true` if the place of a finding is one in which the rule is tolerated.
    pub(super) fn contains(&self, locus: &Locus) -> bool {
        (self.places.is_empty() || self.places.iter().any(|place| place.contains(locus)))
            && (self.operators.is_empty() || is_of_operator(locus, &self.operators))
    }

    /// Returns `true` if nothing that a check found keeps the runtime from loading the model by this rule: all errors of the rule
    /// are in the places.
    #[must_use]
    pub fn covers(&self, found: &Sink) -> bool {
        let is_rule = |code: String| code == self.rule;
        let mut counts = found.rule_counts().filter(|count| is_rule(count.rule.id().to_string()));
        let is_complete = counts.all(|count| count.found == count.kept);
        let of_rule = |finding: &&onnx_diag::Diagnostic| {
            finding.severity == Severity::Error && is_rule(finding.rule.id().to_string())
        };
        let mut errors = found.iter().filter(of_rule);
        self.is_everywhere() || (is_complete && errors.all(|finding| self.contains(&finding.locus)))
    }
}

/// As it is written: a code, or a code with places.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Everywhere(String),
    Placed(Placed),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Placed {
    rule: String,
    #[serde(default, rename = "in")]
    places: Vec<String>,
    #[serde(default)]
    operators: Vec<String>,
}

impl<'de> Deserialize<'de> for ToleratedRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Placed { rule, places, operators } = match Written::deserialize(deserializer)? {
            Written::Everywhere(rule) => {
                return Ok(Self { rule, places: Vec::new(), operators: Vec::new() });
            }
            Written::Placed(placed) => placed,
        };
        let place = |text: &String| {
            Ok(match text.as_str() {
                "main-graph" => RulePlace::MainGraph,
                "functions" => RulePlace::Functions,
                "initializers" => RulePlace::Initializers,
                unknown => {
                    let help = "places are `main-graph`, `functions` and `initializers`";
                    return Err(D::Error::custom(format!("there is no place {}; {help}", Quoted(unknown))));
                }
            })
        };
        let places: Vec<RulePlace> = places.iter().map(place).collect::<Result<_, _>>()?;
        let tolerated = Self { rule, places, operators };
        if tolerated.is_everywhere() {
            let help = "write the code only if it is tolerated everywhere";
            return Err(D::Error::custom(format!("{} has no places; {help}", Quoted(&tolerated.rule))));
        }
        Ok(tolerated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_contain_findings() {
        let main = Locus::model().graph("g");
        let node = main.clone().node(0, "If", "n");
        let nested = node.clone().attribute("then_branch").graph("b").node(1, "Constant", "");
        let function = Locus::model().function("d", "F", "").node(0, "Constant", "");
        let weight = main.clone().initializer("w");
        let sparse = main.clone().sparse_initializer("s");
        let in_branch = node.clone().attribute("then_branch").graph("b").initializer("w");
        let in_function =
            Locus::model().function("d", "F", "").node(0, "If", "").attribute("then_branch").graph("b");
        let all =
            [&Locus::model(), &main, &node, &nested, &function, &weight, &sparse, &in_branch, &in_function];
        let found = |place: &RulePlace| all.map(|locus| u8::from(place.contains(locus)));
        assert_eq!(found(&RulePlace::MainGraph), [0, 1, 1, 0, 0, 1, 1, 0, 0]);
        assert_eq!(found(&RulePlace::Functions), [0, 0, 0, 0, 1, 0, 0, 0, 0]);
        assert_eq!(found(&RulePlace::Initializers), [0, 0, 0, 0, 0, 1, 1, 0, 0]);
        let all = [&Locus::model(), &main, &node, &nested, &function, &weight, &sparse];
        let found = |places: &[RulePlace], operator: &str| {
            let (places, operators) = (places.to_vec(), vec![operator.to_owned()]);
            let tolerated = ToleratedRule { rule: String::new(), places, operators };
            all.map(|locus| u8::from(tolerated.contains(locus)))
        };
        assert_eq!(found(&[], "Constant"), [0, 0, 0, 1, 1, 0, 0]);
        assert_eq!(found(&[], "If"), [0, 0, 1, 0, 0, 0, 0]);
        assert_eq!(found(&[RulePlace::MainGraph], "If"), [0, 0, 1, 0, 0, 0, 0]);
        assert_eq!(found(&[RulePlace::MainGraph], "Constant"), [0; 7]);
        assert_eq!(found(&[RulePlace::Functions], "Constant"), [0, 0, 0, 0, 1, 0, 0]);
    }
}
