create table if not exists orders (
  id integer primary key,
  customer text not null,
  ordered_on date not null,
  cents integer not null
);

create table if not exists invoices (
  customer text not null,
  month text not null,
  cents integer not null,
  primary key (customer, month)
);

insert into orders (id, customer, ordered_on, cents) values
  (1, 'ada', '2026-10-03', 350),
  (2, 'ada', '2026-10-21', 900),
  (3, 'grace', '2026-10-31', 350),
  (4, 'ada', '2026-11-01', 350)
on conflict (id) do nothing;
