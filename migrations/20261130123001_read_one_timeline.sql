-- What an operation's one timeline reads by: the moves of its step among those of a whole workflow, and
-- the last of its events and messages without sorting all of them.
create index machine_events_of_step on machine_events (tenant_id, record_id, step_key, id) where step_key is not null;

drop index outbox_of;
create index outbox_of on outbox (tenant_id, operation_id, id) where operation_id is not null;

drop index inbox_of_operation;
create index inbox_of_operation on inbox (tenant_id, operation_id, id) where operation_id is not null;
