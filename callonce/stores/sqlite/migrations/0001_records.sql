-- Who wrote this file for whom: `identity_rules` says which keys mean the same.
create table callonce_meta (
  name text primary key,
  value text not null
) strict, without rowid;

-- The boots of this host that leases were stamped in; a lease counts in the clock of its boot.
create table callonce_boot (
  number integer primary key,
  boot_id text not null unique
) strict;

-- One row a (scope, key), appended. After the insert no indexed column changes.
create table callonce_record (
  id integer primary key,
  key_index blob not null,
  scope blob not null,
  key blob not null,
  rule integer not null,
  fingerprint blob not null,
  state integer not null,               -- 1 claimed, 2 completed, 3 released, 4 parked
  attempt integer not null,
  claim_id blob not null,
  boot integer not null,
  lease_until_ms integer not null,      -- in CLOCK_BOOTTIME of `boot`
  created_at_ms integer not null,       -- these four since 1970-01-01 00:00 UTC
  completed_at_ms integer not null,
  body_until_ms integer not null,
  expires_at_ms integer not null,
  lease_ms integer not null,
  retention_ms integer not null,
  key_retention_ms integer not null,
  response_body_max integer not null,
  park integer not null,
  route text not null
) strict;

create unique index callonce_record_key on callonce_record (key_index);

-- The answer of a completed record, by the record's id; the body goes earlier than the head.
create table callonce_answer (
  id integer primary key,
  head blob not null,
  body blob
) strict;

-- What operators and probes have decided.
create table callonce_audit (
  id integer primary key,
  at_ms integer not null,
  key_index blob not null,
  attempt integer not null,
  state integer not null,
  who text not null,
  why text not null
) strict;
