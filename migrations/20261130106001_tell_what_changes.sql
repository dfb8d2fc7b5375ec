-- Which records a transaction changed, for pages that are open (docs/live.md). A trigger adds each to a
-- setting of its session; what is rolled back takes that back too. The process that committed reads the
-- setting as the connection returns to its pool, and tells the others then (D26): no NOTIFY in a
-- transaction, no table that grows. It is a hint and no record: nothing rests on it.

-- Arguments: what the record is called on pages (app/domain/src/record.rs), the column of its id, and
-- 'new' where an insert makes one. A line is `tenant operation/id@milliseconds`, with a `+` before a new
-- one. Past some kilobytes a line says only that much changed in the tenant.
create function onceover_tell_change() returns trigger language plpgsql as $$
declare
  told text := coalesce(current_setting('onceover.changed', true), '');
  label text := tg_argv[0];
  tenant uuid;
  id text;
begin
  if tg_op = 'DELETE' then
    tenant := old.tenant_id;
    id := old.operation_id;
  else
    tenant := new.tenant_id;
    if tg_argv[1] = 'id' then
      id := new.id;
    elsif tg_argv[1] = 'operation_id' then
      id := new.operation_id;
    elsif tg_argv[1] = 'workflow_id' then
      id := new.workflow_id;
    else
      id := new.target_id;
      label := case new.target_type when 'outbox' then 'event' when 'inbox' then 'message'
        else new.target_type end;
    end if;
  end if;
  if length(told) >= 6000 then
    if length(told) >= 60000 or strpos(told, tenant || ' *') > 0 then
      return null;
    end if;
    label := '*';
    id := '';
  end if;
  -- An incident may stand alone.
  if id is not null then
    told := set_config('onceover.changed', concat(told, tenant, ' ',
      case when tg_op = 'INSERT' and tg_argv[2] = 'new' and id <> '' then '+' end,
      label, case when id <> '' then '/' end, id, '@',
      (date_part('epoch', onceover_now()) * 1000)::bigint, e'\n'), false);
  end if;
  return null;
end
$$;

-- Leases, beats and wake-ups are no change that a page shows: with each record, its version tells.
create trigger operations_tell_new after insert on operations
  for each row when (not new.console) execute function onceover_tell_change('operation', 'id', 'new');
create trigger operations_tell_change after update on operations
  for each row when (not new.console and (new.version is distinct from old.version
    or new.tombstoned_at is distinct from old.tombstoned_at))
  execute function onceover_tell_change('operation', 'id');
create trigger evidence_tell_change after insert or update of refuted_at on evidence
  for each row execute function onceover_tell_change('operation', 'operation_id');
create trigger notes_tell_change after insert on notes
  for each row execute function onceover_tell_change('operation', 'operation_id');
create trigger operation_takes_tell_change after insert or update or delete on operation_takes
  for each row execute function onceover_tell_change('operation', 'operation_id');
create trigger corrections_tell_change after insert on corrections
  for each row execute function onceover_tell_change('operation', 'operation_id');

create trigger payload_conflicts_tell_change after insert or update of count on payload_conflicts
  for each row execute function onceover_tell_change('conflict', 'id', 'new');
create trigger payload_conflicts_tell_operation after insert on payload_conflicts
  for each row execute function onceover_tell_change('operation', 'operation_id');
create trigger incidents_tell_change after insert or update on incidents
  for each row execute function onceover_tell_change('incident', 'id', 'new');
create trigger incidents_tell_operation after insert or update on incidents
  for each row execute function onceover_tell_change('operation', 'operation_id');

-- An event that is on its way says so once it has arrived, or has not.
create trigger outbox_tell_new after insert on outbox
  for each row execute function onceover_tell_change('event', 'id', 'new');
create trigger outbox_tell_change after update on outbox
  for each row when (new.version is distinct from old.version and new.status <> 'publishing')
  execute function onceover_tell_change('event', 'id');

create trigger inbox_tell_new after insert on inbox
  for each row execute function onceover_tell_change('message', 'id', 'new');
create trigger inbox_tell_change after update on inbox
  for each row when (new.version is distinct from old.version or new.deliveries is distinct from old.deliveries)
  execute function onceover_tell_change('message', 'id');

create trigger workflows_tell_new after insert on workflows
  for each row execute function onceover_tell_change('workflow', 'id', 'new');
create trigger workflows_tell_change after update on workflows
  for each row when (new.version is distinct from old.version)
  execute function onceover_tell_change('workflow', 'id');
create trigger workflow_steps_tell_change after update on workflow_steps
  for each row when (new.version is distinct from old.version)
  execute function onceover_tell_change('workflow', 'workflow_id');

create trigger compensations_tell_new after insert on compensations
  for each row execute function onceover_tell_change('compensation', 'id', 'new');
create trigger compensations_tell_change after update on compensations
  for each row when (new.version is distinct from old.version)
  execute function onceover_tell_change('compensation', 'id');
create trigger compensations_tell_operation after insert or update of version on compensations
  for each row execute function onceover_tell_change('operation', 'operation_id');

create trigger approvals_tell_new after insert on approvals
  for each row execute function onceover_tell_change('approval', 'id', 'new');
create trigger approvals_tell_change after update on approvals
  for each row when (new.status is distinct from old.status)
  execute function onceover_tell_change('approval', 'id');
-- A page shows the requests about its record. Kinds and people have no page that waits for news.
create trigger approvals_tell_target after insert or update of status on approvals
  for each row when (new.target_type not in ('operation_kind', 'staff'))
  execute function onceover_tell_change('approval', 'target_id');
