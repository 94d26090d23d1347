//! Selection of functions by text.

use std::fmt;

use onnx_ir::{FunctionId, Model};

/// Functions by domain, name and overload, as `my.domain.Name:overload`. `*` is any text.
///
/// A pattern without an overload is for all overloads. Parentheses at the end, as in a selector of calls, mean the same as
/// none.
///
/// ```
/// use onnx_functions::FunctionPattern;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
/// g (float x) => (float y) { y = my.Scale (x) }
/// <domain: "my", opset_import: ["": 20]> Scale (p) => (q) { q = Neg (p) }"#;
/// let model = parse_model(text, &ParseOptions::default())?;
/// let function = model.functions()[0];
/// for (pattern, matches) in [("my.Scale", true), ("my.S*()", true), ("*.Sc*le", true), ("Scale", false), ("my.Scale:a", false)] {
///     assert_eq!(FunctionPattern::new(pattern).matches(&model, function), matches);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FunctionPattern {
    name: String,
    overload: Option<String>,
}

impl FunctionPattern {
    /// The pattern that a text denotes.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let text = text.strip_suffix("()").unwrap_or(text);
        match text.rsplit_once(':') {
            Some((name, overload)) => Self { name: name.to_owned(), overload: Some(overload.to_owned()) },
            None => Self { name: text.to_owned(), overload: None },
        }
    }

    /// Returns `true` if the pattern matches a function.
    ///
    /// # Panics
    ///
    /// Panics if the function is not of this model or was removed.
    #[must_use]
    pub fn matches(&self, model: &Model, function: FunctionId) -> bool {
        let record = model.function(function);
        let [domain, name, overload] =
            [record.domain(), record.name(), record.overload()].map(|part| model.str(part));
        self.matches_identity(domain, name, overload)
    }

    /// Returns `true` if the pattern matches a domain, a name and an overload: of a function, or of an operator. Patterns for the
    /// default domain may have the prefix `ai.onnx.`, or none.
    #[must_use]
    pub fn matches_identity(&self, domain: &str, name: &str, overload: &str) -> bool {
        let is_name = |domain: &str| {
            let full = format!("{domain}.{name}");
            is_match(self.name.as_bytes(), full.as_bytes())
        };
        let is_named = match domain {
            "" => is_match(self.name.as_bytes(), name.as_bytes()) || is_name("ai.onnx"),
            domain => is_name(domain),
        };
        let mut of_overload = self.overload.iter();
        is_named && of_overload.all(|pattern| is_match(pattern.as_bytes(), overload.as_bytes()))
    }
}

impl fmt::Display for FunctionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.overload.as_ref().map_or(Ok(()), |overload| write!(f, ":{overload}"))
    }
}

/// A set of functions, as text: patterns that are joined (`,` or `|`), intersected (`&`) or removed (`~`), from left to right.
///
/// ```
/// use onnx_functions::FunctionSelector;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
/// g (float x) => (float y) { y = my.Scale (x) }
/// <domain: "my", opset_import: ["": 20]> Scale (p) => (q) { q = Neg (p) }
/// <domain: "my", opset_import: ["": 20]> Shift (p) => (q) { q = Abs (p) }"#;
/// let model = parse_model(text, &ParseOptions::default())?;
/// let selected = |text: &str| {
///     let selector = FunctionSelector::new(text);
///     model.functions().iter().filter(|&&function| selector.matches(&model, function)).count()
/// };
/// assert_eq!(selected("my.Scale, my.Shift"), 2);
/// assert_eq!(selected("my.*() ~ my.Shift"), 1);
/// assert_eq!(selected("my.* & *.Sc*"), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FunctionSelector {
    terms: Vec<(Operation, FunctionPattern)>,
}

/// The operation of a pattern on the set of those before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

impl FunctionSelector {
    /// The set that a text denotes.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let (mut terms, mut rest, mut operation) = (Vec::new(), text, Operation::Union);
        loop {
            let end = rest.find([',', '|', '&', '~']).unwrap_or(rest.len());
            let (pattern, after) = rest.split_at(end);
            terms.push((operation, FunctionPattern::new(pattern.trim())));
            let mut characters = after.chars();
            operation = match characters.next() {
                None => return Self { terms },
                Some('&') => Operation::Intersection,
                Some('~') => Operation::Difference,
                Some(_) => Operation::Union,
            };
            rest = characters.as_str();
        }
    }

    /// Returns `true` if the set contains a function.
    ///
    /// # Panics
    ///
    /// Panics if the function is not of this model or was removed.
    #[must_use]
    pub fn matches(&self, model: &Model, function: FunctionId) -> bool {
        let record = model.function(function);
        let [domain, name, overload] =
            [record.domain(), record.name(), record.overload()].map(|part| model.str(part));
        self.matches_identity(domain, name, overload)
    }

    /// Returns `true` if the set contains this domain, name and overload: of a function, or of an operator.
    #[must_use]
    pub fn matches_identity(&self, domain: &str, name: &str, overload: &str) -> bool {
        self.terms.iter().fold(false, |selected, (operation, pattern)| {
            let is_matched = || pattern.matches_identity(domain, name, overload);
            match operation {
                Operation::Union => selected || is_matched(),
                Operation::Intersection => selected && is_matched(),
                Operation::Difference => selected && !is_matched(),
            }
        })
    }

    /// The patterns, each of which should match a function.
    pub fn patterns(&self) -> impl Iterator<Item = &FunctionPattern> {
        self.terms.iter().map(|(_, pattern)| pattern)
    }
}

/// Returns `true` if a text matches a pattern in which `*` is any text. It takes at most the product of the lengths in steps.
fn is_match(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to continue if the text after the last `*` does not match: the star takes one more byte.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some(byte) if text.get(t) == Some(byte) => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((star, start)) = retry else { return false };
                retry = Some((star, start + 1));
                p = star + 1;
                t = start + 1;
            }
        }
    }
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|&byte| byte == b'*'))
}

#[cfg(test)]
mod tests {
    use super::is_match;

    #[test]
    fn stars_are_any_text() {
        let check = |pattern: &str, text: &str| is_match(pattern.as_bytes(), text.as_bytes());
        for (pattern, text) in
            [("", ""), ("*", ""), ("*", "ab"), ("a*b*c", "aXbXbXc"), ("a**", "a"), ("*ab", "aab")]
        {
            assert!(check(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a", ""), ("a*b", "aXc"), ("*a", "ab"), ("ab", "abc")] {
            assert!(!check(pattern, text), "{pattern} {text}");
        }
    }
}
