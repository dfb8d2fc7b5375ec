-- Who may touch the tables of this batch; as in the first migration, policed and forced.

do $$
declare
  t text;
begin
  foreach t in array array[
    'machine_events', 'outbox_attempts', 'inbox_consumers', 'inbox', 'inbox_failures', 'inbox_conflicts', 'workflows',
    'workflow_steps', 'workflow_artifacts', 'compensations', 'approvals', 'corrections'
  ] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy owner_all on %I to %I using (true) with check (true)', t, current_user);
    execute format('create policy engine_all on %I to onceover_engine using (true) with check (true)', t);
    execute format(
      'create policy app_tenant on %I to onceover_app using (tenant_id = (select onceover_tenant())) '
      'with check (tenant_id = (select onceover_tenant()))', t);
  end loop;
end
$$;

grant select on machine_moves to onceover_app, onceover_engine;
-- The timeline is written by the triggers alone.
grant select on machine_events to onceover_app, onceover_engine;
grant select, insert on outbox_attempts to onceover_engine;
grant select on outbox_attempts to onceover_app;
grant delete on outbox to onceover_engine;
grant select, insert, update on breakers to onceover_engine;
grant select on breakers to onceover_app;
grant select on inbox_consumers to onceover_app, onceover_engine;
grant select, insert, update on inbox to onceover_app, onceover_engine;
grant delete on inbox to onceover_engine;
grant select, insert, update, delete on inbox_failures to onceover_engine;
grant select on inbox_failures to onceover_app;
grant select, insert, update on inbox_conflicts to onceover_engine;
grant select on inbox_conflicts to onceover_app;
grant select, insert, update on workflows, workflow_steps, workflow_artifacts to onceover_app, onceover_engine;
grant select, insert, update on compensations to onceover_app, onceover_engine;
grant select, insert, update on approvals to onceover_app;
grant select, update on approvals to onceover_engine;
grant select, insert on corrections to onceover_app;
grant select on corrections to onceover_engine;
grant select, insert, update, delete on workers, task_status to onceover_engine;
grant select on workers, task_status to onceover_app;
-- A person's decision may reserve an undo (C5) or bring an operation's terms along.
grant select, insert on operation_terms to onceover_app;
-- O29 takes what hangs on the row with it.
grant delete on operations, payload_conflicts, evidence, incidents to onceover_engine;
