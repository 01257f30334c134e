//! HTML pages of reports: well-formed, self-contained, and safe with any names.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::html::{self, Page};
use crate::sample::{allocation, bytes, consistent, full, to_html};
use heapwright::report::{
    AllocationKind, AllocationReport, AllocatorReport, DecisionReport, DeviceReport, HeapReport, PoolReport,
    ResourceReport,
};
use heapwright_report::Visible;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns the parsed page of a report.
#[track_caller]
fn page(report: &AllocatorReport) -> Page {
    html::parse(&to_html(report)).unwrap_or_else(|error| panic!("{error}"))
}

fn data(page: &Page) -> Value {
    serde_json::from_str(&page.scripts[0]).unwrap()
}

/// Returns the numbers of a column of small numbers without differences.
#[track_caller]
fn column(data: &Value, list: &str, name: &str) -> Vec<u64> {
    let bytes = STANDARD.decode(data[list][name].as_str().unwrap()).unwrap();
    let (mut numbers, mut number, mut shift) = (Vec::new(), 0, 0);
    for byte in bytes {
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            numbers.push(number);
            (number, shift) = (0, 0);
        }
    }
    numbers
}

#[test]
fn the_page_of_the_sample() {
    let page = page(&full());
    for words in [
        "Sample GPU",
        "discrete · resource heap tier 2 · tight alignment tier 1 · GPU upload heaps · ID3D12Device14",
        "2, 0 empty, 5 created in total",
        "committed: flag",
        "The state of an allocator, as its report lists it.",
    ] {
        assert!(page.text.contains(words), "{words}: {}", page.text);
    }
    assert_eq!(page.scripts.len(), 2);
}

#[test]
fn the_data_has_every_allocation() {
    let data = data(&page(&full()));
    assert_eq!((&data["counts"]["moments"], &data["counts"]["blocks"]), (&json!(1), &json!(8)));
    assert_eq!(data["pools"], json!(["default", "meshes"]));
    let names = [
        "",
        "slot 0",
        "slot 2",
        "constants",
        "staging (frame 7)",
        "albedo",
        "back buffer (swap chain)",
        "imported 0",
    ];
    assert_eq!(data["blocks"]["names"], json!(names));
    assert_eq!(column(&data, "blocks", "heap"), [1, 1, 1, 1, 2, 2, 0, 0]);
    assert_eq!(column(&data, "blocks", "offset")[..4], [0, 512, 4196, 16_384]);
    assert_eq!(column(&data, "blocks", "requested")[..2], [256, 256]);
    assert_eq!(column(&data, "heaps", "size")[0], 65_536);
    let detail = data["heaps"]["details"][1].as_str().unwrap();
    assert!(detail.contains("ALLOW_ONLY_BUFFERS"), "{detail}");
}

#[test]
fn the_policy_allows_one_script_and_no_external_resources() {
    let html = to_html(&full());
    let policy = html.lines().find(|line| line.contains("Content-Security-Policy")).unwrap();
    assert!(
        policy.contains("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"),
        "{policy}"
    );
    for word in ["http:", "https:", "url(", "@import", "innerHTML", "eval("] {
        assert!(!html.contains(word), "{word}");
    }
}

#[test]
fn an_empty_report_has_a_page() {
    let report = AllocatorReport::new(DeviceReport::default());
    let page = page(&report);
    assert!(page.text.contains("unnamed device"), "{}", page.text);
    assert_eq!(data(&page)["counts"]["heaps"], 0);
}

#[test]
fn usage_above_the_budget_is_marked() {
    let mut report = full();
    assert!(!to_html(&report).contains("over budget"));
    report.segment_groups[0].current_usage = Some(bytes(1 << 21));
    assert!(to_html(&report).contains("budget 1.00 MiB: over budget"));
}

/// Names that contain markup and control characters.
const HOSTILE: [&str; 9] = [
    "</script><script>alert(1)</script>",
    "</title></style></noscript></table><img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)\" x=\"",
    "' onmouseover='alert(1)",
    "<!-- <script> ]]> --> &lt; &#60; &amp",
    "\u{0}\u{1}\u{8}\u{b}\u{1b}[2J\u{7f}\u{85}\u{9b}31m",
    "line\r\nbreak\u{2028}\u{2029}",
    "\u{202e}gpj.exe\u{2066}\u{200f}",
    "\u{fdd0}\u{ffff}\u{10fffe}\u{feff}影",
];

#[test]
fn hostile_names_are_escaped_everywhere() {
    let expected_elements = page(&hostile(|_| "plain".to_owned())).elements;
    for name in HOSTILE {
        let report = hostile(|place| format!("{place}{name}"));
        let page = page(&report);
        assert_eq!(page.elements, expected_elements, "{name:?}");
        let shown = Visible(name).to_string();
        // It occurs in the title, the heading, the architecture and the reasons.
        let in_text = page.text.matches(&shown).count();
        assert!(in_text >= 4, "{name:?} is shown {in_text} times");
        assert!(!page.scripts[0].contains(['<', '>', '&']), "{name:?}");
        let data = data(&page);
        assert_eq!(data["pools"], json!([format!("2{shown}")]));
        assert_eq!(
            data["heaps"]["details"][1],
            format!("pool 2{shown} · any · 5{shown} · 6{shown} · 7{shown}")
        );
        assert_eq!(data["blocks"]["names"][1], format!("8{shown} (9{shown})"));
        assert_eq!(data["blocks"]["names"][2], format!("10{shown} (11{shown})"));
    }
}

/// Returns a report with a different name in each field that has one.
fn hostile(name: impl Fn(u32) -> String) -> AllocatorReport {
    let device = DeviceReport { description: name(0), architecture: name(1), ..Default::default() };
    let mut report = AllocatorReport::new(device);
    report.pools.push(PoolReport { name: name(2), algorithm: Some(name(3)), ..Default::default() });
    report.decisions.push(DecisionReport { reason: name(4), count: 1 });
    let named = AllocationReport {
        name: Some(name(8)),
        user_data: Some(name(9)),
        ..allocation(0, 10, AllocationKind::Buffer)
    };
    report.heaps.push(HeapReport {
        size: bytes(100),
        algorithm: name(5),
        flags: vec![name(6), name(7)],
        allocations: vec![named],
        ..Default::default()
    });
    let resource = ResourceReport {
        kind: AllocationKind::Texture,
        size: bytes(10),
        name: Some(name(10)),
        user_data: Some(name(11)),
        ..Default::default()
    };
    report.committed.push(resource.clone());
    report.imported.push(resource);
    report.recount();
    report
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_page_of_any_report_is_well_formed(report in consistent()) {
        let html = to_html(&report);
        let page = html::parse(&html).map_err(TestCaseError::fail)?;
        prop_assert_eq!(page.scripts.len(), 2);
        prop_assert_eq!(&data(&page)["counts"]["heaps"], &json!(report.heaps.len()));
        prop_assert_eq!(html, to_html(&report));
    }
}
