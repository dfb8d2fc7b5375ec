-- Looking after the audit chain (T30): checks that people ask for, and the heads that are kept outside.

-- A check walks one tenant's chain in stretches and keeps its place between two of them, so that a long
-- chain takes no long transaction and a stopped process loses nothing.
create table audit_checks (
  tenant_id uuid not null references tenants,
  id uuid not null default onceover_uuid7(),
  -- Who asked: the email.
  asked_by text not null,
  asked_at timestamptz not null default onceover_now(),
  -- Where the walk stands and what it found; the engine's own form.
  walk jsonb not null,
  ended_at timestamptz,
  primary key (tenant_id, id)
);
-- One at a time: whoever asks meanwhile gets the one under way.
create unique index audit_checks_open on audit_checks (tenant_id) where ended_at is null;

-- What a check found stays as it was found.
create function audit_checks_keep_found() returns trigger
  language plpgsql set search_path = public, pg_temp as $$
begin
  if old.ended_at is not null or (new.tenant_id, new.id, new.asked_by, new.asked_at)
      is distinct from (old.tenant_id, old.id, old.asked_by, old.asked_at) then
    raise exception 'a check that ended stays as it is' using errcode = 'restrict_violation';
  end if;
  return new;
end
$$;
create trigger audit_checks_keep_found before update on audit_checks
  for each row execute function audit_checks_keep_found();
create trigger audit_checks_keep before delete on audit_checks
  for each row execute function onceover_refuse();
create trigger audit_checks_keep_all before truncate on audit_checks
  for each statement execute function onceover_refuse();

-- When the heads of all tenants are next due at a place outside, and when they last arrived there. Not a
-- tenant's table: it holds no tenant's data.
create table audit_anchors (
  place text primary key check (place in ('file', 'destination')),
  due_at timestamptz not null,
  anchored_at timestamptz
);

alter table audit_checks enable row level security;
alter table audit_checks force row level security;
do $$
begin
  execute format('create policy owner_all on audit_checks to %I using (true) with check (true)', current_user);
end
$$;
create policy app_tenant on audit_checks to onceover_app using (tenant_id = (select onceover_tenant()))
  with check (tenant_id = (select onceover_tenant()));
-- The engine finds which tenants have a check to go on with; the walk is the console's, in one tenant.
create policy engine_reads on audit_checks for select to onceover_engine using (true);
grant select, insert, update on audit_checks to onceover_app;
grant select (tenant_id, asked_at, ended_at) on audit_checks to onceover_engine;

-- A check compares the chain with its head; the engine takes the heads of all tenants outside. Neither
-- can write one.
create policy app_tenant on audit_heads for select to onceover_app
  using (tenant_id = (select onceover_tenant()));
create policy engine_reads on audit_heads for select to onceover_engine using (true);
grant select on audit_heads to onceover_app, onceover_engine;

grant select, insert, update on audit_anchors to onceover_engine;
grant select on audit_anchors to onceover_app;
