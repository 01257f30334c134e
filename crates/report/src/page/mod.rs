//! Conversion of a report to an HTML page.
//!
//! Its tables are plain HTML. `script.js` draws the maps of the heaps and the list of allocations from data in the page.
//! Without scripts, a table shows the largest allocations.
//!
//! * `tables`: the page's HTML.
//! * `data`: the script's data.

mod data;
mod tables;

use std::io::{self, Write};

use heapwright::report::AllocatorReport;

use self::data::PageData;
use crate::html_page::HtmlPage;

pub(crate) const PAGE: HtmlPage = HtmlPage {
    kind: "report",
    style: include_str!("style.css"),
    script: include_str!("script.js"),
    script_hash: "882RbmCzq7XhEo4ckCbrxqUcrFlowc99B+CNCFE8mkk=",
};

/// Number of allocations in the table that is shown without scripts.
const LISTED_WITHOUT_SCRIPT: usize = 1000;

/// Writes an HTML page with a map of every heap.
///
/// The page has no external resources, and equal reports have equal pages. Names in the report are escaped. Use a
/// [`BufWriter`](io::BufWriter) for files, because the page is written in many small pieces. Takes O(n log n) time for n
/// allocations.
///
/// # Errors
///
/// Returns the writer's error.
pub fn write_html(report: &AllocatorReport, mut writer: impl Write) -> io::Result<()> {
    let page = &mut writer;
    let title = match report.device.description.as_str() {
        "" => "heapwright report",
        description => description,
    };
    PAGE.write_head(title, page)?;
    tables::write(report, page)?;
    PAGE.write_end(&PageData(report), page)
}
