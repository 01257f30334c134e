//! The HTML page of a session.
//!
//! Its scripts draw everything from columns of numbers in the page:
//!
//! * `data.js`: reads the columns, and indexes of what lives at a moment.
//! * `text.js`: formatting of numbers.
//! * `timeline.js`: the charts over time, on which a moment is chosen.
//! * `groups.js`: allocations by kind, heap type, pool or name: now, compared with another moment, and at the end.
//! * `heaps.js`: the heaps at the chosen moment.
//! * `allocations.js`: the list of allocations.
//! * `main.js`: connects these.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeSeq as _, Serializer};

use super::columns::Column;
use heapwright::report::AllocationKind;

use super::history::{
    Block, BudgetSummary, GroupHistory, GroupName, Paging, PlacementSource, SessionHistory,
};
use crate::Visible;
use crate::html_text::{HtmlText, ScriptJson};

const STYLE: &str = include_str!("page/style.css");

const SCRIPT: &str = concat!(
    include_str!("page/data.js"),
    include_str!("page/text.js"),
    include_str!("page/groups.js"),
    include_str!("page/timeline.js"),
    include_str!("page/heaps.js"),
    include_str!("page/allocations.js"),
    include_str!("page/main.js"),
);

/// SHA-256 hash of the script in base64. The page's Content-Security-Policy allows only this script, and no external
/// resources.
const SCRIPT_HASH: &str = "iYTFYlr8pZgUGHZiV7y/4rLkdXLgUg2saYWLnbSg9kw=";

/// Name and origin of a session, for the heading of its page.
#[derive(Clone, Debug)]
pub struct SessionTitle<'a> {
    /// Name of the session, such as a file name.
    pub name: &'a str,
    /// Format of the file.
    pub format: &'a str,
    /// Origin of heaps and placements.
    pub placements: &'a PlacementSource,
    /// Whether a crash has truncated the file.
    pub is_truncated: bool,
    /// Whether the session is still recorded. The page is loaded again on each event of the address `events` beside it.
    pub is_followed: bool,
    /// What is shown above the heaps, in place of the peaks over time.
    pub facts: &'a [Fact],
}

/// A fact about a report: a name, a value, and a note.
#[derive(Clone, Debug)]
pub struct Fact {
    /// Name of the value.
    pub name: String,
    /// The value.
    pub value: String,
    /// What else is to be known of it.
    pub note: String,
}

/// Writes an HTML page of a session: memory over time, and the heaps and allocations at each moment.
///
/// The page has no external resources, and equal histories have equal pages. Names are escaped. Use a
/// [`BufWriter`](io::BufWriter) for files.
///
/// # Errors
///
/// Returns the writer's error.
pub fn write_session_html(
    title: &SessionTitle<'_>,
    history: &SessionHistory,
    mut writer: impl Write,
) -> io::Result<()> {
    let page = &mut writer;
    let name = HtmlText(title.name);
    let (follow, connect) =
        if title.is_followed { (" data-follow", "; connect-src 'self'") } else { ("", "") };
    writeln!(
        page,
        r#"<!DOCTYPE html>
<html lang="en"{follow}>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{SCRIPT_HASH}'{connect}">
<meta name="generator" content="heapwright">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{name} - heapwright session</title>
<style>
{STYLE}</style>
</head>
<body>
<header>
<h1><bdi>{name}</bdi></h1>
<p>{}</p>
<p class="note">{}</p>"#,
        HtmlText(&match title.placements {
            PlacementSource::Report { device } => format!("GPU memory · {device}"),
            _ => format!("GPU memory over time · {}", title.format),
        }),
        Origin(title, history),
    )?;
    page.write_all(include_bytes!("page/keys.html"))?;
    if !title.facts.is_empty() {
        writeln!(page, r#"<dl class="tiles" id="facts">"#)?;
        for Fact { name, value, note } in title.facts {
            let [name, value, note] = [name, value, note].map(|text| HtmlText(text));
            writeln!(page, r#"<div><dt>{name}</dt><dd>{value}</dd><dd class="note">{note}</dd></div>"#)?;
        }
        writeln!(page, "</dl>")?;
    }
    page.write_all(include_bytes!("page/body.html"))?;
    page.write_all(b"<script type=\"application/json\" id=\"data\">")?;
    serde_json::to_writer(ScriptJson(&mut *page), &Data::of(history))?;
    write!(page, "</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n")
}

/// Sentences about the origin of the data and what is missing, as HTML.
struct Origin<'a>(&'a SessionTitle<'a>, &'a SessionHistory);

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(title, history) = self;
        match title.placements {
            PlacementSource::Recorded => f.write_str("Heaps and placements are shown as recorded.")?,
            PlacementSource::Replayed { device } => write!(
                f,
                "The file contains no placements. Heaps and placements are those of a replay through heapwright's \
                 allocator with default settings on <bdi>{}</bdi>.",
                HtmlText(device)
            )?,
            PlacementSource::Report { .. } => {
                return f.write_str("The state of an allocator, as its report lists it.");
            }
        }
        let is_without_budget = history.groups.iter().all(|group| group.verdict.is_none());
        match (is_without_budget, history.paging.is_empty()) {
            (true, true) => f.write_str(" Budgets and residency were not recorded.")?,
            (true, false) => f.write_str(" Budgets were not recorded.")?,
            (false, true) => f.write_str(" Residency was not recorded.")?,
            (false, false) => {}
        }
        if title.is_followed {
            f.write_str(" The page follows the session while it is recorded.")?;
        } else if title.is_truncated {
            f.write_str(
                " The session has no end, as after a crash; it is shown up to its last complete block.",
            )?;
        }
        if history.unknown_references > 0 {
            write!(
                f,
                " {} references to heaps, allocations or residency sets that do not exist were ignored.",
                history.unknown_references
            )?;
        }
        Ok(())
    }
}

/// Data for the scripts. Changes require changes of `data.js`.
#[derive(Serialize)]
struct Data<'a> {
    counts: Counts,
    times: Column,
    scattered: Column,
    blocks: Blocks<'a>,
    heaps: Heaps<'a>,
    pools: Names<'a>,
    submissions: [Column; 3],
    /// Moments, heaps, and 1 for each eviction.
    paging: [Column; 3],
    groups: Vec<Group>,
}

/// A segment group with a budget.
#[derive(Serialize)]
struct Group {
    name: String,
    /// Whether heaps of each group are in this one: the local, and the non-local.
    includes: [bool; 2],
    budget: Changes,
    usage: Changes,
    own: Changes,
    /// Numbers of bytes above 2^53 are approximate in the scripts.
    verdict: BudgetSummary,
}

/// Values of a counter, each with the moment from which on it is valid.
#[derive(Serialize)]
struct Changes {
    count: usize,
    moments: Column,
    values: Column,
}

impl Changes {
    fn of(changes: &[(u32, u64)]) -> Self {
        Self {
            count: changes.len(),
            moments: Column::differences(changes.iter().map(|&(moment, _)| moment.into())),
            values: Column::plain(changes.iter().map(|&(_, value)| value)),
        }
    }
}

impl Group {
    fn of((verdict, group): (BudgetSummary, &GroupHistory)) -> Self {
        Self {
            name: verdict.segment_group.to_string(),
            includes: [
                verdict.segment_group != GroupName::NonLocal,
                verdict.segment_group != GroupName::Local,
            ],
            budget: Changes::of(&group.budget),
            usage: Changes::of(&group.usage),
            own: Changes::of(&group.own),
            verdict,
        }
    }
}

/// Lengths of the columns.
#[derive(Serialize)]
struct Counts {
    moments: usize,
    blocks: usize,
    heaps: usize,
    submissions: usize,
    paging: usize,
    allocations: u64,
}

#[derive(Serialize)]
struct Blocks<'a> {
    /// Number of the allocation, from 1, which its blocks share.
    number: Column,
    requested: Column,
    size: Column,
    /// 0 for none, otherwise the heap's index and 1.
    heap: Column,
    offset: Column,
    start: Column,
    length: Column,
    kind: Column,
    heap_type: Column,
    name: Column,
    names: Names<'a>,
    pool: Column,
    /// The placement, and eight times the reason.
    placement: Column,
}

#[derive(Serialize)]
struct Heaps<'a> {
    size: Column,
    start: Column,
    length: Column,
    heap_type: Column,
    name: Column,
    names: Names<'a>,
    detail: Column,
    details: Names<'a>,
}

/// Different names, the empty one first.
struct Names<'a>(Vec<&'a str>);

impl Serialize for Names<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for name in &self.0 {
            list.serialize_element(&Visible(name).to_string())?;
        }
        list.end()
    }
}

/// Returns the different names and the index of each.
fn names<'a>(all: impl Iterator<Item = &'a str>) -> (Names<'a>, Column) {
    let mut different = vec![""];
    let mut indices = std::collections::HashMap::from([("", 0)]);
    let column = Column::plain(all.map(|name| {
        *indices.entry(name).or_insert_with(|| {
            different.push(name);
            different.len() as u64 - 1
        })
    }));
    (Names(different), column)
}

/// Returns the numbers of the blocks' allocations, in the order in which these were created.
fn numbers(blocks: &[Block]) -> impl Iterator<Item = u64> {
    let mut known = std::collections::HashMap::new();
    blocks.iter().map(move |block| {
        let next = known.len() as u64 + 1;
        *known.entry(block.id).or_insert(next)
    })
}

/// Returns the number of a kind in `text.js`.
fn number_of(kind: AllocationKind) -> u64 {
    match kind {
        AllocationKind::Buffer => 1,
        AllocationKind::Texture => 2,
        AllocationKind::RenderTarget => 3,
        AllocationKind::Multisampled => 4,
        AllocationKind::BackingBuffer => 5,
        _ => 0,
    }
}

impl<'a> Data<'a> {
    fn of(history: &'a SessionHistory) -> Self {
        let SessionHistory { blocks, heaps, submissions, paging, .. } = history;
        let (block_names, block_name) = names(blocks.iter().map(|block| &*block.name));
        let (heap_names, heap_name) = names(heaps.iter().map(|heap| &*heap.name));
        let (details, detail) = names(heaps.iter().map(|heap| &*heap.detail));
        Self {
            counts: Counts {
                moments: history.times_us.len(),
                blocks: blocks.len(),
                heaps: heaps.len(),
                submissions: submissions.len(),
                paging: paging.len(),
                allocations: history.allocation_count,
            },
            times: Column::differences(history.times_us.iter().copied()),
            scattered: Column::differences(history.scattered.iter().copied()),
            blocks: Blocks {
                number: Column::differences(numbers(blocks)),
                requested: Column::plain(blocks.iter().map(|block| block.requested)),
                size: Column::plain(blocks.iter().map(|block| block.size)),
                heap: Column::plain(
                    blocks.iter().map(|block| block.heap.map_or(0, |heap| u64::from(heap) + 1)),
                ),
                offset: Column::plain(blocks.iter().map(|block| block.offset)),
                start: Column::differences(blocks.iter().map(|block| block.start.into())),
                length: Column::plain(blocks.iter().map(|block| u64::from(block.end - block.start))),
                kind: Column::plain(blocks.iter().map(|block| number_of(block.kind))),
                heap_type: Column::plain(blocks.iter().map(|block| block.heap_type as u64)),
                name: block_name,
                names: block_names,
                pool: Column::plain(blocks.iter().map(|block| block.pool.into())),
                placement: Column::plain(blocks.iter().map(|block| {
                    let placement = block.placement.map_or(0, |placement| placement as u64);
                    placement + 8 * block.reason.map_or(0, |reason| reason as u64)
                })),
            },
            heaps: Heaps {
                size: Column::plain(heaps.iter().map(|heap| heap.size)),
                start: Column::differences(heaps.iter().map(|heap| heap.start.into())),
                length: Column::plain(heaps.iter().map(|heap| u64::from(heap.end - heap.start))),
                heap_type: Column::plain(heaps.iter().map(|heap| heap.heap_type as u64)),
                name: heap_name,
                names: heap_names,
                detail,
                details,
            },
            pools: Names(history.pools.iter().map(|name| &**name).collect()),
            submissions: [
                Column::differences(submissions.iter().map(|submission| submission.moment.into())),
                Column::plain(submissions.iter().map(|submission| submission.queue)),
                Column::plain(submissions.iter().map(|submission| submission.bytes)),
            ],
            paging: [
                Column::differences(paging.iter().map(|event| event.moment.into())),
                Column::plain(paging.iter().map(|event| event.heap.into())),
                Column::plain(paging.iter().map(|event| (event.paging == Paging::Evict).into())),
            ],
            groups: history.judged_groups().map(Group::of).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest as _, Sha256};

    use super::{SCRIPT, SCRIPT_HASH};

    #[test]
    fn the_policy_allows_the_script() {
        let hash = STANDARD.encode(Sha256::digest(SCRIPT));
        assert_eq!(SCRIPT_HASH, hash, "the hash of the script is outdated");
        assert!(!SCRIPT.contains("</script"));
    }
}
