-- Operations, their leases and their timeline, and the table of legal moves.

-- Section O of docs/operations.md, word for word the same as MOVES in domain/src/operation.rs; a
-- test compares the two. from_status '' is the insert.
create table operation_moves (
  move text not null,
  from_status text not null,
  to_status text not null,
  version_step smallint not null,
  fence_step smallint not null,
  manual text not null check (manual in ('keep', 'set', 'clear')),
  primary key (move, from_status)
);

insert into operation_moves (move, from_status, to_status, version_step, fence_step, manual) values
  ('O1',  '',                 'reserved',         1, 1, 'keep'),
  ('O35', '',                 'succeeded',        1, 1, 'keep'),
  ('O2',  'reserved',         'executing',        1, 0, 'keep'),
  ('O3',  'reserved',         'failed_terminal',  1, 1, 'keep'),
  ('O4',  'reserved',         'reserved',         1, 1, 'keep'),
  ('O4b', 'reserved',         'failed_terminal',  1, 1, 'keep'),
  ('O6',  'executing',        'succeeded',        1, 0, 'keep'),
  ('O7',  'executing',        'failed_terminal',  1, 0, 'keep'),
  ('O8',  'executing',        'failed_retryable', 1, 0, 'keep'),
  ('O9',  'executing',        'failed_terminal',  1, 0, 'keep'),
  ('O10', 'executing',        'unknown',          1, 0, 'keep'),
  ('O11', 'executing',        'unknown',          1, 1, 'keep'),
  ('O12', 'executing',        'unknown',          1, 1, 'keep'),
  ('O31', 'reserved',         'reserved',         1, 1, 'keep'),
  ('O13', 'failed_retryable', 'reserved',         1, 1, 'keep'),
  ('O14', 'failed_retryable', 'failed_terminal',  1, 0, 'keep'),
  ('O15', 'unknown',          'unknown',          0, 1, 'keep'),
  ('O16', 'unknown',          'succeeded',        1, 0, 'clear'),
  ('O17', 'unknown',          'failed_terminal',  1, 0, 'clear'),
  ('O18', 'unknown',          'failed_retryable', 1, 0, 'clear'),
  ('O19', 'unknown',          'unknown',          0, 0, 'keep'),
  ('O20', 'unknown',          'unknown',          1, 0, 'set'),
  ('O21', 'unknown',          'succeeded',        1, 1, 'clear'),
  ('O22', 'unknown',          'failed_retryable', 1, 1, 'clear'),
  ('O23', 'unknown',          'failed_terminal',  1, 1, 'clear'),
  ('O24', 'reserved',         'reserved',         1, 0, 'keep'),
  ('O24', 'executing',        'executing',        1, 0, 'keep'),
  ('O24', 'unknown',          'unknown',          1, 0, 'clear'),
  ('O25', 'succeeded',        'succeeded',        0, 0, 'keep'),
  ('O25', 'failed_terminal',  'failed_terminal',  0, 0, 'keep'),
  ('O26', 'succeeded',        'succeeded',        1, 0, 'keep'),
  ('O26', 'failed_terminal',  'failed_terminal',  1, 0, 'keep'),
  ('O27', 'succeeded',        'succeeded',        1, 0, 'keep'),
  ('O27', 'failed_terminal',  'failed_terminal',  1, 0, 'keep'),
  ('O28', 'succeeded',        'succeeded',        0, 0, 'keep'),
  ('O28', 'failed_terminal',  'failed_terminal',  0, 0, 'keep'),
  ('O30', 'failed_retryable', 'unknown',          1, 1, 'keep'),
  ('O30', 'reserved',         'unknown',          1, 1, 'keep'),
  ('O32', 'unknown',          'unknown',          1, 0, 'clear'),
  ('O33', 'failed_retryable', 'failed_retryable', 1, 0, 'keep'),
  ('O34', 'unknown',          'failed_retryable', 1, 0, 'clear'),
  ('OE',  'reserved',         'unknown',          1, 1, 'set'),
  ('OE',  'executing',        'unknown',          1, 1, 'set'),
  ('OE',  'failed_retryable', 'unknown',          1, 1, 'set'),
  ('OE',  'unknown',          'unknown',          1, 1, 'set');

create table operations (
  tenant_id uuid not null,
  id uuid not null default onceover_uuid7(),
  operation text collate "C" not null check (char_length(operation) between 1 and 128),
  key text collate "C" not null check (char_length(key) between 1 and 512),
  hash bytea not null check (octet_length(hash) = 32),
  hash_version smallint not null,
  status text not null
    check (status in ('reserved', 'executing', 'succeeded', 'failed_retryable', 'failed_terminal', 'unknown')),
  -- Moves with all that a person can see; actions name it.
  version bigint not null default 1,
  -- Moves with ownership; every write of a holder must carry it (D16). Stands in leases too.
  fence bigint not null default 1,
  -- A decision of a person (O35): in no list, counter or claim.
  console boolean not null generated always as (operation like 'console.%') stored,
  mode text not null default 'inline' check (mode in ('inline', 'queued')),
  amount_minor bigint,
  currency text check (currency ~ '^[A-Z]{3}$'),
  -- The bytes as sent; null once expired.
  payload bytea,
  workflow_id uuid,
  step_key text collate "C",
  -- The provider's own name for the effect.
  external_reference text collate "C",
  -- Calls begun, and calls allowed.
  attempt integer not null default 0,
  max_attempts integer not null,
  -- Claims without a start, and leases lost during a call (D21).
  claims integer not null default 0,
  takeovers integer not null default 0,
  started_at timestamptz,
  next_at timestamptz,
  -- A person must decide: machines have given up (O20).
  needs_manual boolean not null default false,
  unknown_since timestamptz,
  unknown_by text,
  next_reconcile_at timestamptz,
  reconcile_tries integer not null default 0,
  -- "Not found" answers so far, and since when (D14: two, a settle window apart).
  absent_answers integer not null default 0,
  absent_since timestamptz,
  ended_by text,
  failure_code text,
  -- The stored answer, replayed byte for byte (D06).
  response_status integer check (response_status between 100 and 599),
  response_type text,
  response_body bytea,
  response_cut boolean not null default false,
  created_by_kind text not null,
  created_by text not null,
  created_at timestamptz not null default onceover_now(),
  updated_at timestamptz not null default onceover_now(),
  completed_at timestamptz,
  expires_at timestamptz,
  tombstoned_at timestamptz,
  -- An update says here which move it makes and who makes it; the trigger checks, writes the
  -- timeline and empties the four again.
  move text,
  move_actor_kind text,
  move_actor text,
  move_detail jsonb,
  primary key (tenant_id, id),
  constraint operations_key_uniq unique (tenant_id, operation, key),
  constraint operations_amount_with_currency check ((amount_minor is null) = (currency is null)),
  constraint operations_manual_is_unknown check (not needs_manual or status = 'unknown'),
  constraint operations_final_is_completed
    check ((status in ('succeeded', 'failed_terminal')) = (completed_at is not null)),
  constraint operations_tombstone_is_final check (tombstoned_at is null or completed_at is not null)
) with (fillfactor = 80);

-- Lists: newest first, alone and by state or kind.
create index operations_by_age on operations (tenant_id, id) where not console;
create index operations_by_status on operations (tenant_id, status, id) where not console;
create index operations_by_kind on operations (tenant_id, operation, id) where not console;
create index operations_tombstones on operations (tenant_id, id) where tombstoned_at is not null;
-- Search: exact or by prefix.
create index operations_by_key on operations (tenant_id, key) where not console;
create index operations_by_reference on operations (tenant_id, external_reference)
  where external_reference is not null and not console;
create index operations_by_amount on operations (tenant_id, currency, amount_minor, id)
  where amount_minor is not null and not console;
-- What needs a person.
create index operations_need_person on operations (tenant_id, unknown_since) where needs_manual;
create index operations_need_person_by_age on operations (tenant_id, id) where needs_manual;
-- Sweeps, over all tenants.
create index operations_claimable on operations (tenant_id, operation, id) where status = 'reserved';
create index operations_to_retry on operations (tenant_id, operation, next_at)
  where status = 'failed_retryable';
create index operations_to_reconcile on operations (next_reconcile_at)
  where status = 'unknown' and not needs_manual;
create index operations_to_expire on operations (expires_at)
  where tombstoned_at is null and expires_at is not null;

-- Who holds what now. A row stands here only while an operation is held: the sweeps read a small
-- table, and a beat touches nothing else. Locks are taken in the order operations, leases. No
-- foreign key: operations are never deleted, and this is the hottest insert there is.
create table leases (
  tenant_id uuid not null,
  operation_id uuid not null,
  fence bigint not null,
  owner text not null,
  granted_at timestamptz not null default onceover_now(),
  beat_at timestamptz not null default onceover_now(),
  lease_until timestamptz not null,
  primary key (tenant_id, operation_id)
) with (fillfactor = 50);

-- The timeline: one row per move, written by the trigger, never changed.
create table operation_events (
  tenant_id uuid not null,
  operation_id uuid not null,
  id bigint generated always as identity,
  at timestamptz not null default onceover_now(),
  move text not null,
  from_status text,
  to_status text not null,
  version bigint not null,
  fence bigint not null,
  attempt integer not null,
  actor_kind text not null,
  actor text not null,
  detail jsonb,
  primary key (tenant_id, operation_id, id)
);

create function operations_check_insert() returns trigger language plpgsql as $$
declare
  rule operation_moves;
begin
  select * into rule from operation_moves m
    where m.from_status = '' and m.move = case when new.operation like 'console.%' then 'O35' else 'O1' end;
  if new.status <> rule.to_status or new.version <> 1 or new.fence <> 1 or new.attempt <> 0
     or new.needs_manual or new.tombstoned_at is not null then
    raise exception 'an operation begins as % at version 1, fence 1, attempt 0', rule.to_status
      using errcode = 'check_violation', constraint = 'operation_moves';
  end if;
  new.move := null;
  new.move_actor_kind := null;
  new.move_actor := null;
  return new;
end
$$;

-- After, not before: an insert that gives way to a rival (on conflict do nothing) fires the
-- trigger before it knows.
create function operations_tell_insert() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into operation_events
    (tenant_id, operation_id, move, from_status, to_status, version, fence, attempt, actor_kind, actor, detail)
  values
    (new.tenant_id, new.id, case when new.console then 'O35' else 'O1' end, null, new.status, new.version,
     new.fence, new.attempt, new.created_by_kind, new.created_by, null);
  return null;
end
$$;

-- Runs as its owner: nobody else may write the timeline.
create function operations_check_move() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  rule operation_moves;
  t timestamptz := onceover_now();
begin
  if new.move is null then
    raise exception 'an operation changes only by a move: name the rule in the column move'
      using errcode = 'check_violation', constraint = 'operation_moves';
  end if;
  select * into rule from operation_moves m where m.move = new.move and m.from_status = old.status;
  if not found or rule.to_status <> new.status then
    raise exception 'move % from % to % is not in the table of moves', new.move, old.status, new.status
      using errcode = 'check_violation', constraint = 'operation_moves';
  end if;
  if old.tombstoned_at is not null and new.move not in ('O25', 'O26', 'O28') then
    raise exception 'a tombstone does not move'
      using errcode = 'check_violation', constraint = 'operation_moves';
  end if;
  if new.version <> old.version + rule.version_step
     or new.fence <> old.fence + rule.fence_step
     or new.attempt <> old.attempt + (new.move = 'O2')::int
     or new.takeovers <> old.takeovers + (new.move = 'O11')::int
     or new.max_attempts <> old.max_attempts + (new.move in ('O22', 'O33'))::int
     or (new.tombstoned_at is not null) <> (old.tombstoned_at is not null or new.move = 'O27') then
    raise exception 'move % grows version, fence or counters otherwise than the table of moves says', new.move
      using errcode = 'check_violation', constraint = 'operation_moves';
  end if;
  if new.needs_manual <> (case rule.manual when 'set' then true when 'clear' then false else old.needs_manual end) then
    raise exception 'move % does not change needs_manual that way', new.move
      using errcode = 'check_violation', constraint = 'operation_moves';
  end if;
  if (new.tenant_id, new.id, new.operation, new.key, new.hash, new.hash_version, new.created_at, new.created_by)
       is distinct from
     (old.tenant_id, old.id, old.operation, old.key, old.hash, old.hash_version, old.created_at, old.created_by)
     or (new.amount_minor, new.currency) is distinct from (old.amount_minor, old.currency)
     or (new.move <> 'O27' and new.payload is distinct from old.payload)
     -- Final is final: how it ended, its reference and the answer that is replayed stay (I7, I17).
     or (old.completed_at is not null and (
       (new.external_reference, new.completed_at, new.ended_by, new.failure_code)
         is distinct from (old.external_reference, old.completed_at, old.ended_by, old.failure_code)
       or (new.move <> 'O27' and (new.response_status, new.response_type, new.response_body, new.response_cut)
         is distinct from (old.response_status, old.response_type, old.response_body, old.response_cut))
       or (new.move = 'O27' and (new.response_body is not null or new.payload is not null)))) then
    raise exception 'move % changes what an operation is about', new.move
      using errcode = 'check_violation', constraint = 'operation_moves';
  end if;

  if rule.version_step = 1 then
    new.updated_at := t;
  end if;
  if new.status = 'unknown' and (old.status <> 'unknown' or new.move = 'OE') then
    new.unknown_by := new.move;
    new.unknown_since := coalesce(case when old.status = 'unknown' then old.unknown_since end, t);
  end if;
  if new.status in ('succeeded', 'failed_terminal') and old.completed_at is null then
    new.ended_by := new.move;
    new.completed_at := t;
  end if;

  insert into operation_events
    (tenant_id, operation_id, at, move, from_status, to_status, version, fence, attempt, actor_kind, actor, detail)
  values
    (new.tenant_id, new.id, t, new.move, old.status, new.status, new.version, new.fence, new.attempt,
     coalesce(new.move_actor_kind, 'database'), coalesce(new.move_actor, session_user), new.move_detail);
  new.move := null;
  new.move_actor_kind := null;
  new.move_actor := null;
  new.move_detail := null;
  return new;
end
$$;

-- Rows are never deleted: the unique key keeps guarding (D23, D39).
create function onceover_refuse() returns trigger language plpgsql as $$
begin
  raise exception '% of % is not allowed', tg_op, tg_table_name
    using errcode = 'check_violation', constraint = 'append_only';
end
$$;

create trigger operations_check_insert before insert on operations
  for each row execute function operations_check_insert();
create trigger operations_tell_insert after insert on operations
  for each row execute function operations_tell_insert();
create trigger operations_check_move before update on operations
  for each row execute function operations_check_move();
create trigger operations_keep before delete on operations
  for each row execute function onceover_refuse();
create trigger operations_keep_all before truncate on operations
  for each statement execute function onceover_refuse();
create trigger operation_events_keep before update or delete on operation_events
  for each row execute function onceover_refuse();
create trigger operation_events_keep_all before truncate on operation_events
  for each statement execute function onceover_refuse();
