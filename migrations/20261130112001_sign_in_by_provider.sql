-- Signing in with an identity provider: whom it has named, sign-ins that are on their way there, and
-- what the console may write of people while one comes back.

-- Issuer and subject are the account's key, never the e-mail: that one can be given to somebody else.
create table staff_identities (
  issuer text not null check (issuer <> ''),
  subject text not null check (subject <> '' and length(subject) <= 255),
  staff_id uuid not null references staff,
  created_at timestamptz not null default onceover_now(),
  primary key (issuer, subject)
);
create index staff_identities_of_staff on staff_identities (staff_id);

-- Whom the provider named has no password here, until the command line gives one.
alter table staff alter column password_hash drop not null;

-- Each is used once, within minutes, by the browser that began it. Of state and PKCE verifier only the
-- SHA-256 is kept: whoever reads this table cannot finish a sign-in with it.
create table pending_sign_ins (
  state_hash bytea primary key check (octet_length(state_hash) = 32),
  verifier_hash bytea not null check (octet_length(verifier_hash) = 32),
  nonce text not null,
  -- Where the person was going.
  next text not null check (length(next) <= 2000),
  -- The session whose person proves again who they are; null: a new session.
  session_id uuid references sessions on delete cascade,
  created_at timestamptz not null default onceover_now()
);
create index pending_sign_ins_by_age on pending_sign_ins (created_at);

alter table audit drop constraint audit_actor_kind_check;
alter table audit add constraint audit_actor_kind_check
  check (actor_kind in ('staff', 'service', 'command line', 'identity provider'));

-- For sweeps, which skip what another one holds, a row is locked: that needs update.
grant select, insert, update, delete on pending_sign_ins to onceover_app;
grant select, insert on staff_identities to onceover_app;
grant insert (email, name) on staff to onceover_app;
grant insert, delete on memberships to onceover_app;
create policy app_adds_in_tenant on memberships for insert to onceover_app
  with check (tenant_id = (select onceover_tenant()));
create policy app_removes_in_tenant on memberships for delete to onceover_app
  using (tenant_id = (select onceover_tenant()));
