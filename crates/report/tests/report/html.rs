//! A strict HTML parser for the pages: elements are closed in order, attributes are quoted, and text contains no
//! markup.

use std::collections::BTreeSet;

/// Content of a page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) ids: BTreeSet<String>,
    /// Targets of links within the page, without `#`.
    pub(crate) links: BTreeSet<String>,
    /// Names of all elements, in order.
    pub(crate) elements: Vec<String>,
    /// Content of the `<script>` elements, in order.
    pub(crate) scripts: Vec<String>,
    /// All text outside of scripts and styles, with character references resolved.
    pub(crate) text: String,
}

const VOID: [&str; 2] = ["meta", "input"];

/// Parses a page.
pub(crate) fn parse(html: &str) -> Result<Page, String> {
    let mut page = Page::default();
    let mut open: Vec<String> = Vec::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>\n").ok_or("no doctype")?;
    if let Some(bad) = html.chars().find(|&c| c.is_control() && c != '\n') {
        return Err(format!("the page has a {bad:?}"));
    }
    while !rest.is_empty() {
        let (text, markup) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
        page.text.push_str(&resolve(text)?);
        let Some(tag) = markup.strip_prefix('<') else { break };
        let (tag, after) = split_tag(tag)?;
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            let opened = open.pop().ok_or_else(|| format!("</{name}> closes nothing"))?;
            if opened != name {
                return Err(format!("</{name}> closes <{opened}>"));
            }
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
            return Err(format!("<{tag}> is no element"));
        }
        page.elements.push(name.to_owned());
        attribute_list(name, attributes, &mut page)?;
        if matches!(name, "script" | "style") {
            let end = format!("</{name}>");
            let (raw, after) = rest.split_once(&end).ok_or_else(|| format!("no {end}"))?;
            if raw.contains("<!--") || raw.to_ascii_lowercase().contains("<script") {
                return Err(format!("<{name}> contains the start of a comment or an element"));
            }
            if name == "script" {
                page.scripts.push(raw.to_owned());
            }
            rest = after;
        } else if !VOID.contains(&name) {
            open.push(name.to_owned());
        }
    }
    if open.is_empty() { Ok(page) } else { Err(format!("not closed: {open:?}")) }
}

/// Splits a tag from the text after it. Quoted values may contain `>`.
fn split_tag(tag: &str) -> Result<(&str, &str), String> {
    let mut is_quoted = false;
    for (place, byte) in tag.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'<' => return Err(format!("< inside of <{}", &tag[..place])),
            b'>' if !is_quoted => return Ok((&tag[..place], &tag[place + 1..])),
            _ => {}
        }
    }
    Err("a tag without an end".to_owned())
}

fn attribute_list(element: &str, attributes: &str, page: &mut Page) -> Result<(), String> {
    let mut rest = attributes;
    let mut names = BTreeSet::new();
    while !rest.is_empty() {
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let name = &rest[..end];
        if name.is_empty() || name.starts_with("on") || !names.insert(name) {
            return Err(format!("attribute {name:?} of <{element}>"));
        }
        let Some(value) = rest[end..].strip_prefix("=\"") else {
            rest = rest[end..].trim_start();
            continue;
        };
        let (value, after) = value.split_once('"').ok_or("a value without an end")?;
        let value = resolve(value)?;
        match name {
            "id" if !page.ids.insert(value.clone()) => return Err(format!("id {value:?} is there twice")),
            "href" => {
                let link = value.strip_prefix('#').ok_or_else(|| format!("a link to {value:?}"))?;
                page.links.insert(link.to_owned());
            }
            "src" => return Err(format!("something is loaded: {value:?}")),
            _ => {}
        }
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    Ok(())
}

/// Resolves character references.
fn resolve(text: &str) -> Result<String, String> {
    let mut plain = String::new();
    let mut parts = text.split('&');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (name, after) = part.split_once(';').ok_or_else(|| format!("&{part} has no end"))?;
        plain.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            _ => return Err(format!("&{name}; is not one of ours")),
        });
        plain.push_str(after);
    }
    if text.contains('>') { Err(format!("> in text: {text:?}")) } else { Ok(plain) }
}

#[test]
fn the_parser_rejects_invalid_pages() {
    let parse = |body: &str| parse(&format!("<!DOCTYPE html>\n{body}")).map(|page| page.text);
    assert_eq!(parse("<p id=\"a\">1 &lt; 2<b>!</b></p>"), Ok("1 < 2!".to_owned()));
    for wrong in [
        "<p>",
        "<p></b>",
        "</p>",
        "<p>&</p>",
        "<p>&nbsp;</p>",
        "<p onclick=\"x\"></p>",
        "<img src=\"x\">",
        "<p id=\"a\"></p><p id=\"a\"></p>",
        "<a href=\"https://example.com\"></a>",
        "<!-- x -->",
        "<script><!-- </script>",
        "<script>",
        "<p>1 > 2</p>",
        "<p>\u{0}</p>",
    ] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}
