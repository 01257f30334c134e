//! Tables of buffers: CSV with the columns of MiniMalloc's instances, and others that are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use csv::{ReaderBuilder, Trim, Writer};
use heapwright_aliasing::{Buffer, Instance, Interval, PackingError, Violated};
use heapwright_core::{Alignment, ByteSize, HeapOffset};

use crate::exit::Failed;

/// A table of buffers.
#[derive(Debug)]
pub(super) struct Table {
    /// Path of the file, for messages.
    pub(super) name: String,
    header: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// A line of a table.
#[derive(Debug)]
pub(super) struct Row {
    line: usize,
    fields: Vec<String>,
    pub(super) category: Option<String>,
    pub(super) size: u64,
    pub(super) alignment: Alignment,
    pub(super) lives: Vec<Interval>,
    hint: Option<u64>,
    pub(super) offset: Option<u64>,
}

/// A category and the rows that it has; no category stands for all.
pub(super) type Group = (Option<String>, Vec<usize>);

/// Positions of the columns that have a meaning.
struct Columns {
    category: Option<usize>,
    lower: usize,
    upper: usize,
    /// Whether `upper` is the last instant rather than the one after it.
    inclusive: bool,
    size: usize,
    alignment: Option<usize>,
    hint: Option<usize>,
    gaps: Option<usize>,
    offset: Option<usize>,
}

impl Columns {
    fn of(header: &[String]) -> Result<Self, String> {
        let find = |names: &[&str]| header.iter().position(|title| names.contains(&title.as_str()));
        let mut titles = BTreeSet::new();
        if let Some(title) = header.iter().find(|title| !titles.insert(title.as_str())) {
            return Err(format!("duplicate column {title:?}"));
        }
        let missing = |name: &str| {
            format!("there is no column {name:?}; a table has the columns lower, upper and size")
        };
        let exclusive = find(&["upper"]);
        Ok(Self {
            category: find(&["category"]),
            lower: find(&["lower", "start", "begin"]).ok_or_else(|| missing("lower"))?,
            upper: exclusive.or(find(&["end"])).ok_or_else(|| missing("upper"))?,
            inclusive: exclusive.is_none(),
            size: find(&["size"]).ok_or_else(|| missing("size"))?,
            alignment: find(&["alignment"]),
            hint: find(&["hint"]),
            gaps: find(&["gaps"]),
            offset: find(&["offset"]),
        })
    }
}

impl Table {
    /// Reads a table from the text of a file.
    pub(super) fn parse(name: String, text: &str) -> Result<Self, Failed> {
        let wrong = |line: usize, reason: String| super::wrong(&name, line, reason);
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .from_reader(text.as_bytes());
        let (mut start, mut line) = (0, 1);
        let mut records = reader.records().filter_map(|record| {
            let Ok(record) = record else { return Some(Err((line, "the line is not UTF-8".to_owned()))) };
            if record.iter().all(str::is_empty) && record.len() == 1 {
                return None;
            }
            // A record begins after the line feeds that precede it.
            let at =
                record.position().map_or(start, |position| usize::try_from(position.byte()).unwrap_or(start));
            let rest = &text[at..];
            let at = at + (rest.len() - rest.trim_start().len());
            line += text[start..at].bytes().filter(|&byte| byte == b'\n').count();
            start = at;
            Some(Ok((line, record.iter().map(str::to_owned).collect::<Vec<String>>())))
        });
        let first = records.next().unwrap_or_else(|| Err((1, "the table has no header".to_owned())));
        let (first, header) = first.map_err(|(line, reason)| wrong(line, reason))?;
        let columns = Columns::of(&header).map_err(|reason| wrong(first, reason))?;
        let mut rows = Vec::new();
        for record in records {
            let (line, fields) = record.map_err(|(line, reason)| wrong(line, reason))?;
            rows.push(row(line, &header, &columns, fields).map_err(|reason| wrong(line, reason))?);
        }
        Ok(Self { name, header, rows })
    }

    /// Checks that each row has an offset.
    pub(super) fn expect_offsets(&self) -> Result<(), Failed> {
        let without = self.rows.iter().find(|row| row.offset.is_none());
        without.map_or(Ok(()), |row| Err(self.wrong(row.line, "the plan has no offset for this buffer")))
    }

    fn wrong(&self, line: usize, reason: impl Display) -> Failed {
        super::wrong(&self.name, line, reason)
    }

    /// Returns the categories in alphabetical order, with the rows of each.
    pub(super) fn by_category(&self) -> Result<Vec<Group>, Failed> {
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, row) in self.rows.iter().enumerate() {
            let category = row.category.clone().ok_or_else(|| {
                self.wrong(row.line, "--tier 1 needs the column \"category\", and this buffer has none")
            })?;
            groups.entry(category).or_default().push(number);
        }
        Ok(groups.into_iter().map(|(category, rows)| (Some(category), rows)).collect())
    }

    /// Creates the instance of some rows. Offsets are fixed, unless they are a plan to be checked.
    pub(super) fn instance(&self, rows: &[usize], fixed: bool) -> Result<Instance, Failed> {
        let buffers = rows.iter().map(|&row| {
            let row = &self.rows[row];
            Buffer {
                size: ByteSize::new(row.size),
                alignment: row.alignment,
                fixed_offset: row.offset.filter(|_| fixed).map(HeapOffset::new),
                hint: row.hint.map(HeapOffset::new),
            }
        });
        let lives = rows.iter().map(|&row| self.rows[row].lives.clone()).collect();
        Instance::with_intervals(buffers.collect(), lives).map_err(|error| {
            let line = |buffer: usize| rows.get(buffer).map_or(1, |&row| self.rows[row].line);
            let reason = match error.rule {
                Violated::FixedOverlap { other } => format!(
                    "at its fixed offset the buffer overlaps the one of line {}, which lives at the same time",
                    line(other)
                ),
                rule => rule.to_string(),
            };
            self.wrong(error.buffer.map_or(1, line), reason)
        })
    }

    /// Returns the message for a plan that is wrong, with the lines of the buffers.
    pub(super) fn packing_error(&self, rows: &[usize], error: PackingError) -> String {
        let row = |buffer: usize| &self.rows[rows[buffer]];
        let at = |buffer: usize| format!("{}:{}", self.name, row(buffer).line);
        match error {
            PackingError::Overlap { first, second } => format!(
                "{}: the buffer overlaps the one of line {}, which lives at the same time",
                at(second),
                row(first).line
            ),
            PackingError::Unaligned { buffer } => format!(
                "{}: the offset {} is not a multiple of the alignment {}",
                at(buffer),
                row(buffer).offset.unwrap_or(0),
                row(buffer).alignment.get()
            ),
            PackingError::Overflow { buffer } => {
                format!("{}: the end of the buffer has more than 64 bits", at(buffer))
            }
            error => format!("{}: {error}", self.name),
        }
    }

    /// Returns the table with an offset for each buffer.
    pub(super) fn to_text(&self) -> String {
        let kept: Vec<usize> =
            (0..self.header.len()).filter(|&column| self.header[column] != "offset").collect();
        let mut writer = Writer::from_writer(Vec::new());
        let mut write = |fields: &[String], offset: &str| {
            let kept = kept.iter().map(|&column| fields[column].as_str());
            // Memory takes all of it, and all records have the same length.
            let _ = writer.write_record(kept.chain([offset]));
        };
        write(&self.header, "offset");
        for row in &self.rows {
            write(&row.fields, &row.offset.unwrap_or(0).to_string());
        }
        let bytes = writer.into_inner().unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }
}

fn row(line: usize, header: &[String], columns: &Columns, fields: Vec<String>) -> Result<Row, String> {
    if fields.len() != header.len() {
        return Err(format!("the line has {} fields, and the header has {}", fields.len(), header.len()));
    }
    let field = |column: usize| fields[column].as_str();
    let optional = |column: Option<usize>| column.map(field).filter(|text| !text.is_empty());
    let number = |column: usize| -> Result<u64, String> {
        let (title, text) = (&header[column], field(column));
        text.parse().map_err(|_| format!("{title} must be a number from 0 to {}, and is {text:?}", u64::MAX))
    };
    let optional_number =
        |column: Option<usize>| column.filter(|_| optional(column).is_some()).map(number).transpose();
    let time = |column: usize| -> Result<i64, String> {
        let (title, text) = (&header[column], field(column));
        text.parse().map_err(|_| format!("{title} must be a number of at most 63 bits, and is {text:?}"))
    };
    let lower = time(columns.lower)?;
    let upper = time(columns.upper)?;
    let upper = if columns.inclusive {
        upper.checked_add(1).ok_or_else(|| format!("end must be less than {}", i64::MAX))?
    } else {
        upper
    };
    if lower >= upper {
        return Err(format!("the lifetime [{lower}, {upper}) is empty: it must end after it begins"));
    }
    let size = number(columns.size)?;
    if size == 0 {
        return Err("size must be at least 1".to_owned());
    }
    let alignment = match optional_number(columns.alignment)? {
        None | Some(0) => Alignment::ONE,
        Some(bytes) => Alignment::new(bytes)
            .ok_or_else(|| format!("alignment must be a power of two, and is {bytes}"))?,
    };
    let gaps = optional(columns.gaps).unwrap_or("");
    let lives = without_gaps(Interval { lower, upper }, gaps, columns.inclusive)?;
    Ok(Row {
        line,
        category: optional(columns.category).map(str::to_owned),
        size,
        alignment,
        lives,
        hint: optional_number(columns.hint)?,
        offset: optional_number(columns.offset)?,
        fields,
    })
}

/// Returns a lifetime without its gaps, which are written `7-9 12-14`. Their ends are inclusive if those of lifetimes
/// are.
fn without_gaps(life: Interval, gaps: &str, inclusive: bool) -> Result<Vec<Interval>, String> {
    let mut sorted = Vec::new();
    for gap in gaps.split_whitespace() {
        if gap.contains('@') {
            return Err(format!(
                "gap {gap:?}: gaps in which a part of the buffer lives (@) are not supported"
            ));
        }
        // The first character may be a sign.
        let dash = gap.char_indices().skip(1).find(|&(_, character)| character == '-').map(|(at, _)| at);
        let ends = dash.and_then(|at| {
            let (start, end) = (gap[..at].parse::<i64>().ok()?, gap[at + 1..].parse::<i64>().ok()?);
            Some((start, if inclusive { end.checked_add(1)? } else { end }))
        });
        let (start, end) = ends
            .filter(|(start, end)| start < end)
            .ok_or_else(|| format!("gap {gap:?} is not of the form 7-9"))?;
        sorted.push((start, end, gap));
    }
    sorted.sort_unstable();
    let mut lives = Vec::new();
    let mut lower = life.lower;
    for (start, end, gap) in sorted {
        if start < lower || end > life.upper {
            return Err(format!("gap {gap:?} is outside the lifetime, or overlaps another gap"));
        }
        if start > lower {
            lives.push(Interval { lower, upper: start });
        }
        lower = end;
    }
    if lower < life.upper {
        lives.push(Interval { lower, upper: life.upper });
    }
    if lives.is_empty() {
        return Err("the gaps leave nothing of the lifetime".to_owned());
    }
    Ok(lives)
}
