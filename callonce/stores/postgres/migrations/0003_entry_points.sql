-- What an application calls in its own transaction: hold first, complete last. Nothing here is
-- repeatable: a repeat in a second transaction would carry a second effect.
--   ID001  the claim is lost, or the handle is none
--   ID002  already completed by this very claim: do not repeat the effect, answer success
--   ID003  no transaction with a write is open: the effect would not be in it
--   ID004  at COMMIT: held, but not completed

-- What a claim handle names; nulls for a text that is none.
create function callonce.read_handle(
  handle text, out key_index uuid, out attempt bigint, out claim_id uuid
)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  bare constant text := btrim(handle, '"');
  bytes bytea;
begin
  if bare ~ '^[A-Za-z0-9_-]{48}$' then
    bytes := decode(translate(bare, '-_', '+/'), 'base64');
    key_index := encode(substring(bytes from 1 for 16), 'hex')::uuid;
    attempt := (get_byte(bytes, 16)::bigint << 24) + (get_byte(bytes, 17) << 16)
               + (get_byte(bytes, 18) << 8) + get_byte(bytes, 19);
    claim_id := encode(substring(bytes from 21 for 16), 'hex')::uuid;
  end if;
end $$;

-- Says why a claim could not be used, by failing the transaction.
create function callonce.refuse(p_key_index uuid, p_attempt bigint, p_claim_id uuid) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from callonce.record r
    where r.key_index = p_key_index and r.claim_id = p_claim_id and r.attempt = p_attempt
      and r.state = 2;
  if found then
    raise exception 'callonce: already completed by this claim'
      using errcode = 'ID002', hint = 'The effect is there: roll back and answer success.';
  end if;
  raise exception 'callonce: the claim is lost'
    using errcode = 'ID001', hint = 'Another attempt has the key: roll back and stop.';
end $$;

-- Locks the record, so that a live owner cannot be taken over, and promises to complete it: COMMIT
-- fails unless callonce.complete succeeded, whatever a savepoint has swallowed.
create function callonce.hold(claim text) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  wanted record;
  lease bigint;
  idle constant interval := current_setting('idle_in_transaction_session_timeout')::interval;
begin
  select * into wanted from callonce.read_handle(claim);
  update callonce.record r set held = true
   where r.key_index = wanted.key_index and r.claim_id = wanted.claim_id
     and r.attempt = wanted.attempt and r.state in (1, 4)
  returning r.lease_ms into lease;
  if not found then
    perform callonce.refuse(wanted.key_index, wanted.attempt, wanted.claim_id);
  end if;
  -- An application that falls silent here must not hold its key for ever.
  if idle = interval '0' or idle > make_interval(secs => lease / 1000.0) then
    perform set_config('idle_in_transaction_session_timeout', lease::text, true);
  end if;
end $$;

create function callonce.check_promise() returns trigger
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from callonce.record r
    where r.key_index = new.key_index and r.claim_id = new.claim_id and r.attempt = new.attempt
      and r.state = 2;
  if not found then
    raise exception 'callonce: the claim was held and not completed'
      using errcode = 'ID004', hint = 'Call callonce.complete last, outside of any savepoint.';
  end if;
  return null;
end $$;

create constraint trigger promise after update on callonce.record
  deferrable initially deferred for each row
  when (new.held and new.state in (1, 4))
  execute function callonce.check_promise();

-- Outside a transaction that has written something, the effect cannot be in it.
create function callonce.expect_effect() returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if pg_current_xact_id_if_assigned() is null then
    raise exception 'callonce: no transaction with a write is open'
      using errcode = 'ID003',
            hint = 'BEGIN, write the effect, then complete; or say no_effect => true.';
  end if;
end $$;

-- Completes the record under its claim, or fails the transaction.
create function callonce.finish(claim text, out id bigint, out response_body_max bigint)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  wanted record;
  wall constant bigint := callonce.wall_clock();
begin
  select * into wanted from callonce.read_handle(claim);
  update callonce.record r
     set state = 2, completed_at_ms = wall, body_until_ms = wall + r.retention_ms,
         expires_at_ms = wall + greatest(r.key_retention_ms, r.retention_ms)
   where r.key_index = wanted.key_index and r.claim_id = wanted.claim_id
     and r.attempt = wanted.attempt and r.state in (1, 4)
  returning r.id, r.response_body_max into finish.id, finish.response_body_max;
  if not found then
    perform callonce.refuse(wanted.key_index, wanted.attempt, wanted.claim_id);
  end if;
end $$;

-- Completes the record with the answer of the caller's own transaction. `headers` is a JSON array
-- of [name, value]; a body beyond the record's cap is not kept. `no_effect` says that nothing else
-- is in the transaction on purpose.
create function callonce.complete(
  claim text, status integer, headers json default '[]', body bytea default '',
  no_effect boolean default false
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  done record;
  beyond boolean;
  whole constant bytea := coalesce(body, '');
begin
  if not coalesce(no_effect, false) then
    perform callonce.expect_effect();
  end if;
  if status is null or status < 200 or status > 599 then
    raise exception 'callonce: status must be 200 to 599'
      using errcode = 'invalid_parameter_value';
  end if;
  if json_typeof(coalesce(headers, '[]')) <> 'array' or exists (
       select from json_array_elements(coalesce(headers, '[]')) line(pair)
        where case when json_typeof(pair) <> 'array' then true
                   else json_array_length(pair) <> 2
                        or json_typeof(pair -> 0) <> 'string' or json_typeof(pair -> 1) <> 'string'
                        or pair ->> 0 !~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]+$'
                        or pair ->> 1 ~ '[\x01-\x08\x0a-\x1f\x7f]' end) then
    raise exception 'callonce: headers must be a JSON array of [name, value]'
      using errcode = 'invalid_parameter_value';
  end if;

  select * into done from callonce.finish(claim);
  beyond := length(whole) > done.response_body_max;
  insert into callonce.answer (id, form, status, omitted, headers, body)
  values (done.id, 0, complete.status, case when beyond then 1 else 0 end,
          coalesce(headers, '[]')::text, case when beyond then '' else whole end);
end $$;

-- The same for an answer that callonce's own library has encoded.
create function callonce.complete_encoded(claim text, head bytea, body bytea) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  done record;
begin
  perform callonce.expect_effect();
  select * into done from callonce.finish(claim);
  insert into callonce.answer (id, form, head, body)
  values (done.id, 1, complete_encoded.head, nullif(complete_encoded.body, ''));
end $$;

-- The same for a body that is text: its UTF-8 bytes are kept.
create function callonce.complete(
  claim text, status integer, headers json, body text, no_effect boolean default false
) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$ select callonce.complete(claim, status, headers, convert_to(coalesce(body, ''), 'UTF8'),
                               no_effect) $$;

-- claimed, completed, released, parked; lost: another claim has the key, or none.
create function callonce.status(claim text) returns text
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    (select (array['claimed', 'completed', 'released', 'parked'])[r.state]
       from callonce.read_handle(claim) h
       join callonce.record r on r.key_index = h.key_index and r.claim_id = h.claim_id
                             and r.attempt = h.attempt),
    'lost') $$;

revoke all on schema callonce from public;
revoke all on all functions in schema callonce from public;
