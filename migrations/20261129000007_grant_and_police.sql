-- Who may touch what. Every tenant table has row-level security, forced on its owner too: the
-- console sees the tenant that its transaction set and nothing without one; the engine sees all.

do $$
declare
  t text;
begin
  foreach t in array array[
    'memberships', 'operation_kinds', 'operations', 'leases', 'operation_events', 'payload_conflicts',
    'operation_terms', 'evidence', 'notes', 'operation_takes', 'action_repeats', 'incidents', 'aggregates',
    'outbox', 'audit', 'audit_heads'
  ] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy owner_all on %I to %I using (true) with check (true)', t, current_user);
    if t not in ('memberships', 'audit', 'audit_heads', 'operation_takes', 'action_repeats') then
      execute format('create policy engine_all on %I to onceover_engine using (true) with check (true)', t);
    end if;
    if t not in ('memberships', 'audit_heads') then
      -- A sub-select, so that the setting is read once a statement and indexes serve the rest.
      execute format(
        'create policy app_tenant on %I to onceover_app using (tenant_id = (select onceover_tenant())) '
        'with check (tenant_id = (select onceover_tenant()))', t);
    end if;
  end loop;
end
$$;

-- Sign-in happens before a tenant is known: who belongs where is read across tenants, by person.
create policy app_reads_memberships on memberships for select to onceover_app using (true);

grant usage on schema public to onceover_app, onceover_engine;

grant select on tenants, operation_kinds, operation_moves to onceover_app, onceover_engine;
grant select on staff, memberships to onceover_app;
grant select, insert, update on sessions, sign_in_attempts to onceover_app;
grant select on tokens to onceover_app;

grant select, insert, update on operations to onceover_app, onceover_engine;
grant select, insert, update, delete on leases to onceover_app, onceover_engine;
-- The timeline is written by the trigger alone.
grant select on operation_events to onceover_app, onceover_engine;
grant select, insert, update on payload_conflicts to onceover_engine;
grant select on payload_conflicts to onceover_app;
grant select, insert, delete on operation_terms to onceover_engine;
grant select on operation_terms to onceover_app;
grant select, insert, update on evidence, incidents to onceover_app, onceover_engine;
grant select, insert on notes to onceover_app;
grant select, update on notes to onceover_engine;
grant select, insert, update, delete on operation_takes to onceover_app;
grant select, insert on action_repeats to onceover_app;
grant select, insert, update on aggregates, outbox to onceover_app, onceover_engine;
grant select on audit to onceover_app;

revoke all on function audit_add from public;
grant execute on function audit_add to onceover_app, onceover_engine;
