//! The `checkmate` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    checkmate::cli::main()
}
