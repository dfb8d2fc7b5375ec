-- Messages from others, each taken in once (D29, N1 to N6).

-- What a consumer promises; a consumer without a row has the defaults.
create table inbox_consumers (
  tenant_id uuid not null references tenants,
  name text collate "C" not null check (char_length(name) between 1 and 128),
  -- At least as long as the longest redelivery: of the broker, of a person from a dead letter queue,
  -- of a restored backup.
  window_ms bigint not null default 604800000 check (window_ms between 1000 and 31536000000),
  -- Failed deliveries before a message is dead.
  max_failures integer not null default 5 check (max_failures between 1 and 100),
  -- From the end of the window to the purge of the bare id; null keeps it.
  retention_ms bigint check (retention_ms > 0),
  primary key (tenant_id, name)
);

create table inbox (
  tenant_id uuid not null,
  id uuid not null default onceover_uuid7(),
  consumer text collate "C" not null check (char_length(consumer) between 1 and 128),
  source text collate "C" not null check (char_length(source) between 1 and 256),
  message_id text collate "C" not null check (char_length(message_id) between 1 and 512),
  hash bytea not null check (octet_length(hash) = 32),
  hash_version smallint not null,
  status text not null check (status in ('processing', 'processed', 'quarantined', 'dead', 'dropped')),
  version bigint not null default 1,
  produced_at timestamptz not null,
  received_at timestamptz not null default onceover_now(),
  -- The end of its window, as its consumer's policy stood when it came (N6).
  window_until timestamptz not null,
  -- As sent; null once its window has passed (N6).
  payload bytea,
  -- What to start with it, in the bytes asked for: a person may run it later (N5). Goes with the
  -- payload.
  effect bytea,
  -- What it did.
  operation_id uuid,
  workflow_id uuid,
  deliveries integer not null default 1,
  last_delivery_at timestamptz not null default onceover_now(),
  failures integer not null default 0,
  last_error text check (char_length(last_error) <= 2000),
  settled_at timestamptz,
  shrunk_at timestamptz,
  move text,
  move_actor_kind text,
  move_actor text,
  move_detail jsonb,
  primary key (tenant_id, id),
  constraint inbox_once unique (tenant_id, consumer, source, message_id),
  constraint inbox_settled check ((status in ('processed', 'dropped')) = (settled_at is not null)),
  constraint inbox_shrunk check (shrunk_at is null
    or (settled_at is not null and payload is null and effect is null and last_error is null))
);
create index inbox_by_status on inbox (tenant_id, status, id);
create index inbox_by_message on inbox (tenant_id, message_id);
create index inbox_of_operation on inbox (tenant_id, operation_id) where operation_id is not null;
create index inbox_needs_person on inbox (tenant_id, id) where status in ('dead', 'quarantined');
create index inbox_of_consumer on inbox (tenant_id, consumer, id);
create index inbox_of_source on inbox (tenant_id, source, id);
create index inbox_to_shrink on inbox (window_until) where shrunk_at is null and status in ('processed', 'dropped');
create index inbox_to_purge on inbox (tenant_id, consumer, window_until) where shrunk_at is not null;

-- After the insert, not before: a delivery that finds its message on record (on conflict do nothing)
-- would leave a timeline row of a message that never was. So the row keeps the rule of its insert
-- until its first move; no rule of an insert permits another.
create function inbox_tell_insert() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if new.version <> 1 or not exists (select from machine_moves m where m.machine = 'inbox'
      and m.rule = new.move and m.from_status = '' and m.to_status = new.status) then
    raise exception 'inbox % to % is not in the table of moves', coalesce(new.move, 'without a rule'), new.status
      using errcode = 'check_violation', constraint = 'machine_moves';
  end if;
  insert into machine_events
    (tenant_id, machine, record_id, rule, to_status, version, actor_kind, actor, detail)
  values
    (new.tenant_id, 'inbox', new.id, new.move, new.status, new.version,
     coalesce(new.move_actor_kind, 'database'), coalesce(new.move_actor, session_user), new.move_detail);
  return null;
end
$$;
create trigger inbox_tell_insert after insert on inbox
  for each row execute function inbox_tell_insert();
-- Another delivery of the same message is counted and moves nothing.
create trigger inbox_check_change before update on inbox
  for each row when (new.move is distinct from old.move or new.status is distinct from old.status
    or new.version is distinct from old.version or new.payload is distinct from old.payload
    or new.hash is distinct from old.hash or new.message_id is distinct from old.message_id)
  execute function machine_check_move('inbox', 'told', 'N6',
    'tenant_id,id,consumer,source,message_id,hash,hash_version,produced_at,received_at,window_until');
-- What was asked for goes at the end of its window and never changes before.
create trigger inbox_keep_effect before update on inbox
  for each row when (new.effect is distinct from old.effect and new.shrunk_at is null)
  execute function onceover_refuse();

-- N6: even the bare id goes only where its consumer's policy says so, and past every horizon: the
-- window as it was, the window as it is now, and the time kept after them.
create function inbox_check_purge() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if old.shrunk_at is null or not exists (select from inbox_consumers c
      where c.tenant_id = old.tenant_id and c.name = old.consumer and c.retention_ms is not null
        and greatest(old.window_until, old.produced_at + c.window_ms * interval '1 ms')
          + c.retention_ms * interval '1 ms' < onceover_now()) then
    raise exception 'a message is removed only past the furthest horizon of its consumer'
      using errcode = 'check_violation', constraint = 'append_only';
  end if;
  return old;
end
$$;
create trigger inbox_check_purge before delete on inbox
  for each row execute function inbox_check_purge();
create trigger inbox_keep_all before truncate on inbox
  for each statement execute function onceover_refuse();

-- Failed deliveries of messages that left no row: each was rolled back (N3).
create table inbox_failures (
  tenant_id uuid not null,
  consumer text collate "C" not null,
  source text collate "C" not null,
  message_id text collate "C" not null,
  failures integer not null default 1,
  last_error text check (char_length(last_error) <= 2000),
  first_at timestamptz not null default onceover_now(),
  last_at timestamptz not null default onceover_now(),
  primary key (tenant_id, consumer, source, message_id)
);
create index inbox_failures_to_forget on inbox_failures (last_at);

-- The same message id with another payload: 422 message_reused, and kept.
create table inbox_conflicts (
  tenant_id uuid not null,
  inbox_id uuid not null,
  -- Empty where the bound of 20 hashes per message was reached: counted only.
  hash bytea not null,
  count bigint not null default 1,
  first_at timestamptz not null default onceover_now(),
  last_at timestamptz not null default onceover_now(),
  payload bytea,
  payload_cut boolean not null default false,
  primary key (tenant_id, inbox_id, hash),
  foreign key (tenant_id, inbox_id) references inbox (tenant_id, id) on delete cascade
);
