-- An event that ends its publisher each time would go round all of them for ever: a lost lease burns
-- no attempt (X7). Lost publishers are counted in a row, and at the bound the event is dead (X7b).

insert into machine_moves (machine, rule, from_status, to_status) values
  ('outbox', 'X7b', 'publishing', 'dead');

alter table outbox
  -- Publishers lost in a row; any answer begins anew.
  add column takeovers integer not null default 0 check (takeovers >= 0);

create or replace function outbox_check_move() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if new.move is null or not exists (select from machine_moves m
      where m.machine = 'outbox' and m.rule = new.move
        and m.from_status = old.status and m.to_status = new.status) then
    raise exception 'outbox % from % to % is not in the table of moves', coalesce(new.move, 'without a rule'), old.status, new.status
      using errcode = 'check_violation', constraint = 'machine_moves';
  end if;
  -- Counted here, so that no publisher can forget to.
  new.takeovers := case when new.move in ('X7', 'X7b') then old.takeovers + 1
    when new.move = 'X2' then old.takeovers else 0 end;
  if new.version <> old.version + 1
     or new.fence <> old.fence + (new.move in ('X2', 'X7', 'X7b'))::int
     or new.attempts <> (old.attempts + (new.move in ('X5', 'X6'))::int) * (new.move <> 'X8')::int
     or (new.tenant_id, new.id, new.aggregate, new.seq, new.topic, new.payload, new.operation_id, new.created_at)
          is distinct from
        (old.tenant_id, old.id, old.aggregate, old.seq, old.topic, old.payload, old.operation_id, old.created_at)
     or (new.settled_at is not null) <> (new.status in ('published', 'skipped')) then
    raise exception 'outbox % changes version, fence, attempts or the event otherwise than the table of moves says', new.move
      using errcode = 'check_violation', constraint = 'machine_moves';
  end if;
  if new.move in ('X6', 'X7b', 'X8') then
    insert into machine_events
      (tenant_id, machine, record_id, rule, from_status, to_status, version, actor_kind, actor, detail)
    values
      (new.tenant_id, 'outbox', new.id, new.move, old.status, new.status, new.version,
       coalesce(new.move_actor_kind, 'database'), coalesce(new.move_actor, session_user), new.move_detail);
  end if;
  new.move := null;
  new.move_actor_kind := null;
  new.move_actor := null;
  new.move_detail := null;
  return new;
end
$$;

-- A breaker that nobody asks any more is forgotten.
grant delete on breakers to onceover_engine;
