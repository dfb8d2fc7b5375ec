-- One guard for every other state machine: steps, workflows, compensations, events, messages and
-- approvals. As for operations, a move that is not in the table is refused, whoever writes.

-- The rules of docs/workflows.md, compensation.md, messages.md and console-actions.md, word for word
-- the same as the tables in app/domain/src; tests compare them. from_status '' is the insert.
create table machine_moves (
  machine text not null
    check (machine in ('workflow', 'step', 'compensation', 'outbox', 'inbox', 'approval')),
  rule text not null,
  from_status text not null,
  to_status text not null,
  primary key (machine, rule, from_status, to_status)
);

insert into machine_moves (machine, rule, from_status, to_status) values
  ('step', 'S0', '', 'pending'),
  ('step', 'S1', 'pending', 'running'),
  ('step', 'S2', 'running', 'succeeded'),
  ('step', 'S3', 'running', 'waiting_retry'),
  ('step', 'S4', 'waiting_retry', 'running'),
  ('step', 'S5', 'running', 'blocked_unknown'),
  ('step', 'S5', 'waiting_retry', 'blocked_unknown'),
  ('step', 'S6', 'blocked_unknown', 'succeeded'),
  ('step', 'S6', 'blocked_unknown', 'failed'),
  ('step', 'S6', 'blocked_unknown', 'waiting_retry'),
  ('step', 'S7', 'running', 'failed'),
  ('step', 'S7', 'waiting_retry', 'failed'),
  ('step', 'S8', 'pending', 'skipped'),
  ('step', 'S9', 'pending', 'cancelled'),
  ('step', 'S9', 'running', 'cancelled'),
  ('step', 'S9', 'waiting_retry', 'cancelled'),

  ('workflow', 'W1', '', 'running'),
  ('workflow', 'W2', 'running', 'running'),
  ('workflow', 'W2', 'waiting', 'waiting'),
  ('workflow', 'W2', 'compensating', 'compensating'),
  ('workflow', 'W3', 'running', 'waiting'),
  ('workflow', 'W4', 'waiting', 'running'),
  ('workflow', 'W5', 'running', 'blocked'),
  ('workflow', 'W5', 'waiting', 'blocked'),
  ('workflow', 'W6', 'blocked', 'running'),
  ('workflow', 'W6', 'blocked', 'compensating'),
  ('workflow', 'W7', 'running', 'completed'),
  ('workflow', 'W8', 'running', 'compensating'),
  ('workflow', 'W8', 'waiting', 'compensating'),
  ('workflow', 'W9', 'running', 'failed'),
  ('workflow', 'W9', 'running', 'cancelled'),
  ('workflow', 'W9', 'waiting', 'failed'),
  ('workflow', 'W9', 'waiting', 'cancelled'),
  ('workflow', 'W10', 'compensating', 'compensated'),
  ('workflow', 'W11', 'compensating', 'compensation_stuck'),
  ('workflow', 'W12', 'compensation_stuck', 'compensating'),
  ('workflow', 'W12', 'compensation_stuck', 'closed_partial'),
  ('workflow', 'W13', 'compensation_stuck', 'compensating'),
  ('workflow', 'W14', 'compensating', 'closed_partial'),

  ('compensation', 'C1', '', 'requested'),
  ('compensation', 'C2', 'requested', 'not_needed'),
  ('compensation', 'C2', 'waiting_forward', 'not_needed'),
  ('compensation', 'C3', 'requested', 'waiting_forward'),
  ('compensation', 'C4', 'requested', 'not_needed'),
  ('compensation', 'C4', 'waiting_forward', 'not_needed'),
  ('compensation', 'C5', 'requested', 'running'),
  ('compensation', 'C5', 'waiting_forward', 'running'),
  ('compensation', 'C6', 'running', 'compensated'),
  ('compensation', 'C7', 'running', 'failed'),
  ('compensation', 'C8', 'running', 'running'),
  ('compensation', 'C9', 'failed', 'running'),
  ('compensation', 'C10', 'failed', 'accepted_undone_not'),
  -- Passed by name (D35): the flag alone; the undo's own state stays true.
  ('compensation', 'CP', 'failed', 'failed'),
  ('compensation', 'CP', 'running', 'running'),

  ('outbox', 'X1', '', 'pending'),
  ('outbox', 'X2', 'pending', 'publishing'),
  ('outbox', 'X3', 'publishing', 'published'),
  ('outbox', 'X4', 'publishing', 'pending'),
  ('outbox', 'X5', 'publishing', 'pending'),
  ('outbox', 'X6', 'publishing', 'dead'),
  ('outbox', 'X7', 'publishing', 'pending'),
  ('outbox', 'X8', 'dead', 'pending'),
  ('outbox', 'X8', 'dead', 'skipped'),

  ('inbox', 'N1', '', 'processing'),
  ('inbox', 'N2', 'processing', 'processed'),
  ('inbox', 'N3', '', 'dead'),
  ('inbox', 'N4', '', 'quarantined'),
  ('inbox', 'N5', 'dead', 'processed'),
  ('inbox', 'N5', 'dead', 'dropped'),
  ('inbox', 'N5', 'quarantined', 'processed'),
  ('inbox', 'N5', 'quarantined', 'dropped'),
  ('inbox', 'N6', 'processed', 'processed'),
  ('inbox', 'N6', 'dropped', 'dropped'),

  ('approval', 'A5', '', 'pending'),
  ('approval', 'A6', 'pending', 'approved'),
  ('approval', 'A7', 'pending', 'rejected'),
  ('approval', 'A7', 'pending', 'withdrawn'),
  ('approval', 'A7', 'pending', 'stale'),
  ('approval', 'A7', 'pending', 'expired');

-- The timeline of all of them, written by the trigger, never changed.
create table machine_events (
  tenant_id uuid not null,
  machine text not null,
  -- The workflow's, compensation's, message's or approval's id; a step's is its workflow's.
  record_id uuid not null,
  step_key text collate "C",
  id bigint generated always as identity,
  at timestamptz not null default onceover_now(),
  rule text not null,
  from_status text,
  to_status text not null,
  version bigint not null,
  actor_kind text not null,
  actor text not null,
  detail jsonb,
  primary key (tenant_id, record_id, id)
);

create trigger machine_events_keep before update or delete on machine_events
  for each row execute function onceover_refuse();
create trigger machine_events_keep_all before truncate on machine_events
  for each statement execute function onceover_refuse();

-- On insert and update of a machine's table. Arguments: the machine, and 'told' where each move
-- stands in the timeline (an event's deliveries have a table of their own). The version grows by one
-- with every move but those named in the third argument. Columns that may never change are listed
-- in the fourth. Each of these tables has the columns move, move_actor_kind, move_actor and
-- move_detail, as operations has.
create function machine_check_move() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  machine_name text := tg_argv[0];
  told boolean := tg_argv[1] = 'told';
  still text[] := string_to_array(tg_argv[2], ',');
  fixed text[] := string_to_array(tg_argv[3], ',');
  was text := case when tg_op = 'INSERT' then '' else old.status end;
  step text;
  record_id uuid;
  changed text;
begin
  if new.move is null then
    raise exception 'a % changes only by a move: name the rule in the column move', machine_name
      using errcode = 'check_violation', constraint = 'machine_moves';
  end if;
  if not exists (select from machine_moves m where m.machine = machine_name and m.rule = new.move
      and m.from_status = was and m.to_status = new.status) then
    raise exception '% % from % to % is not in the table of moves', machine_name, new.move, was, new.status
      using errcode = 'check_violation', constraint = 'machine_moves';
  end if;
  if tg_op = 'INSERT' then
    if new.version <> 1 then
      raise exception 'a % begins at version 1', machine_name
        using errcode = 'check_violation', constraint = 'machine_moves';
    end if;
  else
    if new.version <> old.version + (new.move <> all(still))::int then
      raise exception '% % grows the version otherwise than the table of moves says', machine_name, new.move
        using errcode = 'check_violation', constraint = 'machine_moves';
    end if;
    select n.key into changed
      from jsonb_each(to_jsonb(new)) n join jsonb_each(to_jsonb(old)) o on o.key = n.key
      where n.key = any(fixed) and n.value is distinct from o.value
      limit 1;
    if changed is not null then
      raise exception '% % changes % for good', machine_name, new.move, changed
        using errcode = 'check_violation', constraint = 'machine_moves';
    end if;
  end if;
  if told then
    if machine_name = 'step' then
      step := new.step_key;
      record_id := new.workflow_id;
    else
      record_id := new.id;
    end if;
    insert into machine_events
      (tenant_id, machine, record_id, step_key, rule, from_status, to_status, version, actor_kind, actor, detail)
    values
      (new.tenant_id, machine_name, record_id, step, new.move, nullif(was, ''), new.status, new.version,
       coalesce(new.move_actor_kind, 'database'), coalesce(new.move_actor, session_user), new.move_detail);
  end if;
  new.move := null;
  new.move_actor_kind := null;
  new.move_actor := null;
  new.move_detail := null;
  return new;
end
$$;
