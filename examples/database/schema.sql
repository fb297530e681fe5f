create table if not exists customers (
  id text primary key,
  name text not null
);
