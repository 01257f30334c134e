//! A report as an HTML page.
//!
//! One file that needs no network and no fonts of its own. Tables, heap by heap, are plain HTML; `script.js` draws the maps
//! and the list of allocations from the data that the page carries. Without scripts, the largest allocations are a table.
//!
//! * `html_text`: text that cannot become markup.
//! * `tables`: what is there without a script.
//! * `data`: what the script draws from.
//!
//! The page's policy lets no script run but that one, by its hash, and nothing be loaded.

mod data;
mod html_text;
mod tables;

use std::io::{self, Write};

use heapwright::report::AllocatorReport;

use self::data::PageData;
use self::html_text::{HtmlText, ScriptJson};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// SHA-256 of [`SCRIPT`] in base64, which a test compares.
const SCRIPT_HASH: &str = "I5Zzreazfy3FTzhPgSfH0Sc4KCAXQJHu3519ytvAPqM=";

/// How many allocations are listed where no script runs.
const LISTED_WITHOUT_SCRIPT: usize = 1000;

/// Writes an HTML page with a map of every heap. O(n log n) of allocations.
///
/// The page is one file, needs nothing from elsewhere, and is the same for the same report. Whatever the names in the
/// report hold, they are text in it. The writer gets many small pieces: a file wants a
/// [`BufWriter`](io::BufWriter).
///
/// # Errors
///
/// What the writer returns.
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
    use sha2::{Digest as _, Sha256};

    use super::*;

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for three in bytes.chunks(3) {
            let bits =
                (0..3).fold(0_u32, |bits, place| bits << 8 | u32::from(*three.get(place).unwrap_or(&0)));
            for digit in 0..4 {
                let is_there = digit <= three.len();
                let value = bits >> (18 - 6 * digit) & 63;
                text.push(if is_there { char::from(DIGITS[value as usize]) } else { '=' });
            }
        }
        text
    }

    #[test]
    fn the_policy_lets_the_script_run() {
        assert_eq!(base64(b"light w"), "bGlnaHQgdw==");
        assert_eq!(SCRIPT_HASH, base64(&Sha256::digest(SCRIPT)), "SCRIPT_HASH is of another script");
        assert!(!SCRIPT.contains("</script"));
    }
}
