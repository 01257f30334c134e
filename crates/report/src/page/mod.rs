//! Conversion of a report to an HTML page.
//!
//! The page is one file, which needs no network. Its tables are plain HTML. `script.js` draws the maps of the heaps and
//! the list of allocations from data in the page. Without scripts, a table shows the largest allocations.
//!
//! * `tables`: the page's HTML.
//! * `data`: the script's data.
//!
//! The page's Content-Security-Policy only allows `script.js`, by its hash, and no external resources.

mod data;
mod tables;

use std::io::{self, Write};

use heapwright::report::AllocatorReport;

use self::data::PageData;
use crate::html_text::{HtmlText, ScriptJson};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// SHA-256 hash of [`SCRIPT`] in base64, checked by a test.
const SCRIPT_HASH: &str = "882RbmCzq7XhEo4ckCbrxqUcrFlowc99B+CNCFE8mkk=";

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
    writeln!(
        page,
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{SCRIPT_HASH}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{} - heapwright report</title>
<style>
{STYLE}</style>
</head>
<body>"#,
        HtmlText(title)
    )?;
    tables::write(report, page)?;
    page.write_all(b"<script type=\"application/json\" id=\"data\">")?;
    serde_json::to_writer(ScriptJson(&mut *page), &PageData(report))?;
    write!(page, "</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n")
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn the_policy_allows_the_script() {
        assert_eq!(SCRIPT_HASH, STANDARD.encode(Sha256::digest(SCRIPT)), "SCRIPT_HASH is outdated");
        assert!(!SCRIPT.contains("</script"));
    }
}
