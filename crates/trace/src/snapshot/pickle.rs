//! Reads pickles of data.
//!
//! The crate serde-pickle is not used: a copy of a value is deep in it, so that 80 bytes can ask for any amount of
//! memory, and a deep list overflows the stack when it is dropped. Here copies share their value, and nothing is
//! recursive.

use std::collections::HashMap;
use std::io::Read;

use super::values::{Ref, Values};
use crate::error::Fault;
use crate::source::Source;

/// Maximum length of a text, in bytes. Names of files and functions are shorter.
const MAX_TEXT_LEN: u64 = 1 << 20;

/// Reads the value of a pickle. The error comes with its offset in bytes.
pub(super) fn read(source: &mut Source<impl Read>, limit: u64) -> Result<(Values, Ref), (u64, Fault)> {
    let mut machine = Machine {
        bytes: Bytes {
            source,
            buffer: vec![0; 64 << 10].into_boxed_slice(),
            next: 0,
            end: 0,
            offset: 0,
            limit,
        },
        values: Values::default(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
    };
    match machine.run() {
        Ok(value) => Ok((machine.values, value)),
        Err(fault) => Err((machine.bytes.offset(), fault)),
    }
}

struct Machine<'a, R> {
    bytes: Bytes<'a, R>,
    values: Values,
    stack: Vec<Ref>,
    /// Heights of the stack at each mark.
    marks: Vec<usize>,
    memo: HashMap<u32, Ref>,
}

impl<R: Read> Machine<'_, R> {
    /// Follows the instructions up to the last one, whose letters are those of Python's module `pickle`.
    fn run(&mut self) -> Result<Ref, Fault> {
        loop {
            let instruction = self.bytes.byte()?;
            match instruction {
                b'.' => return self.pop(),
                // The version of the format, and lengths of frames.
                0x80 => {
                    self.bytes.byte()?;
                }
                0x95 => {
                    self.bytes.number(8)?;
                }
                b'(' => {
                    self.marks.push(self.stack.len());
                    self.check_stack()?;
                }
                b'0' => {
                    self.pop()?;
                }
                b'1' => {
                    self.pop_to_mark()?;
                }
                b'2' => {
                    let top = self.top()?;
                    self.push(top)?;
                }
                b'}' => {
                    let dict = self.values.dict(Vec::new())?;
                    self.push(dict)?;
                }
                b']' | b')' | 0x8f => {
                    let list = self.values.list(Vec::new())?;
                    self.push(list)?;
                }
                b'd' => {
                    let items = self.pop_to_mark()?;
                    let dict = self.values.dict(items)?;
                    self.push(dict)?;
                }
                b'l' | b't' | 0x91 => {
                    let items = self.pop_to_mark()?;
                    let list = self.values.list(items)?;
                    self.push(list)?;
                }
                0x85..=0x87 => {
                    let at = self.stack.len().checked_sub(usize::from(instruction - 0x84)).ok_or(EMPTY)?;
                    let items = self.stack.split_off(at);
                    let list = self.values.list(items)?;
                    self.push(list)?;
                }
                b'a' => {
                    let item = self.pop()?;
                    let list = self.top()?;
                    self.values.extend(list, &[item])?;
                }
                b's' => {
                    let (value, key) = (self.pop()?, self.pop()?);
                    let dict = self.top()?;
                    self.values.extend(dict, &[key, value])?;
                }
                b'e' | b'u' | 0x90 => {
                    let items = self.pop_to_mark()?;
                    let list = self.top()?;
                    self.values.extend(list, &items)?;
                }
                b'K' => self.push_int(1)?,
                b'M' => self.push_int(2)?,
                b'J' => {
                    let number = self.bytes.number(4)?;
                    self.push_unsigned(number, 4)?;
                }
                0x8a => {
                    let len = self.bytes.number(1)?;
                    self.push_long(len)?;
                }
                0x8b => {
                    let len = self.bytes.number(4)?;
                    self.push_long(len)?;
                }
                b'G' => {
                    let bits = self.bytes.number(8)?.swap_bytes();
                    let value = int_of(f64::from_bits(bits));
                    self.push_number(value)?;
                }
                0x88 => {
                    let truth = self.values.truth()?;
                    self.push(truth)?;
                }
                b'N' | 0x89 => self.push_other()?,
                0x8c => self.push_text(1)?,
                b'X' => self.push_text(4)?,
                0x8d => self.push_text(8)?,
                // Bytes and strings of Python 2, of which a snapshot has none.
                b'U' | b'C' => self.skip_bytes(1)?,
                b'T' | b'B' => self.skip_bytes(4)?,
                0x8e | 0x96 => self.skip_bytes(8)?,
                b'q' => self.memoize(1)?,
                b'r' => self.memoize(4)?,
                0x94 => {
                    let id = u32::try_from(self.memo.len()).map_err(|_| EMPTY)?;
                    let top = self.top()?;
                    self.memo.insert(id, top);
                }
                b'h' => self.recall(1)?,
                b'j' => self.recall(4)?,
                // Functions and objects of Python, none of which is called or created: what they are stays unknown.
                b'c' => {
                    self.bytes.skip_line()?;
                    self.bytes.skip_line()?;
                    self.push_other()?;
                }
                0x93 | b'R' | 0x81 => {
                    self.pop()?;
                    self.pop()?;
                    self.push_other()?;
                }
                0x92 => {
                    for _ in 0..3 {
                        self.pop()?;
                    }
                    self.push_other()?;
                }
                b'b' => {
                    self.pop()?;
                }
                b'o' => {
                    self.pop_to_mark()?;
                    self.push_other()?;
                }
                _ => return Err(format!("invalid pickle: unknown instruction {instruction:#04x}").into()),
            }
        }
    }

    fn push(&mut self, value: Ref) -> Result<(), Fault> {
        self.stack.push(value);
        self.check_stack()
    }

    /// Bounds the memory: instructions that copy take one byte each.
    fn check_stack(&self) -> Result<(), Fault> {
        const MAX_STACK: usize = 1 << 20;
        if self.stack.len() + self.marks.len() > MAX_STACK {
            return Err(format!("invalid pickle: its stack exceeds the limit of {MAX_STACK} values").into());
        }
        Ok(())
    }

    fn push_other(&mut self) -> Result<(), Fault> {
        let other = self.values.other()?;
        self.push(other)
    }

    fn push_number(&mut self, number: Option<u64>) -> Result<(), Fault> {
        let value = match number {
            Some(number) => self.values.int(number),
            None => self.values.other(),
        };
        self.push(value?)
    }

    fn push_int(&mut self, len: usize) -> Result<(), Fault> {
        let number = self.bytes.number(len)?;
        self.push_number(Some(number))
    }

    /// Pushes a number of `len` bytes in two's complement, unless it is negative.
    fn push_unsigned(&mut self, number: u64, len: usize) -> Result<(), Fault> {
        let is_negative = number >> (8 * len - 1) & 1 == 1;
        self.push_number((!is_negative).then_some(number))
    }

    /// Pushes a long number, unless it is negative or has more than 64 bits.
    fn push_long(&mut self, len: u64) -> Result<(), Fault> {
        match len {
            0 => self.push_number(Some(0)),
            1..=8 => {
                let len = usize::try_from(len).unwrap_or(8);
                let number = self.bytes.number(len)?;
                self.push_unsigned(number, len)
            }
            9 => {
                let number = self.bytes.number(8)?;
                let is_in_range = self.bytes.byte()? == 0;
                self.push_number(is_in_range.then_some(number))
            }
            _ => {
                self.bytes.skip(len)?;
                self.push_other()
            }
        }
    }

    fn push_text(&mut self, len: usize) -> Result<(), Fault> {
        let len = self.bytes.number(len)?;
        if len > MAX_TEXT_LEN {
            return Err(format!("invalid pickle: a text exceeds the limit of {MAX_TEXT_LEN} bytes").into());
        }
        let text = self.bytes.take(len)?;
        let value = self.values.text(&String::from_utf8_lossy(&text))?;
        self.push(value)
    }

    fn skip_bytes(&mut self, len: usize) -> Result<(), Fault> {
        let len = self.bytes.number(len)?;
        self.bytes.skip(len)?;
        self.push_other()
    }

    fn memoize(&mut self, len: usize) -> Result<(), Fault> {
        let id = self.bytes.number(len)?;
        let top = self.top()?;
        self.memo.insert(u32::try_from(id).unwrap_or(u32::MAX), top);
        Ok(())
    }

    fn recall(&mut self, len: usize) -> Result<(), Fault> {
        let id = self.bytes.number(len)?;
        let known = u32::try_from(id).ok().and_then(|id| self.memo.get(&id).copied());
        let value = known
            .ok_or_else(|| format!("invalid pickle: it refers to value {id}, which it does not have"))?;
        self.push(value)
    }

    fn top(&self) -> Result<Ref, Fault> {
        Ok(*self.stack.last().ok_or(EMPTY)?)
    }

    fn pop(&mut self) -> Result<Ref, Fault> {
        Ok(self.stack.pop().ok_or(EMPTY)?)
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Ref>, Fault> {
        let mark = self.marks.pop().ok_or(EMPTY)?;
        if mark > self.stack.len() { Err(EMPTY.into()) } else { Ok(self.stack.split_off(mark)) }
    }
}

const EMPTY: &str = "invalid pickle: an instruction finds no value";

/// Returns a number without a fraction as an integer.
pub(super) fn int_of(number: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
    (number.fract() == 0.0 && (0.0..1e18).contains(&number)).then_some(number as u64)
}

/// The bytes of a pickle.
struct Bytes<'a, R> {
    source: &'a mut Source<R>,
    buffer: Box<[u8]>,
    next: usize,
    end: usize,
    /// Offset of the buffer in the file.
    offset: u64,
    limit: u64,
}

impl<R: Read> Bytes<'_, R> {
    fn offset(&self) -> u64 {
        self.offset + self.next as u64
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        if self.next == self.end {
            self.offset += self.end as u64;
            (self.next, self.end) = (0, 0);
            if self.offset >= self.limit {
                return Err(format!("the snapshot exceeds the limit of {} bytes", self.limit).into());
            }
            self.end = self.source.read(&mut self.buffer)?;
            if self.end == 0 {
                return Err("unexpected end of the pickle; the file may be truncated".into());
            }
        }
        self.next += 1;
        Ok(self.buffer[self.next - 1])
    }

    /// Returns a little-endian integer of at most 8 bytes.
    fn number(&mut self, len: usize) -> Result<u64, Fault> {
        (0..len).try_fold(0, |number, place| Ok(number | u64::from(self.byte()?) << (8 * place)))
    }

    fn take(&mut self, len: u64) -> Result<Vec<u8>, Fault> {
        (0..len).map(|_| self.byte()).collect()
    }

    fn skip(&mut self, len: u64) -> Result<(), Fault> {
        (0..len).try_for_each(|_| self.byte().map(drop))
    }

    fn skip_line(&mut self) -> Result<(), Fault> {
        while self.byte()? != b'\n' {}
        Ok(())
    }
}
