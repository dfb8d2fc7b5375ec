-- Roles, clock, identifiers, tenants and people.

-- Three roles: the owner migrates; onceover_app is the console (row-level security by tenant);
-- onceover_engine is the workers (all tenants, no staff tables). None of the two can log in or
-- bypass row-level security: the program takes them on with SET ROLE when it connects (T21).
-- Roles belong to the whole server, so another database may have made them at the same moment.
do $$
begin
  begin
    create role onceover_app nologin;
  exception when duplicate_object or unique_violation then null;
  end;
  begin
    create role onceover_engine nologin;
  exception when duplicate_object or unique_violation then null;
  end;
  if not pg_has_role(current_user, 'onceover_app', 'member') then
    execute format('grant onceover_app to %I', current_user);
  end if;
  if not pg_has_role(current_user, 'onceover_engine', 'member') then
    execute format('grant onceover_engine to %I', current_user);
  end if;
end
$$;

-- The one clock (D19). The wall clock, not now(): that one stands still inside a transaction, and a
-- lease granted late in a long one would be shorter than promised. Tests replace this function by
-- one that adds an offset.
create function onceover_now() returns timestamptz
  language sql volatile parallel safe
  as $$ select clock_timestamp() $$;

-- Version 7 identifiers by the database's clock: order by id is order by age, and no application
-- clock has a say in it (I16).
create function onceover_uuid7() returns uuid
  language sql volatile parallel safe
  as $$
    select encode(
      set_bit(set_bit(
        overlay(uuid_send(gen_random_uuid())
          placing substring(int8send((extract(epoch from onceover_now()) * 1000)::bigint) from 3)
          from 1 for 6),
        52, 1), 53, 1),
      'hex')::uuid
  $$;

-- The tenant that the running transaction acts for; null (no rows at all) where none is set. The
-- setting is '' and not null once a transaction with SET LOCAL ended, hence nullif (F8).
create function onceover_tenant() returns uuid
  language sql stable parallel safe
  as $$ select nullif(current_setting('app.tenant', true), '')::uuid $$;

create table tenants (
  id uuid primary key default onceover_uuid7(),
  slug text not null unique check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  name text not null check (name <> ''),
  created_at timestamptz not null default onceover_now()
);

-- People. Not a tenant's table (D02): one person may work for several.
create table staff (
  id uuid primary key default onceover_uuid7(),
  email text not null unique check (email = lower(email) and email like '%_@_%'),
  name text not null check (name <> ''),
  -- PHC string of Argon2id.
  password_hash text not null,
  disabled_at timestamptz,
  created_at timestamptz not null default onceover_now()
);

create table memberships (
  tenant_id uuid not null references tenants,
  staff_id uuid not null references staff,
  role text not null check (role in ('viewer', 'operator', 'approver', 'tenant-admin', 'auditor')),
  -- Who granted it and when: an approver's right must be older than the request and not be
  -- granted by its requester.
  granted_by text not null,
  granted_at timestamptz not null default onceover_now(),
  primary key (tenant_id, staff_id)
);
create index memberships_of_staff on memberships (staff_id);

-- Signed-in browsers. The cookie's token is never stored, only its SHA-256 (T13).
create table sessions (
  id uuid primary key default onceover_uuid7(),
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  staff_id uuid not null references staff,
  -- A session stands in one tenant.
  tenant_id uuid not null references tenants,
  created_at timestamptz not null default onceover_now(),
  seen_at timestamptz not null default onceover_now(),
  ended_at timestamptz
);
create index sessions_of_staff on sessions (staff_id) where ended_at is null;

-- Bearer tokens of the JSON API: a service's, bound to kinds, or a person's.
create table tokens (
  id uuid primary key default onceover_uuid7(),
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  tenant_id uuid not null references tenants,
  name text not null check (name <> ''),
  staff_id uuid references staff,
  -- Kinds that a service may use; empty means all of the tenant's.
  kinds text[] not null default '{}',
  created_at timestamptz not null default onceover_now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  unique (tenant_id, name)
);

-- Tries to sign in, counted before a password is looked at, for known and unknown accounts alike
-- (T14, T15).
create table sign_in_attempts (
  email_hash bytea primary key,
  window_start timestamptz not null,
  tries integer not null
);
