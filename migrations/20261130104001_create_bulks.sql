-- Bulk: one verb for many records. A set is frozen, looked at row by row, and then decided row by row,
-- each row one decision under its own key (B1 to B8).

create table bulks (
  tenant_id uuid not null references tenants,
  -- Version 7: rows that came later have larger ids, which bounds what a filter may still find.
  id uuid not null default onceover_uuid7(),
  verb text not null check (char_length(verb) between 1 and 64),
  target_type text not null check (target_type in ('operation', 'workflow', 'outbox', 'inbox')),
  list text not null check (list in ('operations', 'leases', 'outbox', 'inbox', 'workflows')),
  -- Names and values of the list's filter; null: the records were picked one by one.
  filter jsonb,
  status text not null check (status in
    ('freezing', 'checking', 'ready', 'running', 'paused', 'over', 'abandoned')),
  version bigint not null default 1,
  -- Where freezing goes on.
  cursor text,
  -- Kept by the run itself: counting the rows at each look would read all of them.
  total bigint not null default 0 check (total >= 0),
  eligible bigint not null default 0 check (eligible >= 0),
  ineligible bigint not null default 0 check (ineligible >= 0),
  done bigint not null default 0 check (done >= 0),
  refused bigint not null default 0 check (refused >= 0),
  -- What the eligible rows add up to, by kind and currency.
  sums jsonb not null default '[]',
  -- Why it stands still without a person's decision.
  cause text check (char_length(cause) <= 500),
  reason text check (char_length(reason) <= 2000),
  frozen_by_id uuid not null references staff,
  frozen_by text not null,
  frozen_at timestamptz not null default onceover_now(),
  -- In whose name its rows are decided: whoever started it, with the consent of a second person where it
  -- took one.
  run_by_id uuid references staff,
  run_by text,
  run_at timestamptz,
  receipt uuid,
  over_at timestamptz,
  -- When a background task may take it up: later than now while one works on it.
  next_at timestamptz not null default onceover_now(),
  fence bigint not null default 0,
  primary key (tenant_id, id),
  constraint bulks_run_by_somebody check (status not in ('running', 'paused', 'over')
    or (run_by_id is not null and run_by is not null and run_at is not null and receipt is not null)),
  constraint bulks_over check ((status in ('over', 'abandoned')) = (over_at is not null)),
  constraint bulks_counts check (eligible + ineligible <= total and done + refused <= eligible)
);
create index bulks_to_advance on bulks (next_at) where status in ('freezing', 'checking', 'running');

create table bulk_rows (
  tenant_id uuid not null,
  bulk_id uuid not null,
  place bigint not null,
  target_id uuid not null,
  -- The version that is decided on: another one later makes the row stale.
  version bigint not null,
  label text not null,
  key text not null,
  amount_minor bigint,
  currency text,
  standing text not null default 'frozen' check (standing in ('frozen', 'eligible', 'ineligible', 'done', 'refused')),
  code text,
  detail text check (char_length(detail) <= 500),
  receipt uuid,
  settled_at timestamptz,
  primary key (tenant_id, bulk_id, place),
  -- A record stands in a set once, however often its list showed it.
  unique (tenant_id, bulk_id, target_id),
  foreign key (tenant_id, bulk_id) references bulks (tenant_id, id),
  constraint bulk_rows_amount_with_currency check ((amount_minor is null) = (currency is null)),
  constraint bulk_rows_done check ((standing = 'done') = (receipt is not null)),
  constraint bulk_rows_refused check ((standing in ('ineligible', 'refused')) = (code is not null)),
  constraint bulk_rows_settled check ((standing in ('done', 'refused')) = (settled_at is not null))
);
create index bulk_rows_by_standing on bulk_rows (tenant_id, bulk_id, standing, place);

-- The moves of a bulk, word for word those of app/domain/src/bulk.rs; a test tries every pair.
create function bulks_check_move() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  was text := case when tg_op = 'INSERT' then '' else old.status end;
begin
  if tg_op = 'INSERT' then
    if new.status <> 'freezing' or new.version <> 1 then
      raise exception 'a bulk begins as freezing' using errcode = 'check_violation', constraint = 'bulk_moves';
    end if;
    return new;
  end if;
  if (new.tenant_id, new.id, new.verb, new.target_type, new.list, new.filter, new.frozen_by_id, new.frozen_by,
      new.frozen_at) is distinct from
     (old.tenant_id, old.id, old.verb, old.target_type, old.list, old.filter, old.frozen_by_id, old.frozen_by,
      old.frozen_at)
     or (was <> 'freezing' and new.total <> old.total) then
    raise exception 'what was frozen does not change' using errcode = 'check_violation', constraint = 'bulk_moves';
  end if;
  if new.status = was then
    if new.version <> old.version then
      raise exception 'a version belongs to a move' using errcode = 'check_violation', constraint = 'bulk_moves';
    end if;
    return new;
  end if;
  if new.version <> old.version + 1 or (was, new.status) not in (
      ('freezing', 'checking'), ('checking', 'ready'), ('ready', 'running'), ('running', 'paused'),
      ('paused', 'running'), ('running', 'over'), ('freezing', 'abandoned'), ('checking', 'abandoned'),
      ('ready', 'abandoned'), ('running', 'abandoned'), ('paused', 'abandoned')) then
    raise exception 'bulk from % to % is not in the table of moves', was, new.status
      using errcode = 'check_violation', constraint = 'bulk_moves';
  end if;
  return new;
end
$$;
create trigger bulks_check_move before insert or update on bulks
  for each row execute function bulks_check_move();
create trigger bulks_keep before delete on bulks
  for each row execute function onceover_refuse();
create trigger bulks_keep_all before truncate on bulks
  for each statement execute function onceover_refuse();

-- The set does not grow once it was looked at, and a row gets its result once.
create function bulk_rows_check() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if new.standing <> 'frozen' or not exists (select from bulks b
        where b.tenant_id = new.tenant_id and b.id = new.bulk_id and b.status = 'freezing') then
      raise exception 'a frozen set does not grow' using errcode = 'check_violation', constraint = 'bulk_moves';
    end if;
    return new;
  end if;
  if (new.tenant_id, new.bulk_id, new.place, new.target_id, new.version, new.label, new.key, new.amount_minor,
      new.currency) is distinct from
     (old.tenant_id, old.bulk_id, old.place, old.target_id, old.version, old.label, old.key, old.amount_minor,
      old.currency)
     or (old.standing, new.standing) not in (('frozen', 'eligible'), ('frozen', 'ineligible'),
       ('eligible', 'done'), ('eligible', 'refused')) then
    raise exception 'a row of a bulk goes from % to % and keeps the rest', old.standing, new.standing
      using errcode = 'check_violation', constraint = 'bulk_moves';
  end if;
  return new;
end
$$;
create trigger bulk_rows_check before insert or update on bulk_rows
  for each row execute function bulk_rows_check();
create trigger bulk_rows_keep before delete on bulk_rows
  for each row execute function onceover_refuse();
create trigger bulk_rows_keep_all before truncate on bulk_rows
  for each statement execute function onceover_refuse();

-- Starting a bulk may take two people.
alter table approvals drop constraint approvals_target_type_check;
alter table approvals add constraint approvals_target_type_check check (target_type in ('operation', 'workflow',
  'compensation', 'outbox', 'inbox', 'incident', 'operation_kind', 'staff', 'bulk'));

do $$
declare
  t text;
begin
  foreach t in array array['bulks', 'bulk_rows'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy owner_all on %I to %I using (true) with check (true)', t, current_user);
    execute format(
      'create policy app_tenant on %I to onceover_app using (tenant_id = (select onceover_tenant())) '
      'with check (tenant_id = (select onceover_tenant()))', t);
  end loop;
end
$$;
-- The engine finds what is to be taken up, over all tenants; all else is done as the console, in one.
create policy engine_all on bulks to onceover_engine using (true) with check (true);
grant select, update on bulks to onceover_engine;
grant select, insert, update on bulks, bulk_rows to onceover_app;
