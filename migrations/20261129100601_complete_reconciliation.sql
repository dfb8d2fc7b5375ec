-- Reconciliation, incidents and lifetimes, complete (D13, D14, D38, D39; O15 to O20, O27, O29).

-- Asking by sending again (D13). The key's age at the provider counts from the first call begun;
-- started_at is the last one's.
alter table operations
  add column first_started_at timestamptz,
  -- How the next question is put: by lookup, or by the same request under the same key.
  add column ask_by text not null default 'lookup' check (ask_by in ('lookup', 'resend')),
  -- When it was last sent again to ask, and how often. No attempt: it may not count as one.
  add column resent_at timestamptz,
  add column resends integer not null default 0;

alter table operations disable trigger user;
update operations o set first_started_at = (select min(e.at) from operation_events e
  where e.tenant_id = o.tenant_id and e.operation_id = o.id and e.move = 'O2')
where o.attempt > 0;
alter table operations enable trigger user;

-- Fires before operations_check_move, which empties the column move: triggers go by their names.
create function operations_call_ages() returns trigger language plpgsql as $$
begin
  new.first_started_at := coalesce(old.first_started_at, case when new.attempt > old.attempt then new.started_at end);
  if (new.resent_at, new.resends) is distinct from (old.resent_at, old.resends)
     and (new.move is distinct from 'O15' or new.resends <> old.resends + 1
       or new.resent_at is null or old.first_started_at is null) then
    raise exception 'an operation is sent again to ask only by a reconciler''s turn, once each'
      using errcode = 'check_violation', constraint = 'operation_moves';
  end if;
  return new;
end
$$;
create trigger operations_call_ages before update on operations
  for each row execute function operations_call_ages();

-- Kind by kind, so that the rows of one provider are never read past for those of another.
drop index operations_to_reconcile;
create index operations_to_reconcile on operations (tenant_id, operation, next_reconcile_at)
  where status = 'unknown' and not needs_manual;

-- One open incident per cause and per what it is about.
alter table incidents
  add column subject uuid generated always as
    (coalesce(operation_id, compensation_id, workflow_id, event_id, message_id)) stored,
  add constraint incidents_are_about_something check (subject is not null),
  add constraint incidents_closed_by_somebody
    check ((closed_at is null) = (closed_by is null) and (closed_at is null) = (reason is null));
drop index incidents_open_once;
create unique index incidents_open_once on incidents (tenant_id, subject, cause) where closed_at is null;

-- An incident changes once: when a person closes it. Only a closed one goes, with its operation.
create function incidents_check_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if old.closed_at is null then
      raise exception 'an open incident stays'
        using errcode = 'check_violation', constraint = 'append_only';
    end if;
    return old;
  end if;
  if old.closed_at is not null or new.closed_at is null or new.version <> old.version + 1
     or (new.tenant_id, new.id, new.operation_id, new.workflow_id, new.compensation_id, new.event_id, new.message_id,
         new.cause, new.summary, new.opened_at)
       is distinct from
        (old.tenant_id, old.id, old.operation_id, old.workflow_id, old.compensation_id, old.event_id, old.message_id,
         old.cause, old.summary, old.opened_at) then
    raise exception 'an incident changes only by being closed, once'
      using errcode = 'check_violation', constraint = 'append_only';
  end if;
  return new;
end
$$;
create trigger incidents_check_change before update or delete on incidents
  for each row execute function incidents_check_change();

-- Expiry walks by (expires_at, id); what is pointed at is stepped over.
drop index operations_to_expire;
create index operations_to_expire on operations (expires_at, id)
  where tombstoned_at is null and expires_at is not null;

-- Purging reads the kinds whose policy allows it, one by one: tombstones that never go are not read.
drop index operations_to_purge;
create index operations_to_purge on operations (tenant_id, operation, tombstoned_at, id)
  where tombstoned_at is not null and amount_minor is null and workflow_id is null;

-- The timeline stays and says that the row was removed (O29).
create function operations_tell_purge() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into operation_events
    (tenant_id, operation_id, move, from_status, to_status, version, fence, attempt, actor_kind, actor, detail)
  values
    (old.tenant_id, old.id, 'O29', old.status, old.status, old.version, old.fence, old.attempt,
     'janitor', coalesce(nullif(current_setting('application_name', true), ''), session_user), null);
  return null;
end
$$;
create trigger operations_tell_purge after delete on operations
  for each row execute function operations_tell_purge();

create policy engine_all on operation_takes to onceover_engine using (true) with check (true);
grant select, delete on operation_takes to onceover_engine;
grant delete on notes to onceover_engine;

create index task_status_by_age on task_status (last_run_at);
