//! Scripts of edits, with a check after each: an incremental check reports what a full one does.

use onnx_check::{CheckOptions, CustomOperators, IncrementalCheck, Profile, check};
use onnx_diag::Sink;
use onnx_ir::{
    Attribute, Binding, Changes, DeviceConfiguration, Importer, MetadataEntry, Model,
    NodeDeviceConfiguration, OpsetImport, OwnInfo, Owner, QuantAnnotation, QuantParameter, Sharding,
    TrainingInfo, ValueRef,
};
use onnx_schema::{attr, op};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType, Limits, Shape, Symbol, Type};

use super::edits::{MODELS, Script, Step, pick, steps};
use super::equal;

/// Models of which parts are imported, and from which scripts start, too.
const OTHERS: [&str; 3] = [
    r#"<ir_version: 8, opset_import: ["": 17, "f": 1, "ai.onnx.ml": 3]>
g (float[N] x, bool c) => (float[] y, z) <float[2] w = {1, 2}, float[K] a> {
   [one] a = f.top (x)
   [one] y = Add (a, w)
   z = If (c) <then_branch = t () => (p) { p = f.top <beta = 2> (x) }, else_branch = e () => (q) { q = Loop (, c) <body = b (i, k) => (k) { l = Neg (z) }> }>
}
<domain: "f", opset_import: ["": 17, "f": 1]>
top <alpha> (a) => (b) { t = f.mid (a) b = Elu <alpha: float = @alpha> (t) }
<domain: "f", opset_import: ["": 18, "f": 1]>
mid (a) => (b) { b = f.top (a, a) }"#,
    r#"<ir_version: 3, opset_import: ["": 7]>
g (float[N] x, float[2] w) => (float[] y) <float[2] w = {1, 2}, float[2] v = {1, 2}> {
   y = Upsample <mode = "nearest"> (x)
   u = Conv <kernel_shape = [1], auto_pad = "X"> (x, w)
}"#,
    r#"<ir_version: 12, opset_import: ["": 22, "com.acme": 1]>
g (float["a b"] x) => (float[M] y) { h = com.acme.Frob (x) y = Relu (h) k = Constant <value_ints = [1, 2]> () }"#,
];

/// Runs a script. The first bytes choose the model and the options, each seven after them are a step.
///
/// # Errors
///
/// What does not hold.
pub fn incremental_check(bytes: &[u8]) -> Result<(), String> {
    let (first, rest) = bytes.split_at_checked(2).unwrap_or((&[0, 0], &[]));
    let start: Vec<usize> = first.iter().map(|&byte| usize::from(byte)).collect();
    let texts: Vec<&str> = MODELS.into_iter().chain(OTHERS).collect();
    let text = pick(&texts, start[0]).ok_or("there are models")?;
    let model = parse_model(text, &ParseOptions::default()).map_err(|error| error.to_string())?;
    let mut script = Script { model };
    let options = options(start[1]);
    let mut incremental = IncrementalCheck::new(options.clone());
    let mut revision = script.model.revision();
    compare(
        &script.model,
        &options,
        &incremental.update(&script.model, &Changes::Everything),
        &"the first time",
    )?;
    for step in steps(rest).take(30) {
        let Step { kind, choices } = step;
        if kind.is_multiple_of(3) {
            let _ = describe(&mut script, kind / 3, choices);
        } else {
            script.step(kind / 3, choices);
        }
        // Several edits at once are as good as one.
        if choices[1].is_multiple_of(4) {
            continue;
        }
        let changes = script.model.changes_since(&revision);
        revision = script.model.revision();
        let found = incremental.update(&script.model, &changes);
        compare(&script.model, &options, &found, &step)?;
    }
    Ok(())
}

fn options(choice: usize) -> CheckOptions {
    let unlimited = Limits { findings: usize::MAX, findings_per_rule: usize::MAX, ..Limits::default() };
    let all = CheckOptions::default().with_limits(unlimited);
    match choice % 6 {
        0 => CheckOptions::default(),
        1 => all.with_profile(Profile::Reference),
        2 => all.with_elements(true).with_recommendations(true),
        3 => all.with_custom_operators(CustomOperators::Refuse),
        4 => all.with_limits(Limits { findings: 4, findings_per_rule: 1, ..Limits::default() }),
        _ => all,
    }
}

/// The reports are equal, with all places and in the same order.
fn compare(
    model: &Model,
    options: &CheckOptions,
    found: &Sink,
    step: &dyn std::fmt::Debug,
) -> Result<(), String> {
    let full = check(model, options);
    let lines = |sink: &Sink| -> Vec<String> {
        let line =
            |found: &onnx_diag::Diagnostic| format!("{} {}: {}", found.rule.slug, found.locus, found.message);
        sink.diagnostics().iter().map(line).collect()
    };
    if found.diagnostics() != full.diagnostics() {
        return Err(format!("after {step:?}: {:#?} instead of {:#?}", lines(found), lines(&full)));
    }
    let counts = |sink: &Sink| sink.rule_counts().collect::<Vec<_>>();
    equal(&counts(found), &counts(&full), &format!("after {step:?}, the counts differ"))
}

/// Edits of everything in models except their data flow, and imports.
fn describe(script: &mut Script, kind: u8, [a, b, c]: [usize; 3]) -> Option<()> {
    match kind % 5 {
        0 => of_model(script, kind / 5, [a, b, c]),
        1 => of_function(script, kind / 5, [a, b, c]),
        2 => of_graph(script, kind / 5, [a, b, c]),
        3 => of_node(script, kind / 5, [a, b, c]),
        _ => import(script, kind / 5, [a, b, c]),
    }
}

fn of_model(script: &mut Script, kind: u8, [a, b, c]: [usize; 3]) -> Option<()> {
    let (name, other) = (script.name(a), script.name(b));
    let reference = script.value(b).map_or(ValueRef::Name(other), ValueRef::Value);
    let model = &mut script.model;
    match kind % 8 {
        0 => model.info_mut().ir_version = (a % 14) as i64,
        1 => model.info_mut().opset_imports.push(OpsetImport::new(name, (b % 30) as i64)),
        2 => drop(model.info_mut().opset_imports.pop()),
        3 => model.info_mut().metadata.push(MetadataEntry::new(name, "text")),
        4 => model.info_mut().doc = model.intern(["</p>", "", "text"][a % 3]),
        5 => {
            let device = DeviceConfiguration::new(name, (b % 3) as i32, Vec::new());
            model.info_mut().configurations.push(device);
        }
        6 => {
            let initialization = model.new_training_graph(Owner::Initialization);
            let algorithm = model.new_training_graph(Owner::Algorithm);
            for graph in [initialization, algorithm] {
                model.add_graph_input(graph, ["x", "", "n"][c % 3], None);
            }
            let value = ValueRef::Name(name);
            let mut training = TrainingInfo::of_algorithm(algorithm);
            training.initialization = Some(initialization);
            training.update_binding = vec![Binding::new(reference, value)];
            model.info_mut().training.push(training);
        }
        _ => drop(model.info_mut().training.pop()),
    }
    Some(())
}

fn of_function(script: &mut Script, kind: u8, [a, b, c]: [usize; 3]) -> Option<()> {
    let function = pick(script.model.functions(), a)?;
    let name = script.name(b);
    let model = &mut script.model;
    match kind % 5 {
        0 => model.function_mut(function).attributes.push(name),
        1 => model.function_mut(function).opset_imports.push(OpsetImport::new(name, (c % 30) as i64)),
        2 => model.function_mut(function).metadata.push(MetadataEntry::new(name, "text")),
        3 => model.push_function_default(function, Attribute::new(name, c as i64)).ok()?,
        _ => drop(model.function_mut(function).opset_imports.pop()),
    }
    Some(())
}

fn of_graph(script: &mut Script, kind: u8, [a, b, c]: [usize; 3]) -> Option<()> {
    let (graph, value, other) = (script.graph(a)?, script.value(b)?, script.value(c)?);
    let name = script.name(c);
    let model = &mut script.model;
    let reference = |value, choice: usize| {
        if choice.is_multiple_of(3) { ValueRef::Name(name) } else { ValueRef::Value(value) }
    };
    match kind % 8 {
        0 => model.set_graph_name(graph, name),
        1 => model.graph_mut(graph).metadata.push(MetadataEntry::new(name, "text")),
        2 => {
            let key = model.intern(["SCALE_TENSOR", "SCALE"][b % 2]);
            let parameter = QuantParameter::new(key, reference(other, b));
            let annotation = QuantAnnotation::new(reference(value, c), vec![parameter]);
            model.graph_mut(graph).quantization.push(annotation);
        }
        3 => model.push_value_info(graph, value, None),
        4 => {
            let ty = Type::tensor(ElemType::Int64, Some(Shape::new([Dim::Var(name), Dim::Known(2)])));
            let metadata = vec![MetadataEntry::new(name, "1"), MetadataEntry::new(name, "2")];
            let mut own = OwnInfo::of_type(ty);
            own.metadata = metadata;
            model.push_value_info(graph, value, Some(own.into()));
        }
        5 => model.retain_value_info(graph, |entry| entry.value() != value),
        6 => model.graph_mut(graph).doc = model.intern(["</p>", "", "text"][a % 3]),
        _ => model.settle_names(),
    }
    Some(())
}

fn of_node(script: &mut Script, kind: u8, [a, b, c]: [usize; 3]) -> Option<()> {
    let (node, value) = (script.node(a)?, script.value(b)?);
    let name = script.name(c);
    let model = &mut script.model;
    match kind % 7 {
        0 => model.node_extras_mut(node).metadata.push(MetadataEntry::new(name, "text")),
        1 => model.value_extras_mut(value).metadata.push(MetadataEntry::new(name, "text")),
        2 => {
            let (domain, ops) =
                (["", "f", "ai.onnx", "com.acme", "ai.onnx.ml"][b % 5], ["top", "mid", "once", "ATen"]);
            let op = [op::ADD, op::IF, model.intern(ops[c % 4]), Symbol::EMPTY][c / 4 % 4];
            let domain = model.intern(domain);
            model.set_op(node, domain, op, if c.is_multiple_of(7) { name } else { Symbol::EMPTY });
        }
        3 => {
            let mut sharding = Sharding::new(ValueRef::Value(value));
            sharding.devices = [c as i64 % 3].into_iter().collect();
            let mut configuration = NodeDeviceConfiguration::new(name);
            configuration.shardings = vec![sharding];
            model.node_extras_mut(node).device_configurations.push(configuration);
        }
        4 => model.set_attribute(node, Attribute::new(name, Tensor::vector(&[1_u8]))).ok()?,
        5 => model.set_attribute(node, Attribute::new(attr::PERM, vec![0, b as i64 % 3])).ok()?,
        _ => drop(model.remove_attribute(node, name)),
    }
    Some(())
}

fn import(script: &mut Script, kind: u8, [a, b, c]: [usize; 3]) -> Option<()> {
    let other = parse_model(pick(&OTHERS, c)?, &ParseOptions::default()).ok()?;
    let value = script.value(b);
    let at = script.position(a, b)?;
    if script.model.node_count() > 60 {
        return None;
    }
    let mut importer =
        if kind.is_multiple_of(2) { Importer::new(&other) } else { Importer::anonymous(&other) };
    for &input in other.graph(other.main_graph()).inputs() {
        importer.map(input, value);
    }
    let model = &mut script.model;
    match kind / 2 % 3 {
        0 => drop(importer.nodes(model, other.main_graph(), at).ok()?),
        1 => drop(importer.function(model, pick(other.functions(), a)?).ok()?),
        _ => {
            let node = other.nodes(other.main_graph()).nth(b % 3)?;
            importer.node(model, node, at).ok()?;
        }
    }
    Some(())
}
