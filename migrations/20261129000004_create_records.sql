-- What gathers around an operation: conflicts, search terms, evidence, notes, incidents. None of
-- it moves the operation's version by itself.

-- The same key with another payload (D08): one row per hash, at most 20 per operation; beyond
-- that a row with an empty hash only counts.
create table payload_conflicts (
  tenant_id uuid not null,
  operation_id uuid not null,
  hash bytea not null,
  hash_version smallint not null,
  count bigint not null default 1,
  first_at timestamptz not null default onceover_now(),
  last_at timestamptz not null default onceover_now(),
  callers text[] not null,
  amount_minor bigint,
  currency text,
  -- Masked and bounded; null once expired, and in the row that only counts.
  payload bytea,
  payload_cut boolean not null default false,
  primary key (tenant_id, operation_id, hash),
  foreign key (tenant_id, operation_id) references operations (tenant_id, id)
);
create index payload_conflicts_recent on payload_conflicts (tenant_id, last_at);

-- What search finds an operation by, taken from the payload at reserve (the kind's pointers). A
-- masked field's term is a keyed hash.
create table operation_terms (
  tenant_id uuid not null,
  term text collate "C" not null,
  operation_id uuid not null,
  primary key (tenant_id, term, operation_id)
);
create index operation_terms_of on operation_terms (tenant_id, operation_id);

-- What arrived about an operation from elsewhere: an old holder, a webhook, a lookup, a person.
create table evidence (
  tenant_id uuid not null,
  id uuid not null default onceover_uuid7(),
  operation_id uuid not null,
  source text not null check (source in ('worker', 'webhook', 'lookup', 'staff')),
  says text not null check (says in ('done', 'rejected', 'not_done', 'absent', 'ambiguous', 'statement')),
  external_reference text collate "C",
  amount_minor bigint,
  currency text,
  fence bigint,
  -- The provider's own id of the message, or what a former holder said under which fence: the same
  -- words again are one piece of evidence.
  provider_event text collate "C",
  -- A person's words or link, or what the provider said; null once expired.
  text text check (char_length(text) <= 20000),
  -- A signed message of the operation's own provider that names the same amount, currency and
  -- target: proof as soon as the status is unknown (O16).
  proves boolean not null default false,
  actor_kind text not null,
  actor text not null,
  at timestamptz not null default onceover_now(),
  -- Refuted only by a second person, by name.
  refuted_at timestamptz,
  refuted_by text,
  primary key (tenant_id, id),
  foreign key (tenant_id, operation_id) references operations (tenant_id, id)
);
create index evidence_of on evidence (tenant_id, operation_id, id);
create unique index evidence_once on evidence (tenant_id, operation_id, provider_event)
  where provider_event is not null;

create table notes (
  tenant_id uuid not null,
  id uuid not null default onceover_uuid7(),
  operation_id uuid not null,
  staff_id uuid not null references staff,
  author text not null,
  -- Minted by the server into the form: a repeated post adds nothing (D41).
  form_key text not null,
  text text not null check (char_length(text) <= 4000),
  at timestamptz not null default onceover_now(),
  primary key (tenant_id, id),
  unique (tenant_id, form_key),
  foreign key (tenant_id, operation_id) references operations (tenant_id, id)
);
create index notes_of on notes (tenant_id, operation_id, id);

-- Taken by: so that two people do not ring the same provider.
create table operation_takes (
  tenant_id uuid not null,
  operation_id uuid not null,
  staff_id uuid not null references staff,
  name text not null,
  at timestamptz not null default onceover_now(),
  primary key (tenant_id, operation_id),
  foreign key (tenant_id, operation_id) references operations (tenant_id, id)
);

-- A problem that stays open until a person closes it: one open per operation and cause.
create table incidents (
  tenant_id uuid not null,
  id uuid not null default onceover_uuid7(),
  operation_id uuid,
  cause text not null,
  summary text not null,
  opened_at timestamptz not null default onceover_now(),
  closed_at timestamptz,
  closed_by text,
  reason text,
  primary key (tenant_id, id),
  foreign key (tenant_id, operation_id) references operations (tenant_id, id)
);
create unique index incidents_open_once on incidents (tenant_id, operation_id, cause) where closed_at is null;
create index incidents_open on incidents (tenant_id, opened_at) where closed_at is null;
create index incidents_of on incidents (tenant_id, operation_id);

-- Others who sent a decision that had been taken already: shown on its receipt (D41).
create table action_repeats (
  tenant_id uuid not null,
  -- The console operation that recorded the decision.
  action_id uuid not null,
  staff_id uuid not null references staff,
  name text not null,
  reason text not null,
  evidence text,
  at timestamptz not null default onceover_now(),
  primary key (tenant_id, action_id, staff_id),
  foreign key (tenant_id, action_id) references operations (tenant_id, id)
);
