-- Revealing masked fields (T33): who may read which record unmasked, why, and until when. The grant is
-- written with its audit row, before anything is shown; it holds no value of the record.

create table reveals (
  tenant_id uuid not null references tenants,
  id uuid not null default onceover_uuid7(),
  staff_id uuid not null references staff,
  -- Minted by the server into the form, or named by the caller of the API: the same form sent again is
  -- the same grant, neither a second one nor a longer one (D41).
  form_key text not null check (char_length(form_key) between 1 and 200),
  target_type text not null check (target_type in ('operation', 'workflow', 'outbox', 'inbox')),
  target_id uuid not null,
  -- Of a workflow one artifact.
  step_key text,
  artifact text,
  -- Names of what was masked, never what stood there.
  pointers text[] not null,
  reason text not null check (char_length(reason) between 1 and 2000),
  at timestamptz not null default onceover_now(),
  until timestamptz not null default onceover_now() + interval '5 minutes',
  primary key (tenant_id, id),
  unique (tenant_id, staff_id, form_key),
  constraint reveals_artifact_of_workflow check (
    (target_type = 'workflow') = (step_key is not null) and (step_key is null) = (artifact is null)),
  constraint reveals_short check (until <= at + interval '6 minutes')
);
create trigger reveals_keep before update or delete on reveals
  for each row execute function onceover_refuse();
create trigger reveals_keep_all before truncate on reveals
  for each statement execute function onceover_refuse();

alter table reveals enable row level security;
alter table reveals force row level security;
do $$
begin
  execute format('create policy owner_all on reveals to %I using (true) with check (true)', current_user);
end
$$;
create policy app_tenant on reveals to onceover_app
  using (tenant_id = (select onceover_tenant())) with check (tenant_id = (select onceover_tenant()));
grant select, insert on reveals to onceover_app;
