-- What a tenant's operations are, and the policy of each kind.
create table operation_kinds (
  tenant_id uuid not null references tenants,
  name text collate "C" not null
    check (name <> '' and name not like 'console.%' and char_length(name) <= 128),
  -- A repeat would harm. The safe default; a kind that says otherwise must say why (O34).
  irreversible boolean not null default true,
  harmless_reason text,
  -- It moves money: amount and currency are required, and some decisions need a second person.
  money boolean not null default false,
  -- Where amount and currency stand in the payload (D22).
  amount_pointer text,
  currency_pointer text,
  -- Name of the adapter that calls and asks the provider; null where only the service can.
  provider text,
  -- The provider can be asked what became of a call.
  lookup boolean not null default false,
  -- Its "not found" proves that nothing happened (D14).
  absent_is_proof boolean not null default false,
  -- It answers a repeated key with the first answer, for so long.
  honours_keys boolean not null default false,
  key_ttl_ms bigint check (key_ttl_ms > 0),
  call_deadline_ms bigint not null default 10000 check (call_deadline_ms between 1 and 3600000),
  lease_ms bigint not null default 30000 check (lease_ms between 100 and 86400000),
  -- How long an effect may take to show in a lookup.
  settle_window_ms bigint not null default 60000 check (settle_window_ms between 0 and 604800000),
  max_attempts integer not null default 5 check (max_attempts between 1 and 1000),
  max_claims integer not null default 10 check (max_claims between 1 and 1000),
  max_reconcile_tries integer not null default 6 check (max_reconcile_tries between 1 and 1000),
  -- First pause between attempts and between questions; doubles, with jitter.
  backoff_ms bigint not null default 1000 check (backoff_ms between 1 and 86400000),
  -- From the final state to the tombstone; null keeps it for as long as the entity (D38).
  retention_ms bigint check (retention_ms > 0),
  -- From this amount on a confirmation needs a second person; null: never by amount.
  approval_threshold_minor bigint check (approval_threshold_minor >= 0),
  -- JSON pointers of fields that nobody sees unmasked without a right.
  masked_pointers text[] not null default '{}',
  -- JSON pointers of fields that search finds an operation by.
  search_pointers text[] not null default '{}',
  -- https template of the provider's own page; {reference} stands for the reference.
  reference_url text check (reference_url like 'https://%'),
  created_at timestamptz not null default onceover_now(),
  updated_at timestamptz not null default onceover_now(),
  primary key (tenant_id, name),
  constraint operation_kinds_harmless_says_why
    check (irreversible or coalesce(harmless_reason, '') <> ''),
  constraint operation_kinds_call_fits_lease check (call_deadline_ms < lease_ms),
  constraint operation_kinds_money_names_it
    check (not money or (amount_pointer is not null and currency_pointer is not null))
);
