-- Open pages of a bulk, and their list, are told of its moves and of how far it got; being taken up and
-- given back by its work is no change that a page shows.

create trigger bulks_tell_new after insert on bulks
  for each row execute function onceover_tell_change('bulk', 'id', 'new');
create trigger bulks_tell_change after update on bulks
  for each row when ((new.version, new.total, new.eligible, new.ineligible, new.done, new.refused) is distinct from
    (old.version, old.total, old.eligible, old.ineligible, old.done, old.refused))
  execute function onceover_tell_change('bulk', 'id');
