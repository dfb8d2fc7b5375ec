-- Who acts, proved again: when a session's person last gave a factor (T12), from where it was opened, the
-- second factor of local accounts, and sign-ins that wait for its code. People's, not a tenant's (D02).

-- A session of before has proved itself at its sign-in and not since.
alter table sessions
  add column factor_at timestamptz,
  add column address text check (char_length(address) between 1 and 100),
  add column agent text check (char_length(agent) between 1 and 300);
update sessions set factor_at = created_at;
alter table sessions
  alter column factor_at set default onceover_now(),
  alter column factor_at set not null;
create index sessions_by_person on sessions (staff_id, created_at desc);

-- A person's token made where a factor had just been given may move money for a while; one of before may not.
alter table tokens add column stepped_up_at timestamptz;

create table second_factors (
  staff_id uuid primary key references staff,
  -- Sealed under the installation's key and bound to the person: in another row it opens nothing.
  secret bytea not null check (octet_length(secret) between 32 and 200),
  begun_at timestamptz not null default onceover_now(),
  -- It counts once a code of it was given.
  confirmed_at timestamptz,
  -- The step of thirty seconds whose code was taken last: no code is taken twice.
  last_step bigint not null default 0
);

create table recovery_codes (
  staff_id uuid not null references staff,
  code_hash bytea not null check (octet_length(code_hash) = 32),
  used_at timestamptz,
  primary key (staff_id, code_hash)
);

-- The right password was given, the code not yet. The browser's half is never stored, only its SHA-256.
create table sign_in_tickets (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  staff_id uuid not null references staff,
  -- Under which its tries are counted, as those of the password.
  email_hash bytea not null,
  created_at timestamptz not null default onceover_now(),
  used_at timestamptz
);

grant select, insert, update, delete on second_factors, recovery_codes to onceover_app;
grant select, insert, update, delete on sign_in_tickets to onceover_app;
grant update (password_hash) on staff to onceover_app;
