-- Publishing the outbox (X2 to X9), and what is known of the places that events go to.

-- An event is hot: its trigger compares what matters by hand instead of row by row in JSON.
alter table outbox
  -- Moves with each publisher; grows at a claim (X2) and where a lease was lost (X7).
  add column version bigint not null default 1,
  add column owner text,
  add column lease_until timestamptz,
  -- Where it goes, as of its last delivery.
  add column destination text collate "C",
  add column last_error text check (char_length(last_error) <= 2000),
  add column move text,
  add column move_actor_kind text,
  add column move_actor text,
  add column move_detail jsonb;

create index outbox_by_status on outbox (tenant_id, status, id);
create index outbox_dead on outbox (tenant_id, id) where status = 'dead';
create index outbox_lapsed on outbox (lease_until) where status = 'publishing';
create index outbox_waiting on outbox (created_at) where status = 'pending';
create index outbox_to_purge on outbox (settled_at) where status in ('published', 'skipped');

create function outbox_check_move() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if new.move is null or not exists (select from machine_moves m
      where m.machine = 'outbox' and m.rule = new.move
        and m.from_status = old.status and m.to_status = new.status) then
    raise exception 'outbox % from % to % is not in the table of moves', coalesce(new.move, 'without a rule'), old.status, new.status
      using errcode = 'check_violation', constraint = 'machine_moves';
  end if;
  if new.version <> old.version + 1
     or new.fence <> old.fence + (new.move in ('X2', 'X7'))::int
     or new.attempts <> (old.attempts + (new.move in ('X5', 'X6'))::int) * (new.move <> 'X8')::int
     or (new.tenant_id, new.id, new.aggregate, new.seq, new.topic, new.payload, new.operation_id, new.created_at)
          is distinct from
        (old.tenant_id, old.id, old.aggregate, old.seq, old.topic, old.payload, old.operation_id, old.created_at)
     or (new.settled_at is not null) <> (new.status in ('published', 'skipped')) then
    raise exception 'outbox % changes version, fence, attempts or the event otherwise than the table of moves says', new.move
      using errcode = 'check_violation', constraint = 'machine_moves';
  end if;
  if new.move in ('X6', 'X8') then
    insert into machine_events
      (tenant_id, machine, record_id, rule, from_status, to_status, version, actor_kind, actor, detail)
    values
      (new.tenant_id, 'outbox', new.id, new.move, old.status, new.status, new.version,
       coalesce(new.move_actor_kind, 'database'), coalesce(new.move_actor, session_user), new.move_detail);
  end if;
  new.move := null;
  new.move_actor_kind := null;
  new.move_actor := null;
  new.move_detail := null;
  return new;
end
$$;
create trigger outbox_check_move before update on outbox
  for each row execute function outbox_check_move();

-- X9: only what was told or skipped may go.
create function outbox_check_purge() returns trigger language plpgsql as $$
begin
  if old.status not in ('published', 'skipped') then
    raise exception 'an event that is % is not purged', old.status
      using errcode = 'check_violation', constraint = 'machine_moves';
  end if;
  return old;
end
$$;
create trigger outbox_check_purge before delete on outbox
  for each row execute function outbox_check_purge();
create trigger outbox_keep_all before truncate on outbox
  for each statement execute function onceover_refuse();

-- Every delivery that was tried, for people who ask why.
create table outbox_attempts (
  tenant_id uuid not null,
  event_id uuid not null,
  id bigint generated always as identity,
  at timestamptz not null default onceover_now(),
  fence bigint not null,
  destination text collate "C",
  owner text not null,
  outcome text not null check (outcome in ('published', 'duplicate', 'refused', 'transport_down', 'lease_lost')),
  error text check (char_length(error) <= 2000),
  took_ms integer,
  primary key (tenant_id, event_id, id),
  foreign key (tenant_id, event_id) references outbox (tenant_id, id) on delete cascade
);

-- One breaker per destination, shared by all publishers (D28). Destinations are configuration, not
-- a tenant's.
create table breakers (
  destination text collate "C" primary key,
  state text not null default 'closed' check (state in ('closed', 'open', 'half_open')),
  failures integer not null default 0,
  opened_at timestamptz,
  -- When one event may try again.
  probe_at timestamptz,
  last_error text check (char_length(last_error) <= 2000),
  updated_at timestamptz not null default onceover_now(),
  constraint breakers_open_since check ((state = 'closed') = (opened_at is null))
);
