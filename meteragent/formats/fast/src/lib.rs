//! Record batches and lines -> columns: the fast twin of `meteragent.formats.decoder`.
//!
//! Whatever is not surely plain is `odd`: it is handed back as it came, and Python judges it. So
//! nothing is refused here, and what is taken is taken exactly as Python takes it.
//!
//! - `batch`: a batch's records, as Kafka stores them
//! - `unpack`: what senders have compressed, up to a limit
//! - `record`: one record's JSON: a reading, or a block of them
//! - `text`: JSON's strings, numbers and white space
//! - `moment`, `times`: times as RFC 3339 writes them, and as a mapping says
//! - `columns`: what is found, and the numbers of ids
//! - `cells`: places in documents that a mapping asks for, and what stands there
//! - `json`, `avro`, `table`: who finds that
//! - `mapped`, `form`: what it means
//! - `quantity`: energy to power
//! - `admit`: whose records are, and how the clock goes on with them
//! - `slots`: readings into the slots of open panes
//! - `averaged`: readings into what open panes add up to, where nothing else is asked of them
//! - `python`, `python_form`, `python_slots`, `python_averaged`: the border
#![forbid(unsafe_code)]

pub mod admit;
pub mod averaged;
pub mod avro;
pub mod batch;
pub mod cells;
pub mod columns;
pub mod form;
pub mod json;
pub mod mapped;
pub mod moment;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "python")]
mod python_averaged;
#[cfg(feature = "python")]
mod python_form;
#[cfg(feature = "python")]
mod python_slots;
pub mod quantity;
pub mod record;
pub mod slots;
pub mod table;
pub mod text;
pub mod times;
pub mod unpack;
