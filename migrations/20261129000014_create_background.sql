-- What the background does, for people to see. Processes and tasks belong to no tenant.

create table workers (
  name text collate "C" primary key,
  started_at timestamptz not null default onceover_now(),
  seen_at timestamptz not null default onceover_now(),
  -- Told to stop: ends its running calls, takes nothing new.
  draining boolean not null default false,
  stopped_at timestamptz,
  -- Calls under way.
  busy integer not null default 0,
  kinds text[] not null default '{}',
  program_version text not null
);
create index workers_by_beat on workers (seen_at);

create table task_status (
  worker text collate "C" not null,
  task text collate "C" not null,
  last_run_at timestamptz not null default onceover_now(),
  took_ms integer not null,
  -- Rows of the last run.
  handled integer not null,
  -- Rows that wait, counted up to a bound, and since when the oldest does.
  backlog integer,
  backlog_is_more boolean not null default false,
  oldest_at timestamptz,
  last_error text check (char_length(last_error) <= 2000),
  failures integer not null default 0,
  primary key (task, worker)
);

-- Incidents may be about more than an operation, and are closed by a person at a version.
alter table incidents
  add column version bigint not null default 1,
  add column workflow_id uuid,
  add column compensation_id uuid,
  add column event_id uuid,
  add column message_id uuid;
create index incidents_of_workflow on incidents (tenant_id, workflow_id) where workflow_id is not null;

-- O29: a tombstone may go where its kind's policy says so, and never one of money or a publication.
create function operations_check_purge() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if old.tombstoned_at is null or not exists (select from operation_kinds k
      where k.tenant_id = old.tenant_id and k.name = old.operation
        and not k.money and not k.publication and old.amount_minor is null
        and k.purge_after_ms is not null
        and old.tombstoned_at + make_interval(secs => k.purge_after_ms / 1000.0) < onceover_now()) then
    raise exception 'an operation is removed only as a tombstone whose kind allows it'
      using errcode = 'check_violation', constraint = 'append_only';
  end if;
  return old;
end
$$;
drop trigger operations_keep on operations;
create trigger operations_keep before delete on operations
  for each row execute function operations_check_purge();
create index operations_to_purge on operations (tombstoned_at) where tombstoned_at is not null;
