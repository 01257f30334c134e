//! Checks that any bytes are a report that makes a complete page, or an error of one line; and that any
//! report that is filled by calls follows the rules, is read back unchanged, and makes a page in which its
//! names are text.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use heapwright::report::{
    AllocationKind, AllocationReport, AllocatorReport, DecisionReport, DeviceReport, HeapContents,
    HeapReport, HeapTypeName, PoolReport, ResourceReport,
};
use heapwright::{ByteSize, HeapOffset, SegmentGroup};
use heapwright_report::session::history_of;
use heapwright_report::{check, from_json, write_html};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match from_json(bytes) {
        Ok(report) => check_all(&report),
        Err(error) => assert!(!error.to_string().contains('\n'), "one line: {error}"),
    }
    let Ok(report) = any_report(&mut Unstructured::new(bytes)) else { return };
    check_all(&report);
    let json = to_json(&report);
    // The report with one byte changed.
    let mut json = json.into_bytes();
    if let (Some(&place), Some(&byte)) = (bytes.first(), bytes.last()) {
        let place = usize::from(place) * 31 % json.len();
        json[place] = byte;
    }
    if let Ok(report) = from_json(&json) {
        check_all(&report);
    }
});

fn check_all(report: &AllocatorReport) {
    check(report).expect("what was read or counted keeps the rules");
    let json = to_json(report);
    assert_eq!(from_json(json.as_bytes()).as_ref(), Ok(report));
    let totals = &report.totals;
    let live = totals.allocation_count + totals.committed.count + totals.imported.count;
    let history = history_of(report);
    assert_eq!(history.blocks.len() as u64, live);
    assert!((0.0..=1.0).contains(&history.end_fragmentation));

    // Names do not become markup: the elements are those of an empty report.
    let mut html = Vec::new();
    write_html(report, &mut html).expect("a vector takes everything");
    let html = String::from_utf8(html).expect("a page is text");
    let count = |text: &str| html.matches(text).count();
    assert_eq!((count("<script"), count("</script"), count("</html>")), (2, 2, 1));
    // The script itself has none of these, and text has them escaped.
    assert_eq!(count("<img") + count("<!--"), 0);
    assert!(!html.contains(|character: char| character.is_control() && character != '\n'));
}

fn to_json(report: &AllocatorReport) -> String {
    serde_json::to_string(report).expect("a report is plain numbers and names")
}

fn any_report(input: &mut Unstructured<'_>) -> Result<AllocatorReport> {
    let mut report = AllocatorReport::new(DeviceReport {
        description: text(input)?,
        architecture: text(input)?,
        ..Default::default()
    });
    for _ in 0..input.int_in_range(1..=3)? {
        let (name, algorithm) = (text(input)?, option(input, text)?);
        report.pools.push(PoolReport { name, algorithm, ..Default::default() });
    }
    for count in 0..input.int_in_range(0..=2)? {
        let reason = format!("{count}{}", text(input)?);
        report.decisions.push(DecisionReport { reason, count: u64::arbitrary(input)? });
    }
    for _ in 0..input.int_in_range(0..=4)? {
        let size = input.int_in_range(1..=1_u64 << 50)?;
        report.heaps.push(HeapReport {
            pool: input.choose_index(report.pools.len())?,
            heap_type: *input.choose(&HeapTypeName::ALL)?,
            segment_group: *input.choose(&SegmentGroup::ALL)?,
            kind: *input.choose(&HeapContents::ALL)?,
            algorithm: text(input)?,
            size: ByteSize::new(size),
            flags: option(input, text)?.into_iter().collect(),
            allocations: allocations(input, size, 0)?,
            ..Default::default()
        });
    }
    for is_committed in [true, false] {
        for _ in 0..input.int_in_range(0..=2)? {
            let resource = ResourceReport {
                heap_type: *input.choose(&HeapTypeName::ALL)?,
                kind: *input.choose(&AllocationKind::ALL)?,
                size: ByteSize::new(input.int_in_range(1..=1_u64 << 50)?),
                name: Some(text(input)?).filter(|name| !name.is_empty()),
                user_data: option(input, text)?,
                ..Default::default()
            };
            if is_committed { &mut report.committed } else { &mut report.imported }.push(resource);
        }
    }
    report.recount();
    Ok(report)
}

/// Returns allocations in `capacity` bytes, in address order.
fn allocations(input: &mut Unstructured<'_>, capacity: u64, depth: u32) -> Result<Vec<AllocationReport>> {
    let mut all = Vec::new();
    let mut end = 0;
    for _ in 0..input.int_in_range(0..=6)? {
        let Some(rest) = capacity.checked_sub(end).filter(|&rest| rest > 0) else { break };
        let offset = end + input.int_in_range(0..=rest - 1)?;
        let size = input.int_in_range(1..=capacity - offset)?;
        let kind = *input.choose(&AllocationKind::ALL)?;
        let has_within = kind == AllocationKind::BackingBuffer && depth < 8 && bool::arbitrary(input)?;
        all.push(AllocationReport {
            offset: HeapOffset::new(offset),
            size: ByteSize::new(size),
            kind,
            name: option(input, text)?,
            user_data: option(input, text)?,
            within: has_within.then(|| allocations(input, size, depth + 1)).transpose()?,
        });
        end = offset + size;
    }
    Ok(all)
}

fn text(input: &mut Unstructured<'_>) -> Result<String> {
    const HOSTILE: [&str; 4] = ["</script>", "<img src=x>", "\"'&<!--", "\u{1b}\u{202e}\r\n"];
    Ok(match input.int_in_range(0..=3)? {
        0 => String::arbitrary(input)?,
        1 => (*input.choose(&HOSTILE)?).to_owned(),
        _ => "name".to_owned(),
    })
}

fn option<T>(
    input: &mut Unstructured<'_>,
    value: impl Fn(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Option<T>> {
    if bool::arbitrary(input)? { value(input).map(Some) } else { Ok(None) }
}
