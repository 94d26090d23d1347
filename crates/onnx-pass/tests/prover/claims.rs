//! The claims and their mutations: files of lines.
//!
//! ```text
//! claim NAME CLASS (INPUTS) => (OUTPUTS)     `=> (y)` if it is left out
//! where RELATION                             an assumption
//! old NODES                                  `v := int64[1] {2}` is a constant
//! new NODES
//! new! KIND FROM => TO                       a wrong claim: the first FROM of the new side is TO
//! old! KIND FROM => TO                       the same in the old side
//! all! KIND FROM => TO                       the same in inputs and both sides, everywhere
//! fact KIND-less RELATION => RELATION        another assumption, or none
//! = KIND NODES                               another new side
//! ~ MUTATION | REASON                        why a mutation is correct
//! ```

use std::fmt::Write as _;

/// A claim that is correct, or a mutation of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) inputs: String,
    pub(crate) outputs: String,
    pub(crate) assume: Vec<String>,
    pub(crate) old: String,
    pub(crate) new: String,
}

/// A claim that is wrong, unless a reason is given.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    pub(crate) kind: String,
    /// What was changed.
    pub(crate) change: String,
    pub(crate) claim: Claim,
    /// Why it is correct.
    pub(crate) equivalent: Option<String>,
}

/// A claim with its mutants.
pub(crate) struct Family {
    pub(crate) claim: Claim,
    pub(crate) mutants: Vec<Mutant>,
    /// Mutations that are correct, with reasons.
    pub(crate) equivalent: Vec<(String, String)>,
}

impl Claim {
    /// The names of the inputs.
    fn arguments(&self) -> String {
        let names = self.inputs.split(", ").filter_map(|input| input.rsplit(' ').next());
        names.collect::<Vec<_>>().join(", ")
    }

    /// The claim as an equivalence.
    pub(crate) fn equivalence(&self) -> String {
        let assume = self.assume.iter().enumerate().fold(String::new(), |mut text, (index, relation)| {
            let _ = write!(text, ", \"equivalence.assume.{index}\": \"{relation}\"");
            text
        });
        let (class, inputs, outputs, arguments) =
            (&self.class, &self.inputs, &self.outputs, self.arguments());
        let (old, new) = (expand(&self.old), expand(&self.new));
        let results = |prefix: &str| {
            let names: Vec<String> = outputs.split(", ").map(|name| format!("{prefix}_{name}")).collect();
            names.join(", ")
        };
        let (before, after) = (results("before"), results("after"));
        format!(
            r#"<ir_version: 10, opset_import: ["": 20, "onnx.pass": 1],
                metadata_props: ["equivalence.class": "{class}"{assume}]>
            equivalence ({inputs}) => ({before}, {after}) {{
                {before} = onnx.pass.before ({arguments})
                {after} = onnx.pass.after ({arguments})
            }}
            <domain: "onnx.pass", opset_import: ["": 20]> before ({arguments}) => ({outputs}) {{ {old} }}
            <domain: "onnx.pass", opset_import: ["": 20]> after ({arguments}) => ({outputs}) {{ {new} }}"#
        )
    }

    /// A model that computes the old side, with a function that is the new one.
    pub(crate) fn host(&self) -> String {
        let (inputs, outputs, arguments) = (&self.inputs, &self.outputs, self.arguments());
        let (old, new) = (expand(&self.old), expand(&self.new));
        format!(
            r#"<ir_version: 10, opset_import: ["": 20, "test": 1]>
            g ({inputs}) => ({outputs}) {{ {old} }}
            <domain: "test", opset_import: ["": 20]> after ({arguments}) => ({outputs}) {{ {new} }}"#
        )
    }
}

/// Writes out constants: `v := int64[1] {2}`.
pub(crate) fn expand(text: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" := ") {
        let (value, after) = after.split_once('}').unwrap();
        let _ = write!(done, "{before} = Constant <value = {value}}}> ()");
        rest = after;
    }
    done + rest
}

/// Parses a file.
pub(crate) fn parse(text: &str) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (key, rest) = line.split_once(' ').unwrap();
        if key == "claim" {
            families.push(family(rest));
            continue;
        }
        let family = families.last_mut().unwrap();
        let claim = &mut family.claim;
        match key {
            "where" => claim.assume.push(rest.to_owned()),
            "old" => claim.old = rest.to_owned(),
            "new" => claim.new = rest.to_owned(),
            "~" => {
                let (mutation, reason) = rest.split_once(" | ").unwrap();
                family.equivalent.push((mutation.to_owned(), reason.to_owned()));
            }
            _ => {
                let (kind, changed) = mutated(claim, key, rest);
                assert_ne!(changed, *claim, "{line}");
                family.mutants.push(Mutant {
                    kind,
                    change: line.to_owned(),
                    claim: changed,
                    equivalent: None,
                });
            }
        }
    }
    families
}

fn family(line: &str) -> Family {
    let mut words = line.splitn(3, ' ');
    let [name, class, rest] = std::array::from_fn(|_| words.next().unwrap().to_owned());
    let (inputs, outputs) = rest.split_once(" => ").unwrap_or((&rest, "(y)"));
    let inner = |list: &str| list.trim_start_matches('(').trim_end_matches(')').to_owned();
    let claim = Claim {
        name,
        class,
        inputs: inner(inputs),
        outputs: inner(outputs),
        assume: Vec::new(),
        old: String::new(),
        new: String::new(),
    };
    Family { claim, mutants: Vec::new(), equivalent: Vec::new() }
}

/// The kind of a written mutation, and the claim with it.
fn mutated(claim: &Claim, key: &str, rest: &str) -> (String, Claim) {
    let mut changed = claim.clone();
    if key == "fact" {
        let (from, to) = rest.split_once(" =>").unwrap();
        let place = changed.assume.iter().position(|relation| relation == from).unwrap();
        changed.assume.remove(place);
        changed.assume.extend(Some(to.trim().to_owned()).filter(|to| !to.is_empty()));
        return ("fact".to_owned(), changed);
    }
    let (kind, rest) = rest.split_once(' ').unwrap();
    if key == "=" {
        rest.clone_into(&mut changed.new);
        return (kind.to_owned(), changed);
    }
    let (from, to) = rest.split_once(" =>").unwrap();
    let to = to.trim_start();
    match key {
        "new!" => changed.new = changed.new.replacen(from, to, 1),
        "old!" => changed.old = changed.old.replacen(from, to, 1),
        "all!" => {
            for part in [&mut changed.inputs, &mut changed.old, &mut changed.new] {
                *part = part.replace(from, to);
            }
        }
        _ => panic!("{key} is not a line of a claim"),
    }
    (kind.to_owned(), changed)
}
