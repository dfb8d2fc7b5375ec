-- Failed sign-ins by the address that they came from, counted before a password is looked at. In the
-- database, so that neither a restart nor a second server forgets them (T14, T40).

create table sign_in_addresses (
  -- SHA-256 of the address: who tried from where is nobody's business a day later.
  address_hash bytea primary key check (octet_length(address_hash) = 32),
  window_start timestamptz not null,
  tries integer not null
);
create index sign_in_addresses_old on sign_in_addresses (window_start);
create index sign_in_attempts_old on sign_in_attempts (window_start);

grant select, insert, update, delete on sign_in_addresses to onceover_app;
-- Anybody can make up accounts and so rows: each try takes a few that are over with it.
grant delete on sign_in_attempts to onceover_app;
