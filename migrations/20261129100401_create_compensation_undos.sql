-- Every undo that was ever reserved for a link, one per n: evidence on an earlier one counts for the
-- later ones, and a retry must not hide what the undo before it may have done (C9).

create table compensation_undos (
  tenant_id uuid not null,
  compensation_id uuid not null,
  n integer not null check (n between 1 and 1000),
  undo_id uuid not null,
  at timestamptz not null default onceover_now(),
  primary key (tenant_id, compensation_id, n),
  foreign key (tenant_id, compensation_id) references compensations (tenant_id, id)
);
create unique index compensation_undos_of on compensation_undos (tenant_id, undo_id);
create trigger compensation_undos_keep before update or delete on compensation_undos
  for each row execute function onceover_refuse();
create trigger compensation_undos_keep_all before truncate on compensation_undos
  for each statement execute function onceover_refuse();

alter table compensation_undos enable row level security;
alter table compensation_undos force row level security;
do $$
begin
  execute format('create policy owner_all on compensation_undos to %I using (true) with check (true)', current_user);
end
$$;
create policy engine_all on compensation_undos to onceover_engine using (true) with check (true);
create policy app_tenant on compensation_undos to onceover_app
  using (tenant_id = (select onceover_tenant())) with check (tenant_id = (select onceover_tenant()));
grant select, insert on compensation_undos to onceover_app, onceover_engine;

-- Unwinding reads its own rows, however many workflows run beside them.
create index workflows_unwinding on workflows (next_at)
  where status in ('compensating', 'compensation_stuck') and next_at is not null;
