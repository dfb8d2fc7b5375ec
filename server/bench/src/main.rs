//! `make bench`: figures of the engine, each beside its floor, in one run on one machine
//! (docs/performance.md).
//!
//! Prints the table `figure | value | ratio | budget`, and writes the same with every round as
//! JSON. No test reads it: a budget that is missed ends its line in `over budget`, and nothing else
//! follows from it.

mod bench;
mod broker;
mod callers;
mod fault;
mod figures;
mod floor;
mod hold;
mod line;
mod machine;
mod plant;
mod relaying;
mod stats;
mod table;
mod tenant;

use std::{path::PathBuf, process::ExitCode, time::Instant};

use clap::Parser;

use bench::{Bench, Form};
use fault::{Fault, trying};
use figures::{FIGURES, Figure};
use machine::Machine;
use table::{Measured, Run};

/// Figures of the engine beside their floors.
#[derive(Debug, Parser)]
#[command(name = "bench", about)]
struct Arguments {
    /// As long as the figures are defined for, instead of a few minutes.
    #[arg(long)]
    full: bool,
    /// Where the JSON goes.
    #[arg(long, value_name = "FILE", default_value = "target/bench.json")]
    json: PathBuf,
    /// Which figures; all where none is named.
    #[arg(value_parser = FIGURES.iter().map(|figure| figure.name).collect::<Vec<_>>())]
    figures: Vec<String>,
    /// For the bench itself: be a worker that holds so many calls.
    #[arg(long, hide = true, requires_all = ["provider", "name"])]
    hold: Option<usize>,
    #[arg(long, hide = true, default_value = "")]
    provider: String,
    #[arg(long, hide = true, default_value = "")]
    name: String,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("bench: {}", fault.chain());
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Fault> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().build().map_err(trying("start a runtime"))?;
    if let Some(calls) = arguments.hold {
        let held = hold::run(&arguments.name, &arguments.provider, calls);
        return runtime.block_on(held);
    }
    let form = if arguments.full { Form::Full } else { Form::Short };
    let bench = Bench::open(form)?;
    let chosen: Vec<&Figure> = FIGURES
        .iter()
        .filter(|figure| {
            arguments.figures.is_empty() || arguments.figures.iter().any(|name| name == figure.name)
        })
        .collect();
    let measured = runtime.block_on(measure(&bench, &chosen));
    let closed = runtime.block_on(bench.close());
    let run = measured?;
    run.write(&arguments.json)?;
    println!("\n{}\n{}", run.table(), words(&run));
    println!("every round: {}", arguments.json.display());
    closed
}

async fn measure(bench: &Bench, chosen: &[&Figure]) -> Result<Run, Fault> {
    let machine = Machine::look(bench.postgresql().await?);
    let (begun, before) = (bench.now().await?, machine::load());
    println!("{}\n{} form, {begun}", machine.in_words(), bench.form().as_str());
    let mut figures = Vec::new();
    for figure in chosen {
        println!("\n→ {}: {}", figure.name, figure.about);
        let (flush_us, begun) = (bench.flush_us(), Instant::now());
        let lines = (figure.measure)(bench).await?;
        let seconds = begun.elapsed().as_secs_f64();
        print!("{}", table::render(&lines.iter().collect::<Vec<_>>()));
        println!("  done in {seconds:.0} s{}", flush(flush_us));
        figures.push(Measured { name: figure.name, flush_us, seconds, lines });
    }
    let load = [before, machine::load()];
    Ok(Run { begun, form: bench.form().as_str(), machine, load, figures })
}

/// What must be read beside the table.
fn words(run: &Run) -> String {
    let flushes: Vec<f64> = run.figures.iter().filter_map(|each| each.flush_us).collect();
    let (least, most) = stats::spread(&flushes);
    let disk = if flushes.is_empty() {
        "the disk is a foreign server's".to_owned()
    } else {
        format!("fdatasync of 8 KiB {least:.0} to {most:.0} µs")
    };
    let load = |load: Option<f64>| load.map_or_else(|| "?".to_owned(), |load| format!("{load:.1}"));
    format!(
        "{}\n{disk}; load of the machine {} at the begin, {} at the end\nratios hold within this run; never compare two runs",
        run.machine.in_words(),
        load(run.load[0]),
        load(run.load[1]),
    )
}

fn flush(flush_us: Option<f64>) -> String {
    flush_us.map_or_else(String::new, |us| format!("; fdatasync {us:.0} µs before"))
}
