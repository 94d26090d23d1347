//! `RegexFullMatch`: whether each text matches a pattern as a whole.
//!
//! The pattern is one of RE2. It is translated to the syntax of the crate `regex`, which is of the same family and as linear:
//! `\d`, `\s`, `\w` and word boundaries are those of ASCII, brackets and `&`, `~` in a class are ordinary characters. What only
//! one of the two has (`\Q`, octal numbers, `\C`, the flag `x`) is reported as unsupported.

use bytes::Bytes;
use onnx_schema::{attr, op};
use onnx_types::ElemType;
use regex::bytes::Regex;

use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::REGEX_FULL_MATCH, &[since(20, full_match)]);

fn full_match(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let pattern = cx.text(attr::PATTERN)?;
    let translated = translate(pattern)?;
    let compile = |pattern: &str| {
        Regex::new(pattern).map_err(|_| Stop::unsupported("a pattern that cannot be compiled"))
    };
    // Compile it separately first: a surplus closing bracket must not match the added opening one.
    compile(&translated)?;
    let regex = compile(&format!(r"\A(?:{translated})\z"))?;
    let texts = cx.units::<Bytes>(&x)?;
    let mut out = cx.buffer(x.count)?;
    for text in texts.iter() {
        cx.work(text.len().saturating_mul(pattern.len().max(1)))?;
        out.push(u8::from(regex.is_match(text)));
    }
    cx.put_units(0, ElemType::Bool, &x.dims, out)
}

/// The same pattern in the syntax of the crate `regex`.
fn translate(pattern: &str) -> Outcome<String> {
    let mut out = String::new();
    let mut rest = pattern;
    // In a class, the length of the output at which its first element would begin.
    let mut class = None;
    while let Some(next) = rest.chars().next() {
        let after = &rest[next.len_utf8()..];
        rest = after;
        match (next, class) {
            ('\\', _) => rest = escape(after, class.is_some(), &mut out)?,
            ('[', None) => {
                out.push('[');
                if let Some(negated) = rest.strip_prefix('^') {
                    out.push('^');
                    rest = negated;
                }
                class = Some(out.len());
            }
            ('[', Some(_)) if rest.starts_with(':') => {
                let end = rest.find(":]").ok_or_else(|| unsupported("an open class"))?;
                out.push('[');
                out.push_str(&rest[..end + 2]);
                rest = &rest[end + 2..];
            }
            (']', Some(start)) if out.len() == start => out.push_str(r"\]"),
            (']', Some(_)) => {
                out.push(']');
                class = None;
            }
            ('-', Some(_)) if rest.starts_with('-') => return Err(unsupported("`--` in a class")),
            ('[' | '&' | '~' | '^', Some(_)) => out.extend(['\\', next]),
            ('(', None) if rest.starts_with('?') => {
                check_group(&rest[1..])?;
                out.push('(');
            }
            ('{', None) if !is_repetition(rest) => out.push_str(r"\{"),
            _ => out.push(next),
        }
    }
    Ok(out)
}

fn unsupported(what: &str) -> Stop {
    Stop::unsupported(format_args!("a pattern with {what}"))
}

/// Translates the escape after a backslash, and returns the rest.
fn escape<'p>(rest: &'p str, in_class: bool, out: &mut String) -> Outcome<&'p str> {
    let Some(next) = rest.chars().next() else {
        return Err(Stop::failed("the pattern ends with a backslash"));
    };
    let text = match (next, in_class) {
        ('d', _) => "[0-9]",
        ('D', _) => "[^0-9]",
        ('w', _) => "[0-9A-Za-z_]",
        ('W', _) => "[^0-9A-Za-z_]",
        ('s', _) => r"[\t\n\f\r ]",
        ('S', _) => r"[^\t\n\f\r ]",
        ('b', false) => r"(?-u:\b)",
        ('B', false) => r"(?-u:\B)",
        ('A' | 'z', false) | ('a' | 'f' | 't' | 'n' | 'r' | 'v' | 'x' | 'p' | 'P', _) => "",
        _ if next.is_ascii_punctuation() => "",
        _ => return Err(unsupported("an escape that is not supported")),
    };
    if text.is_empty() {
        out.extend(['\\', next]);
    } else {
        out.push_str(text);
    }
    Ok(&rest[next.len_utf8()..])
}

/// Checks the text after `(?`: a name, or flags that RE2 supports.
fn check_group(rest: &str) -> Outcome {
    if rest.starts_with("P<") || rest.starts_with('<') {
        return Ok(());
    }
    let flags = rest.chars().take_while(|&flag| flag != ':' && flag != ')');
    let are_known = flags.into_iter().all(|flag| matches!(flag, 'i' | 'm' | 's' | 'U' | '-'));
    if are_known { Ok(()) } else { Err(unsupported("a group of another kind")) }
}

/// Whether `{n}`, `{n,}` or `{n,m}` begins, behind its bracket; RE2 takes other brackets literally.
fn is_repetition(rest: &str) -> bool {
    let Some((counts, _)) = rest.split_once('}') else { return false };
    let (least, most) = counts.split_once(',').unwrap_or((counts, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && are_digits(least) && are_digits(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What RE2's documentation of its syntax says about each pattern.
    #[test]
    fn patterns_mean_what_they_mean_in_re2() {
        let is_match = |pattern: &str, text: &str| {
            Regex::new(&format!(r"\A(?:{})\z", translate(pattern).unwrap()))
                .unwrap()
                .is_match(text.as_bytes())
        };
        assert!(is_match("a|ab", "ab"));
        assert!(is_match(r"\d+", "42") && !is_match(r"\d", "\u{663}"));
        assert!(is_match(r"\w", "a") && !is_match(r"\w", "ä"));
        assert!(is_match(".", "ä") && !is_match(".", "\n") && is_match("(?s).", "\n"));
        assert!(is_match(r"\s", " ") && !is_match(r"\s", "\u{b}"));
        assert!(is_match(r"[\D]", "x") && !is_match(r"[\D]", "1"));
        assert!(is_match("[[a&&b]+", "[a&b") && is_match("[]a]+", "]a") && is_match("[^]a]", "b"));
        assert!(is_match("[[:alpha:]_]+", "ab_"));
        assert!(is_match("a{,2}", "a{,2}") && is_match("a{2}", "aa") && is_match("a{", "a{"));
        assert!(is_match(r"a\b b", "a b") && is_match("(?i)Ä", "ä"));
    }

    #[test]
    fn what_only_one_of_them_has_is_refused() {
        for pattern in [r"\Qa\E", r"\101", "(?x)a", "[a--b]", "(?=a)", r"\C", "a\\"] {
            assert!(translate(pattern).is_err(), "{pattern}");
        }
    }
}
