//! The values of a snapshot: a tree in which parts may be shared.

use crate::error::Fault;

/// Index of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ref(u32);

#[derive(Debug)]
enum Value {
    Int(u64),
    Text(Box<str>),
    List(Vec<Ref>),
    /// Keys and values in turn.
    Dict(Vec<Ref>),
    True,
    /// `None`, `False`, a negative number, or what a call of Python would return.
    Other,
}

/// Values in the order in which they were created. A list holds indexes, so values may be shared or contain themselves.
#[derive(Debug, Default)]
pub(super) struct Values {
    values: Vec<Value>,
    /// Number of values and of items in lists and dicts.
    count: usize,
}

/// Maximum number of values, and of items of lists and dicts.
const MAX_COUNT: usize = 1 << 25;

impl Values {
    fn push(&mut self, value: Value) -> Result<Ref, Fault> {
        self.count_up(1)?;
        // The limit is below 2^32.
        let index = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.values.push(value);
        Ok(Ref(index))
    }

    fn count_up(&mut self, more: usize) -> Result<(), Fault> {
        self.count += more;
        if self.count <= MAX_COUNT {
            Ok(())
        } else {
            Err(format!("the snapshot exceeds the limit of {MAX_COUNT} values").into())
        }
    }

    pub(super) fn int(&mut self, number: u64) -> Result<Ref, Fault> {
        self.push(Value::Int(number))
    }

    pub(super) fn text(&mut self, text: &str) -> Result<Ref, Fault> {
        self.push(Value::Text(text.into()))
    }

    pub(super) fn list(&mut self, items: Vec<Ref>) -> Result<Ref, Fault> {
        self.count_up(items.len())?;
        self.push(Value::List(items))
    }

    pub(super) fn dict(&mut self, items: Vec<Ref>) -> Result<Ref, Fault> {
        self.count_up(items.len())?;
        self.push(Value::Dict(items))
    }

    pub(super) fn truth(&mut self) -> Result<Ref, Fault> {
        self.push(Value::True)
    }

    pub(super) fn other(&mut self) -> Result<Ref, Fault> {
        self.push(Value::Other)
    }

    /// Appends items to a list, or keys and values to a dict. Anything else stays what it is.
    pub(super) fn extend(&mut self, to: Ref, items: &[Ref]) -> Result<(), Fault> {
        self.count_up(items.len())?;
        if let Value::List(list) | Value::Dict(list) = &mut self.values[to.0 as usize] {
            list.extend_from_slice(items);
        }
        Ok(())
    }

    pub(super) fn as_int(&self, value: Ref) -> Option<u64> {
        match self.values[value.0 as usize] {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn as_text(&self, value: Ref) -> Option<&str> {
        match &self.values[value.0 as usize] {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items of a list or tuple.
    pub(super) fn as_list(&self, value: Ref) -> Option<&[Ref]> {
        match &self.values[value.0 as usize] {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn is_true(&self, value: Ref) -> bool {
        matches!(self.values[value.0 as usize], Value::True)
    }

    /// Returns whether a value is a dict.
    pub(super) fn is_dict(&self, value: Ref) -> bool {
        matches!(self.values[value.0 as usize], Value::Dict(_))
    }

    /// Returns the value of a key, the last one if there are several.
    pub(super) fn get(&self, dict: Ref, key: &str) -> Option<Ref> {
        let Value::Dict(items) = &self.values[dict.0 as usize] else { return None };
        let mut pairs = items.chunks_exact(2).rev();
        pairs.find(|pair| self.as_text(pair[0]) == Some(key)).map(|pair| pair[1])
    }
}
