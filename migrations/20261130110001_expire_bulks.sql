-- A set that was frozen and never started expires (B9): what was looked at a day ago says little about the
-- records of now, and a set that nobody means any more must not be started by a late hand.

alter table bulks drop constraint bulks_status_check;
alter table bulks add constraint bulks_status_check check (status in
  ('freezing', 'checking', 'ready', 'running', 'paused', 'over', 'abandoned', 'expired'));
alter table bulks drop constraint bulks_over;
alter table bulks add constraint bulks_over
  check ((status in ('over', 'abandoned', 'expired')) = (over_at is not null));

-- Until when it can be started. Sets of before have a day from now on.
alter table bulks add column expires_at timestamptz not null default onceover_now() + interval '24 hours';
create index bulks_to_expire on bulks (expires_at) where status = 'ready';

-- As before, and: until when it can be started does not change; it is not started after that, and does not
-- expire before.
create or replace function bulks_check_move() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  was text := case when tg_op = 'INSERT' then '' else old.status end;
begin
  if tg_op = 'INSERT' then
    if new.status <> 'freezing' or new.version <> 1 then
      raise exception 'a bulk begins as freezing' using errcode = 'check_violation', constraint = 'bulk_moves';
    end if;
    return new;
  end if;
  if (new.tenant_id, new.id, new.verb, new.target_type, new.list, new.filter, new.frozen_by_id, new.frozen_by,
      new.frozen_at, new.expires_at) is distinct from
     (old.tenant_id, old.id, old.verb, old.target_type, old.list, old.filter, old.frozen_by_id, old.frozen_by,
      old.frozen_at, old.expires_at)
     or (was <> 'freezing' and new.total <> old.total) then
    raise exception 'what was frozen does not change' using errcode = 'check_violation', constraint = 'bulk_moves';
  end if;
  if new.status = was then
    if new.version <> old.version then
      raise exception 'a version belongs to a move' using errcode = 'check_violation', constraint = 'bulk_moves';
    end if;
    return new;
  end if;
  if new.version <> old.version + 1 or (was, new.status) not in (
      ('freezing', 'checking'), ('checking', 'ready'), ('ready', 'running'), ('running', 'paused'),
      ('paused', 'running'), ('running', 'over'), ('freezing', 'abandoned'), ('checking', 'abandoned'),
      ('ready', 'abandoned'), ('running', 'abandoned'), ('paused', 'abandoned'), ('ready', 'expired')) then
    raise exception 'bulk from % to % is not in the table of moves', was, new.status
      using errcode = 'check_violation', constraint = 'bulk_moves';
  end if;
  if was = 'ready' and new.status = 'running' and onceover_now() >= old.expires_at then
    raise exception 'a bulk is not started after its time' using errcode = 'check_violation', constraint = 'bulk_moves';
  end if;
  if new.status = 'expired' and onceover_now() < old.expires_at then
    raise exception 'a bulk does not expire before its time'
      using errcode = 'check_violation', constraint = 'bulk_moves';
  end if;
  return new;
end
$$;
