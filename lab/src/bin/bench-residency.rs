//! `bench-residency`: the library's eviction policies beside D3DX12Residency's rules. `cargo lab bench-residency`
//! prints the rows of the table in docs/performance.md.
#![forbid(unsafe_code)]

use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use heapwright_lab::residency::table;

fn main() -> Result<(), Box<dyn Error>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = table(&package.parent().unwrap_or(package).join("traces"))?;
    Ok(anstream::stdout().write_all(text.as_bytes())?)
}
