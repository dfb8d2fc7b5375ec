-- What the first page reads: queues of attention by age, ageing of unknown outcomes, and how many
-- operations ended how in each hour. Queues are read up to a bound; outcomes are counted on write.

create index operations_unknown_ages on operations (tenant_id, unknown_since) where status = 'unknown';
create index workflows_blocked on workflows (tenant_id, updated_at) where status = 'blocked';
create index compensations_failed on compensations (tenant_id, updated_at) where status = 'failed';
-- What an index by id alone served.
drop index compensations_stuck;

-- One row per outcome, in the transaction of the outcome and without a key: nothing waits for
-- anything here. A task folds them into the counts, so that no row is hot and none is ever counted.
create table outcome_deltas (
  tenant_id uuid not null,
  hour timestamptz not null,
  status text not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

-- A year of a tenant has about 26,000 rows; they stay.
create table outcome_counts (
  tenant_id uuid not null,
  hour timestamptz not null,
  status text not null check (status in ('succeeded', 'failed_terminal', 'unknown')),
  count bigint not null check (count > 0),
  primary key (tenant_id, hour, status)
);

create function operations_count_outcome() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into outcome_deltas values (new.tenant_id, date_trunc('hour', new.updated_at, 'UTC'), new.status);
  return null;
end
$$;
create trigger operations_count_outcome after update on operations
  for each row when (new.status is distinct from old.status
    and new.status in ('succeeded', 'failed_terminal', 'unknown') and not new.console)
  execute function operations_count_outcome();

-- What ended in the last day before there were counts.
insert into outcome_counts
select tenant_id, date_trunc('hour', coalesce(completed_at, unknown_since), 'UTC'), status, count(*)
from operations
where not console and status in ('succeeded', 'failed_terminal', 'unknown')
  and coalesce(completed_at, unknown_since) > onceover_now() - interval '1 day'
group by 1, 2, 3;

do $$
declare
  t text;
begin
  foreach t in array array['outcome_deltas', 'outcome_counts'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy owner_all on %I to %I using (true) with check (true)', t, current_user);
    execute format('create policy engine_all on %I to onceover_engine using (true) with check (true)', t);
  end loop;
end
$$;
create policy app_tenant on outcome_counts to onceover_app using (tenant_id = (select onceover_tenant()));
-- Updating is asked for to lock what is folded; no row of it ever changes.
grant select, update, delete on outcome_deltas to onceover_engine;
grant select, insert, update on outcome_counts to onceover_engine;
grant select on outcome_counts to onceover_app;

-- The oldest transaction that is open in this database, whoever holds it: it keeps old rows from being
-- cleared away and locks from being given up. A role sees its own sessions alone, so this runs as
-- the owner; what even that may not see is counted as hidden.
create function onceover_oldest_transaction(
  out age_ms bigint, out state text, out application text, out hidden bigint
)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
as $$
  with others as (
    select a.xact_start, a.state, a.application_name, a.state is null as hidden
    from pg_stat_activity a
    where a.datname = current_database() and a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
  ),
  oldest as (
    select * from others where xact_start is not null order by xact_start limit 1
  )
  select (extract(epoch from clock_timestamp() - o.xact_start) * 1000)::bigint, o.state, o.application_name,
    (select count(*) from others where others.hidden)
  from (select 1) one left join oldest o on true
$$;
revoke all on function onceover_oldest_transaction() from public;
grant execute on function onceover_oldest_transaction() to onceover_app;
