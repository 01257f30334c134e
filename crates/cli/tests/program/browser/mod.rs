//! Pages of sessions in headless Chromium.
//!
//! These tests need Debian's packages `chromium` and `chromium-driver`, so they are ignored unless CI runs them:
//! `cargo test -p heapwright-cli --test program browser -- --ignored`.

mod driver;

use std::time::{Duration, Instant};

use heapwright_report::session::{HistoryBuilder, Paging, PlacementSource, SessionTitle, write_session_html};
use heapwright_trace::session::{
    Action, Allocation, Counter, Description, Heap, HeapType, Placement, PlacementReason, Record,
    ResourceKind, SessionWriter,
};
use serde_json::{Value, json};

use self::driver::Browser;
use crate::support::{Folder, Following, heapwright, report_json, repository};

/// Writes a session with these records and its page, and opens the page.
fn open(records: impl IntoIterator<Item = Record>) -> (Browser, Folder) {
    let folder = Folder::new();
    let mut writer = SessionWriter::new(Vec::new()).unwrap();
    for record in records {
        writer.write(&record).unwrap();
    }
    let session = folder.file("s.hws", writer.finish().unwrap());
    (open_page_of(&session, &folder), folder)
}

/// Makes the page of a file and opens it. The browser must report no error.
fn open_page_of(file: &str, folder: &Folder) -> Browser {
    let page = folder.path().join("page.html");
    heapwright(["report", file, "-o", page.to_str().unwrap()]).ok();
    let browser = Browser::start();
    browser.open(&page);
    browser
}

/// Waits until the page has been drawn. Returns the time since it was opened, in milliseconds.
fn ready(browser: &Browser) -> u64 {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let ready = browser.run("return document.documentElement.dataset.ready");
        if let Some(ready) = ready.as_str() {
            return ready.parse().unwrap();
        }
        assert!(Instant::now() < end, "the page is not ready: {:?}", browser.errors());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns what the page shows at its moment: texts, and the pixels of the charts, of the overview and of the first
/// map.
fn shown(browser: &Browser) -> Value {
    // The heaps are drawn in the next frame.
    browser.run_async(
        "const done = arguments[0];
         requestAnimationFrame(() => requestAnimationFrame(() => done({
           moment: document.getElementById('moment').textContent,
           heaps: document.getElementById('heap-facts').textContent,
           charts: document.getElementById('charts').toDataURL(),
           overview: document.querySelector('#overview canvas').toDataURL(),
           map: document.querySelector('#maps canvas') ? document.querySelector('#maps canvas').toDataURL() : '',
         })))",
    )
}

fn allocate(time_us: u64, id: u64, size: u64, name: Option<&str>) -> Record {
    let kind = if id.is_multiple_of(2) { ResourceKind::Buffer } else { ResourceKind::Texture };
    let name = name.map(Into::into);
    let allocation = Allocation { id, size, kind, heap_type: HeapType::Default, flags: 0, name };
    Record { time_us, action: Action::Allocate(allocation) }
}

fn create_heap(time_us: u64, id: u64, size: u64, name: Option<&str>) -> Record {
    let name = name.map(Into::into);
    let heap = Heap { id, size, alignment: 65536, heap_type: HeapType::Default, flags: 0, name };
    Record { time_us, action: Action::CreateHeap(heap) }
}

fn place(time_us: u64, allocation: u64, heap: u64, offset: u64) -> Record {
    Record { time_us, action: Action::Place { allocation, heap, offset } }
}

#[test]
#[ignore = "needs chromium-driver"]
fn the_charts_choose_the_moment_that_the_maps_show() {
    let folder = Folder::new();
    let trace = repository().join("traces/vision_serving.csv.gz");
    let browser = open_page_of(trace.to_str().unwrap(), &folder);
    ready(&browser);
    let peak = shown(&browser);
    assert!(peak["moment"].as_str().unwrap().starts_with("event 6,391 of 19,100"), "{}", peak["moment"]);
    assert_ne!(peak["map"], "");
    // By keyboard.
    let timeline = browser.element("#timeline");
    browser.press(&timeline, "\u{e011}");
    let start = shown(&browser);
    assert!(start["moment"].as_str().unwrap().starts_with("event 1 of 19,100"), "{}", start["moment"]);
    for part in ["heaps", "map"] {
        assert_ne!(start[part], peak[part], "{part}");
    }
    assert_eq!(start["charts"], peak["charts"]);
    browser.press(&timeline, "\u{e014}");
    assert!(shown(&browser)["moment"].as_str().unwrap().starts_with("event 2 of 19,100"));
    browser.press(&timeline, "p");
    assert_eq!(shown(&browser), peak);
    let times = browser.run("return [0, 1500, 119e6, 120e6, 4177e6, 7200e6, 90061e6].map(formatTime)");
    assert_eq!(times, json!(["0 µs", "1.50 ms", "119 s", "2 min", "69 min 37 s", "2 h", "25 h 1 min"]));
    // By mouse, in the middle of the charts.
    browser.click(&timeline);
    let middle = shown(&browser);
    assert_ne!(middle["map"], peak["map"]);
    // Zoom changes the charts and keeps the moment.
    browser.press(&timeline, "+");
    let zoomed = shown(&browser);
    assert_ne!(zoomed["charts"], middle["charts"]);
    assert_eq!((&zoomed["moment"], &zoomed["map"]), (&middle["moment"], &middle["map"]));
    // A heap and an allocation can be chosen.
    browser.press(&browser.element("#overview"), "\u{e014}");
    shown(&browser);
    assert_eq!(browser.run("return document.querySelectorAll('.is-picked').length"), 1);
    browser.click(&browser.element("#list button"));
    shown(&browser);
    let details = browser.run("return document.querySelector('.picked:not([hidden])').textContent");
    assert!(details.as_str().unwrap().contains("allocation 3650\n110 MiB"), "{details}");
    assert_eq!(browser.errors(), [Value::Null; 0]);
}

#[test]
#[ignore = "needs chromium-driver"]
fn names_are_text() {
    let hostile = "</script><img src=x onerror='hacked = 1'><script>hacked = 1</script>\"'\u{202e}";
    let (browser, _folder) = open([
        create_heap(0, 1, 1 << 20, Some(hostile)),
        allocate(1, 1, 4096, Some(hostile)),
        place(1, 1, 1, 0),
    ]);
    ready(&browser);
    shown(&browser);
    let found = browser.run(
        "return [typeof hacked, document.images.length, document.querySelector('#list button').textContent,
                 document.querySelector('.heap h3 button').textContent]",
    );
    let text = hostile.replace('\u{202e}', "\\u{202e}");
    assert_eq!(found, json!(["undefined", 0, text, text]));
    assert_eq!(browser.errors(), [Value::Null; 0]);
}

#[test]
#[ignore = "needs chromium-driver"]
fn budgets_and_evictions_are_shown() {
    let mut builder = HistoryBuilder::new();
    let budget = Action::Count { counter: Counter::LocalBudget, value: 3 << 20 };
    builder.push(&Record { time_us: 0, action: budget }).unwrap();
    for id in 0..4 {
        builder.push(&create_heap(0, id, 1 << 20, None)).unwrap();
        builder.push(&allocate(id, id, 512 << 10, None)).unwrap();
        builder.push(&place(id, id, id, 0)).unwrap();
    }
    for round in 0..4 {
        builder.set_time(100 * (round + 1));
        builder.page(round, Paging::Evict).unwrap();
        builder.submit(0, &[]).unwrap();
    }
    builder.page(1, Paging::MakeResident).unwrap();
    let folder = Folder::new();
    let page = folder.path().join("page.html");
    let title = SessionTitle {
        name: "paging",
        format: "session",
        placements: &PlacementSource::Recorded,
        is_truncated: false,
        is_followed: false,
        facts: &[],
    };
    let mut html = Vec::new();
    write_session_html(&title, &builder.finish(), &mut html).unwrap();
    std::fs::write(&page, html).unwrap();
    let browser = Browser::start();
    browser.open(&page);
    ready(&browser);
    let legend = browser.run("return document.getElementById('series').innerText");
    for line in ["resident", "budget", "evicted"] {
        assert!(legend.as_str().unwrap().contains(line), "{legend}");
    }
    let tiles = browser.run("return document.getElementById('tiles').innerText");
    assert!(
        tiles
            .as_str()
            .unwrap()
            .contains("budget of local memory\nexceeded\nby up to 1.00 MiB · first at event 4"),
        "{tiles}"
    );
    browser.run("[...document.querySelectorAll('#tiles button')].find((button) => button.textContent === 'event 4').click()");
    let moment = shown(&browser)["moment"].clone();
    assert!(moment.as_str().unwrap().starts_with("event 4 of "), "{moment}");
    // What grew from the middle of the first third to that of the last: one texture.
    assert!(tiles.as_str().unwrap().contains("grew most between thirds\n+512 KiB\ntexture"), "{tiles}");
    browser.run("[...document.querySelectorAll('#tiles button')].find((button) => button.textContent === 'texture').click()");
    let grown = cells(&browser, "group-list");
    assert_eq!((&grown[0][0], &grown[0][3]), (&json!("texture"), &json!("+512 KiB")), "{grown}");
    // Resident bytes at each event: of four heaps, one less with each eviction, and one more at the end.
    let mebibytes = browser.run("return [...resident].map((bytes) => bytes / 2 ** 20)");
    assert_eq!(mebibytes, json!([1, 2, 3, 4, 3, 3, 2, 2, 1, 1, 0, 0, 1]));
    let timeline = browser.element("#timeline");
    browser.press(&timeline, "\u{e010}");
    let facts = "return [...document.querySelectorAll('.facts')].map((facts) => facts.textContent.includes('evicted'))";
    shown(&browser);
    assert_eq!(browser.run(facts), json!([true, false, true, true]));
    browser.press(&timeline, "p");
    shown(&browser);
    assert_eq!(browser.run(facts), json!([false, false, false, false]));
    assert_eq!(browser.errors(), [Value::Null; 0]);
}

#[test]
#[ignore = "needs chromium-driver"]
fn a_session_without_events_has_a_page() {
    let (browser, _folder) = open([]);
    ready(&browser);
    let text = browser.run("return document.body.innerText");
    assert!(text.as_str().unwrap().contains("The session contains no events."), "{text}");
    assert_eq!(browser.errors(), [Value::Null; 0]);
}

/// From a session without events to one with two; the choices stay.
#[test]
#[ignore = "needs chromium-driver"]
fn the_page_follows_its_session() {
    let folder = Folder::new();
    let events = [allocate(1, 2, 4096, None), allocate(2, 4, 4096, None), allocate(3, 6, 4096, None)];
    let grow = |count: usize| {
        let mut writer = SessionWriter::new(Vec::new()).unwrap();
        events[..count].iter().for_each(|record| writer.write(record).unwrap());
        folder.file("s.hws", writer.finish().unwrap())
    };
    let following = Following::start(&grow(0));
    let browser = Browser::start();
    browser.open_address(&following.address);
    ready(&browser);
    let wait_for = |expected: &str| {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let text = browser.run("return document.body.innerText");
            if text.as_str().unwrap().contains(expected) {
                return;
            }
            assert!(Instant::now() < end, "no {expected}: {text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait_for("The session contains no events.");
    grow(2);
    wait_for("event 2 of 2");
    choose(&browser, "list-order", "longest");
    grow(3);
    wait_for("event 3 of 3");
    assert_eq!(browser.run("return document.getElementById('list-order').value"), "longest");
    assert_eq!(browser.errors(), [Value::Null; 0]);
}

/// A million events, 10,000 heaps and 100,000 live allocations have a page, which finds the allocations of a moment
/// without visiting others. The times are printed for people; they do not decide.
#[test]
#[ignore = "needs chromium-driver"]
#[expect(clippy::print_stderr, reason = "the figures are wanted")]
fn a_million_events_have_a_page() {
    const HEAPS: u64 = 10_000;
    const SLOTS: u64 = 100_000;
    const ROUNDS: u64 = 5;
    let heaps = (0..HEAPS).map(|heap| create_heap(0, heap, 1 << 20, None));
    // Each allocation takes the place of an older one.
    let events = (0..ROUNDS * SLOTS).flat_map(|id| {
        let (time_us, slot) = (10 * id, id * 7919 % SLOTS);
        let free =
            id.checked_sub(SLOTS).map(|older| Record { time_us, action: Action::Free { allocation: older } });
        let new = [
            allocate(time_us, id, 1024 + id % 64 * 1024, None),
            place(time_us, id, slot % HEAPS, slot / HEAPS * 65536),
        ];
        free.into_iter().chain(new)
    });
    let rest = (ROUNDS * SLOTS - SLOTS..ROUNDS * SLOTS)
        .map(|id| Record { time_us: 10 * ROUNDS * SLOTS, action: Action::Free { allocation: id } });
    let (browser, _folder) = open(heaps.chain(events).chain(rest));
    let milliseconds = ready(&browser);
    let moment = shown(&browser);
    assert!(moment["moment"].as_str().unwrap().contains("of 1,000,000"), "{}", moment["moment"]);
    assert!(moment["heaps"].as_str().unwrap().starts_with("10,000 heaps"), "{}", moment["heaps"]);
    let visited = browser.run(
        "let visited = 0;
         for (let heap = -1; heap < heaps.count; heap += 1) liveIn(heap, 500000, () => { visited += 1; });
         return [visited, liveCount[500000]]",
    );
    assert_eq!(visited[0], visited[1]);
    assert!((SLOTS - 1..=SLOTS).contains(&visited[0].as_u64().unwrap()), "{visited}");
    // The median time of a change of the moment, with all drawing. The time of a drawn frame is part of it.
    let frame = browser.run_async(
        "const done = arguments[0];
         const box = document.getElementById('timeline');
         const times = [];
         const step = () => {
           const start = performance.now();
           box.dispatchEvent(new KeyboardEvent('keydown', { key: 'PageDown' }));
           requestAnimationFrame(() => setTimeout(() => {
             times.push(performance.now() - start);
             if (times.length < 21) step(); else done(times.sort((left, right) => left - right)[10]);
           }));
         };
         step()",
    );
    let frame = frame.as_f64().unwrap();
    eprintln!("opened in {milliseconds} ms; a new moment takes {frame:.1} ms");
    assert_eq!(browser.errors(), [Value::Null; 0]);
}

/// Returns the text of each cell of a table's body.
fn cells(browser: &Browser, body: &str) -> Value {
    browser.run_async(&format!(
        "const done = arguments[0];
         setTimeout(() => done([...document.querySelectorAll('#{body} tr')].map((row) => [...row.cells].map((cell) => cell.textContent))), 400)"
    ))
}

/// Chooses a value of a list.
fn choose(browser: &Browser, list: &str, value: &str) {
    browser.run(&format!(
        "const list = document.getElementById('{list}');
         list.value = '{value}';
         list.dispatchEvent(new Event('change'));"
    ));
}

/// Where is the memory, what grew between two moments, what is left at the end, why is it there, and is the budget
/// exceeded?
#[test]
#[ignore = "needs chromium-driver"]
fn the_page_answers_questions() {
    let count = |time_us, counter, value| Record { time_us, action: Action::Count { counter, value } };
    let description =
        Description { allocation: 3, placement: Some(Placement::OwnHeap), ..Description::default() };
    let reason = Action::Reason { allocation: 3, reason: PlacementReason::TooLargeToShare };
    let (browser, _folder) = open([
        create_heap(0, 1, 64 << 20, None),
        count(0, Counter::LocalBudget, 1 << 40),
        count(0, Counter::LocalUsage, 70 << 20),
        count(0, Counter::NonLocalBudget, 32 << 20),
        count(0, Counter::NonLocalUsage, 40 << 20),
        Record { time_us: 0, action: Action::CreatePool { pool: 70, options: Vec::new() } },
        allocate(1000, 2, 1 << 20, Some("mesh 1")),
        place(1000, 2, 1, 0),
        allocate(2000, 3, 4 << 20, Some("texture/rock")),
        Record { time_us: 2000, action: Action::Describe(Box::new(description)) },
        Record { time_us: 2000, action: reason },
        Record { time_us: 2000, action: Action::UsePool { allocation: 3, pool: 70 } },
        place(2000, 3, 1, 4 << 20),
        allocate(3000, 5, 16 << 20, Some("texture/sand")),
        place(3000, 5, 1, 16 << 20),
        Record { time_us: 4000, action: Action::Free { allocation: 2 } },
        // Moved, and so neither new nor gone.
        place(5000, 3, 1, 8 << 20),
        Record { time_us: 6000, action: Action::Free { allocation: 5 } },
    ]);
    ready(&browser);
    // At the peak, by the beginning of the names.
    let expected = json!([
        ["texture", "20.0 MiB", "95.2 %", "2", "1.00 ms"],
        ["mesh", "1.00 MiB", "4.8 %", "1", "2.00 ms"],
    ]);
    assert_eq!(cells(&browser, "group-list"), expected);
    choose(&browser, "group-by", "pool");
    let pools: Vec<Value> =
        cells(&browser, "group-list").as_array().unwrap().iter().map(|row| row[0].clone()).collect();
    assert_eq!(pools, ["no pool", "pool 70"]);
    // From the second event to the last one.
    let timeline = browser.element("#timeline");
    browser.press(&timeline, "\u{e011}");
    browser.press(&timeline, "\u{e014}");
    browser.press(&timeline, "m");
    browser.press(&timeline, "\u{e010}");
    choose(&browser, "group-by", "name");
    choose(&browser, "group-show", "changes");
    let expected = json!([["mesh 1", "1.00 MiB", "0 B", "−1.00 MiB", "", "1 · 1.00 MiB"]]);
    assert_eq!(cells(&browser, "group-list"), expected);
    choose(&browser, "group-show", "end");
    assert_eq!(
        cells(&browser, "group-list"),
        json!([["texture/rock", "4.00 MiB", "100.0 %", "1", "1.00 ms"]])
    );
    // Each budget is that of its own segment group.
    let tile = |name: &str| {
        let tile = browser.run(&format!(
            "return [...document.querySelectorAll('#tiles > div')].find((tile) => tile.firstChild.textContent === '{name}').innerText"
        ));
        tile.as_str().unwrap().split('\n').skip(1).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        tile("budget of local memory"),
        "kept, at least 1.00 TiB left · at most 6.00 MiB in use by others"
    );
    assert_eq!(
        tile("budget of non-local memory"),
        "exceeded, by up to 8.00 MiB · at most 40.0 MiB in use by others · first at event 1"
    );
    // What is live at the end is one click away.
    assert_eq!(tile("live at the end"), "4.00 MiB, 1 allocation");
    let click = |name: &str| {
        browser.run(&format!(
            "[...document.querySelectorAll('#tiles > div')].find((tile) => tile.firstChild.textContent === '{name}')
               .querySelector('button').click()"
        ))
    };
    click("live at the end");
    let left = cells(&browser, "list");
    assert_eq!(left.as_array().unwrap().len(), 1, "{left}");
    assert_eq!(left[0][0], "texture/rock");
    let picked = browser.run_async(
        "const done = arguments[0];
         document.querySelector('#list button').click();
         setTimeout(() => done(document.querySelector('.picked:not([hidden])').innerText), 400)",
    );
    let why = "placed in a heap of its own: it is too large for shared heaps";
    assert!(picked.as_str().unwrap().contains(why), "{picked}");
    // A drag over the charts compares its two ends.
    browser.run(
        "const box = document.getElementById('timeline');
         box.setPointerCapture = () => {};
         box.hasPointerCapture = () => true;
         const { left, width } = box.getBoundingClientRect();
         const send = (name, x) => box.dispatchEvent(new PointerEvent(name, { clientX: left + x, button: 0 }));
         send('pointerdown', 75);
         send('pointermove', width - 15);
         delete box.hasPointerCapture;",
    );
    let dragged = cells(&browser, "group-list");
    assert_eq!((&dragged[0][0], &dragged[0][3]), (&json!("texture/rock"), &json!("+4.00 MiB")), "{dragged}");
    let facts = browser.run("return document.getElementById('group-facts').textContent");
    assert_eq!(facts, "+3.00 MiB from event 1 to 6");
    // Stacked, the charts and the overview have the colours of the groups.
    choose(&browser, "stack-by", "");
    let total = shown(&browser);
    choose(&browser, "stack-by", "beginning");
    choose(&browser, "colours", "group");
    let stacked = shown(&browser);
    assert_ne!(stacked["charts"], total["charts"]);
    let legend = browser.run("return document.getElementById('series').innerText");
    assert!(legend.as_str().unwrap().contains("texture\nmesh"), "{legend}");
    choose(&browser, "colours", "age");
    assert_ne!(shown(&browser)["overview"], stacked["overview"]);
    assert_eq!(browser.errors(), [Value::Null; 0]);
}

/// The page of an allocator's report has no history, but the same heaps and allocations.
#[test]
#[ignore = "needs chromium-driver"]
fn a_report_is_a_session_of_one_moment() {
    let folder = Folder::new();
    let browser = open_page_of(&folder.file("report.json", report_json("vertices")), &folder);
    ready(&browser);
    let heaps = shown(&browser)["heaps"].clone();
    assert!(heaps.as_str().unwrap().starts_with("1 heap · 4.00 MiB · 2.00 MiB used"), "{heaps}");
    assert_eq!(browser.run("return document.getElementById('time').hidden"), true);
    let list = cells(&browser, "list");
    assert_eq!((&list[0][0], &list[0][1]), (&json!("back buffer"), &json!("32.0 MiB")));
    assert_eq!((&list[1][0], &list[1][5]), (&json!("vertices"), &json!("heap 1 at 0x0")));
    assert_eq!(browser.errors(), [Value::Null; 0]);
}
