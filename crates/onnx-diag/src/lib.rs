//! Rules, diagnostics and places in an ONNX model, with text, JSON and SARIF renderers.
