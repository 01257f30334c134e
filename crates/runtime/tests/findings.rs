//! Runs the example `findings`: each finding of docs/findings.md is seen.
#![allow(missing_docs, dead_code, reason = "a test")]

#[path = "../examples/findings/main.rs"]
mod findings;

#[test]
fn each_finding_is_seen() {
    let expected = [
        ["I-2", "'second'", "CopyBufferRegion"],
        ["page fault", "heap", "is not resident"],
        ["64.00 MiB more fit by the sum", "EnqueueMakeResident", "0x8007000E"],
        ["I-4", "'resolve target'", "ResolveSubresource"],
    ];
    for ((name, run), words) in findings::FINDINGS.into_iter().zip(expected) {
        let said = run().unwrap_or_else(|error| panic!("{name}: {error}"));
        for word in words {
            assert!(said.contains(word), "{name}: {word} is not in {said}");
        }
    }
}
