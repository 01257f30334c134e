//! Tests of reading, writing, checking and converting reports.

mod dump;
mod html;
mod json;
mod page;
mod rules;
mod sample;
mod schema;
mod session;
mod sums;
