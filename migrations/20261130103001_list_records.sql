-- What the console's lists of events, conflicts, leases, incidents and the audit log read by. None
-- of these tables is counted, and none is read without one of these indexes.

-- A refused payload has a page of its own, so it needs a name of its own.
alter table payload_conflicts add column id uuid not null default onceover_uuid7();
create unique index payload_conflicts_by_id on payload_conflicts (tenant_id, id);

create index outbox_by_topic on outbox (tenant_id, topic, id);

-- Stuck first: those whose lease ended longest ago. A beat moves its row in this index, which is why
-- the table has no other.
create index leases_by_end on leases (tenant_id, lease_until, operation_id);

create index incidents_open_by_id on incidents (tenant_id, id) where closed_at is null;
create index incidents_by_cause on incidents (tenant_id, cause, id);
create index incidents_by_subject on incidents (tenant_id, subject);

create index audit_by_time on audit (tenant_id, at);
create index audit_by_actor on audit (tenant_id, actor, seq);
create index audit_by_action on audit (tenant_id, action, seq);
create index audit_denied on audit (tenant_id, seq) where result = 'denied';
