//! Crash points: named places at which the fault suite ends or stops this process.
//!
//! Only with the feature `crash-points`, which no release has: without it [`crash_point!`] is
//! nothing at all. A process is told by its environment, so that the program under test is the
//! program itself:
//!
//! * `CRASH_AT=P2:nth=3` ends it by SIGKILL when P2 is reached for the third time: no destructor
//!   runs, nothing is flushed. `PAUSE_AT=…` stops it by SIGSTOP instead; `nth=every` at each time.
//! * `CRASH_REPORT` names a file to which every point that is reached adds a line before anything
//!   else happens: what was really reached is known of a dead process, too.
//! * `FAULT_CONTROL` names guards to be left out ([`is_off`]), for the controls that show that the
//!   suite can fail.
//!
//! Guards against a suite that reports kills at places that were never reached.

/// Marks a crash point; see the module.
macro_rules! crash_point {
    ($name:literal) => {
        #[cfg(feature = "crash-points")]
        $crate::crash::reached($name);
    };
    ($name:literal, $when:expr) => {
        #[cfg(feature = "crash-points")]
        if $when {
            $crate::crash::reached($name);
        }
    };
}
pub(crate) use crash_point;

/// A guard that a control leaves out. Without the feature nothing can be.
#[cfg(not(feature = "crash-points"))]
#[inline]
pub(crate) const fn is_off(_guard: &str) -> bool {
    false
}

#[cfg(feature = "crash-points")]
pub(crate) use live::{is_off, reached, while_pending};

#[cfg(feature = "crash-points")]
mod live {
    use std::{
        collections::HashMap,
        fs::{File, OpenOptions},
        future::Future,
        io::Write as _,
        pin::pin,
        sync::{LazyLock, Mutex, PoisonError},
        time::Duration,
    };

    use rustix::process::{Signal, getpid, kill_process};

    /// Found in a program that has crash points, and in no release: the build looks for it.
    static MARKER: &str = "onceover-crash-points-are-compiled-in";

    /// Longer than a signal to this process takes to stop all of its threads.
    const ARRIVES: Duration = Duration::from_millis(50);

    /// When a point acts.
    enum Nth {
        At(u64),
        Every,
    }

    struct Order {
        point: String,
        nth: Nth,
        signal: Signal,
    }

    struct Plan {
        orders: Vec<Order>,
        report: Option<File>,
        off: Vec<String>,
        counts: Mutex<HashMap<&'static str, u64>>,
    }

    static PLAN: LazyLock<Plan> = LazyLock::new(Plan::from_environment);

    impl Plan {
        fn from_environment() -> Self {
            let read = |name: &str| std::env::var(name).unwrap_or_default();
            let mut orders = orders(&read("CRASH_AT"), Signal::KILL);
            orders.extend(orders_to_pause());
            let path = read("CRASH_REPORT");
            let report = (!path.is_empty()).then(|| {
                OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(&path)
                    .unwrap_or_else(|error| panic!("{MARKER}: CRASH_REPORT={path}: {error}"))
            });
            let off = read("FAULT_CONTROL").split(',').map(str::to_owned).collect();
            Self { orders, report, off, counts: Mutex::default() }
        }
    }

    fn orders_to_pause() -> Vec<Order> {
        orders(&std::env::var("PAUSE_AT").unwrap_or_default(), Signal::STOP)
    }

    /// `P2:nth=3,W1:nth=every`. What is not understood ends the process: a suite must not go on
    /// with a plan that does nothing.
    fn orders(text: &str, signal: Signal) -> Vec<Order> {
        text.split(',')
            .filter(|order| !order.is_empty())
            .map(|order| {
                let (point, nth) = order.split_once(":nth=").unwrap_or((order, "1"));
                let nth = match nth {
                    "every" => Nth::Every,
                    nth => Nth::At(nth.parse().unwrap_or_else(|_| panic!("{MARKER}: {order}"))),
                };
                Order { point: point.to_owned(), nth, signal }
            })
            .collect()
    }

    /// Says that a point was reached, and does what the environment orders there.
    #[expect(
        clippy::disallowed_methods,
        reason = "nothing to wait for: the signal ends or stops this thread"
    )]
    pub(crate) fn reached(point: &'static str) {
        let count = {
            let mut counts = PLAN.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(point).or_default();
            *count += 1;
            *count
        };
        let order = PLAN.orders.iter().find(|order| {
            order.point == point
                && match order.nth {
                    Nth::At(nth) => nth == count,
                    Nth::Every => true,
                }
        });
        if let Some(mut report) = PLAN.report.as_ref() {
            let what = match order.map(|order| order.signal) {
                Some(Signal::KILL) => " killed",
                Some(_) => " paused",
                None => "",
            };
            // One write: the line is whole or not there. It outlives this process in the page cache.
            let _ = report.write_all(format!("{point}{what}\n").as_bytes());
        }
        if let Some(order) = order {
            let _ = kill_process(getpid(), order.signal);
            // Another thread may be the one that takes the signal: this one must not get any further
            // until it has.
            std::thread::sleep(ARRIVES);
        }
    }

    /// Reaches a point while a call is under way: some milliseconds after it began, and not at all
    /// where it ends before. The count spreads the moment, so that some calls are cut before the
    /// provider has applied them and some after.
    pub(crate) async fn while_pending<F: Future>(point: &'static str, call: F) -> F::Output {
        let spread = {
            let counts = PLAN.counts.lock().unwrap_or_else(PoisonError::into_inner);
            u64::from(std::process::id()) * 7 + counts.get(point).copied().unwrap_or_default() * 13
        };
        let mut call = pin!(call);
        tokio::select! {
            output = &mut call => output,
            () = tokio::time::sleep(Duration::from_millis(5 + spread % 60)) => {
                reached(point);
                call.await
            }
        }
    }

    /// Whether a control leaves a guard out.
    pub(crate) fn is_off(guard: &str) -> bool {
        PLAN.off.iter().any(|off| off == guard)
    }
}
