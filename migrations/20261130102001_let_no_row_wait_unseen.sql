-- A row that no sweep and no list would ever find is refused where it is written (I5). A sweep
-- compares instants: a null is neither before nor after anything, and such a row waits for ever.
-- Constraints are added without looking at what stands; the next migration looks, under a lock that
-- lets everybody write.

alter table operations
  -- O13: `next_at <= T`, attempts left.
  add constraint operations_retry_is_dated
    check (status <> 'failed_retryable' or (next_at is not null and attempt < max_attempts)) not valid,
  -- O15: `next_reconcile_at <= T`, or a person's list.
  add constraint operations_unknown_is_asked
    check (status <> 'unknown' or needs_manual or next_reconcile_at is not null) not valid;

-- O11 reads leases: a call under way without one is nobody's.
create function operations_hold_a_lease() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if not exists (select from leases l
      where l.tenant_id = new.tenant_id and l.operation_id = new.id and l.fence = new.fence) then
    raise exception 'a call begins only under the lease of its fence'
      using errcode = 'check_violation', constraint = 'operations_hold_a_lease';
  end if;
  return null;
end
$$;
create trigger operations_hold_a_lease after update on operations
  for each row when (new.status = 'executing' and old.status <> 'executing')
  execute function operations_hold_a_lease();

-- Looked at when the transaction ends: a lease may go before its operation moves.
create function leases_outlast_calls() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from operations o
      where o.tenant_id = old.tenant_id and o.id = old.operation_id and o.status = 'executing')
     and not exists (select from leases l
      where l.tenant_id = old.tenant_id and l.operation_id = old.operation_id) then
    raise exception 'a lease stays for as long as its call is under way'
      using errcode = 'check_violation', constraint = 'operations_hold_a_lease';
  end if;
  return null;
end
$$;
create constraint trigger leases_outlast_calls after delete on leases
  deferrable initially deferred for each row execute function leases_outlast_calls();

alter table outbox
  -- X7: `lease_until < T`.
  add constraint outbox_publisher_has_a_lease check (case when status = 'publishing'
    then owner is not null and lease_until is not null else lease_until is null end) not valid;
alter table aggregates
  add constraint aggregates_head_is_within check (head_seq between 1 and next_seq) not valid,
  add constraint aggregates_blocked_has_a_head check (not blocked or head_seq < next_seq) not valid;

-- Claims read heads alone: no head moves past an event that was not told or skipped, and none is
-- blocked but by a dead event, which stands in the list of those.
create function aggregates_check_head() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if new.head_seq <> old.head_seq and (new.head_seq < old.head_seq or exists (select from outbox u
      where u.tenant_id = old.tenant_id and u.aggregate = old.aggregate
        and u.seq >= old.head_seq and u.seq < new.head_seq and u.status not in ('published', 'skipped'))) then
    raise exception 'the head of an aggregate moves on only past an event that was told or skipped'
      using errcode = 'check_violation', constraint = 'aggregates_head_is_told';
  end if;
  if new.blocked and not old.blocked and not exists (select from outbox u
      where u.tenant_id = new.tenant_id and u.aggregate = new.aggregate and u.seq = new.head_seq
        and u.status = 'dead') then
    raise exception 'an aggregate is blocked by a dead event alone'
      using errcode = 'check_violation', constraint = 'aggregates_blocked_by_a_dead';
  end if;
  return null;
end
$$;
create trigger aggregates_check_head after update on aggregates
  for each row when (new.head_seq <> old.head_seq or new.blocked and not old.blocked)
  execute function aggregates_check_head();

-- N1 and N2 are one transaction: no sweep looks for a message that was left half taken in.
create function inbox_ends_settled() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from inbox m
      where m.tenant_id = new.tenant_id and m.id = new.id and m.status = 'processing') then
    raise exception 'a message is taken in with its effect or not at all'
      using errcode = 'check_violation', constraint = 'inbox_ends_settled';
  end if;
  return null;
end
$$;
create constraint trigger inbox_ends_settled after insert on inbox
  deferrable initially deferred for each row when (new.status = 'processing')
  execute function inbox_ends_settled();

alter table workflows
  add constraint workflows_unwinding_is_dated
    check (status not in ('compensating', 'compensation_stuck') or next_at is not null) not valid;

-- A workflow rests without an instant only while an operation of it is open: its move wakes it.
create function workflows_rest_on_an_operation() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from workflows w
      where w.tenant_id = new.tenant_id and w.id = new.id and w.status in ('running', 'waiting')
        and w.next_at is null)
     and not exists (select from workflow_steps s
       join operations o on o.tenant_id = s.tenant_id and o.id = s.operation_id
      where s.tenant_id = new.tenant_id and s.workflow_id = new.id
        and s.status in ('running', 'waiting_retry', 'blocked_unknown') and o.completed_at is null) then
    raise exception 'a workflow rests only while an operation of it is open'
      using errcode = 'check_violation', constraint = 'workflows_rest_on_an_operation';
  end if;
  return null;
end
$$;
create constraint trigger workflows_rest_on_an_operation after insert or update on workflows
  deferrable initially deferred for each row
  when (new.next_at is null and new.status in ('running', 'waiting'))
  execute function workflows_rest_on_an_operation();

-- A step is carried on by its workflow: none is left open where that is over.
create function workflows_end_with_their_steps() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from workflow_steps s
      where s.tenant_id = new.tenant_id and s.workflow_id = new.id
        and s.status in ('pending', 'running', 'waiting_retry', 'blocked_unknown')) then
    raise exception 'a workflow ends only with all of its steps'
      using errcode = 'check_violation', constraint = 'workflows_end_with_their_steps';
  end if;
  return null;
end
$$;
create constraint trigger workflows_end_with_their_steps after update on workflows
  deferrable initially deferred for each row
  when (new.completed_at is not null and old.completed_at is null)
  execute function workflows_end_with_their_steps();

alter table workflow_steps
  -- Its operation's moves carry it on.
  add constraint workflow_steps_open_has_an_operation check (operation_id is not null or not
    (status in ('waiting_retry', 'blocked_unknown') or (status = 'running' and operation is not null))) not valid,
  -- What is undone is found by the order of completion (D35).
  add constraint workflow_steps_done_has_its_place check (status <> 'succeeded' or completed_seq is not null) not valid;

-- A decision is begun and over in one transaction.
create function workflow_steps_decide_at_once() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from workflow_steps s
      where s.tenant_id = new.tenant_id and s.workflow_id = new.workflow_id and s.step_key = new.step_key
        and s.status = 'running' and s.operation_id is null) then
    raise exception 'a decision is taken in the transaction that begins it'
      using errcode = 'check_violation', constraint = 'workflow_steps_decide_at_once';
  end if;
  return null;
end
$$;
create constraint trigger workflow_steps_decide_at_once after update on workflow_steps
  deferrable initially deferred for each row when (new.status = 'running' and new.operation_id is null)
  execute function workflow_steps_decide_at_once();

alter table compensations
  add constraint compensations_waiting_is_dated
    check (status not in ('requested', 'waiting_forward') or next_at is not null) not valid,
  -- The undo's moves carry it on.
  add constraint compensations_running_has_an_undo check (status <> 'running' or undo_id is not null) not valid;

-- A request for approval that gives way to one that waits (on conflict do nothing) must not stand in
-- the timeline: told after the insert, as a message's is.
create or replace function approvals_check_move() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  was text := case when tg_op = 'INSERT' then '' else old.status end;
begin
  if not exists (select from machine_moves m where m.machine = 'approval'
      and m.from_status = was and m.to_status = new.status) then
    raise exception 'approval from % to % is not in the table of moves', was, new.status
      using errcode = 'check_violation', constraint = 'machine_moves';
  end if;
  if tg_op = 'UPDATE' and
     (new.tenant_id, new.id, new.verb, new.target_type, new.target_id, new.version, new.decision, new.binds, new.seen,
      new.amount_minor, new.currency, new.reason, new.evidence, new.requester_id, new.requested_at, new.expires_at)
       is distinct from
     (old.tenant_id, old.id, old.verb, old.target_type, old.target_id, old.version, old.decision, old.binds, old.seen,
      old.amount_minor, old.currency, old.reason, old.evidence, old.requester_id, old.requested_at, old.expires_at) then
    raise exception 'what was asked for does not change'
      using errcode = 'check_violation', constraint = 'machine_moves';
  end if;
  return new;
end
$$;
create function approvals_tell() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  was text := case when tg_op = 'INSERT' then '' else old.status end;
begin
  insert into machine_events
    (tenant_id, machine, record_id, rule, from_status, to_status, version, actor_kind, actor, detail)
  values (new.tenant_id, 'approval', new.id,
    case new.status when 'pending' then 'A5' when 'approved' then 'A6' else 'A7' end,
    nullif(was, ''), new.status, case when was = '' then 1 else 2 end,
    -- Nobody decides that a request has become stale or has expired.
    case when new.status in ('stale', 'expired') then 'engine' else 'staff' end,
    case when new.status in ('stale', 'expired') then 'engine' else coalesce(new.decider, new.requester) end,
    null);
  return null;
end
$$;
create trigger approvals_tell after insert or update on approvals
  for each row execute function approvals_tell();
