-- The schema holds nothing but what callonce keeps and the functions through which it is reached.
-- Each function names its search_path, so that nobody else's objects are ever called.
create table callonce.meta (
  name text primary key,
  value text not null
);

-- The only clocks that judge: of this server. Milliseconds since 1970-01-01 00:00 UTC.
create function callonce.wall_clock() returns bigint
language sql volatile parallel safe set search_path = pg_catalog, pg_temp
as $$ select (extract(epoch from clock_timestamp()) * 1000)::bigint $$;

create function callonce.lease_clock() returns bigint
language sql volatile parallel safe set search_path = pg_catalog, pg_temp
as $$ select (extract(epoch from clock_timestamp()) * 1000)::bigint $$;

create sequence callonce.record_id as bigint;

-- One row a (scope, key), appended. After the insert no indexed column changes, so that an update
-- stays on its page.
create table callonce.record (
  id bigint not null default nextval('callonce.record_id'),
  lease_until_ms bigint not null,
  created_at_ms bigint not null,
  completed_at_ms bigint not null default 0,
  body_until_ms bigint not null default 0,
  expires_at_ms bigint not null,
  lease_ms bigint not null,
  retention_ms bigint not null,
  key_retention_ms bigint not null,
  response_body_max bigint not null,
  key_index uuid not null,                -- 16 bytes of SHA-256(scope, key)
  claim_id uuid not null,
  attempt integer not null,
  state smallint not null,                -- 1 claimed, 2 completed, 3 released, 4 parked
  park boolean not null,
  held boolean not null default false,    -- an application's transaction has promised to complete
  scope bytea not null,
  key bytea not null,
  fingerprint bytea not null,
  rule text not null,
  route text not null
) @storage@;
@partitions@
create unique index record_key on callonce.record (key_index);
create index record_in_order on callonce.record (id);

-- The answer of a completed record, by the record's id; the body goes earlier than the rest.
-- Form 1 is written by callonce (head), form 0 by SQL (status and headers).
create table callonce.answer (
  id bigint primary key,
  form smallint not null,
  status smallint,
  omitted smallint not null default 0,    -- 1: the body was beyond the record's cap
  head bytea,
  headers text,                           -- a JSON array of [name, value]
  body bytea
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- Bodies come compressed where that is worth it.
alter table callonce.answer alter column body set storage external;

-- What operators and probes have decided.
create table callonce.audit (
  id bigint generated always as identity primary key,
  at_ms bigint not null,
  key_index uuid not null,
  attempt integer not null,
  state smallint not null,
  who text not null,
  why text not null
);

-- A record with its answer.
create view callonce.whole as
  select r.id, r.key_index, r.scope, r.key, r.rule, r.fingerprint, r.state, r.attempt, r.claim_id,
         r.lease_until_ms, r.created_at_ms, r.completed_at_ms, r.body_until_ms, r.expires_at_ms,
         r.lease_ms, r.retention_ms, r.key_retention_ms, r.response_body_max, r.park, r.route,
         a.form, a.status, a.omitted, a.head, a.headers, a.body
    from callonce.record r left join callonce.answer a on a.id = r.id and r.state = 2;
