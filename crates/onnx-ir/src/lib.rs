//! An editable arena graph for ONNX models.
