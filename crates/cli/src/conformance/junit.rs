//! The results as JUnit XML.

use std::fmt::Write as _;

use super::report::{CheckResult, ConformanceReport};

/// Returns a document with a test suite for the device and a test case for each check. Known gaps count as skipped.
pub(super) fn render(report: &ConformanceReport) -> String {
    let (device, lines) = report.lines();
    let lines: Vec<_> = lines.collect();
    let count =
        |results: &[CheckResult]| lines.iter().filter(|(_, result, _)| results.contains(result)).count();
    let (failed, skipped) = (count(&[CheckResult::Fail]), count(&[CheckResult::Skip, CheckResult::Known]));
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" \
         skipped=\"{skipped}\">\n",
        escaped(device),
        lines.len()
    );
    for (id, result, detail) in lines {
        let (area, name) = id.split_once('/').unwrap_or((id, id));
        let detail = escaped(detail);
        let body = match result {
            CheckResult::Pass => String::new(),
            CheckResult::Fail => format!("<failure message=\"{detail}\"/>"),
            CheckResult::Known | CheckResult::Skip => format!("<skipped message=\"{detail}\"/>"),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "<testcase classname=\"{area}\" name=\"{name}\">{body}</testcase>");
    }
    text + "</testsuite>\n"
}

/// Escapes what XML attributes cannot hold. Control characters, which XML does not allow, become spaces.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
