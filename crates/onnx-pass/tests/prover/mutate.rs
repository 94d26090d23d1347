//! Mutations that fit every claim: exchanged operands, numbers that differ a little, attributes that are left out, and
//! another class.

use crate::claims::{Claim, Family, Mutant};

/// Operators whose two operands commute bit for bit.
const COMMUTATIVE: [&str; 9] =
    ["Add", "Mul", "And", "Or", "Xor", "Equal", "BitwiseAnd", "BitwiseOr", "BitwiseXor"];

/// The mutants of a claim, those that are written for it first.
pub(crate) fn mutants(family: &Family) -> Vec<Mutant> {
    let claim = &family.claim;
    let mut all = family.mutants.clone();
    if claim.class == "rounding" {
        let class = "exact".to_owned();
        all.push(mutant("class", "class", Claim { class, ..claim.clone() }));
    }
    for (kind, change, new) in
        swaps(&claim.new).into_iter().chain(numbers(claim)).chain(attributes(&claim.new))
    {
        all.push(mutant(kind, &change, Claim { new, ..claim.clone() }));
    }
    for mutant in &mut all {
        let of = |(mutation, _): &&(String, String)| *mutation == mutant.change;
        mutant.equivalent = family.equivalent.iter().find(of).map(|(_, reason)| reason.clone());
    }
    let unused = family.equivalent.iter().find(|(mutation, _)| all.iter().all(|one| one.change != *mutation));
    assert_eq!(unused, None, "{}", claim.name);
    all
}

fn mutant(kind: &str, change: &str, claim: Claim) -> Mutant {
    Mutant { kind: kind.to_owned(), change: change.to_owned(), claim, equivalent: None }
}

type Change = (&'static str, String, String);

/// Exchanges the first two operands of each node.
fn swaps(text: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    for (open, _) in text.match_indices('(') {
        let Some(close) = text[open..].find(')').map(|length| open + length) else { continue };
        let operands: Vec<&str> = text[open + 1..close].split(", ").collect();
        let head = text[..open].trim_end();
        let head = if head.ends_with('>') && !head.ends_with("=>") {
            head[..head.rfind('<').unwrap_or(0)].trim_end()
        } else {
            head
        };
        let op = head.rsplit(' ').next().unwrap_or_default();
        let is_node = op.starts_with(|c: char| c.is_ascii_uppercase());
        if !is_node || operands.len() < 2 || operands[0] == operands[1] || COMMUTATIVE.contains(&op) {
            continue;
        }
        let mut swapped = operands.clone();
        swapped.swap(0, 1);
        let new = format!("{}{}{}", &text[..=open], swapped.join(", "), &text[close..]);
        changes.push(("operand-order", format!("swap {op} ({})", operands.join(", ")), new));
    }
    changes
}

/// The places of the numbers of constants and attributes.
fn number_places(text: &str) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
    let mut at = 0;
    while let Some(length) = text[at..].find(is_part) {
        let begin = at + length;
        let end = begin + text[begin..].find(|c| !is_part(c)).unwrap_or(text.len() - begin);
        let before = text[..begin].trim_end();
        let in_list = before.rfind(['{', '[', '}', ']', '=', '<', '(', ')']).is_some_and(|open| {
            let is_values = before[open..].starts_with('{') && before[..open].contains(" := ")
                || before[open..].starts_with('[') && before[..open].trim_end().ends_with('=')
                || before[open..].starts_with('=') && before.len() == open + 1;
            is_values && before[open + 1..].chars().all(|c| is_part(c) || matches!(c, ',' | ' '))
        });
        if in_list && text[begin..end].chars().any(|c| c.is_ascii_digit()) {
            places.push((begin, end));
        }
        at = end;
    }
    places
}

/// Changes each number a little: integers by one, floats by the distance to the next one in exact claims, and by a thousandth
/// in others.
fn numbers(claim: &Claim) -> Vec<Change> {
    let text = &claim.new;
    let is_exact = claim.class == "exact";
    let mut changes = Vec::new();
    for (begin, end) in number_places(text) {
        let number = &text[begin..end];
        let mut with = |kind, changed: String| {
            if changed == number {
                return;
            }
            let new = format!("{}{changed}{}", &text[..begin], &text[end..]);
            changes.push((kind, format!("{kind} {number} -> {changed} at {begin}"), new));
        };
        if let Ok(integer) = number.parse::<i64>() {
            with("one-more", integer.saturating_add(1).to_string());
            with("one-less", integer.saturating_sub(1).to_string());
        } else if let Ok(float) = number.parse::<f32>() {
            match (is_exact, float == 0.0) {
                (true, true) if float.is_sign_negative() => with("zero-sign", "0.0".to_owned()),
                (true, true) => with("zero-sign", "-0.0".to_owned()),
                (true, false) => {
                    with("ulp", format!("{:?}", float.next_up()));
                    with("ulp", format!("{:?}", float.next_down()));
                }
                (false, true) => with("epsilon", "0.001".to_owned()),
                (false, false) => {
                    with("epsilon", format!("{:?}", float * 1.001));
                    with("epsilon", format!("{:?}", float * 0.999));
                }
            }
        }
    }
    changes
}

/// Leaves out each attribute of operators without graphs.
fn attributes(text: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    for (open, _) in text.match_indices('<') {
        let Some(close) = text[open..].find('>').map(|length| open + length) else { continue };
        let list = &text[open + 1..close];
        if list.contains('{') || list.ends_with('=') {
            continue;
        }
        let mut parts: Vec<String> = Vec::new();
        for part in list.split(", ") {
            match parts.last_mut() {
                // The rest of a list of numbers.
                Some(last) if !part.contains('=') => *last = format!("{last}, {part}"),
                _ => parts.push(part.to_owned()),
            }
        }
        for index in 0..parts.len() {
            let mut left = parts.clone();
            let gone = left.remove(index);
            let list = if left.is_empty() { String::new() } else { format!("<{}>", left.join(", ")) };
            let new = format!("{}{list}{}", &text[..open], &text[close + 1..]);
            changes.push(("attribute", format!("without {gone} at {open}"), new));
        }
    }
    changes
}
