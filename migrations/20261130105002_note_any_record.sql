-- Notes on more than operations.
alter table notes
  alter column operation_id drop not null,
  add column target_type text not null default 'operation'
    check (target_type in ('operation', 'workflow', 'outbox', 'inbox', 'conflict', 'incident')),
  -- The record, where it is no operation.
  add column other_id uuid,
  add constraint notes_on_one_record check (
    (target_type = 'operation') = (operation_id is not null) and (operation_id is null) = (other_id is not null));
create index notes_of_other on notes (tenant_id, other_id, id) where other_id is not null;

-- A note goes with its record: a sweep takes rows by the thousand, so this asks once a statement.
create function notes_go_with_their_record() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  delete from notes n using gone g where n.tenant_id = g.tenant_id and n.other_id = g.id;
  return null;
end
$$;
create trigger outbox_takes_its_notes after delete on outbox
  referencing old table as gone for each statement execute function notes_go_with_their_record();
create trigger inbox_takes_its_notes after delete on inbox
  referencing old table as gone for each statement execute function notes_go_with_their_record();
create trigger payload_conflicts_takes_its_notes after delete on payload_conflicts
  referencing old table as gone for each statement execute function notes_go_with_their_record();
create trigger incidents_takes_its_notes after delete on incidents
  referencing old table as gone for each statement execute function notes_go_with_their_record();
