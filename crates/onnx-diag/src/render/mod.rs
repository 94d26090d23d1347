//! Renderers: what a [`Sink`](crate::Sink) collected, as text, JSON or SARIF.
