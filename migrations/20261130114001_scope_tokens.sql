-- Tokens say what they are for, who made them and when they were last used; people of the tenant make
-- and revoke them by the command path of all decisions.

alter table tokens
  -- Calls that it covers (domain::token); empty means all that its bearer may make, as before.
  add column verbs text[] not null default '{}',
  add column made_by text not null default 'command line',
  add column made_by_id uuid references staff,
  -- To the minute: one write a minute, however many calls.
  add column last_used_at timestamptz,
  add column revoked_by text,
  -- Grows when it is revoked; a decision names it.
  add column version bigint not null default 1,
  add constraint tokens_verbs check (
    verbs <@ array['reserve', 'report', 'claim', 'inbox', 'workflows', 'read', 'decide']),
  add constraint tokens_revoked_once check (revoked_by is null or revoked_at is not null);
create index tokens_of_staff on tokens (tenant_id, staff_id, id) where staff_id is not null;

-- What a token is does not change once it is made, and one that was revoked stays so.
create function onceover_token_keep() returns trigger language plpgsql as $$
begin
  if (new.id, new.token_hash, new.tenant_id, new.name, new.staff_id, new.kinds, new.verbs, new.created_at,
      new.expires_at, new.made_by, new.made_by_id)
    is distinct from
     (old.id, old.token_hash, old.tenant_id, old.name, old.staff_id, old.kinds, old.verbs, old.created_at,
      old.expires_at, old.made_by, old.made_by_id)
    or (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  then
    raise exception 'a token does not change' using errcode = 'restrict_violation';
  end if;
  return new;
end
$$;
create trigger tokens_keep before update on tokens for each row execute function onceover_token_keep();

-- A token is looked up by its hash before its tenant is known, so all of them can be read; made, revoked
-- and noted as used only in the tenant that the transaction names.
alter table tokens enable row level security;
alter table tokens force row level security;
do $$
begin
  execute format('create policy owner_all on tokens to %I using (true) with check (true)', current_user);
end
$$;
create policy app_reads_tokens on tokens for select to onceover_app using (true);
create policy app_makes_tokens on tokens for insert to onceover_app
  with check (tenant_id = (select onceover_tenant()));
create policy app_changes_tokens on tokens for update to onceover_app
  using (tenant_id = (select onceover_tenant())) with check (tenant_id = (select onceover_tenant()));
grant insert on tokens to onceover_app;
grant update (last_used_at, revoked_at, revoked_by, version) on tokens to onceover_app;
