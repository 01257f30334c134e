//! Parsers of numbers on the command line.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Returns a parser of numbers, whose error names the allowed ones.
pub(crate) fn number<T>(
    allowed: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| match text.parse() {
        Ok(number) if allowed.contains(&number) => Ok(number),
        _ => Err(format!("expected a number from {} to {}", allowed.start(), allowed.end())),
    }
}
