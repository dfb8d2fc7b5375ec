-- Evidence as a file: its bytes stand beside the rest of the evidence and go with it (D39); name, size
-- and hash say what it was. What two people decided by must stay what they saw, so it never changes.

alter table evidence
  add column file_name text check (char_length(file_name) between 1 and 200),
  add column file_size bigint check (file_size between 1 and 16777216),
  add column file_sha256 bytea check (octet_length(file_sha256) = 32),
  -- Null once expired, like its name; size and hash stay.
  add column file bytea check (octet_length(file) = file_size),
  add constraint evidence_file_whole check (
    (file_size is null) = (file_sha256 is null)
    and (file is null) = (file_name is null)
    and (file is null or file_size is not null));

create function evidence_keep_file() returns trigger
  language plpgsql set search_path = public, pg_temp as $$
begin
  if (new.file_size, new.file_sha256) is distinct from (old.file_size, old.file_sha256)
     or new.file is not null and new.file is distinct from old.file
     or new.file_name is not null and new.file_name is distinct from old.file_name then
    raise exception 'a file that was given as evidence does not change'
      using errcode = 'check_violation', constraint = 'evidence_keep_file';
  end if;
  return new;
end
$$;
create trigger evidence_keep_file before update of file, file_name, file_size, file_sha256 on evidence
  for each row execute function evidence_keep_file();
