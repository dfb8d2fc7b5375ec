-- The second half of the migration before: what stands is looked at while everybody may write.

alter table operations validate constraint operations_retry_is_dated;
alter table operations validate constraint operations_unknown_is_asked;
alter table outbox validate constraint outbox_publisher_has_a_lease;
alter table aggregates validate constraint aggregates_head_is_within;
alter table aggregates validate constraint aggregates_blocked_has_a_head;
alter table workflows validate constraint workflows_unwinding_is_dated;
alter table workflow_steps validate constraint workflow_steps_open_has_an_operation;
alter table workflow_steps validate constraint workflow_steps_done_has_its_place;
alter table compensations validate constraint compensations_waiting_is_dated;
alter table compensations validate constraint compensations_running_has_an_undo;
