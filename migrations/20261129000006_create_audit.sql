-- What people and tokens did and were refused: append only, chained per tenant, written by one
-- function in the transaction of the action (T29, T30, F9).

create table audit_heads (
  tenant_id uuid primary key references tenants,
  seq bigint not null,
  hash bytea not null
);

create table audit (
  tenant_id uuid not null references tenants,
  seq bigint not null,
  at timestamptz not null,
  actor_kind text not null check (actor_kind in ('staff', 'service', 'command line')),
  actor_id uuid,
  actor text not null,
  action text not null,
  target_type text not null,
  target_id text not null,
  result text not null check (result in ('done', 'denied')),
  code text,
  reason text,
  before jsonb,
  after jsonb,
  receipt uuid,
  request_id text not null,
  -- SHA-256 over the previous hash and this row's own text.
  hash bytea not null,
  primary key (tenant_id, seq)
);
create index audit_of_target on audit (tenant_id, target_id, seq);

-- The head row's lock gives the order: max(seq)+1 without it broke at once under load (F9).
create function audit_add(
  p_tenant uuid, p_actor_kind text, p_actor_id uuid, p_actor text, p_action text,
  p_target_type text, p_target_id text, p_result text, p_code text, p_reason text,
  p_before jsonb, p_after jsonb, p_receipt uuid, p_request_id text
) returns bigint
  language plpgsql security definer
  set search_path = public, pg_temp
as $$
declare
  head audit_heads;
  t timestamptz := onceover_now();
  h bytea;
begin
  -- The function runs as its owner, past row-level security: the console's own tenant is checked
  -- here instead.
  if current_setting('role') = 'onceover_app' and p_tenant is distinct from onceover_tenant() then
    raise exception 'an audit row of another tenant' using errcode = 'insufficient_privilege';
  end if;
  insert into audit_heads (tenant_id, seq, hash) values (p_tenant, 0, '') on conflict (tenant_id) do nothing;
  select * into head from audit_heads a where a.tenant_id = p_tenant for update;
  -- A JSON array keeps the fields apart: moving a letter from one to its neighbour changes the text.
  h := sha256(head.hash || convert_to(jsonb_build_array(
    p_tenant, head.seq + 1, extract(epoch from t), p_actor_kind, p_actor_id, p_actor, p_action,
    p_target_type, p_target_id, p_result, p_code, p_reason, p_before, p_after, p_receipt, p_request_id
  )::text, 'UTF8'));
  insert into audit values (p_tenant, head.seq + 1, t, p_actor_kind, p_actor_id, p_actor, p_action,
    p_target_type, p_target_id, p_result, p_code, p_reason, p_before, p_after, p_receipt, p_request_id, h);
  update audit_heads set seq = head.seq + 1, hash = h where tenant_id = p_tenant;
  return head.seq + 1;
end
$$;

create trigger audit_keep before update or delete on audit
  for each row execute function onceover_refuse();
create trigger audit_keep_all before truncate on audit
  for each statement execute function onceover_refuse();
create trigger audit_heads_keep before delete on audit_heads
  for each row execute function onceover_refuse();
create trigger audit_heads_keep_all before truncate on audit_heads
  for each statement execute function onceover_refuse();
