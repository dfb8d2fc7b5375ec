-- Workflows that are due, state by state in the order of their instants (see the backlog of turns).

drop index workflows_by_turn;
create index workflows_by_turn on workflows (status, next_at)
  where next_at is not null and status in ('running', 'waiting');
