-- What waits is counted up to a bound, from the oldest on: each queue in the order of its waiting.

create index operations_unknown_by_age on operations (unknown_since) where status = 'unknown' and not needs_manual;
create index compensations_waiting on compensations (requested_at) where status in ('requested', 'waiting_forward');
create index workflows_unwinding_by_age on workflows (updated_at) where status in ('compensating', 'compensation_stuck');
-- In place of one in which what is undone stood before what runs.
create index workflows_by_turn on workflows (next_at) where next_at is not null and status in ('running', 'waiting');
drop index workflows_due;
