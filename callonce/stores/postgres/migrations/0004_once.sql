-- Claim and completion in the caller's own transaction, with its effect: for effects that are short
-- and local. The first statement after BEGIN: where the key is taken, the whole transaction fails
-- (ID001), so that an effect sent right behind it never runs; where somebody's uncommitted one has
-- it, after lock_timeout (55P03).
create function callonce.once(
  p_key_index uuid, p_scope bytea, p_key bytea, p_rule text, p_fingerprint bytea, p_claim_id uuid,
  p_lease_ms bigint, p_retention_ms bigint, p_key_retention_ms bigint, p_body_max bigint,
  p_park boolean, p_route text, p_head bytea, p_body bytea
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
  wall constant bigint := callonce.wall_clock();
  made bigint;
begin
  insert into callonce.record (key_index, scope, key, rule, fingerprint, state, attempt, claim_id,
      lease_until_ms, created_at_ms, completed_at_ms, body_until_ms, expires_at_ms, lease_ms,
      retention_ms, key_retention_ms, response_body_max, park, route)
  values (p_key_index, p_scope, p_key, p_rule, p_fingerprint, 2, 1, p_claim_id,
      callonce.lease_clock() + p_lease_ms, wall, wall, wall + p_retention_ms,
      wall + greatest(p_key_retention_ms, p_retention_ms), p_lease_ms, p_retention_ms,
      p_key_retention_ms, p_body_max, p_park, p_route)
  on conflict (key_index) do nothing
  returning id into made;
  if made is null then
    raise exception 'callonce: the key is taken' using errcode = 'ID001';
  end if;
  insert into callonce.answer (id, form, head, body) values (made, 1, p_head, nullif(p_body, ''));
end $$;

revoke all on all functions in schema callonce from public;
