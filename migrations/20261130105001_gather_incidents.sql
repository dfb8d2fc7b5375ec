-- Records that people gather into an incident, and incidents that people open themselves.

-- An incident of the engine is filed under what it is about, so that one finding opens one. A person's
-- is filed under itself: two people may open one each about the same record.
alter table incidents
  add column opened_by text,
  add column opened_reason text check (char_length(opened_reason) <= 2000),
  drop constraint incidents_are_about_something,
  drop column subject;
alter table incidents
  add column subject uuid not null generated always as
    (coalesce(operation_id, compensation_id, workflow_id, event_id, message_id, id)) stored,
  add constraint incidents_are_about_something check (opened_by is not null
    or coalesce(operation_id, compensation_id, workflow_id, event_id, message_id) is not null),
  add constraint incidents_opened_by_somebody check ((opened_by is null) = (opened_reason is null));
create unique index incidents_open_once on incidents (tenant_id, subject, cause) where closed_at is null;
create index incidents_by_subject on incidents (tenant_id, subject);

-- The words are those of decisions and of the audit log.
create table incident_records (
  tenant_id uuid not null,
  incident_id uuid not null,
  target_type text not null check (target_type in ('operation', 'workflow', 'compensation', 'outbox',
    'inbox', 'conflict', 'approval')),
  target_id uuid not null,
  added_by text not null,
  added_at timestamptz not null default onceover_now(),
  -- In the order in which they were gathered.
  place bigint generated always as identity,
  primary key (tenant_id, incident_id, target_type, target_id),
  foreign key (tenant_id, incident_id) references incidents (tenant_id, id) on delete cascade
);
create index incident_records_in_order on incident_records (tenant_id, incident_id, place);
create index incident_records_of on incident_records (tenant_id, target_id);

alter table incident_records enable row level security;
alter table incident_records force row level security;
do $$
begin
  execute format('create policy owner_all on incident_records to %I using (true) with check (true)', current_user);
end
$$;
create policy engine_reads on incident_records for select to onceover_engine using (true);
create policy app_tenant on incident_records to onceover_app using (tenant_id = (select onceover_tenant()))
  with check (tenant_id = (select onceover_tenant()));
grant select, insert, delete on incident_records to onceover_app;
grant select on incident_records to onceover_engine;

-- What a closed incident is about stays as it was closed. With the incident itself it goes.
create function incident_records_check_change() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  r incident_records := case when tg_op = 'DELETE' then old else new end;
begin
  if exists (select from incidents i
      where i.tenant_id = r.tenant_id and i.id = r.incident_id and i.closed_at is not null) then
    raise exception 'the records of a closed incident stay as they are'
      using errcode = 'check_violation', constraint = 'append_only';
  end if;
  return r;
end
$$;
create trigger incident_records_check_change before insert or delete on incident_records
  for each row execute function incident_records_check_change();
create trigger incident_records_keep before update on incident_records
  for each row execute function onceover_refuse();
create trigger incident_records_keep_all before truncate on incident_records
  for each statement execute function onceover_refuse();

-- An open incident moves its version with what is gathered into it, and closes once. What it says of
-- itself never changes.
create or replace function incidents_check_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if old.closed_at is null then
      raise exception 'an open incident stays'
        using errcode = 'check_violation', constraint = 'append_only';
    end if;
    return old;
  end if;
  if old.closed_at is not null or new.version <> old.version + 1
     or (new.tenant_id, new.id, new.operation_id, new.workflow_id, new.compensation_id, new.event_id, new.message_id,
         new.cause, new.summary, new.opened_at, new.opened_by, new.opened_reason)
       is distinct from
        (old.tenant_id, old.id, old.operation_id, old.workflow_id, old.compensation_id, old.event_id, old.message_id,
         old.cause, old.summary, old.opened_at, old.opened_by, old.opened_reason) then
    raise exception 'an incident changes by what is gathered into it, and is closed once'
      using errcode = 'check_violation', constraint = 'append_only';
  end if;
  return new;
end
$$;

-- What an open incident is about keeps its contents, whoever gathered it (O27).
create or replace function operation_is_pointed_at(p_tenant uuid, p_operation uuid, p_workflow uuid) returns boolean
  language sql stable
  as $$
    select exists (select from incidents i
        where i.tenant_id = p_tenant and i.operation_id = p_operation and i.closed_at is null)
      or exists (select from incident_records r
        join incidents i on i.tenant_id = r.tenant_id and i.id = r.incident_id
        where r.tenant_id = p_tenant and r.target_type = 'operation' and r.target_id = p_operation
          and i.closed_at is null)
      or exists (select from outbox b
        where b.tenant_id = p_tenant and b.operation_id = p_operation and b.status not in ('published', 'skipped'))
      or exists (select from compensations c
        where c.tenant_id = p_tenant and c.operation_id = p_operation
          and c.status in ('requested', 'waiting_forward', 'running', 'failed'))
      or exists (select from compensations c
        where c.tenant_id = p_tenant and c.undo_id = p_operation
          and c.status in ('requested', 'waiting_forward', 'running', 'failed'))
      or exists (select from approvals a
        where a.tenant_id = p_tenant and a.target_type = 'operation' and a.target_id = p_operation::text
          and a.status = 'pending')
      or (p_workflow is not null and exists (select from workflows w
        where w.tenant_id = p_tenant and w.id = p_workflow and w.completed_at is null))
  $$;
