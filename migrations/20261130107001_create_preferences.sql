-- How a person wants the console to look. A person's, not a tenant's (D02): it holds in every tenant
-- that the person stands in. Whether a zone's name is one is for the program to say, which has the table
-- of zones.
create table staff_preferences (
  staff_id uuid primary key references staff,
  zone text not null check (zone ~ '^[A-Za-z][A-Za-z0-9/_+-]{0,63}$'),
  theme text not null check (theme in ('auto', 'light', 'dark')),
  density text not null check (density in ('dense', 'comfortable')),
  page_rows integer not null check (page_rows in (25, 50, 100, 200)),
  updated_at timestamptz not null default onceover_now()
);

grant select, insert, update on staff_preferences to onceover_app;
