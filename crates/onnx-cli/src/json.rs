//! JSON in reports and files. Names in it come from models, so everything that is written is made here: whatever could act on a
//! terminal is escaped.

use onnx_diag::render::safe_json;
use serde::Serialize;

use crate::exit::Failure;

/// A value as JSON on one line.
#[derive(Clone, Debug)]
pub(crate) struct JsonText(String);

impl JsonText {
    /// The JSON of a value.
    #[expect(clippy::disallowed_methods, reason = "the result is escaped here")]
    pub(crate) fn of(value: &impl Serialize) -> Result<Self, Failure> {
        Ok(Self(safe_json(&serde_json::to_string(value).map_err(Failure::defect)?)))
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The contents of a file with a value as JSON, in lines.
#[expect(clippy::disallowed_methods, reason = "the result is escaped here")]
pub(crate) fn lines(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::defect)?;
    Ok(safe_json(&format!("{text}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_do_nothing() {
        let name = "é\u{202e}\u{e0041}\x7f\x1b\u{9b}\u{2028}\u{feff}\n::error::";
        let value = serde_json::json!({ "name": name });
        let text = r#"{"name":"é\u202e\udb40\udc41\u007f\u001b\u009b\u2028\ufeff\n::error::"}"#;
        assert_eq!(JsonText::of(&value).unwrap().as_str(), text);
        let lines = lines(&value).unwrap();
        assert!(!lines.chars().any(|c| c != '\n' && onnx_diag::is_unprintable(c)), "{lines}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&lines).unwrap(), value);
    }
}
