//! Ranges of values, as calibration finds them and users edit them.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write as _};

use foldhash::fast::RandomState;
use onnx_diag::Quoted;

/// The format of the text.
const SCHEMA: &str = "onnx-ranges/1";

/// The ranges of values by their names: what [`calibrate`](crate::calibrate) finds. The text of it can be edited and read again.
///
/// ```
/// let ranges = onnx_quantize::Ranges::parse(r#"{"schema": "onnx-ranges/1", "ranges": {"x": [-1.5, 2]}}"#)?;
/// assert_eq!(ranges.get("x"), Some((-1.5, 2.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ranges {
    named: Vec<(String, (f32, f32))>,
    index: HashMap<String, usize, RandomState>,
}

/// Why a text has no ranges.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RangesError {
    /// It is not JSON, or has other keys.
    #[error("the text is not a file of ranges: {0}")]
    Json(#[from] serde_json::Error),
    /// It has a number that JSON does not have: other programs write NaN and infinities into it.
    #[error("the end of a range in line {line}, column {column} is {word}, which is not a finite number")]
    NotFinite {
        /// The number as it is written.
        word: String,
        /// The line, from 1 on.
        line: usize,
        /// The column in bytes, from 1 on.
        column: usize,
    },
    /// It is in another format.
    #[error("the format of the ranges is {}, not `onnx-ranges/1`", Quoted(.0))]
    Format(String),
    /// A range has no end, is not a number, or ends before it begins.
    #[error("the range of {} is not two finite numbers, the lower one first", Quoted(.0))]
    Range(String),
    /// A value has two ranges.
    #[error("{} has more than one range", Quoted(.0))]
    Duplicate(String),
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    schema: String,
    ranges: Entries,
}

/// The entries of an object in the order of the text. A map would keep the last one of each name.
struct Entries(Vec<(String, serde_json::Value)>);

impl<'de> serde::Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of ranges")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        from.deserialize_map(Visitor)
    }
}

/// The NaN or infinity at which JSON is not understood.
fn not_finite(text: &str, error: &serde_json::Error) -> Option<RangesError> {
    let line = text.lines().nth(error.line().checked_sub(1)?)?;
    // The column is that of the first character, or of the one behind a sign.
    let start = error.column().checked_sub(1)?;
    let word: String = line.get(start..)?.chars().take_while(char::is_ascii_alphabetic).collect();
    let is_known = ["nan", "inf", "infinity"].iter().any(|known| word.eq_ignore_ascii_case(known));
    is_known.then(|| RangesError::NotFinite { word, line: error.line(), column: error.column() })
}

impl Ranges {
    /// Reads the text of [`to_text`](Self::to_text).
    ///
    /// # Errors
    ///
    /// Returns an error if the text is in another format, a range is not two finite numbers, or a value has two ranges.
    pub fn parse(text: &str) -> Result<Self, RangesError> {
        let written: Written =
            serde_json::from_str(text).map_err(|error| not_finite(text, &error).unwrap_or(error.into()))?;
        if written.schema != SCHEMA {
            return Err(RangesError::Format(written.schema.chars().take(40).collect()));
        }
        let pair = |(name, range): (String, serde_json::Value)| {
            let number = |index: usize| range.get(index)?.as_f64();
            let is_pair = range.as_array().is_some_and(|ends| ends.len() == 2);
            match (number(0), number(1)) {
                (Some(low), Some(high)) if is_pair => Ok((name, (low, high))),
                _ => Err(RangesError::Range(name)),
            }
        };
        let named = written.ranges.0.into_iter().map(pair).collect::<Result<Vec<_>, _>>()?;
        let mut seen = HashSet::new();
        if let Some((name, _)) = named.iter().find(|(name, _)| !seen.insert(name.as_str())) {
            return Err(RangesError::Duplicate(name.clone()));
        }
        Self::of(named)
    }

    /// The ranges of values by their names.
    ///
    /// # Errors
    ///
    /// Returns an error if a range is not two finite numbers, the lower one first.
    pub fn of(named: impl IntoIterator<Item = (String, (f64, f64))>) -> Result<Self, RangesError> {
        let mut ranges = Self::default();
        for (name, (low, high)) in named {
            let (low, high) = (low as f32, high as f32);
            if !(low <= high && low.is_finite() && high.is_finite()) {
                return Err(RangesError::Range(name));
            }
            ranges.join(&name, (low, high));
        }
        Ok(ranges)
    }

    /// The text, one range a line.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{{\n  \"schema\": \"{SCHEMA}\",\n  \"ranges\": {{");
        for (index, (name, (low, high))) in self.named.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let name = serde_json::Value::from(name.as_str());
            // Writing to a string cannot fail.
            let _ = write!(text, "{comma}\n    {name}: [{low:?}, {high:?}]");
        }
        text.push_str("\n  }\n}\n");
        text
    }

    /// The range of the value with a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<(f32, f32)> {
        self.index.get(name).and_then(|&index| self.named.get(index)).map(|&(_, range)| range)
    }

    /// The names and ranges, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, (f32, f32))> {
        self.named.iter().map(|(name, range)| (name.as_str(), *range))
    }

    /// Adds a range; one of the same name is extended.
    pub fn join(&mut self, name: &str, range: (f32, f32)) {
        match self.index.get(name).and_then(|&index| self.named.get_mut(index)) {
            Some((_, known)) => *known = (known.0.min(range.0), known.1.max(range.1)),
            None => {
                self.index.insert(name.to_owned(), self.named.len());
                self.named.push((name.to_owned(), range));
            }
        }
    }

    /// Adds the ranges of values that have none.
    pub fn complete(&mut self, other: &Self) {
        for (name, range) in other.iter() {
            if self.get(name).is_none() {
                self.join(name, range);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back() {
        let mut ranges = Ranges::default();
        ranges.join("x", (-1.5, 0.1));
        ranges.join("a \"b\"\n\u{1b}", (0.0, 3.4e38));
        ranges.join("x", (-0.5, 2.0));
        let text = ranges.to_text();
        assert_eq!(ranges.get("x"), Some((-1.5, 2.0)));
        assert_eq!(Ranges::parse(&text).unwrap().to_text().lines().count(), text.lines().count());
        assert_eq!(Ranges::parse(&text).unwrap().get("a \"b\"\n\u{1b}"), Some((0.0, 3.4e38)));
        assert!(Ranges::parse(&Ranges::default().to_text()).unwrap().iter().len() == 0);
    }

    #[test]
    fn numbers_that_json_does_not_have_are_named() {
        for (range, word) in [("[NaN, 1]", "NaN"), ("[-Infinity, 1]", "Infinity"), ("[0, inf]", "inf")] {
            let text = format!("{{\"schema\": \"onnx-ranges/1\",\n \"ranges\": {{\"x\": {range}}}}}");
            let error = Ranges::parse(&text).unwrap_err().to_string();
            assert!(
                error.contains(&format!("is {word}, which is not a finite")) && error.contains("line 2"),
                "{error}"
            );
        }
    }

    #[test]
    fn wrong_ranges_are_errors() {
        let error = |text: &str| Ranges::parse(text).unwrap_err().to_string();
        let of = |range: &str| {
            error(&format!("{{\"schema\": \"onnx-ranges/1\", \"ranges\": {{\"x\": {range}}}}}"))
        };
        let wrong = "the range of `x` is not two finite numbers, the lower one first";
        for range in ["[2, 1]", "[1]", "[1, 2, 3]", "[null, 1]", "[1e300, 1e301]", "\"x\"", "[\"NaN\", 1]"] {
            assert_eq!(of(range), wrong, "{range}");
        }
        assert_eq!(of("[-1, 1], \"y\": [0, 1], \"x\": [-2, 2]"), "`x` has more than one range");
        assert!(of("[x, 1]").starts_with("the text is not a file of ranges"));
        for range in [(2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (-1e300, 0.0)] {
            assert_eq!(Ranges::of([("x".to_owned(), range)]).unwrap_err().to_string(), wrong, "{range:?}");
        }
        assert_eq!(Ranges::of([("x".to_owned(), (-1.0, 2.0))]).unwrap().get("x"), Some((-1.0, 2.0)));
        assert_eq!(
            error("{\"schema\": \"x\", \"ranges\": {}}"),
            "the format of the ranges is `x`, not `onnx-ranges/1`"
        );
    }
}
