//! Of what is read with a bound the newest is read, and that there is older is said: what came last may
//! contradict all before it.

use domain::access::Role;

use crate::fixture::Fixture;

#[tokio::test]
async fn of_more_evidence_and_notes_than_are_read_the_newest_are_told_and_that_there_are_older() {
    let fixture = Fixture::new().await;
    let (id, _) = fixture.executing("k").await;
    let viewer = fixture.person("vic", Role::Viewer).await;
    let add = async |statement: &'static str, from: i32, to: i32| {
        sqlx::query(statement)
            .bind(id.uuid())
            .bind(from)
            .bind(to)
            .execute(fixture.pool())
            .await
            .unwrap();
    };
    let evidence = "insert into evidence (tenant_id, id, operation_id, source, says, text, actor_kind, actor)
         select o.tenant_id, ('01937000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, o.id, 'staff',
           'statement', 'evidence ' || n, 'staff', 'vic'
         from operations o, generate_series($2, $3) n where o.id = $1";
    let notes = "insert into notes (tenant_id, id, operation_id, staff_id, author, form_key, text)
         select o.tenant_id, ('01937000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, o.id, s.id, 'vic',
           'k-' || n, 'note ' || n
         from operations o, (select id from staff limit 1) s, generate_series($2, $3) n where o.id = $1";
    add(evidence, 1, 200).await;
    add(notes, 1, 500).await;
    let page = fixture.engine.operation(&viewer, id).await.unwrap();
    assert!(!page.evidence_older && !page.notes_older, "at the bound it is all of it");
    assert_eq!((page.evidence.len(), page.notes.len()), (200, 500));

    add(evidence, 201, 201).await;
    add(notes, 501, 501).await;
    let page = fixture.engine.operation(&viewer, id).await.unwrap();
    assert!(page.evidence_older && page.notes_older);
    let said: Vec<_> = page.evidence.iter().map(|one| one.text.as_deref().unwrap()).collect();
    assert_eq!((said.len(), said[0], said[199]), (200, "evidence 2", "evidence 201"));
    let said: Vec<_> = page.notes.iter().map(|one| one.text.as_str()).collect();
    assert_eq!((said.len(), said[0], said[499]), (500, "note 2", "note 501"));
}
