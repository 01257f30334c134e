//! The JSON output of all commands, which docs/output.schema.json describes.

use std::collections::BTreeSet;
use std::path::Path;

use heapwright_trace::session::{Action, Counter, HeapType};
use serde_json::Value;

use crate::support::{Folder, buffer, heap, heapwright, report_json, repository, session_at};

const FRAME: &str = "crates/cli/examples/frame.json";
const TRACE: &str = "traces/vision_serving.csv.gz";

/// A schema, and the keys of it that were in an output.
struct Checked {
    schema: Value,
    found: BTreeSet<String>,
}

impl Checked {
    /// Checks each line of an output. `place` is that of its schema.
    fn lines(&mut self, output: &str, name: &str) {
        assert!(!output.is_empty(), "{name}");
        for line in output.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            let schema = self.schema["$defs"][name].clone();
            self.value(&value, &schema, name);
        }
    }

    fn value(&mut self, value: &Value, schema: &Value, place: &str) {
        assert!(schema["description"].is_string(), "{place} has no description");
        let types = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            one => Vec::from_iter(one.as_str()),
        };
        let is = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_u64() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let fits = types.is_empty() || types.contains(&is) || is == "integer" && types.contains(&"number");
        assert!(fits, "{place}: {value}");
        if let Some(allowed) = schema["enum"].as_array() {
            assert!(allowed.contains(value), "{place}: {value}");
        }
        for item in value.as_array().into_iter().flatten() {
            self.value(item, &schema["items"], &format!("{place}[]"));
        }
        let Some(object) = value.as_object() else { return };
        let keys: BTreeSet<&str> = object.keys().map(String::as_str).collect();
        let required = schema["required"].as_array().unwrap();
        assert_eq!(keys, required.iter().filter_map(Value::as_str).collect(), "{place}");
        for (key, value) in object {
            let place = format!("{place}.{key}");
            self.value(value, &schema["properties"][key], &place);
            self.found.insert(place);
        }
    }
}

/// Returns the places of all keys of a schema.
fn keys(schema: &Value, place: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{place}.{key}");
        all.extend(keys(schema, &place));
        all.push(place);
    }
    if schema["items"].is_object() {
        all.extend(keys(&schema["items"], &format!("{place}[]")));
    }
    all
}

#[test]
fn the_schema_describes_the_output_of_every_command() {
    let path = repository().join("docs/output.schema.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut checked = Checked { schema, found: BTreeSet::new() };
    let folder = Folder::new();
    let page = folder.path().join("page.html");
    let page = page.to_str().unwrap();

    checked.lines(&heapwright(["replay", "--json", "--compare", TRACE]).ok(), "replay");
    // Without allocations, measurements are null.
    checked.lines(&heapwright(["replay", "--json", &folder.trace("empty.csv", "")]).ok(), "replay");
    checked.lines(&heapwright(["residency", "--json", "workload:training:2"]).ok(), "residency");
    let counted = [(Counter::LocalBudget, 9), (Counter::LocalUsage, 10)];
    let counted = counted.map(|(counter, value)| (0, Action::Count { counter, value }));
    let session =
        folder.file("s.hws", session_at([(0, buffer(1, 16, HeapType::Default))].into_iter().chain(counted)));
    checked.lines(&heapwright(["report", "--json", &session, "-o", page]).ok(), "report");
    checked.lines(&heapwright(["devices", "--json"]).ok(), "devices");
    checked.lines(&heapwright(["conformance", "--json", "--filter", "tight/"]).ok(), "conformance");
    let gaps = folder.file("gaps", "tight/placed-buffer-alignment-max passes\n");
    let gaps = ["conformance", "--json", "--filter", "tight/", "--known-gaps", &gaps];
    checked.lines(&heapwright(gaps).stdout, "conformance");
    for options in [["--barriers", "enhanced"], ["--barriers", "legacy"], ["--tier", "1"]] {
        let plan = ["plan", "--json", "--budget", "100steps", options[0], options[1], FRAME];
        checked.lines(&heapwright(plan).ok(), "plan");
    }
    let table = folder.file("table.csv", "id,lower,upper,size\na,0,5,100\n");
    checked.lines(&heapwright(["plan", "--json", &table]).ok(), "plan");

    let trace = repository().join(TRACE);
    checked.lines(&heapwright(["report", "--json", "-o", page, trace.to_str().unwrap()]).ok(), "report");
    let report = folder.file("report.json", report_json("vertices"));
    checked.lines(&heapwright(["report", "--json", "-o", page, &report]).ok(), "report");

    let session = folder.file("session.hws", buffer_beyond_its_heap());
    checked.lines(&heapwright(["recreate", "--json", &session]).stdout, "recreate");

    let defined = checked.schema["$defs"].as_object().unwrap();
    for place in defined.iter().flat_map(|(name, schema)| keys(schema, name)) {
        assert!(checked.found.contains(&place), "no output has {place}");
    }
    assert!(Path::new(page).exists());
}

/// Returns a session with a failure.
fn buffer_beyond_its_heap() -> Vec<u8> {
    session_at([
        (0, heap(1, 65536, HeapType::Default)),
        (0, Action::HeapAddress { heap: 1, address: 0x10_0000_0000, size: 65536 }),
        (1, buffer(2, 65536, HeapType::Default)),
        (2, Action::Place { allocation: 2, heap: 1, offset: 65536 }),
    ])
}
