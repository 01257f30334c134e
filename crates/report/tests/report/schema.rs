//! Consistency of the JSON Schema and the types.

use crate::sample::{full, to_json};
use heapwright::report::{AllocationKind, HeapContents, HeapTypeName};
use heapwright_report::{JSON_SCHEMA, from_json};
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::from_str(JSON_SCHEMA).unwrap()
}

/// Resolves `$ref` and removes `null` from `anyOf`.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(name) = schema["$ref"].as_str() {
        return resolved(root, root.pointer(name.strip_prefix('#').unwrap()).unwrap());
    }
    match schema["anyOf"].as_array() {
        Some(all) => resolved(root, all.iter().find(|one| **one != json!({ "type": "null" })).unwrap()),
        None => schema,
    }
}

fn allows_null(schema: &Value) -> bool {
    let null = json!("null");
    schema["type"].as_array().is_some_and(|types| types.contains(&null))
        || schema["anyOf"].as_array().is_some_and(|all| all.iter().any(|one| one["type"] == null))
}

/// Checks that a document matches the schema and that all of its keys are described. Adds the pointers of the keys to
/// `keys`, each with whether it is required.
fn check(root: &Value, schema: &Value, value: &Value, path: &str, keys: &mut Vec<(String, bool)>) {
    let schema = resolved(root, schema);
    if let Some(expected) = schema.get("const") {
        assert_eq!(value, expected, "{path}");
    }
    if let Some(allowed) = schema["enum"].as_array() {
        assert!(allowed.contains(value), "{path}: {value}");
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().map(|one| one.as_str().unwrap()).collect(),
        _ => Vec::new(),
    };
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    assert!(types.is_empty() || types.contains(&found), "{path}: {found}, not {types:?}");
    if let Some(number) = value.as_u64() {
        assert!(schema["minimum"].as_u64().is_none_or(|minimum| number >= minimum), "{path}");
        assert!(schema["maximum"].as_u64().is_none_or(|maximum| number <= maximum), "{path}");
    }
    for (place, item) in value.as_array().into_iter().flatten().enumerate() {
        check(root, &schema["items"], item, &format!("{path}/{place}"), keys);
    }
    let Some(object) = value.as_object() else { return };
    let required = schema["required"].as_array().unwrap();
    for key in required {
        assert!(object.contains_key(key.as_str().unwrap()), "{path}: {key} is missing");
    }
    for (key, value) in object {
        let path = format!("{path}/{key}");
        let of_key = schema["properties"].get(key).unwrap_or_else(|| panic!("{path} is not described"));
        let is_required = required.contains(&json!(key));
        assert_eq!(allows_null(of_key), !is_required, "{path}");
        keys.push((path.clone(), is_required));
        check(root, of_key, value, &path, keys);
    }
}

/// Returns the document without a key, or with another value for it.
fn without(document: &Value, pointer: &str, value: Option<Value>) -> Value {
    let mut document = document.clone();
    let (object, key) = pointer.rsplit_once('/').unwrap();
    let object = document.pointer_mut(object).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => drop(object.insert(key.to_owned(), value)),
        None => drop(object.remove(key)),
    }
    document
}

#[test]
fn every_key_is_described_and_required_where_the_schema_says_so() {
    let root = schema();
    let document: Value = serde_json::from_str(&to_json(&full())).unwrap();
    let mut keys = Vec::new();
    check(&root, &root, &document, "", &mut keys);
    for (pointer, is_required) in &keys {
        for value in [None, Some(Value::Null)] {
            let json = without(&document, pointer, value.clone()).to_string();
            let error = from_json(json.as_bytes()).err();
            // A missing optional key may make a sum wrong, which is a different error.
            let is_missed = error.as_ref().is_some_and(|error| {
                let rule = error.rule();
                ["missing", "null", "expected value"].iter().any(|word| rule.contains(word))
            });
            assert_eq!(is_missed, *is_required, "{pointer} as {value:?}: {error:?}");
        }
    }
    assert!(keys.len() > 100, "{}", keys.len());
}

#[test]
fn every_key_that_is_described_is_in_the_sample() {
    let root = schema();
    let document: Value = serde_json::from_str(&to_json(&full())).unwrap();
    let mut keys = Vec::new();
    check(&root, &root, &document, "", &mut keys);
    let all = root["$defs"].as_object().unwrap().values().chain([&root]);
    for schema in all {
        for key in schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key) {
            assert!(keys.iter().any(|(path, _)| path.ends_with(&format!("/{key}"))), "nothing has {key}");
        }
    }
}

#[test]
fn every_name_is_listed() {
    let root = schema();
    let listed = |name: &str, list: &str| root["$defs"][name][list].clone();
    assert_eq!(listed("heap_type", "enum"), json!(HeapTypeName::ALL.map(HeapTypeName::name)));
    assert_eq!(listed("heap_contents", "enum"), json!(HeapContents::ALL.map(HeapContents::name)));
    assert_eq!(listed("allocation_kind", "examples"), json!(AllocationKind::ALL.map(AllocationKind::name)));
    // serde uses the same names.
    assert_eq!(json!(HeapTypeName::ALL), json!(HeapTypeName::ALL.map(HeapTypeName::name)));
    assert_eq!(json!(HeapContents::ALL), json!(HeapContents::ALL.map(HeapContents::name)));
    assert_eq!(json!(AllocationKind::ALL), json!(AllocationKind::ALL.map(AllocationKind::name)));
    let groups: Vec<Value> =
        full().segment_groups.iter().map(|group| json!(group)["segment_group"].clone()).collect();
    assert_eq!(listed("segment_group", "enum"), json!(groups));
}
