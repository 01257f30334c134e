//! Reports: written, read, refused, and made into pages.

mod html;
mod json;
mod page;
mod rules;
mod sample;
mod schema;
mod sums;
