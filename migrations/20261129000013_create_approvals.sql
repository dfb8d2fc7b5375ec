-- Decisions that take two people (A5 to A7).

create table approvals (
  tenant_id uuid not null,
  id uuid not null default onceover_uuid7(),
  verb text not null check (char_length(verb) between 1 and 64),
  target_type text not null check (target_type in ('operation', 'workflow', 'compensation', 'outbox',
    'inbox', 'incident', 'operation_kind', 'staff')),
  target_id text collate "C" not null,
  -- The version that the requester saw: another one later makes the request stale.
  version bigint not null,
  -- The decision whole, as it will be carried out.
  decision jsonb not null,
  -- SHA-256 over verb, target, version, decision and what was seen (T24).
  binds bytea not null check (octet_length(binds) = 32),
  -- What the requester saw, for the difference to now.
  seen jsonb not null,
  amount_minor bigint,
  currency text,
  reason text not null check (char_length(reason) <= 2000),
  evidence text,
  status text not null check (status in ('pending', 'approved', 'rejected', 'withdrawn', 'stale', 'expired')),
  requester_id uuid not null references staff,
  requester text not null,
  requested_at timestamptz not null default onceover_now(),
  expires_at timestamptz not null,
  decider_id uuid references staff,
  decider text,
  decided_at timestamptz,
  decision_reason text check (char_length(decision_reason) <= 2000),
  receipt uuid,
  -- The approval's own version.
  own_version bigint generated always as (case when status = 'pending' then 1 else 2 end) stored,
  primary key (tenant_id, id),
  -- Never one's own, whatever the role (T23).
  constraint approvals_by_another
    check (status not in ('approved', 'rejected') or (decider_id is not null and decider_id <> requester_id)),
  constraint approvals_withdrawn_by_requester
    check (status <> 'withdrawn' or (decider_id is not null and decider_id = requester_id)),
  -- What was carried out has its receipt (A6).
  constraint approvals_carried_out check (status <> 'approved' or receipt is not null),
  constraint approvals_settled check ((status = 'pending') = (decided_at is null)),
  constraint approvals_amount_with_currency check ((amount_minor is null) = (currency is null))
);
create unique index approvals_open_once on approvals (tenant_id, target_type, target_id, verb) where status = 'pending';
create index approvals_open on approvals (tenant_id, requested_at) where status = 'pending';
create index approvals_to_expire on approvals (expires_at) where status = 'pending';
create index approvals_of_target on approvals (tenant_id, target_type, target_id, id);
create index approvals_by_age on approvals (tenant_id, id);

create function approvals_check_move() returns trigger
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
  insert into machine_events
    (tenant_id, machine, record_id, rule, from_status, to_status, version, actor_kind, actor, detail)
  values (new.tenant_id, 'approval', new.id,
    case new.status when 'pending' then 'A5' when 'approved' then 'A6' else 'A7' end,
    nullif(was, ''), new.status, case when was = '' then 1 else 2 end,
    -- Nobody decides that a request has become stale or has expired.
    case when new.status in ('stale', 'expired') then 'engine' else 'staff' end,
    case when new.status in ('stale', 'expired') then 'engine' else coalesce(new.decider, new.requester) end,
    null);
  return new;
end
$$;
create trigger approvals_check_move before insert or update on approvals
  for each row execute function approvals_check_move();
create trigger approvals_keep before delete on approvals
  for each row execute function onceover_refuse();
create trigger approvals_keep_all before truncate on approvals
  for each statement execute function onceover_refuse();

-- A correction of a wrong confirmation: the state stays, the record says what is true (2.1, end).
create table corrections (
  tenant_id uuid not null,
  id uuid not null default onceover_uuid7(),
  operation_id uuid not null,
  happened boolean not null,
  external_reference text collate "C",
  reason text not null check (char_length(reason) <= 2000),
  corrected_by text not null,
  approved_by text not null,
  approval_id uuid not null,
  at timestamptz not null default onceover_now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, operation_id) references operations (tenant_id, id)
);
create index corrections_of on corrections (tenant_id, operation_id, id);
create trigger corrections_keep before update or delete on corrections
  for each row execute function onceover_refuse();
