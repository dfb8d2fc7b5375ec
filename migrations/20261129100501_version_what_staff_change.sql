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

-- Closed is closed, by name and with a reason.
create function incidents_check_close() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if old.closed_at is not null
     or new.version <> old.version + 1
     or new.closed_at is null or coalesce(new.closed_by, '') = '' or coalesce(new.reason, '') = ''
     or (new.tenant_id, new.id, new.operation_id, new.cause, new.summary, new.opened_at,
         new.workflow_id, new.compensation_id, new.event_id, new.message_id)
          is distinct from
        (old.tenant_id, old.id, old.operation_id, old.cause, old.summary, old.opened_at,
         old.workflow_id, old.compensation_id, old.event_id, old.message_id) then
    raise exception 'an incident is closed once, by a person with a reason'
      using errcode = 'check_violation', constraint = 'incidents_close';
  end if;
  return new;
end
$$;
create trigger incidents_check_close before update on incidents
  for each row execute function incidents_check_close();

-- The list of requests, by state.
create index approvals_by_status on approvals (tenant_id, status, id);
create index approvals_by_requester on approvals (tenant_id, requester_id, id);
