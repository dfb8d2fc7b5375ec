//! Start, stop, keep, refuse, recover: through the library.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cluster::{Cluster, ClusterError, Options};

use crate::support::{Scratch, ask, lives, postmaster};

#[test]
fn a_throwaway_cluster_is_durable_private_and_leaves_nothing() {
    let cluster = Cluster::start(&std::env::temp_dir(), Options::throwaway()).expect("starts");
    let url = cluster.url("postgres");
    for (setting, value) in [
        ("select current_setting('fsync')", "on"),
        ("select current_setting('synchronous_commit')", "on"),
        ("select current_setting('max_connections')", "200"),
        ("select current_setting('shared_buffers')", "256MB"),
        ("select current_setting('listen_addresses')", "127.0.0.1"),
        ("select current_setting('server_encoding')", "UTF8"),
    ] {
        assert_eq!(ask(&url, setting).expect("answers"), value, "{setting}");
    }
    let by_socket =
        ask(&cluster.socket_url("postgres"), "select coalesce(inet_server_addr()::text, 'socket')");
    assert_eq!(by_socket.expect("answers"), "socket");

    let stranger = format!("postgres://postgres@127.0.0.1:{}/postgres", cluster.port());
    assert!(ask(&stranger, "select 'in'").is_err(), "TCP asks for a password");
    let folder = cluster.folder().to_owned();
    let mode = fs::metadata(&folder).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let pid = cluster.pid();
    let data = fs::metadata(folder.join("pgdata")).expect("there");
    assert_ne!(data.uid(), 0, "the server owns its data and is not root");

    cluster.stop().expect("stops");
    assert!(!lives(pid));
    assert!(!folder.exists());
}

#[test]
fn data_outlives_a_restart_and_the_address_stays() {
    let place = Scratch::new("kept");
    let first = Cluster::start(&place.0, Options::default()).expect("starts");
    let url = first.url("postgres");
    ask(&url, "select pg_create_physical_replication_slot('kept')::text").expect("writes");
    drop(first);

    let second = Cluster::start(&place.0, Options::default()).expect("starts again");
    assert_eq!(second.url("postgres"), url, "same password, same free port");
    let kept = ask(&second.url("postgres"), "select slot_name::text from pg_replication_slots");
    assert_eq!(kept.expect("answers"), "kept");
    second.stop().expect("stops");
}

#[test]
fn two_programs_never_share_one_folder_unawares() {
    let place = Scratch::new("shared");
    let first = Cluster::start(&place.0, Options::default()).expect("starts");
    let second = Cluster::start(&place.0, Options::default());
    let Err(ClusterError::InUse { owner, .. }) = second else {
        panic!("the second start must be refused, got {second:?}");
    };
    assert_eq!(owner, std::process::id().to_string());
    ask(&first.url("postgres"), "select 'unharmed'").expect("the first goes on");
}

#[test]
fn a_stale_pid_file_with_somebody_elses_number_does_not_harm_them() {
    let place = Scratch::new("stale");
    Cluster::start(&place.0, Options::default()).expect("starts").stop().expect("stops");
    // As after a reboot: the number now belongs to this very test.
    let file = place.0.join("pgdata/postmaster.pid");
    let text = format!("{}\n{}\n", std::process::id(), place.0.display());
    fs::write(&file, text).expect("planted");
    let owner = fs::metadata(place.0.join("pgdata")).expect("there");
    std::os::unix::fs::chown(&file, Some(owner.uid()), Some(owner.gid())).expect("given away");

    let again = Cluster::start(&place.0, Options::default()).expect("starts all the same");
    assert_eq!(postmaster(&place.0), Some(again.pid()));
}

#[test]
fn a_path_too_long_for_a_socket_gets_a_short_one() {
    let place = Scratch::new(&"long".repeat(30));
    let cluster = Cluster::start(&place.0, Options::default()).expect("starts");
    let folder = ask(&cluster.url("postgres"), "select current_setting('unix_socket_directories')")
        .expect("answers");
    ask(&cluster.socket_url("postgres"), "select 'reached'").expect("answers");
    assert!(folder.len() < 60, "{folder}");
    let mode = fs::metadata(&folder).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    cluster.stop().expect("stops");
    fs::remove_dir_all(folder).expect("cleaned up");
}

/// A clone under /root: the unprivileged user cannot get there.
#[test]
fn a_folder_out_of_reach_is_replaced_and_said() {
    let closed = Scratch::new("closed");
    fs::create_dir(&closed.0).expect("a folder");
    fs::set_permissions(&closed.0, fs::Permissions::from_mode(0o700)).expect("closed");
    let cluster = Cluster::start(&closed.0.join("data"), Options::default()).expect("starts");
    if rustix::process::geteuid().is_root() {
        let folder: PathBuf = cluster.folder().to_owned();
        assert!(folder.starts_with("/var/tmp"), "{}", folder.display());
        assert!(
            cluster.notes().iter().any(|note| note.contains("cannot enter")),
            "{:?}",
            cluster.notes()
        );
        cluster.stop().expect("stops");
        fs::remove_dir_all(folder).expect("cleaned up");
    } else {
        assert!(cluster.folder().starts_with(Path::new(&closed.0)));
    }
}
