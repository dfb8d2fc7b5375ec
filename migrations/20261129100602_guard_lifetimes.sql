-- What points at an operation keeps its contents (O27). One definition for the sweep, the check
-- under the lock, and the database's own guard.
create function operation_is_pointed_at(p_tenant uuid, p_operation uuid, p_workflow uuid) returns boolean
  language sql stable
  as $$
    select exists (select from incidents i
        where i.tenant_id = p_tenant and i.operation_id = p_operation and i.closed_at is null)
      or exists (select from outbox b
        where b.tenant_id = p_tenant and b.operation_id = p_operation and b.status not in ('published', 'skipped'))
      or exists (select from compensations c
        where c.tenant_id = p_tenant and c.operation_id = p_operation
          and c.status in ('requested', 'waiting_forward', 'running', 'failed'))
      or exists (select from compensations c
        where c.tenant_id = p_tenant and c.undo_id = p_operation
          and c.status in ('requested', 'waiting_forward', 'running', 'failed'))
      or exists (select from approvals a
        where a.tenant_id = p_tenant and a.target_type = 'operation' and a.target_id = p_operation::text
          and a.status = 'pending')
      or (p_workflow is not null and exists (select from workflows w
        where w.tenant_id = p_tenant and w.id = p_workflow and w.completed_at is null))
  $$;

-- Fires before operations_check_move, which empties the column move.
create function operations_bury() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if operation_is_pointed_at(new.tenant_id, new.id, new.workflow_id) then
    raise exception 'an operation that something points at does not expire'
      using errcode = 'check_violation', constraint = 'operation_moves';
  end if;
  return new;
end
$$;
create trigger operations_bury before update on operations
  for each row when (new.move = 'O27') execute function operations_bury();
