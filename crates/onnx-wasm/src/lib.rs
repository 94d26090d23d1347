//! The session of a page as WebAssembly: functions over memory that the page fills and reads.
//!
//! The page and the library exchange bytes only: a file, requests and answers in JSON (see [`onnx_page::Session::call`]), and
//! the model that is saved. So no generated glue is needed. The module imports three functions: two read the external
//! data of a model from the files that the user gave, one receives progress ([`host`]); it cannot reach a network or write to a console.
//!
//! A page calls [`exports`] so: `onnx_new` makes a state; `onnx_input` makes room for bytes, which the page writes;
//! `onnx_open`, `onnx_compare`, `onnx_call` and `onnx_save` read them and keep an answer, whose address and length `onnx_answer` and their
//! result say. `web/src/library.ts` is the other side.
#![deny(unsafe_code)]

pub mod exports;
pub mod host;

use onnx_page::Session;
use onnx_types::Execution;
use onnx_types::tensor::DataSource;

/// A session, what the page wrote, and what it will read.
#[derive(Debug, Default)]
pub struct State {
    session: Option<Session>,
    input: Vec<u8>,
    answer: Vec<u8>,
}

impl State {
    /// Room for as many bytes of input.
    pub fn room(&mut self, bytes: usize) -> &mut [u8] {
        self.input.clear();
        self.input.resize(bytes, 0);
        &mut self.input
    }

    /// The answer of the last call.
    #[must_use]
    pub fn answer(&self) -> &[u8] {
        &self.answer
    }

    /// Opens a file: the input is its contents and its name, which has `name_bytes` bytes. The answer is `{"ok":null}` or has an error.
    pub fn open(&mut self, name_bytes: usize, source: Box<dyn DataSource>) {
        // The old model is dropped first, so that the memory of two is never needed.
        self.session = None;
        self.answer = match self.given(name_bytes, source) {
            Ok(session) => {
                self.session = Some(session);
                br#"{"ok":null}"#.to_vec()
            }
            Err(message) => error(&message),
        };
    }

    /// Opens an older model, with which the open one is compared; as [`open`](Self::open).
    pub fn compare(&mut self, name_bytes: usize, source: Box<dyn DataSource>) {
        let older = self.given(name_bytes, source);
        self.answer = match (older, &mut self.session) {
            (Ok(older), Some(session)) => {
                session.compare_with(older);
                br#"{"ok":null}"#.to_vec()
            }
            (Ok(_), None) => error("no model is open"),
            (Err(message), _) => error(&message),
        };
    }

    /// The model that the input is: its contents, which stay where they are, and its name.
    fn given(&mut self, name_bytes: usize, source: Box<dyn DataSource>) -> Result<Session, String> {
        let mut contents = std::mem::take(&mut self.input);
        let name = contents.split_off(contents.len().saturating_sub(name_bytes));
        let name = String::from_utf8_lossy(&name).into_owned();
        Session::open_with(&name, contents.into(), source, host::watched(Execution::default()))
    }

    /// Answers the request that is the input.
    pub fn call(&mut self) {
        let input = std::mem::take(&mut self.input);
        self.answer = match (&mut self.session, std::str::from_utf8(&input)) {
            (Some(session), Ok(request)) => session.call(request).into_bytes(),
            (None, _) => error("no model is open"),
            (_, Err(_)) => error("the request is not UTF-8"),
        };
    }

    /// Encodes the model. Returns `false` if that is not possible: then the answer has the error.
    pub fn save(&mut self) -> bool {
        let saved = self.session.as_ref().map_or_else(|| Err("no model is open".to_owned()), Session::save);
        let is_saved = saved.is_ok();
        self.answer = saved.unwrap_or_else(|message| error(&message));
        is_saved
    }
}

/// An error as an answer.
fn error(message: &str) -> Vec<u8> {
    let mut text = String::from(r#"{"error":""#);
    for c in message.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => text.push(' '),
            c => text.push(c),
        }
    }
    text.push_str(r#""}"#);
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use onnx_types::tensor::NoData;

    use super::*;

    fn given(state: &mut State, bytes: &[u8]) {
        state.room(bytes.len()).copy_from_slice(bytes);
    }

    #[test]
    fn a_page_opens_asks_and_saves() {
        let mut state = State::default();
        given(&mut state, br#"{"call":"overview"}"#);
        state.call();
        assert_eq!(state.answer(), br#"{"error":"no model is open"}"#);
        assert!(!state.save());
        let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu (x) }m.onnxtxt"#;
        given(&mut state, text.as_bytes());
        state.open(9, Box::new(NoData));
        assert_eq!(state.answer(), br#"{"ok":null}"#);
        given(&mut state, br#"{"call":"search","text":"Relu()"}"#);
        state.call();
        assert!(state.answer().starts_with(br#"{"ok":{"count":1"#));
        given(&mut state, text.replace("Relu", "Abs").as_bytes());
        state.compare(9, Box::new(NoData));
        assert_eq!(state.answer(), br#"{"ok":null}"#);
        given(&mut state, br#"{"call":"compare"}"#);
        state.call();
        assert!(String::from_utf8_lossy(state.answer()).contains(r#""element":"node""#));
        given(&mut state, b"\xff");
        state.call();
        assert!(state.answer().starts_with(br#"{"error":"#));
        assert!(state.save() && state.answer().len() > 20);
    }

    #[test]
    fn files_that_are_not_models_are_refused() {
        let mut state = State::default();
        for (input, name) in [("\"\nm.onnxtxt", 9), ("", 0), ("m", 99)] {
            given(&mut state, input.as_bytes());
            state.open(name, Box::new(NoData));
            let answer = String::from_utf8(state.answer().to_vec()).unwrap();
            assert!(answer.starts_with(r#"{"error":""#) && answer.ends_with(r#""}"#), "{answer}");
        }
    }
}
