-- Views of lists that people keep: a name for a part of a list's address. Private ones are shown to
-- their owner alone, shared ones to everybody in the tenant; which is which, the store's statements say.
create table saved_views (
  tenant_id uuid not null references tenants,
  id uuid not null default onceover_uuid7(),
  staff_id uuid not null references staff,
  list text not null check (list in ('operations', 'workflows', 'outbox', 'inbox', 'conflicts', 'leases',
    'approvals', 'incidents', 'audit')),
  name text not null check (char_length(name) between 1 and 80),
  query text not null check (char_length(query) <= 4000),
  shared boolean not null,
  created_at timestamptz not null default onceover_now(),
  updated_at timestamptz not null default onceover_now(),
  primary key (tenant_id, id),
  constraint saved_views_name unique (tenant_id, staff_id, list, name)
);
-- What the team sees of a list.
create index saved_views_shared on saved_views (tenant_id, list, name, id) where shared;

alter table saved_views enable row level security;
alter table saved_views force row level security;
do $$
begin
  execute format('create policy owner_all on saved_views to %I using (true) with check (true)', current_user);
end
$$;
create policy app_tenant on saved_views to onceover_app
  using (tenant_id = (select onceover_tenant())) with check (tenant_id = (select onceover_tenant()));

grant select, insert, update, delete on saved_views to onceover_app;
