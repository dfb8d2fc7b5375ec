-- An audit row names the address that the person or token came from, as far as trusted proxies tell (T40).
-- Null: no client asked (the command line, work that goes on without its person), or the row is older.

alter table audit add column client text;

-- Whoever still calls it by the fourteen of before, such as a process of the build before, names no client.
drop function audit_add(
  uuid, text, uuid, text, text, text, text, text, text, text, jsonb, jsonb, uuid, text
);
create function audit_add(
  p_tenant uuid, p_actor_kind text, p_actor_id uuid, p_actor text, p_action text,
  p_target_type text, p_target_id text, p_result text, p_code text, p_reason text,
  p_before jsonb, p_after jsonb, p_receipt uuid, p_request_id text, p_client text default null
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
  -- A JSON array keeps the fields apart: moving a letter from one to its neighbour changes the text. The
  -- client is one element more, so that a row without one has the text that it had before.
  h := sha256(head.hash || convert_to((jsonb_build_array(
    p_tenant, head.seq + 1, extract(epoch from t), p_actor_kind, p_actor_id, p_actor, p_action,
    p_target_type, p_target_id, p_result, p_code, p_reason, p_before, p_after, p_receipt, p_request_id
  ) || case when p_client is null then '[]'::jsonb else jsonb_build_array(p_client) end)::text, 'UTF8'));
  insert into audit (tenant_id, seq, at, actor_kind, actor_id, actor, action, target_type, target_id, result,
    code, reason, before, after, receipt, request_id, client, hash)
  values (p_tenant, head.seq + 1, t, p_actor_kind, p_actor_id, p_actor, p_action, p_target_type, p_target_id,
    p_result, p_code, p_reason, p_before, p_after, p_receipt, p_request_id, p_client, h);
  update audit_heads set seq = head.seq + 1, hash = h where tenant_id = p_tenant;
  return head.seq + 1;
end
$$;

revoke all on function audit_add from public;
grant execute on function audit_add to onceover_app, onceover_engine;
