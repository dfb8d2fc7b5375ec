-- How often a key's final answer was given again: told on its operation's page, and on no path that
-- waits for it. Counted in the process and added here once a second, so a row is written seldom.
create table operation_replays (
  tenant_id uuid not null,
  operation_id uuid not null,
  replays bigint not null check (replays > 0),
  last_at timestamptz not null default onceover_now(),
  primary key (tenant_id, operation_id),
  foreign key (tenant_id, operation_id) references operations (tenant_id, id)
) with (fillfactor = 80);

alter table operation_replays enable row level security;
alter table operation_replays force row level security;
do $$
begin
  execute format('create policy owner_all on operation_replays to %I using (true) with check (true)', current_user);
end
$$;
create policy engine_all on operation_replays to onceover_engine using (true) with check (true);
create policy app_tenant on operation_replays to onceover_app using (tenant_id = (select onceover_tenant()));
grant select, insert, update, delete on operation_replays to onceover_engine;
grant select on operation_replays to onceover_app;
