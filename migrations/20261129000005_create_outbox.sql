-- Events to be told, written in the transaction of the change (D25, X1). Filled from the first
-- day on; publishers read it from the heads in aggregates.

-- One row per aggregate: its lock gives the sequence, and claims read it instead of skipping over
-- events.
create table aggregates (
  tenant_id uuid not null,
  aggregate text collate "C" not null,
  -- The next event's number, and that of the first one not yet told.
  next_seq bigint not null default 1,
  head_seq bigint not null default 1,
  -- A dead event at the head stops this aggregate alone.
  blocked boolean not null default false,
  next_at timestamptz not null default onceover_now(),
  primary key (tenant_id, aggregate)
);
create index aggregates_to_claim on aggregates (next_at) where not blocked and head_seq < next_seq;

create table outbox (
  tenant_id uuid not null,
  id uuid not null default onceover_uuid7(),
  aggregate text collate "C" not null,
  seq bigint not null,
  topic text collate "C" not null check (char_length(topic) between 1 and 200),
  payload bytea not null,
  operation_id uuid,
  status text not null default 'pending'
    check (status in ('pending', 'publishing', 'published', 'dead', 'skipped')),
  attempts integer not null default 0,
  fence bigint not null default 0,
  created_at timestamptz not null default onceover_now(),
  settled_at timestamptz,
  primary key (tenant_id, id),
  constraint outbox_order unique (tenant_id, aggregate, seq)
);
create index outbox_of on outbox (tenant_id, operation_id) where operation_id is not null;
