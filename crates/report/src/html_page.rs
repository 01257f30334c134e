//! What the HTML pages have in common: their head, and the data and the script at their end.

use std::io::{self, Write};

use serde::Serialize;

use crate::html_text::{HtmlText, ScriptJson};

/// A page in one file, which needs no network. Its Content-Security-Policy only allows its script, by its hash, and no
/// external resources.
#[derive(Debug)]
pub(crate) struct HtmlPage {
    /// Kind of the page, behind its title.
    pub(crate) kind: &'static str,
    pub(crate) style: &'static str,
    pub(crate) script: &'static str,
    /// SHA-256 hash of the script in base64.
    pub(crate) script_hash: &'static str,
}

impl HtmlPage {
    /// Writes everything up to the start of the body.
    pub(crate) fn write_head(&self, title: &str, page: &mut impl Write) -> io::Result<()> {
        let Self { kind, style, script_hash, .. } = self;
        writeln!(
            page,
            r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script_hash}'">
<meta name="generator" content="heapwright">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{} - heapwright {kind}</title>
<style>
{style}</style>
</head>
<body>"#,
            HtmlText(title)
        )
    }

    /// Writes the data, the script, and the end of the page.
    pub(crate) fn write_end(&self, data: &impl Serialize, page: &mut impl Write) -> io::Result<()> {
        page.write_all(b"<script type=\"application/json\" id=\"data\">")?;
        serde_json::to_writer(ScriptJson(&mut *page), data)?;
        write!(page, "</script>\n<script>{}</script>\n</body>\n</html>\n", self.script)
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn the_policy_allows_the_script() {
        let page = crate::session::page::PAGE;
        let hash = STANDARD.encode(Sha256::digest(page.script));
        assert_eq!(page.script_hash, hash, "the hash of the script is outdated");
        assert!(!page.script.contains("</script"));
    }
}
