-- Notes stand on more than operations: an open page of any record is told of them.

-- As before, and the column other_id, whose record the column target_type names as well.
create or replace function onceover_tell_change() returns trigger language plpgsql as $$
declare
  told text := coalesce(current_setting('onceover.changed', true), '');
  label text := tg_argv[0];
  tenant uuid;
  id text;
begin
  if tg_op = 'DELETE' then
    tenant := old.tenant_id;
    id := old.operation_id;
  else
    tenant := new.tenant_id;
    if tg_argv[1] = 'id' then
      id := new.id;
    elsif tg_argv[1] = 'operation_id' then
      id := new.operation_id;
    elsif tg_argv[1] = 'workflow_id' then
      id := new.workflow_id;
    else
      if tg_argv[1] = 'other_id' then
        id := new.other_id;
      else
        id := new.target_id;
      end if;
      label := case new.target_type when 'outbox' then 'event' when 'inbox' then 'message'
        else new.target_type end;
    end if;
  end if;
  if length(told) >= 6000 then
    if length(told) >= 60000 or strpos(told, tenant || ' *') > 0 then
      return null;
    end if;
    label := '*';
    id := '';
  end if;
  -- An incident may stand alone.
  if id is not null then
    told := set_config('onceover.changed', concat(told, tenant, ' ',
      case when tg_op = 'INSERT' and tg_argv[2] = 'new' and id <> '' then '+' end,
      label, case when id <> '' then '/' end, id, '@',
      (date_part('epoch', onceover_now()) * 1000)::bigint, e'\n'), false);
  end if;
  return null;
end
$$;

create trigger notes_tell_other after insert on notes
  for each row when (new.other_id is not null) execute function onceover_tell_change('note', 'other_id');
