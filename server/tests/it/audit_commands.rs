//! `onceover audit`: the check by the command line names tenant and place and ends with 1, also where the
//! head went with the tail; the heads go to the configured file.

use std::process::Output;

use sqlx::Executor as _;

use crate::{
    command_line::{onceover, refuses},
    support::{Stage, WEBHOOK_SECRET},
};

/// Runs the program beside the test's own runtime.
async fn run(stage: &Stage, arguments: &[&str], more: &[(&str, &str)]) -> Output {
    let own = |text: &&str| (*text).to_owned();
    let url = stage.database.url();
    let arguments: Vec<String> = arguments.iter().map(own).collect();
    let more: Vec<(String, String)> = more.iter().map(|(k, v)| (own(k), own(v))).collect();
    tokio::task::spawn_blocking(move || {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut environment =
            vec![("DATABASE_URL", url.as_str()), ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET)];
        environment.extend(more.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        onceover(&arguments, &environment, "")
    })
    .await
    .unwrap()
}

#[track_caller]
fn says(output: &Output, words: &[&str]) {
    let (out, told) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out} {told}");
    assert!(words.iter().all(|word| out.contains(word)), "{out}");
}

#[tokio::test]
async fn the_command_line_checks_anchors_and_compares() {
    let stage = Stage::open().await;
    let file = std::env::temp_dir().join(format!("onceover-heads-{}", std::process::id()));
    let path = file.to_str().unwrap();
    let place = [("ONCEOVER_AUDIT_ANCHOR_FILE", path)];
    says(&run(&stage, &["audit", "verify"], &[]).await, &["acme: whole, rows ", "globex: whole, "]);
    refuses(&run(&stage, &["audit", "anchor"], &[]).await, "no place is configured");
    says(&run(&stage, &["audit", "anchor"], &place).await, &["2 heads anchored"]);
    says(&run(&stage, &["audit", "anchor"], &place).await, &["2 heads anchored"]);
    let against = ["audit", "verify", "--against", path];
    says(&run(&stage, &against, &[]).await, &["4 anchored heads compared"]);
    refuses(
        &run(&stage, &["audit", "verify", "--tenant", "nobody"], &[]).await,
        "no tenant nobody",
    );

    let rewrite = "set session_replication_role = replica;
        with acme as (select id from tenants where slug = 'acme')
          delete from audit where tenant_id in (select id from acme) and seq > 3;
        update audit_heads h set seq = 3, hash = a.hash from audit a, tenants t
          where t.slug = 'acme' and h.tenant_id = t.id and a.tenant_id = t.id and a.seq = 3;
        set session_replication_role = origin";
    stage.database.owner_pool().execute(rewrite).await.unwrap();
    says(&run(&stage, &["audit", "verify"], &[]).await, &["acme: whole, rows 3, seq 3"]);
    let seen = run(&stage, &against, &[]).await;
    refuses(&seen, "acme: entry ");
    refuses(&seen, "which was anchored, is missing");
    let globex = ["audit", "verify", "--tenant", "globex", "--against", path];
    says(&run(&stage, &globex, &[]).await, &["globex: whole", "2 anchored heads compared"]);

    let edit = "set session_replication_role = replica; update audit set actor = 'x' where seq = 2;
        set session_replication_role = origin";
    stage.database.owner_pool().execute(edit).await.unwrap();
    let broken = run(&stage, &["audit", "verify"], &[]).await;
    for sentence in ["acme: entry 2 was altered", "globex: entry 2 was altered"] {
        refuses(&broken, sentence);
    }
    std::fs::write(&file, "{}\n").unwrap();
    refuses(&run(&stage, &against, &[]).await, "line 1 is no head");
    std::fs::remove_file(&file).unwrap();
    let unknown = [("ONCEOVER_AUDIT_ANCHOR_DESTINATION", "nowhere")];
    refuses(
        &run(&stage, &["audit", "anchor"], &unknown).await,
        "ONCEOVER_AUDIT_ANCHOR_DESTINATION",
    );
}
