-- The shop: its table, and the role that the application works under.
create role shop login;
create table orders (
  id bigint generated always as identity primary key,
  item text not null,
  quantity integer not null
);
grant select, insert on orders to shop;
