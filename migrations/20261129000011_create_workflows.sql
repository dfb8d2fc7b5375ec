-- Workflows: steps that do their effects through operations, checkpoints and artifacts (D30 to
-- D33, S1 to S9, W1 to W14).

create table workflows (
  tenant_id uuid not null,
  id uuid not null default onceover_uuid7(),
  kind text collate "C" not null check (char_length(kind) between 1 and 128),
  key text collate "C" not null check (char_length(key) between 1 and 512),
  -- The definition that it was started with, pinned (D32).
  definition_version integer not null check (definition_version > 0),
  input bytea,
  input_hash bytea not null check (octet_length(input_hash) = 32),
  status text not null check (status in ('running', 'waiting', 'blocked', 'compensating',
    'compensation_stuck', 'completed', 'compensated', 'closed_partial', 'failed', 'cancelled')),
  version bigint not null default 1,
  -- Moves with each executor (W2).
  fence bigint not null default 1,
  owner text,
  lease_until timestamptz,
  -- When an executor should look at it; null while nothing can be done before an operation moves.
  next_at timestamptz,
  -- Why it is blocked, or what made it fail or compensate.
  cause text check (char_length(cause) <= 2000),
  -- A cancel was asked for: it ends cancelled where nothing happened (W9).
  cancel_asked boolean not null default false,
  created_by_kind text not null,
  created_by text not null,
  created_at timestamptz not null default onceover_now(),
  updated_at timestamptz not null default onceover_now(),
  completed_at timestamptz,
  expires_at timestamptz,
  move text,
  move_actor_kind text,
  move_actor text,
  move_detail jsonb,
  primary key (tenant_id, id),
  constraint workflows_key_uniq unique (tenant_id, kind, key),
  constraint workflows_final_is_completed check (
    (status in ('completed', 'compensated', 'closed_partial', 'failed', 'cancelled')) = (completed_at is not null))
);
create index workflows_by_status on workflows (tenant_id, status, id);
create index workflows_by_kind on workflows (tenant_id, kind, id);
create index workflows_by_key on workflows (tenant_id, key);
create index workflows_due on workflows (next_at) where next_at is not null;
-- What an executor asks for: definitions that it has, one at a time (D32, D33).
create index workflows_to_advance on workflows (kind, definition_version, next_at)
  where next_at is not null and status in ('running', 'waiting');

create trigger workflows_check_move before insert on workflows
  for each row execute function machine_check_move('workflow', 'told', '', '');
-- Leases and wake-ups move nothing that a person sees.
create trigger workflows_check_change before update on workflows
  for each row when (new.move is not null or new.status is distinct from old.status
    or new.version is distinct from old.version or new.fence is distinct from old.fence
    or new.definition_version is distinct from old.definition_version
    or new.key is distinct from old.key or new.input_hash is distinct from old.input_hash)
  execute function machine_check_move('workflow', 'told', 'W2',
    'tenant_id,id,kind,key,definition_version,input_hash,created_at,created_by');
create trigger workflows_keep before delete on workflows
  for each row execute function onceover_refuse();
create trigger workflows_keep_all before truncate on workflows
  for each statement execute function onceover_refuse();

create table workflow_steps (
  tenant_id uuid not null,
  workflow_id uuid not null,
  -- Explicit, never an index (D30).
  step_key text collate "C" not null check (char_length(step_key) between 1 and 128),
  -- Where lists show it; means nothing to the engine.
  position integer not null,
  -- The steps that must be over first.
  after text[] not null default '{}',
  status text not null check (status in ('pending', 'running', 'waiting_retry', 'blocked_unknown',
    'succeeded', 'failed', 'skipped', 'cancelled')),
  version bigint not null default 1,
  -- The kind of its operation; null for a decision, which has no effect outside.
  operation text collate "C",
  operation_id uuid,
  -- Of the input that it was started with: another one later is drift (D32).
  input_hash bytea,
  started_at timestamptz,
  completed_at timestamptz,
  -- Strict order of completion, which compensation reverses (D35).
  completed_seq bigint,
  move text,
  move_actor_kind text,
  move_actor text,
  move_detail jsonb,
  primary key (tenant_id, workflow_id, step_key),
  foreign key (tenant_id, workflow_id) references workflows (tenant_id, id)
);
create unique index workflow_steps_of_operation on workflow_steps (tenant_id, operation_id) where operation_id is not null;

create trigger workflow_steps_check_move before insert or update on workflow_steps
  for each row execute function machine_check_move('step', 'told', '',
    'tenant_id,workflow_id,step_key,after');
create trigger workflow_steps_keep before delete on workflow_steps
  for each row execute function onceover_refuse();

-- What a step brought forth, written with its checkpoint and never changed: a decision that was
-- carried out is never taken again (D31).
create table workflow_artifacts (
  tenant_id uuid not null,
  workflow_id uuid not null,
  step_key text collate "C" not null,
  name text collate "C" not null check (char_length(name) between 1 and 128),
  content_type text not null check (char_length(content_type) between 1 and 255),
  -- Null once expired.
  body bytea check (octet_length(body) <= 10485760),
  size bigint not null,
  sha256 bytea not null check (octet_length(sha256) = 32),
  created_at timestamptz not null default onceover_now(),
  primary key (tenant_id, workflow_id, step_key, name),
  foreign key (tenant_id, workflow_id, step_key) references workflow_steps (tenant_id, workflow_id, step_key)
);
create function workflow_artifacts_keep() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.body is null
     and (new.tenant_id, new.workflow_id, new.step_key, new.name, new.sha256, new.size, new.content_type)
       is not distinct from
         (old.tenant_id, old.workflow_id, old.step_key, old.name, old.sha256, old.size, old.content_type) then
    return new;
  end if;
  raise exception 'an artifact is kept as it is until it expires'
    using errcode = 'check_violation', constraint = 'append_only';
end
$$;
create trigger workflow_artifacts_keep before update or delete on workflow_artifacts
  for each row execute function workflow_artifacts_keep();

create index operations_of_workflow on operations (tenant_id, workflow_id) where workflow_id is not null;
