//! Captures and sessions: what is read, and that damaged files are errors.

mod captures;
mod damage;
mod sessions;
