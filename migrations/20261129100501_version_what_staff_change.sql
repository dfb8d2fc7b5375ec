-- A decision names the version that its page showed: kinds and memberships get one, and the console
-- may write them now, under the rule of two people (A5). So may a person's right tell who gave it,
-- by id: a renamed account is the same person.

alter table operation_kinds add column version bigint not null default 1;
alter table memberships
  add column version bigint not null default 1,
  -- Null: the command line.
  add column granted_by_id uuid references staff;

grant insert, update on operation_kinds to onceover_app;
grant update on memberships to onceover_app;
create policy app_grants_in_tenant on memberships for update to onceover_app
  using (tenant_id = (select onceover_tenant())) with check (tenant_id = (select onceover_tenant()));

-- The list of requests, by state.
create index approvals_by_status on approvals (tenant_id, status, id);
create index approvals_by_requester on approvals (tenant_id, requester_id, id);
