//! Replies of agents: any text against every form that a prompt asks for.

#![no_main]

use checkmate_fuzz::reply::{Case, hold};

libfuzzer_sys::fuzz_target!(|case: Case| hold(&case));
