//! `heapwright workload`, and generated workloads as input of other commands.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{Folder, heapwright};

const NAME: &str = "workload:training:3";

#[test]
fn a_workload_is_replayed_as_its_file_is() {
    let folder = Folder::new();
    let file = folder.path().join("training.csv").to_str().unwrap().to_owned();
    let summary = heapwright(["workload", NAME, "-o", &file]).ok();
    assert!(summary.starts_with(&format!("{file}: ")) && summary.lines().count() == 1, "{summary}");
    assert_eq!(heapwright(["workload", NAME]).ok(), std::fs::read_to_string(&file).unwrap());

    let replayed = heapwright(["replay", "--json", NAME, &file]).ok();
    let [generated, read]: [Value; 2] = replayed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect::<Vec<_>>()
        .try_into()
        .expect("two traces were replayed");
    assert_eq!((&generated["trace"], &read["trace"]), (&NAME.into(), &"training".into()));
    for key in ["events", "peak_live_bytes", "peak_reserved_bytes", "mean_reserved_bytes", "heaps_created"] {
        assert!(generated[key].as_u64() > Some(0), "{key}");
        assert_eq!(generated[key], read[key], "{key}");
    }
}

#[test]
fn the_list_has_three_workloads_of_each_shape_and_part() {
    let list = heapwright(["workload", "--list"]).ok();
    let names: BTreeSet<&str> = list.lines().collect();
    assert_eq!((list.lines().count(), names.len()), (42, 42));
    assert!(names.contains(NAME) && names.contains("workload:frame-graph:1002"));
}

#[test]
fn names_of_parts_stand_for_their_workloads() {
    let outcome = heapwright(["replay", "--report", "report.json", "workload:evaluation"]);
    assert_eq!(outcome.one_error(2), "--report requires a single trace, but 21 were given");
}

#[test]
fn unknown_names_are_errors() {
    for command in ["workload", "replay"] {
        for name in ["workload:river:1", "workload:editor", "workload:editor:-1"] {
            let outcome = heapwright([command, name]);
            let expected = format!("no workload is called \"{name}\"; expected workload:SHAPE:SEED, ");
            assert!(outcome.one_error(2).starts_with(&expected), "{:?}", outcome.one_error(2));
        }
    }
    let outcome = heapwright(["workload", NAME, "-o", "no/such/directory.csv"]);
    assert_eq!(
        outcome.one_error(2),
        "no/such/directory.csv: cannot open the trace for writing: no such directory"
    );
}
