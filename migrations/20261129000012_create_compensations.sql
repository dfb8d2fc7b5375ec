-- Undoing (D34 to D37, C1 to C10). The undo is an operation of its own; this links it to what it
-- undoes.

alter table operation_kinds
  -- The kind whose operation undoes one of this kind; null where nothing can.
  add column undo_kind text collate "C",
  -- Of an undo: the member of its payload that names the reference of what it undoes.
  add column undo_reference_member text collate "C" check (char_length(undo_reference_member) between 1 and 128),
  -- From the tombstone to the removal of the row; null keeps it for ever (O29).
  add column purge_after_ms bigint check (purge_after_ms > 0),
  -- It makes something public: like money, its keys are kept for ever.
  add column publication boolean not null default false,
  -- How long a request for a second person stands.
  add column approval_ttl_ms bigint not null default 86400000 check (approval_ttl_ms between 1000 and 2592000000),
  add constraint operation_kinds_money_and_publications_stay
    check (purge_after_ms is null or not (money or publication)),
  add constraint operation_kinds_undone_by_another check (undo_kind is distinct from name);

create table compensations (
  tenant_id uuid not null,
  id uuid not null default onceover_uuid7(),
  -- The forward operation, and the kind of its undo.
  operation_id uuid not null,
  kind text collate "C" not null,
  -- Grows with each retry (C9); part of the undo's key comp:{operation}:{kind}:{n}.
  n integer not null default 1 check (n between 1 and 1000),
  status text not null check (status in ('requested', 'waiting_forward', 'running', 'compensated',
    'failed', 'not_needed', 'accepted_undone_not')),
  version bigint not null default 1,
  -- The undo operation of this n.
  undo_id uuid,
  -- How much it gives back; null where no money moves.
  amount_minor bigint,
  currency text,
  workflow_id uuid,
  step_key text collate "C",
  -- A person let the steps before it be undone without it (D35).
  passed_at timestamptz,
  passed_by text,
  reason text check (char_length(reason) <= 2000),
  requested_by_kind text not null,
  requested_by text not null,
  requested_at timestamptz not null default onceover_now(),
  updated_at timestamptz not null default onceover_now(),
  settled_at timestamptz,
  -- When the engine should look again.
  next_at timestamptz default onceover_now(),
  move text,
  move_actor_kind text,
  move_actor text,
  move_detail jsonb,
  primary key (tenant_id, id),
  foreign key (tenant_id, operation_id) references operations (tenant_id, id),
  constraint compensations_amount_with_currency check ((amount_minor is null) = (currency is null))
);
-- `compensated` stays in it for ever: nothing is undone twice (C1).
create unique index compensations_once on compensations (tenant_id, operation_id, kind) where status <> 'not_needed';
create index compensations_of_workflow on compensations (tenant_id, workflow_id) where workflow_id is not null;
create index compensations_of_undo on compensations (tenant_id, undo_id) where undo_id is not null;
create index compensations_due on compensations (next_at)
  where next_at is not null and status in ('requested', 'waiting_forward', 'running');
create index compensations_stuck on compensations (tenant_id, id) where status = 'failed';
create index compensations_by_status on compensations (tenant_id, status, id);

create trigger compensations_check_move before insert on compensations
  for each row execute function machine_check_move('compensation', 'told', '', '');
create trigger compensations_check_change before update on compensations
  for each row when (new.move is not null or new.status is distinct from old.status
    or new.version is distinct from old.version or new.n is distinct from old.n
    or new.undo_id is distinct from old.undo_id or new.operation_id is distinct from old.operation_id
    or new.amount_minor is distinct from old.amount_minor or new.passed_at is distinct from old.passed_at)
  execute function machine_check_move('compensation', 'told', '',
    'tenant_id,id,operation_id,kind,amount_minor,currency,workflow_id,step_key,requested_at,requested_by');
create trigger compensations_keep before delete on compensations
  for each row execute function onceover_refuse();
create trigger compensations_keep_all before truncate on compensations
  for each statement execute function onceover_refuse();
