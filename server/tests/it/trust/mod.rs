//! Trust: roles by routes, other tenants' ids, markup, canaries, faults and hostile words, each over
//! every page and route that there is (docs/security.md).

mod canaries;
mod elsewhere;
mod elsewhere_down;
mod faults_told;
mod foreign;
mod logs;
mod markup;
mod matrix;
pub mod paths;
mod strangers;
mod words;
mod world;
