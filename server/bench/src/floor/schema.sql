-- The engine's tables bare: the same columns, and the keys and the one index without which the
-- same statements could not find their rows. No triggers, checks, references, policies, and none of
-- the indexes that lists, searches and sweeps read.
create schema floor;

create table floor.operations (like public.operations including defaults including generated)
  with (fillfactor = 80);
alter table floor.operations add primary key (tenant_id, id);
alter table floor.operations add unique (tenant_id, operation, key);

create table floor.operation_terms (like public.operation_terms including defaults);
alter table floor.operation_terms add primary key (tenant_id, term, operation_id);

create table floor.operation_events
  (like public.operation_events including defaults including identity);
alter table floor.operation_events add primary key (tenant_id, operation_id, id);

create table floor.leases (like public.leases including defaults) with (fillfactor = 50);
alter table floor.leases add primary key (tenant_id, operation_id);

create table floor.aggregates (like public.aggregates including defaults);
alter table floor.aggregates add primary key (tenant_id, aggregate);
create index on floor.aggregates (next_at) where not blocked and head_seq < next_seq;

create table floor.outbox (like public.outbox including defaults);
alter table floor.outbox add primary key (tenant_id, id);
alter table floor.outbox add unique (tenant_id, aggregate, seq);

create table floor.outbox_attempts
  (like public.outbox_attempts including defaults including identity);
alter table floor.outbox_attempts add primary key (tenant_id, event_id, id);
