//! Generated workloads as input of the commands.

use crate::support::{Folder, heapwright, json_lines};

const NAME: &str = "workload:training:3";

#[test]
fn a_workload_is_replayed_as_its_file_is() {
    let folder = Folder::new();
    let file = folder.path().join("training.csv").to_str().unwrap().to_owned();
    let summary = heapwright(["convert", NAME, &file]).ok();
    assert!(summary.starts_with(&format!("{file}: ")) && summary.lines().count() == 1, "{summary}");
    let session = folder.path().join("training.hws").to_str().unwrap().to_owned();
    heapwright(["convert", NAME, &session]).ok();
    let again = folder.path().join("again.csv").to_str().unwrap().to_owned();
    heapwright(["convert", &session, &again]).ok();
    assert_eq!(std::fs::read(&again).unwrap(), std::fs::read(&file).unwrap());

    let replayed = heapwright(["replay", "--json", NAME, &file]).ok();
    let [generated, read] = &json_lines(&replayed)[..] else { panic!("two traces: {replayed}") };
    assert_eq!((&generated["trace"], &read["trace"]), (&NAME.into(), &"training".into()));
    for key in ["events", "peak_live_bytes", "peak_reserved_bytes", "mean_reserved_bytes", "heaps_created"] {
        assert!(generated[key].as_u64() > Some(0), "{key}");
        assert_eq!(generated[key], read[key], "{key}");
    }
}

#[test]
fn unknown_names_are_errors() {
    for args in [&["convert", "x.csv"][..], &["replay"], &["residency"], &["report"]] {
        let outcome = heapwright([&args[..1], &["workload:river:1"], &args[1..]].concat());
        let expected = "no generated program is called \"workload:river:1\"; expected workload:SHAPE:SEED, ";
        assert!(outcome.one_error(2).starts_with(expected), "{:?}", outcome.one_error(2));
    }
}
