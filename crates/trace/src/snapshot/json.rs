//! Reads snapshots that were converted to JSON.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::history::is_shown;
use super::pickle::int_of;
use super::values::{Ref, Values};
use crate::error::Fault;
use crate::kind::BYTE_ORDER_MARK;
use crate::source::Source;
use crate::visible::Visible;

/// Reads the value of a JSON file.
pub(super) fn read(source: &mut Source<impl Read>, limit: u64) -> Result<(Values, Ref), Fault> {
    let built = Built::default();
    let error = &built.error;
    let bytes = Bytes { source, left: limit, error };
    let mut start = Vec::new();
    let mut bytes = io::BufReader::with_capacity(64 << 10, bytes);
    let read = bytes.by_ref().take(3).read_to_end(&mut start);
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&start);
    let mut reader = serde_json::Deserializer::from_reader(start.chain(bytes));
    let value = read.map_err(serde_json::Error::io).and_then(|_| {
        let value = Build(&built).deserialize(&mut reader)?;
        reader.end().map(|()| value)
    });
    let fault = error.take();
    drop(reader);
    match (value, fault) {
        (Ok(value), _) => Ok((built.values.into_inner(), value)),
        (Err(_), Some(fault)) => Err(fault),
        (Err(invalid), None) => {
            let message = invalid.to_string();
            Err(Fault::File(format!("invalid JSON: {}", Visible(&message).shortened(160))))
        }
    }
}

/// The bytes of a file of limited length. The error of reading them is kept apart, since serde's are text.
struct Bytes<'a, R> {
    source: &'a mut Source<R>,
    left: u64,
    error: &'a Cell<Option<Fault>>,
}

impl<R: Read> Read for Bytes<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer).and_then(|len| {
            let left = self.left.checked_sub(len as u64);
            self.left = left.ok_or("the snapshot exceeds the limit of 1 GiB")?;
            Ok(len)
        });
        read.map_err(|fault| {
            self.error.set(Some(fault));
            io::Error::other("the file cannot be read")
        })
    }
}

#[derive(Default)]
struct Built {
    values: RefCell<Values>,
    /// Keys that occurred: there are few.
    keys: RefCell<HashMap<Box<str>, Ref>>,
    error: Cell<Option<Fault>>,
}

/// Maximum number of keys that are shared.
const MAX_KEYS: usize = 256;

/// Adds a value of any type.
#[derive(Clone, Copy)]
struct Build<'a>(&'a Built);

impl Build<'_> {
    fn add<E: Error>(self, add: impl FnOnce(&mut Values) -> Result<Ref, Fault>) -> Result<Ref, E> {
        add(&mut self.0.values.borrow_mut()).map_err(|fault| {
            self.0.error.set(Some(fault));
            E::custom("too many values")
        })
    }

    fn key<E: Error>(self, key: String) -> Result<Ref, E> {
        let known = self.0.keys.borrow().get(&*key).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let added = self.add(|values| values.text(&key))?;
        let mut keys = self.0.keys.borrow_mut();
        if keys.len() < MAX_KEYS {
            keys.insert(key.into(), added);
        }
        Ok(added)
    }

    fn number<E: Error>(self, number: Option<u64>) -> Result<Ref, E> {
        self.add(|values| match number {
            Some(number) => values.int(number),
            None => values.other(),
        })
    }
}

impl<'de> DeserializeSeed<'de> for Build<'_> {
    type Value = Ref;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Ref, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build<'_> {
    type Value = Ref;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Ref, E> {
        self.add(|values| if truth { values.truth() } else { values.other() })
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Ref, E> {
        self.number(u64::try_from(number).ok())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Ref, E> {
        self.number(Some(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Ref, E> {
        self.number(int_of(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Ref, E> {
        self.add(|values| values.text(text))
    }

    fn visit_unit<E: Error>(self) -> Result<Ref, E> {
        self.number(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Ref, A::Error> {
        let list = self.add(|values| values.list(Vec::new()))?;
        while let Some(item) = items.next_element_seed(self)? {
            self.add(|values| values.extend(list, &[item]).map(|()| list))?;
        }
        Ok(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Ref, A::Error> {
        let dict = self.add(|values| values.dict(Vec::new()))?;
        while let Some(key) = items.next_key::<String>()? {
            let value = if key == "frames" {
                items.next_value_seed(Frames(self))?
            } else {
                items.next_value_seed(self)?
            };
            let key = self.key(key)?;
            self.add(|values| values.extend(dict, &[key, value]).map(|()| dict))?;
        }
        Ok(dict)
    }
}

/// Adds the first of the frames that is shown: a snapshot consists of frames for the most part.
struct Frames<'a>(Build<'a>);

#[derive(Deserialize)]
struct Frame {
    filename: Option<String>,
    line: Option<u64>,
    name: Option<String>,
}

impl<'de> DeserializeSeed<'de> for Frames<'_> {
    type Value = Ref;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Ref, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Frames<'_> {
    type Value = Ref;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of frames")
    }

    fn visit_unit<E: Error>(self) -> Result<Ref, E> {
        self.0.number(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut frames: A) -> Result<Ref, A::Error> {
        let Self(build) = self;
        let list = build.add(|values| values.list(Vec::new()))?;
        while let Some(Frame { filename, line, name }) = frames.next_element()? {
            let (Some(filename), Some(line), Some(name)) = (filename, line, name) else { continue };
            if !is_shown(&filename) {
                continue;
            }
            let dict = build.add(|values| values.dict(Vec::new()))?;
            let file = build.add(|values| values.text(&filename))?;
            let name = build.add(|values| values.text(&name))?;
            for (key, value) in [("filename", file), ("line", build.number(Some(line))?), ("name", name)] {
                let key = build.key(key.to_owned())?;
                build.add(|values| values.extend(dict, &[key, value]).map(|()| dict))?;
            }
            while frames.next_element::<IgnoredAny>()?.is_some() {}
            return build.add(|values| values.extend(list, &[dict]).map(|()| list));
        }
        Ok(list)
    }
}
