//! HTML pages: well-formed, self-contained, and safe with any names.

use crate::html::{self, Page};
use crate::sample::{allocation, bytes, consistent, full, to_html};
use heapwright::SegmentGroup;
use heapwright::report::{
    AllocationKind, AllocatorReport, DeviceReport, HeapContents, HeapReport, HeapTypeName, PoolReport,
    ResourceReport,
};
use heapwright_report::Visible;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns the parsed page of a report.
#[track_caller]
fn page(report: &AllocatorReport) -> Page {
    let page = html::parse(&to_html(report)).unwrap_or_else(|error| panic!("{error}"));
    for link in &page.links {
        assert!(page.ids.contains(link), "#{link} leads nowhere");
    }
    page
}

fn data(page: &Page) -> Value {
    serde_json::from_str(&page.scripts[0]).unwrap()
}

#[test]
fn the_page_of_the_sample() {
    let page = page(&full());
    for words in [
        "Memory of Sample GPU",
        "discrete · resource heap tier 2 · tight alignment tier 1 · GPU upload heaps · ID3D12Device14",
        "2 heaps, 0 empty, 5 created in total",
        "committed: flag",
        "meshes DEFAULT buddy",
        "default · UPLOAD · buffers 1 heap",
        "64.00 KiB · 16.55 KiB used (25.9 %)",
        "ALLOW_ONLY_BUFFERS · at 0x100000000",
        "albedo",
        "back buffer",
        "no name",
        "heap 0 at 0x1064",
        "frame 7",
    ] {
        assert!(page.text.contains(words), "{words}: {}", page.text);
    }
    for id in ["heap-0", "heap-1", "committed-0", "imported-0", "list", "tools", "tip", "data"] {
        assert!(page.ids.contains(id), "{id}");
    }
    assert_eq!(page.scripts.len(), 2);
}

#[test]
fn the_data_has_every_allocation() {
    let data = data(&page(&full()));
    assert_eq!(data["kinds"][2], "render target or depth-stencil");
    assert_eq!(
        data["heaps"][0],
        json!([
            65_536,
            "0x100000000",
            [
                [
                    0,
                    1024,
                    4,
                    "",
                    "",
                    0,
                    [[0, 256, 0, "slot 0", "", 56, 0], [512, 256, 0, "slot 2", "", 0, 0],]
                ],
                [4096, 8192, 5, "ring", "", 0, [[100, 50, 0, "constants", "", 0, 0]]],
                [16_384, 16_384, 0, "staging", "frame 7", 0, 0],
            ]
        ])
    );
    assert_eq!(data["committed"], json!([[65_536, 2, "back buffer", "swap chain", 5536, "0x200000000"]]));
    assert_eq!(data["imported"], json!([[4096, 6, "", "", 0, ""]]));
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
fn heaps_are_grouped_by_pool_type_and_kind() {
    let mut report = full();
    let mut another = report.heaps[0].clone();
    another.index = 2;
    report.heaps.push(another);
    report.recount();
    let html = to_html(&report);
    let place = |id: &str| html.find(&format!("id=\"{id}\"")).unwrap();
    assert!(place("heap-0") < place("heap-2") && place("heap-2") < place("heap-1"));
    assert!(page(&report).text.contains("default · UPLOAD · buffers 2 heaps"));
}

#[test]
fn an_empty_report_has_a_page() {
    let report = AllocatorReport::new(DeviceReport::new("", ""));
    let page = page(&report);
    assert!(page.text.contains("Memory of unnamed device"), "{}", page.text);
    assert!(page.text.contains("There are no heaps."));
    assert_eq!(data(&page)["heaps"], json!([]));
}

#[test]
fn usage_above_the_budget_is_marked() {
    let mut report = full();
    assert!(!to_html(&report).contains("class=\"over\""));
    report.segment_groups[0].current_usage = Some(bytes(1 << 21));
    assert!(to_html(&report).contains("<tr class=\"over\"><th scope=\"row\">local"));
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
        // It occurs in the title, the heading, pools, reasons, algorithms, flags, names and user data.
        let in_text = page.text.matches(&shown).count();
        assert!(in_text >= 12, "{name:?} is shown {in_text} times");
        let data = page.scripts[0].as_str();
        assert!(!data.contains(['<', '>', '&']), "{name:?}");
        assert_eq!(self::data(&page)["heaps"][0][2][0][3], format!("8{shown}"));
        assert_eq!(self::data(&page)["heaps"][0][2][0][4], format!("9{shown}"));
    }
}

/// Returns a report with a different name in each field that has one.
fn hostile(name: impl Fn(u32) -> String) -> AllocatorReport {
    let mut report = AllocatorReport::new(DeviceReport::new(name(0), name(1)));
    let mut pool = PoolReport::new(name(2));
    pool.algorithm = Some(name(3));
    report.pools.push(pool);
    report.decisions.push(heapwright::report::DecisionReport::new(name(4), 1));
    let (heap_type, group) = (HeapTypeName::Default, SegmentGroup::Local);
    let mut heap = HeapReport::new(heap_type, group, HeapContents::Any, bytes(100)).with_algorithm(name(5));
    heap.flags = vec![name(6), name(7)];
    heap.allocations
        .push(allocation(0, 10, AllocationKind::Buffer).with_name(name(8)).with_user_data(name(9)));
    report.heaps.push(heap);
    let mut resource =
        ResourceReport::new(heap_type, group, AllocationKind::Texture, bytes(10)).with_name(name(10));
    resource.user_data = Some(name(11));
    report.committed.push(resource.clone());
    report.imported.push(resource);
    report.recount();
    report
}

#[test]
fn a_page_with_many_allocations_is_little_larger_than_their_names() {
    let mut report = AllocatorReport::new(DeviceReport::new("", ""));
    report.pools.push(PoolReport::new("default"));
    let mut names = 0;
    for index in 0..200_u64 {
        let (heap_type, group) = (HeapTypeName::Default, SegmentGroup::Local);
        let mut heap = HeapReport::new(heap_type, group, HeapContents::Any, bytes(64 << 20));
        for place in 0..100 {
            let name = format!("texture {index} of level {place}");
            names += name.len();
            heap.allocations.push(allocation(place << 19, 400_000, AllocationKind::Texture).with_name(name));
        }
        report.heaps.push(heap);
    }
    report.recount();
    let html = to_html(&report);
    // Offset, size and kind take about 25 bytes; heaps and the table of the largest allocations take the rest.
    let limit = names + 20_000 * 45 + 200 * 1000 + 1000 * 200 + 40_000;
    assert!(html.len() < limit, "{} bytes for {names} of names", html.len());
    let page = page(&report);
    let heaps = data(&page)["heaps"].as_array().unwrap().len();
    assert_eq!((heaps, page.elements.iter().filter(|name| *name == "article").count()), (200, 200));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_page_of_any_report_is_well_formed(report in consistent()) {
        let html = to_html(&report);
        let page = html::parse(&html).map_err(TestCaseError::fail)?;
        for link in &page.links {
            prop_assert!(page.ids.contains(link), "#{} leads nowhere", link);
        }
        prop_assert_eq!(page.scripts.len(), 2);
        prop_assert_eq!(data(&page)["heaps"].as_array().unwrap().len(), report.heaps.len());
        prop_assert_eq!(html, to_html(&report));
    }
}

/// Returns a report with heaps of the given sizes, each with one allocation of the given size.
fn heaps(sizes: &[(u64, u64)]) -> AllocatorReport {
    let mut report = AllocatorReport::new(DeviceReport::new("", ""));
    report.pools.push(PoolReport::new("default"));
    for &(size, used) in sizes {
        let (heap_type, group) = (HeapTypeName::Default, SegmentGroup::Local);
        let mut heap = HeapReport::new(heap_type, group, HeapContents::Any, bytes(size));
        heap.allocations.push(allocation(0, used, AllocationKind::Buffer));
        report.heaps.push(heap);
    }
    report.recount();
    report
}

#[test]
fn the_overview_precedes_the_heaps_and_is_to_scale() {
    let html = to_html(&heaps(&[(64 << 20, 16 << 20), (16 << 20, 16 << 20), (1 << 20, 1 << 18)]));
    let (overview, cards) = html.split_once("<section class=\"group\">").unwrap();
    for (place, (width, used)) in
        ["100.00%", "25.00%", "1.56%"].into_iter().zip(["25.0", "100.0", "25.0"]).enumerate()
    {
        let start = format!(
            "<a class=\"cell\" href=\"#heap-{place}\" style=\"width:{width}\" title=\"Heap {place}: "
        );
        let cell = overview.split_once(&start).unwrap_or_else(|| panic!("{start}: {overview}")).1;
        assert!(cell.contains(&format!("{used} % used")), "{cell}");
        let map = cards.split_once(&format!("id=\"heap-{place}\"")).unwrap().1;
        let map = map.split_once("<div class=\"map\" style=\"").unwrap().1;
        assert!(map.starts_with(&format!("width:{width}\"")), "{map}");
    }
    // With many heaps, a row of the overview has several.
    let html = to_html(&heaps(&[(1 << 20, 1 << 18); 100]));
    assert_eq!(html.matches("style=\"width:10.00%\" title=\"Heap ").count(), 100);
    // There is no overview of a single heap.
    assert!(!to_html(&heaps(&[(1 << 20, 1 << 18)])).contains("class=\"cell\""));
    page(&heaps(&[(1 << 20, 1 << 18), (1 << 20, 1 << 20)]));
}

#[test]
fn full_heaps_are_collapsed() {
    let mib = 1 << 20;
    let html = to_html(&heaps(&[(mib, mib), (mib, mib - mib / 64), (mib, mib - mib / 64 - 1), (mib, 1)]));
    let (open, folded) =
        html.split_once("<details class=\"full\"><summary>2 full heaps <small>2.00 MiB").unwrap();
    let (folded, after) = folded.split_once("</details>").unwrap();
    let is_open = |place: usize| {
        let id = format!("<article class=\"heap\" id=\"heap-{place}\"");
        assert!(!after.contains(&id));
        assert_ne!(open.contains(&id), folded.contains(&id));
        open.contains(&id)
    };
    assert_eq!([0, 1, 2, 3].map(is_open), [false, false, true, true]);
}

/// Tables that are wider than the page scroll separately.
#[test]
fn every_table_is_in_a_scrolling_element() {
    let html = to_html(&full());
    assert!(html.matches("<table>").count() > 4, "{html}");
    assert_eq!(html.matches("<table>").count(), html.matches("<div class=\"scroll\"><table>").count());
    assert!(html.contains(".scroll { margin-top: 1.25rem; overflow-x: auto; }"), "{html}");
}
