//! ONNX files to the editable graph and back, losing nothing.
