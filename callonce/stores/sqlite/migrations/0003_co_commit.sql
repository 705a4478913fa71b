-- An application that shares this file completes a key next to its effect: as the last statement of
-- its own transaction it inserts into callonce_complete. It names its claim by the handle that it
-- was given: base64url of the key's index (16 bytes), attempt (4, the highest first) and claim_id
-- (16). The row is found through callonce_record_key by what the handle says: a column for it would
-- cost every claim 48 bytes, and an index on it one more page in random order, which is what the
-- speed of claims hangs on. So the text is turned back into bytes here, only when it is asked for.

-- Form 1 is the gateway's: head and body. Form 0 is written below: status, headers as a JSON array
-- of [name, value] pairs, an empty head, and the body as it is. `omitted` is 1 where the body is
-- longer than the record allows.
alter table callonce_answer add column form integer not null default 1;
alter table callonce_answer add column status integer;
alter table callonce_answer add column headers text;
alter table callonce_answer add column omitted integer not null default 0;

-- The bytes of a handle, for callonce_status. `claim` is the argument, as a JSON text: where it is
-- not given there is no row. Four digits make the number of three bytes. A piece of a blob is a
-- blob: before SQLite 3.41 there is no other way to make one from numbers.
create view callonce_handle as
select given.json as claim, (
  with recursive
    every (digit, byte) as (
      select 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
        cast(
         x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f' ||
         x'202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f' ||
         x'404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f' ||
         x'606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f' ||
         x'808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f' ||
         x'a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf' ||
         x'c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf' ||
         x'e0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff' as blob)),
    decoded (at, number, bytes) as (
      select 0, 0, x''
      union all
      select at + 4,
        (instr(digit, substr(given.value, at + 1, 1)) - 1 << 18) +
        (instr(digit, substr(given.value, at + 2, 1)) - 1 << 12) +
        (instr(digit, substr(given.value, at + 3, 1)) - 1 << 6) +
        (instr(digit, substr(given.value, at + 4, 1)) - 1),
        case at when 0 then x'' else bytes || substr(byte, (number >> 16) + 1, 1) ||
          substr(byte, (number >> 8 & 255) + 1, 1) || substr(byte, (number & 255) + 1, 1) end
      from decoded, every where at < 52)
  select cast(bytes as blob) from decoded where at = 52) as bytes
from json_each as given
where given.type = 'text' and length(given.value) = 48 and
  given.value not glob '*[^A-Za-z0-9_-]*';

-- What became of the claim of a handle: select state from callonce_status where claim =
-- json_quote(?). No row: it is lost. A handle that was not quoted is an error, not a lost claim.
create view callonce_status as
select given.claim as claim,
  case found.state when 1 then 'claimed' when 2 then 'completed' when 3 then 'released'
    when 4 then 'parked' end as state,
  found.id as id
from callonce_handle as given join callonce_record as found
  on found.key_index = substr(given.bytes, 1, 16) and
    hex(found.key_index) || printf('%08X', found.attempt) || hex(found.claim_id) = hex(given.bytes);

create view callonce_complete as
select null as claim, null as status, null as headers, null as body where false;

-- The same with the record in place of the handle, so that this is read once.
create view callonce_complete_record as
select null as id, null as status, null as headers, null as body where false;

create trigger callonce_complete_insert instead of insert on callonce_complete begin
  insert into callonce_complete_record (id, status, headers, body)
  select (select id from callonce_status where claim = json_quote(cast(new.claim as text))),
    new.status, new.headers, coalesce(cast(new.body as blob), x'');
end;

-- Whatever is wrong ends the whole transaction, so that an effect never stands without its
-- completion, whatever the application makes of the error. Only RAISE does that: each value is
-- tried before a function is called that could fail on it by itself. The last three statements are
-- on_complete of core/transition; the answer is deleted and inserted because an OR clause of the
-- application's statement would take the place of one here.
create trigger callonce_complete_record_insert instead of insert on callonce_complete_record begin
  select case (select state from callonce_record where id = new.id)
    when 1 then null
    when 4 then null
    when 2 then raise(rollback, 'ID002: callonce: already completed by this claim')
    else raise(rollback, 'ID001: callonce: claim lost') end;

  select raise(rollback, 'callonce: the status is not within 200 to 599')
  where coalesce(cast(new.status as integer) <> new.status or
    cast(new.status as integer) not between 200 and 599, true);

  select raise(rollback, 'callonce: the headers are not a JSON array')
  where typeof(new.headers) <> 'text' or not json_valid(new.headers) or
    instr(new.headers, char(0)) > 0;

  select raise(rollback, 'callonce: the headers are not a JSON array of [name, value] pairs')
  where json_type(new.headers) <> 'array' or
    exists (select 1 from json_each(new.headers) as line where line.type <> 'array');

  -- SQLite reads a string only up to an escaped zero byte.
  select raise(rollback, 'callonce: a header is not a pair of a token and a text without controls')
  where instr(new.headers, '\u0000') > 0 or
    exists (select 1 from json_each(new.headers) as line
      where json_array_length(line.value) <> 2 or
        json_type(line.value, '$[0]') <> 'text' or json_type(line.value, '$[1]') <> 'text' or
        json_extract(line.value, '$[0]') = '' or
        json_extract(line.value, '$[0]') glob '*[^-!#$%&''*+.^_`|~0-9A-Za-z]*' or
        json_extract(line.value, '$[1]') glob
          '*[' || char(1) || '-' || char(8) || char(10) || '-' || char(31) || char(127) || ']*');

  update callonce_record
  set (state, completed_at_ms, body_until_ms, expires_at_ms) = (
    select 2, ms, ms + retention_ms, ms + max(retention_ms, key_retention_ms)
    from (select cast(round((julianday('now') - 2440587.5) * 86400000) as integer) as ms))
  where id = new.id;

  delete from callonce_answer where id = new.id;

  -- A bound that no integer holds is kept as a negative one: none.
  insert into callonce_answer (id, form, status, headers, head, body, omitted)
  select new.id, 0, cast(new.status as integer), new.headers, x'',
    case when too_long then null else new.body end, too_long
  from (select response_body_max between 0 and length(new.body) - 1 as too_long
    from callonce_record where id = new.id);
end;
