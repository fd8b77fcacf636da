//! What the user's own words ask for and permit. Nothing here reads what an agent said.

mod kind;
mod permits;
mod words;

pub use self::kind::{Kind, kind};
pub use self::permits::{Permission, Permits};
pub use self::words::{forbids, identifiers, sentences};
