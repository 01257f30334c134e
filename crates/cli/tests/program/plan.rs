//! `heapwright plan`.

use std::fs;

use serde_json::Value;

use crate::support::{self, Folder, heapwright};

/// MiniMalloc's example of five buffers, which fit into 12.
const FIVE: &str = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n";

const FRAME: &str = "crates/aliasing/examples/o3de_lowend_1080p.csv";

fn json(args: &[&str]) -> Value {
    support::json([&["plan", "--json"], args].concat())
}

/// Plans a table and expects this error behind the file's path.
#[track_caller]
fn refused(table: &str, expected: &str) {
    let folder = Folder::new();
    let path = folder.file("t.csv", table);
    let outcome = heapwright(["plan", &path]);
    assert_eq!(outcome.one_error(2), format!("{path}{expected}"));
    assert_eq!(outcome.stdout, "");
}

#[test]
fn the_plan_is_printed_with_its_proof() {
    let folder = Folder::new();
    let path = folder.file("five.csv", FIVE);
    let text = heapwright(["plan", &path]).ok();
    for expected in [
        "5 buffers",
        "height    12 B (12 bytes), proved optimal",
        "gap 0.00 %",
        "40.0 % of 20 B",
        "per frame",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let report = json(&[&path]);
    assert_eq!(
        (&report["height"], &report["lower_bound"], &report["proved"]),
        (&12.into(), &12.into(), &true.into())
    );
    assert_eq!(report["heaps"][0]["load_instant"], 0);
}

#[test]
fn the_height_of_a_frame_graph_is_its_load() {
    let report = json(&["--budget", "1000 steps", FRAME]);
    // Table 2.2 of the research: the load, which first fit by size reaches with 31 barriers.
    assert_eq!((report["height"].as_u64(), report["proved"].as_bool()), (Some(233_373_696), Some(true)));
    assert!(report["barriers"].as_u64().unwrap() < 31, "{report}");
}

#[test]
fn a_plan_in_steps_is_the_same_each_time() {
    let offsets = || {
        let folder = Folder::new();
        let out = folder.path().join("plan.csv");
        heapwright(["plan", FRAME, "--budget", "500 steps", "--out", out.to_str().unwrap()]).ok();
        fs::read_to_string(out).unwrap()
    };
    assert_eq!(offsets(), offsets());
}

#[test]
fn the_written_plan_passes_the_check_and_a_changed_one_does_not() {
    let folder = Folder::new();
    let out = folder.path().join("plan.csv");
    let out = out.to_str().unwrap();
    let planned = json(&[FRAME, "--out", out]);
    let checked = json(&["--check", out]);
    for key in ["height", "barriers", "buffers", "load"] {
        assert_eq!(planned[key], checked[key], "{key}");
    }
    let plan = fs::read_to_string(out).unwrap();
    assert!(
        plan.starts_with("id,lower,upper,size,") && plan.lines().next().unwrap().ends_with(",uses,offset")
    );

    let wrong = folder.file("wrong.csv", "id,lower,upper,size,offset\na,0,3,8,0\nb,2,4,8,4\nc,3,4,8,0\n");
    let outcome = heapwright(["plan", "--check", &wrong]);
    let expected = format!("{wrong}:3: the buffer overlaps the one of line 2, which lives at the same time");
    assert_eq!(outcome.one_error(1), expected);
    let unaligned = folder.file("unaligned.csv", "id,lower,upper,size,alignment,offset\na,0,3,8,8,4\n");
    let outcome = heapwright(["plan", "--check", &unaligned]);
    assert_eq!(
        outcome.one_error(1),
        format!("{unaligned}:2: the offset 4 is not a multiple of the alignment 8")
    );
    let without = folder.file("without.csv", "id,lower,upper,size,offset\na,0,3,8,\n");
    let outcome = heapwright(["plan", "--check", &without]);
    assert_eq!(outcome.one_error(2), format!("{without}:2: the plan has no offset for this buffer"));
}

#[test]
fn a_capacity_is_met_or_the_reason_is_named() {
    let folder = Folder::new();
    let path = folder.file("five.csv", FIVE);
    heapwright(["plan", "--capacity", "12", &path]).ok();
    let outcome = heapwright(["plan", "--capacity", "11", &path]);
    let expected =
        format!("{path}: no plan fits into 11 bytes: the buffers that live at time 0 have 12 bytes");
    assert_eq!(outcome.one_error(1), expected);
    let plan = folder.path().join("plan.csv");
    let plan = plan.to_str().unwrap();
    heapwright(["plan", "--out", plan, &path]).ok();
    heapwright(["plan", "--check", "--capacity", "12", plan]).ok();
    let outcome = heapwright(["plan", "--check", "--capacity", "11", plan]);
    assert_eq!(outcome.one_error(1), format!("{plan}: the plan does not fit into 11 bytes: it takes 12"));
    // Two buffers of 3 bytes take 7 if they begin at multiples of 4.
    let path = folder.file("aligned.csv", "id,lower,upper,size,alignment\na,0,2,3,4\nb,1,3,3,4\n");
    let outcome = heapwright(["plan", "--capacity", "6", &path]);
    let expected = format!("{path}: no plan fits into 6 bytes: the search has proved that 7 are needed");
    assert_eq!(outcome.one_error(1), expected);
    let outcome = heapwright(["plan", "--capacity", "6", "--tier", "1", &path]);
    assert_eq!(outcome.one_error(2), "--capacity is for one heap and cannot be combined with --tier 1");
}

#[test]
fn tier_1_has_a_heap_for_each_category() {
    let report = json(&["--tier", "1", "--budget", "1000 steps", FRAME]);
    let heaps = report["heaps"].as_array().unwrap();
    let categories: Vec<&str> = heaps.iter().map(|heap| heap["category"].as_str().unwrap()).collect();
    assert!(categories.len() > 1 && categories.contains(&"rt_ds"), "{categories:?}");
    let sum: u64 = heaps.iter().map(|heap| heap["height"].as_u64().unwrap()).sum();
    assert_eq!(report["height"], sum);
    assert!(sum >= json(&["--budget", "1000 steps", FRAME])["height"].as_u64().unwrap());
    let folder = Folder::new();
    let path = folder.file("five.csv", FIVE);
    let outcome = heapwright(["plan", "--tier", "1", &path]);
    let expected = format!("{path}:2: --tier 1 needs the column \"category\", and this buffer has none");
    assert_eq!(outcome.one_error(2), expected);
}

#[test]
fn columns_have_the_old_names_too() {
    let folder = Folder::new();
    // The column end is the last instant: these live at the same time.
    let inclusive = folder.file("end.csv", "buffer_id,start,end,size\na,0,3,4\nb,3,5,4\n");
    assert_eq!(json(&[&inclusive])["height"], 8);
    let exclusive = folder.file("upper.csv", "buffer,begin,upper,size\na,0,3,4\nb,3,5,4\n");
    assert_eq!(json(&[&exclusive])["height"], 4);
    // Gaps end as lifetimes do, in any order.
    for (gaps, height) in [("5-6 1-2", 4), ("1-2 5-5", 8)] {
        let table = format!("id,start,end,size,gaps\na,0,9,4,{gaps}\nb,1,2,4,\nc,5,6,4,\n");
        assert_eq!(json(&[&folder.file("gaps.csv", &table)])["height"], height, "{gaps}");
    }
    let fixed = folder.file("fixed.csv", "id,lower,upper,size,offset\na,0,3,4,16\nb,0,5,4,\n");
    assert_eq!(json(&[&fixed])["height"], 20);
}

#[test]
fn fields_may_be_quoted_and_are_kept() {
    let folder = Folder::new();
    let table = folder.file(
        "t.csv",
        "\n id ,\"lower\",upper,size,note\r\n\r\n\"a,b\",0,10,100,\"said \"\"so\"\"\"\r\nc,0,10,28,\"two\nlines\"\nd,0,0,1,\n",
    );
    // The lines of the file are counted, also within fields.
    let error = heapwright(["plan", &table]);
    assert!(
        error.one_error(2).ends_with("t.csv:7: the lifetime [0, 0) is empty: it must end after it begins")
    );
    let text = fs::read_to_string(&table).unwrap().replace("d,0,0", "d,10,11");
    let table = folder.file("t.csv", text);
    let out = folder.path().join("out.csv").to_str().unwrap().to_owned();
    heapwright(["plan", &table, "--out", &out]).ok();
    let plan = fs::read_to_string(&out).unwrap();
    assert_eq!(
        plan,
        "id,lower,upper,size,note,offset\n\"a,b\",0,10,100,\"said \"\"so\"\"\",0\nc,0,10,28,\"two\nlines\",100\nd,10,11,1,,0\n"
    );
    heapwright(["plan", "--check", &out]).ok();
}

/// Without aliasing, each buffer would have a place of its own, with its alignment.
#[test]
fn savings_are_not_negative() {
    let folder = Folder::new();
    let table = folder.file("t.csv", "id,lower,upper,size,alignment\na,0,5,100,65536\nb,0,5,100,65536\n");
    assert!(heapwright(["plan", &table]).ok().contains("saved     49.9 % of 128 KiB without aliasing"));
    assert_eq!(json(&[&table])["total"], 2 * 65536);
    let frame = r#"{"resources": [{"name": "t", "kind": "texture", "size": 100},
        {"name": "r", "kind": "render_target", "size": 70000}],
        "passes": [{"name": "p", "uses": [{"resource": "t", "use": "copy_all"}, {"resource": "r", "use": "clear"}]}]}"#;
    let report = json(&[&folder.file("f.json", frame)]);
    assert_eq!(report["total"], 3 * 65536);
    assert!(report["height"].as_u64() <= report["total"].as_u64(), "{report}");
}

/// The time is not checked: with the square of the number of columns, the test would take minutes.
#[test]
fn a_table_may_have_many_columns() {
    let folder = Folder::new();
    let others: String = (0..200_000).map(|number| format!(",c{number}")).collect();
    let table =
        folder.file("t.csv", format!("id,lower,upper,size{others}\na,0,10,100{}\n", ",".repeat(200_000)));
    assert_eq!(json(&[&table])["height"], 100);
}

#[test]
fn malformed_tables_are_refused_with_their_line() {
    let with = |line: &str| format!("{FIVE}{line}\n");
    refused("", ":1: the table has no header");
    refused(
        "id,lower,upper\n",
        ":1: there is no column \"size\"; a table has the columns lower, upper and size",
    );
    refused("id,lower,upper,size,size\n", ":1: duplicate column \"size\"");
    refused(&with("b6,0,3"), ":7: the line has 3 fields, and the header has 4");
    refused(&with("b6,3,3,4"), ":7: the lifetime [3, 3) is empty: it must end after it begins");
    refused(&with("b6,3,-1,4"), ":7: the lifetime [3, -1) is empty: it must end after it begins");
    refused(&with("b6,x,3,4"), ":7: lower must be a number of at most 63 bits, and is \"x\"");
    refused(&with("b6,0,3,0"), ":7: size must be at least 1");
    refused(&with("b6,0,3,-4"), ":7: size must be a number from 0 to 18446744073709551615, and is \"-4\"");
    refused(
        &with("b6,0,3,18446744073709551615"),
        ":7: the sizes and alignments have more than 62 bits in all",
    );
    let aligned = |row: &str| format!("id,lower,upper,size,alignment,gaps,offset\n{row}\n");
    refused(&aligned("a,0,3,4,3,,"), ":2: alignment must be a power of two, and is 3");
    refused(&aligned("a,0,3,4,4,,2"), ":2: the fixed offset 2 is not a multiple of the alignment 4");
    refused(&aligned("a,0,3,4,,9,"), ":2: gap \"9\" is not of the form 7-9");
    refused(&aligned("a,0,3,4,,1-9,"), ":2: gap \"1-9\" is outside the lifetime, or overlaps another gap");
    refused(&aligned("a,0,3,4,,0-3,"), ":2: the gaps leave nothing of the lifetime");
    refused(
        &aligned("a,0,3,4,,1-2@0:2,"),
        ":2: gap \"1-2@0:2\": gaps in which a part of the buffer lives (@) are not supported",
    );
    refused(
        &aligned("a,0,3,4,,,0\nb,1,2,4,,,3"),
        ":3: at its fixed offset the buffer overlaps the one of line 2, which lives at the same time",
    );
    let outcome = heapwright(["plan", "no/such/table.csv"]);
    assert_eq!(outcome.one_error(2), "no/such/table.csv: no such file");
}

/// A frame on two queues: what the compute queue uses may share memory with what the direct queue uses only behind
/// fences.
const TWO_QUEUES: &str = r#"{
  "queues": [{"name": "g", "kind": "direct"}, {"name": "c", "kind": "compute"}],
  "resources": [
    {"name": "a", "kind": "unordered_access_texture", "size": 262144},
    {"name": "b", "kind": "render_target", "size": 262144}
  ],
  "passes": [
    {"name": "p", "queue": "c", "uses": [{"resource": "a", "use": "write_unordered"}]},
    {"name": "q", "queue": "c", "uses": [{"resource": "a", "use": "read"}]},
    {"name": "r", "queue": "g", "after": [], "uses": [{"resource": "b", "use": "render"}]},
    {"name": "s", "queue": "g", "uses": [{"resource": "b", "use": "read"}]}
  ]
}
"#;

#[test]
fn queues_share_memory_only_behind_fences() {
    let folder = Folder::new();
    let apart = json(&[&folder.file("apart.json", TWO_QUEUES)]);
    assert_eq!((&apart["height"], &apart["proved"]), (&524_288.into(), &true.into()));
    assert_eq!(apart["frame"]["submissions"].as_array().map(Vec::len), Some(2));
    let ordered = TWO_QUEUES.replace("\"after\": []", "\"after\": [\"q\"]");
    let path = folder.file("ordered.json", &ordered);
    let out = folder.path().join("plan.json");
    let out = out.to_str().unwrap();
    let behind = json(&[&path, "--out", out]);
    assert_eq!((&behind["height"], &behind["barriers"]), (&262_144.into(), &2.into()));
    let activation = &behind["frame"]["activations"][1];
    assert_eq!((&activation["resource"], &activation["pass"]), (&"b".into(), &"r".into()));
    // The fence orders the two: only the target's initialisation is owed.
    assert_eq!(activation["legacy_barriers_from"], Value::Array(Vec::new()));
    assert_eq!(activation["predecessors"][0]["resource"], "a");
    assert_eq!(
        (&activation["initialisation"], &activation["resting_state"]),
        (&"discard".into(), &"render_target".into())
    );
    let submissions = &behind["frame"]["submissions"];
    assert_eq!(submissions[1]["after"], serde_json::json!([0]));
    assert_eq!(submissions[0]["after_previous_frame"], serde_json::json!(["g"]));
    // The plan passes the check, and is wrong without the fence.
    heapwright(["plan", "--check", out]).ok();
    let plan = fs::read_to_string(out).unwrap();
    let without = folder
        .file("without.json", plan.replace("\"q\"\n      ]", "\n      ]").replace("[\n        \n", "[\n"));
    let outcome = heapwright(["plan", "--check", &without]);
    assert!(outcome.one_error(1).contains("resource \"b\" has bytes of one block of \"a\""));
    let outcome = heapwright(["plan", "--check", &path]);
    assert_eq!(outcome.one_error(2), format!("{path}:4: the plan has no offset for this resource"));
}

#[test]
fn the_example_frame_is_planned_in_every_way() {
    const EXAMPLE: &str = "crates/cli/examples/frame.json";
    let folder = Folder::new();
    let out = folder.path().join("plan.json");
    let out = out.to_str().unwrap();
    let report = json(&[EXAMPLE, "--out", out]);
    assert_eq!(report["proved"], true);
    assert!(report["height"].as_u64() < report["total"].as_u64(), "{report}");
    let names = |key: &str| -> Vec<&str> {
        report["frame"][key].as_array().unwrap().iter().map(|one| one["resource"].as_str().unwrap()).collect()
    };
    assert_eq!(names("not_aliased"), ["exposure", "last frame"]);
    assert_eq!(names("activations").len(), 9);
    let checked = json(&["--check", out]);
    for key in ["height", "load", "barriers", "buffers"] {
        assert_eq!(report[key], checked[key], "{key}");
    }
    let enhanced = json(&[EXAMPLE, "--barriers", "enhanced"]);
    let activations = enhanced["frame"]["activations"].as_array().unwrap();
    assert!(activations.iter().all(|one| one["enhanced"].is_object()), "{activations:?}");
    let tier_1 = json(&[EXAMPLE, "--tier", "1", "--budget", "1s"]);
    let heaps = tier_1["heaps"].as_array().unwrap();
    let categories: Vec<&str> = heaps.iter().map(|heap| heap["category"].as_str().unwrap()).collect();
    assert_eq!(categories, ["buffer", "non_rt_ds", "rt_ds"]);
    let text = heapwright(["plan", EXAMPLE]).ok();
    for expected in
        ["8 in 7 submissions to 2 queues", "the contents of \"exposure\" are needed in other frames"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let outcome = heapwright(["plan", "--capacity", "1000000", EXAMPLE]);
    assert!(outcome.one_error(1).contains("no plan fits into 1000000 bytes"));
}

#[test]
fn malformed_frames_are_refused_with_their_line() {
    let with = |from: &str, to: &str| {
        assert!(TWO_QUEUES.contains(from), "{from}");
        TWO_QUEUES.replacen(from, to, 1)
    };
    let undefined = ":10: pass \"q\" reads \"b\", and no pass before it writes it: its contents are undefined, unless the \
                     retention \"history\" or \"persistent\" keeps them";
    refused(
        &with(
            "\"uses\": [{\"resource\": \"a\", \"use\": \"read\"}]",
            "\"uses\": [\n{\"resource\": \"b\", \"use\": \"read\"}]",
        ),
        undefined,
    );
    refused(
        &with(
            "\"s\", \"queue\": \"g\", \"uses\": [{\"resource\": \"b\"",
            "\"s\", \"queue\": \"g\", \"uses\": [{\"resource\": \"a\"",
        ),
        ":11: passes \"p\" and \"s\" use \"a\", and no dependency says which is the first",
    );
    refused(&with("[]", "[\"s\"]"), ":10: after names \"s\", and no pass in front of this one has this name");
    refused(&with("\"name\": \"b\"", "\"name\": \"a\""), ":5: there is another resource with the name \"a\"");
    refused(&with("\"c\", \"uses\"", "\"x\", \"uses\""), ":8: there is no queue with the name \"x\"");
    refused(&with("\"queue\": \"c\", ", ""), ":8: pass \"p\" has no queue");
    refused(
        &with("\"resource\": \"a\"", "\"resource\": \"z\""),
        ":8: there is no resource with the name \"z\"",
    );
    refused(
        &with("write_unordered", "render"),
        ":8: pass \"p\" cannot use resource \"a\" for Render: the resource's kind or the kind of the pass's queue does not \
         permit it",
    );
    refused(
        &with("262144}\n  ]", "262144},\n    {\"name\": \"z\", \"kind\": \"buffer\", \"size\": 1}\n  ]"),
        ":6: no pass uses resource \"z\"",
    );
    refused(&with("262144", "0"), ":4: resource \"a\": the size is zero");
    refused(
        &with("262144", "18446744073709551615"),
        ":4: resource \"a\": the sizes and alignments have more than 62 bits in all",
    );
    refused(&with("262144", "262144, \"alignment\": 3"), ":4: alignment must be a power of two, and is 3");
    refused(
        &with("262144", "1, \"offset\": 2"),
        ":4: resource \"a\": the fixed offset 2 is not a multiple of the alignment 65536",
    );
    refused(&with("262144", "-4"), ":4: resources[0].size: invalid value: integer `-4`, expected u64");
    refused(
        &with("\"size\": 262144", "\"length\": 4"),
        ":4: resources[0].length: unknown field `length`, expected one of `name`, `kind`, `size`, `alignment`, `granularity`, `retention`, `offset`, `hint`",
    );
    refused("{\"passes\": [\n], }", ":2: trailing comma");
    refused("{\"passes\": []}", ":1: missing field `resources`");
    let queues: Vec<String> = (0..65).map(|queue| format!(r#"{{"name": "{queue}"}}"#)).collect();
    refused(
        &format!(r#"{{"queues": [{}], "resources": [], "passes": []}}"#, queues.join(", ")),
        ": there are 65 queues, and at most 64 can be planned",
    );
}
