//! The program `onceover`.

use std::process::ExitCode;

use clap::Parser as _;
use server::{cli::Arguments, commands};

fn main() -> ExitCode {
    match commands::run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            for sentence in failure.sentences() {
                eprintln!("onceover: {sentence}");
            }
            ExitCode::FAILURE
        }
    }
}
