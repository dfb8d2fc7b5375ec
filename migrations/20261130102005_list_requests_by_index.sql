-- The lists of requests, each with the index that its order stands in: those that wait and those that
-- are settled, of all and of one person, and one state of one person's.

create index approvals_waiting on approvals (tenant_id, id) where status = 'pending';
create index approvals_waiting_of on approvals (tenant_id, requester_id, id) where status = 'pending';
create index approvals_settled on approvals (tenant_id, id) where status <> 'pending';
create index approvals_settled_of on approvals (tenant_id, requester_id, id) where status <> 'pending';
create index approvals_by_requester_and_status on approvals (tenant_id, requester_id, status, id);
drop index approvals_by_requester;
drop index approvals_by_age;
