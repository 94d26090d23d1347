//! Pictures of ONNX models: a hierarchy of boxes, a layered layout, SVG and a page that works offline.
//!
//! # A scene
//!
//! A [`Scene`] is a model as boxes in boxes. Boxes come from the scopes in the names of nodes (`/encoder/layer.3/MatMul`),
//! from the metadata of exporters (`pkg.torch.onnx.name_scopes`, `namespace`), from blocks that the caller found, from
//! nested graphs and from bodies of functions. What is left is divided where few values cross, so that no level has more
//! than [`MAX_BOXES`] boxes, whatever the model is. Constants and weights are lines of the nodes that use them.
//!
//! A [`SceneLevel`] is the inside of a box: [`Item`]s and [`Edge`]s between them. Levels are built once; a body of a function is
//! one level, however many calls open it.
//!
//! # A layout
//!
//! [`layout`] places boxes in ranks so that edges point down. [`Scene::layout`] lays out one level with all its boxes
//! closed; [`Scene::picture`] lays out everything that is open, from the inside out, and returns a flat [`Picture`].
//!
//! ```
//! use onnx_draw::{Scene, SceneOptions, PictureStyle, svg};
//! use onnx_text::{ParseOptions, parse_model};
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 21]>
//! g (float[N, 4] x) => (float[N, 4] y) {
//!   ["/block/relu/Relu"] a = Relu (x)
//!   ["/block/add/Add"] y = Add (a, x)
//! }"#;
//! let model = parse_model(text, &ParseOptions::default()).unwrap();
//! let inference = onnx_shape_infer::infer(&model, &Default::default());
//! let scene = Scene::new(&model, &SceneOptions::default().with_inference(Some(&inference)));
//! let picture = scene.picture(&scene.opened(64)).unwrap();
//! assert!(svg(&picture, &PictureStyle::default()).contains("N×4"));
//! ```
//!
//! # Hostile names
//!
//! Every text of a scene is escaped once where it enters: control characters and those that change the direction of text
//! are visible escapes, and long names are shortened. Writers escape for their format in addition, so that a name is never
//! markup.
//!
//! # What this crate is not for
//!
//! It decides nothing about a model: types come from inference, costs and diagnostics from the caller as [`Marks`].
#![forbid(unsafe_code)]

mod html;
mod json;
mod layout;
mod marks;
mod paint;
mod picture;
#[cfg(feature = "png")]
mod png;
mod scene;
mod svg;
mod text;

pub use html::{HtmlOptions, STYLE_SHEET, VIEWER, html};
pub use json::{level_json, parents_json, scene_json};
pub use layout::{Band, Block, BoxLayout, Link, Pin, Route, Size, Spot, layout};
pub use marks::{Coloring, DifferenceMark, Marks};
pub use paint::PictureStyle;
pub use picture::{DrawError, Drawn, Line, MAX_DRAWN, Open, Picture, Summary};
#[cfg(feature = "png")]
pub use png::{letters_without_strokes, png};
pub use scene::{
    Edge, Group, Item, ItemKind, LevelId, MAX_BOXES, Path, Scene, SceneLevel, SceneOptions, stored_weight,
};
pub use svg::svg;
pub use text::{number_text, shown, text_width, type_text};
