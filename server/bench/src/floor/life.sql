-- One operation's life in three statements, each a commit of its own: the rows that the engine
-- writes, in the fewest round trips there can be. Run by pgbench, prepared. In the JSON a blank
-- keeps a colon from naming a variable.
\set n random(1, 9000000000000000000)

with o as (
  insert into floor.operations
    (tenant_id, operation, key, hash, hash_version, status, mode, amount_minor, currency, payload,
     max_attempts, created_by_kind, created_by)
  values
    (:tenant::uuid, 'invoice.charge', 'charge INV-' || :n::text, sha256(convert_to(:n::text, 'UTF8')), 1,
     'reserved', 'inline', 12900, 'EUR',
     convert_to('{"invoice_id":"INV-' || :n::text || '","amount_minor": 12900,"currency":"EUR","customer_id":"c-1042","description":"Subscription, one month"}', 'UTF8'),
     3, 'service', 'billing')
  on conflict (tenant_id, operation, key) do nothing
  returning tenant_id, id),
t as (
  insert into floor.operation_terms (tenant_id, term, operation_id)
  select tenant_id, 'INV-' || :n::text, id from o),
l as (
  insert into floor.leases (tenant_id, operation_id, fence, owner, lease_until)
  select tenant_id, id, 1, 'billing', onceover_now() + interval '30 s' from o),
e as (
  insert into floor.operation_events
    (tenant_id, operation_id, move, to_status, version, fence, attempt, actor_kind, actor)
  select tenant_id, id, 'O1', 'reserved', 1, 1, 0, 'service', 'billing' from o)
select id from o \gset

with o as (
  update floor.operations set status = 'executing', version = version + 1, attempt = attempt + 1, claims = 0,
    started_at = onceover_now(), updated_at = onceover_now()
  where tenant_id = :tenant::uuid and id = :id::uuid and status = 'reserved' and fence = 1
  returning tenant_id, id, version, fence, attempt)
insert into floor.operation_events
  (tenant_id, operation_id, move, from_status, to_status, version, fence, attempt, actor_kind, actor)
select tenant_id, id, 'O2', 'reserved', 'executing', version, fence, attempt, 'service', 'billing' from o;

with o as (
  update floor.operations set status = 'succeeded', version = version + 1, external_reference = 'ch_' || :n::text,
    response_status = 201, response_type = 'application/json',
    response_body = convert_to('{"id":"' || :id::text || '","status":"captured"}', 'UTF8'),
    ended_by = 'O6', completed_at = onceover_now(), updated_at = onceover_now(),
    expires_at = onceover_now() + interval '30 days'
  where tenant_id = :tenant::uuid and id = :id::uuid and status = 'executing' and fence = 1
  returning tenant_id, id, version, fence, attempt),
l as (
  delete from floor.leases l using o where l.tenant_id = o.tenant_id and l.operation_id = o.id),
e as (
  insert into floor.operation_events
    (tenant_id, operation_id, move, from_status, to_status, version, fence, attempt, actor_kind, actor, detail)
  select tenant_id, id, 'O6', 'executing', 'succeeded', version, fence, attempt, 'service', 'billing',
    jsonb_build_object('fence', 1, 'outcome', 'done', 'external_reference', 'ch_' || :n::text, 'response_status', 201)
  from o),
a as (
  insert into floor.aggregates (tenant_id, aggregate, next_seq) select tenant_id, id::text, 2 from o
  on conflict (tenant_id, aggregate) do update set next_seq = floor.aggregates.next_seq + 1
  returning tenant_id, aggregate, next_seq - 1 as seq)
insert into floor.outbox (tenant_id, aggregate, seq, topic, payload, operation_id)
select a.tenant_id, a.aggregate, a.seq, 'operation.succeeded',
  convert_to('{"operation_id":"' || :id::text || '","operation":"invoice.charge","key":"charge INV-' || :n::text
    || '","status":"succeeded","version": 3,"rule":"O6","needs_manual": false,"external_reference":"ch_' || :n::text
    || '","amount_minor": 12900,"currency":"EUR"}', 'UTF8'),
  :id::uuid
from a;
