-- What a lane asks in one round trip. Each function applies what it may by conditional writes, and
-- brings back the rest as it stands, so that the caller can say why not. Row 0 carries the clocks
-- that judged. None of them waits for an application: a row that somebody holds is skipped, and an
-- insert waits no longer than lock_timeout for somebody's uncommitted one.
--
-- Plans are made on an empty table and used on a full one: they must not scan it.
create type callonce.found as (
  ord integer,
  kind smallint,          -- of a claim: 1 after_release, 2 takeover, 3 after_expiry, 4 repeat: won;
                          -- 5: it became parked; 6: somebody's uncommitted insert has the key;
                          -- null: nothing was written
  wall_ms bigint,
  clock_ms bigint,
  id bigint, key_index uuid, scope bytea, key bytea, rule text, fingerprint bytea, state smallint,
  attempt integer, claim_id uuid, lease_until_ms bigint, created_at_ms bigint,
  completed_at_ms bigint, body_until_ms bigint, expires_at_ms bigint, lease_ms bigint,
  retention_ms bigint, key_retention_ms bigint, response_body_max bigint, park boolean, route text,
  form smallint, status smallint, omitted smallint, head bytea, headers text, body bytea
);

create function callonce.write_batch(
  p_op smallint[],        -- 1 renew, 2 complete, 3 release, 4 park
  p_key_index uuid[], p_claim_id uuid[], p_attempt integer[], p_retention_ms bigint[],
  p_head bytea[], p_body bytea[]
) returns setof callonce.found
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  wall constant bigint := callonce.wall_clock();
  clock constant bigint := callonce.lease_clock();
  done bigint[];
  clocks callonce.found;
begin
  clocks.ord := 0;
  clocks.wall_ms := wall;
  clocks.clock_ms := clock;
  return next clocks;

  with mine as materialized (
    select i.ord, i.op, i.head, i.body, i.retention_ms, r.key_index
      from unnest(p_op, p_key_index, p_claim_id, p_attempt, p_retention_ms, p_head, p_body)
             with ordinality i(op, key_index, claim_id, attempt, retention_ms, head, body, ord)
      join callonce.record r on r.key_index = i.key_index
     where r.claim_id = i.claim_id and r.attempt = i.attempt
       and (r.state = 1 or (i.op = 2 and r.state = 4))
     order by i.ord
       for no key update of r skip locked
  ), written as (
    update callonce.record r
       set state = case m.op when 2 then 2 when 3 then 3 when 4 then 4 else r.state end,
           lease_until_ms = case m.op when 1 then greatest(r.lease_until_ms, clock + r.lease_ms)
                            else r.lease_until_ms end,
           completed_at_ms = case m.op when 2 then wall else r.completed_at_ms end,
           body_until_ms = case m.op when 2 then wall + r.retention_ms else r.body_until_ms end,
           expires_at_ms = case m.op
             when 2 then wall + greatest(r.key_retention_ms, r.retention_ms)
             when 3 then wall + m.retention_ms
             else r.expires_at_ms end
      from mine m
     where r.key_index = m.key_index
    returning m.ord, m.op, m.head, m.body, r.id
  ), answered as (
    insert into callonce.answer (id, form, head, body)
    select w.id, 1, w.head, w.body from written w where w.op = 2
  )
  select array_agg(w.ord) into done from written w;

  if cardinality(done) = cardinality(p_op) then
    return;
  end if;
  return query
    select i.ord::integer, null::smallint, wall, clock, r.*
      from unnest(p_key_index) with ordinality i(key_index, ord)
      left join callonce.whole r on r.key_index = i.key_index
     where i.ord <> all(coalesce(done, '{}'));
end $$;

-- Makes the records that do not exist yet. Post: their key_index.
create function callonce.insert_claims(
  wall bigint, clock bigint,
  p_key_index uuid[], p_scope bytea[], p_key bytea[], p_rule text[], p_fingerprint bytea[],
  p_claim_id uuid[], p_lease_ms bigint[], p_retention_ms bigint[], p_key_retention_ms bigint[],
  p_body_max bigint[], p_park boolean[], p_route text[]
) returns uuid[]
language plpgsql volatile
as $$
declare
  made uuid[];
begin
  with added as (
    insert into callonce.record (key_index, scope, key, rule, fingerprint, state, attempt, claim_id,
        lease_until_ms, created_at_ms, expires_at_ms, lease_ms, retention_ms, key_retention_ms,
        response_body_max, park, route)
    select i.key_index, i.scope, i.key, i.rule, i.fingerprint, 1, 1, i.claim_id,
           clock + i.lease_ms, wall, wall + i.lease_ms + i.key_retention_ms, i.lease_ms,
           i.retention_ms, i.key_retention_ms, i.body_max, i.park, i.route
      from unnest(p_key_index, p_scope, p_key, p_rule, p_fingerprint, p_claim_id, p_lease_ms,
                  p_retention_ms, p_key_retention_ms, p_body_max, p_park, p_route)
             with ordinality i(key_index, scope, key, rule, fingerprint, claim_id, lease_ms,
                               retention_ms, key_retention_ms, body_max, park, route, ord)
     -- The unique index decides; this only keeps the insert from waiting for a row that exists and
     -- is being completed or purged.
     where not exists (select from callonce.record r where r.key_index = i.key_index)
     order by i.ord
    on conflict (key_index) do nothing
    returning key_index
  )
  select array_agg(a.key_index) into made from added a;
  return coalesce(made, '{}');
end $$;

create function callonce.claim_batch(
  p_key_index uuid[], p_scope bytea[], p_key bytea[], p_rule text[], p_fingerprint bytea[],
  p_claim_id uuid[], p_lease_ms bigint[], p_retention_ms bigint[], p_key_retention_ms bigint[],
  p_body_max bigint[], p_park boolean[], p_route text[], p_attempts_max integer[]
) returns setof callonce.found
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
set lock_timeout = '100ms'
as $$
declare
  wall constant bigint := callonce.wall_clock();
  clock constant bigint := callonce.lease_clock();
  wanted constant integer := cardinality(p_key_index);
  first uuid[] := '{}';          -- The records that were made here.
  blocked integer[] := '{}';     -- Places whose key an uncommitted insert has.
  changed bigint[];              -- Places of the records that were won or parked otherwise.
  kinds smallint[];
  emptied bigint[];
  clocks callonce.found;
begin
  clocks.ord := 0;
  clocks.wall_ms := wall;
  clocks.clock_ms := clock;
  return next clocks;

  begin
    first := callonce.insert_claims(wall, clock, p_key_index, p_scope, p_key, p_rule,
        p_fingerprint, p_claim_id, p_lease_ms, p_retention_ms, p_key_retention_ms, p_body_max,
        p_park, p_route);
  exception when lock_not_available then
    -- One of them; the others must not pay for it.
    perform set_config('lock_timeout', '5ms', true);
    for n in 1 .. wanted loop
      begin
        first := first || callonce.insert_claims(wall, clock, p_key_index[n:n], p_scope[n:n],
            p_key[n:n], p_rule[n:n], p_fingerprint[n:n], p_claim_id[n:n], p_lease_ms[n:n],
            p_retention_ms[n:n], p_key_retention_ms[n:n], p_body_max[n:n], p_park[n:n],
            p_route[n:n]);
      exception when lock_not_available then
        blocked := blocked || n;
      end;
    end loop;
  end;
  if cardinality(first) = wanted then
    return;
  end if;

  -- As core/transition: repeat, after_expiry, after_release, takeover, parked instead.
  with ours as materialized (
    select i.*, r.key_index as found_index, r.id, r.state as old_state,
           case
             when r.claim_id = i.claim_id then
               case when r.state = 1 then 4 end
             when r.expires_at_ms <= wall
                  and (r.state in (2, 3) or (r.state = 1 and r.lease_until_ms <= clock
                                             and not r.park)) then 3
             when r.rule <> i.rule or r.fingerprint <> i.fingerprint then null
             when r.state = 3 then 1
             when r.state = 1 and r.lease_until_ms <= clock then
               case when r.park or i.park
                         or (i.attempts_max <> 0 and r.attempt >= i.attempts_max) then 5
                    else 2 end
           end::smallint as kind
      from unnest(p_key_index, p_scope, p_key, p_rule, p_fingerprint, p_claim_id, p_lease_ms,
                  p_retention_ms, p_key_retention_ms, p_body_max, p_park, p_route, p_attempts_max)
             with ordinality i(key_index, scope, key, rule, fingerprint, claim_id, lease_ms,
                               retention_ms, key_retention_ms, body_max, park, route, attempts_max,
                               ord)
      join callonce.record r on r.key_index = i.key_index and r.scope = i.scope and r.key = i.key
     where i.key_index <> all(first)
       and case
             when r.claim_id = i.claim_id then r.state = 1
             when r.expires_at_ms <= wall
                  and (r.state in (2, 3) or (r.state = 1 and r.lease_until_ms <= clock
                                             and not r.park)) then true
             when r.rule <> i.rule or r.fingerprint <> i.fingerprint then false
             else r.state = 3 or (r.state = 1 and r.lease_until_ms <= clock)
           end
     order by i.ord
       for no key update of r skip locked
  ), written as (
    update callonce.record r
       set state = case o.kind when 5 then 4 else 1 end,
           held = false,
           attempt = r.attempt + case when o.kind in (1, 2, 3) then 1 else 0 end,
           claim_id = case when o.kind in (1, 2, 3) then o.claim_id else r.claim_id end,
           rule = case when o.kind = 3 then o.rule else r.rule end,
           fingerprint = case when o.kind = 3 then o.fingerprint else r.fingerprint end,
           lease_until_ms = case o.kind when 5 then r.lease_until_ms when 4 then clock + r.lease_ms
                            else clock + o.lease_ms end,
           created_at_ms = case o.kind when 3 then wall else r.created_at_ms end,
           completed_at_ms = case when o.kind in (1, 2, 3) then 0 else r.completed_at_ms end,
           body_until_ms = case when o.kind in (1, 2, 3) then 0 else r.body_until_ms end,
           expires_at_ms = case o.kind
             when 5 then r.expires_at_ms
             when 4 then greatest(r.expires_at_ms, wall + r.lease_ms + r.key_retention_ms)
             when 3 then wall + o.lease_ms + o.key_retention_ms
             else greatest(r.expires_at_ms, wall + o.lease_ms + o.key_retention_ms) end,
           lease_ms = case when o.kind in (1, 2, 3) then o.lease_ms else r.lease_ms end,
           retention_ms = case when o.kind in (1, 2, 3) then o.retention_ms
                          else r.retention_ms end,
           key_retention_ms = case when o.kind in (1, 2, 3) then o.key_retention_ms
                              else r.key_retention_ms end,
           response_body_max = case when o.kind in (1, 2, 3) then o.body_max
                               else r.response_body_max end,
           park = case when o.kind in (1, 2, 3) then o.park else r.park end,
           route = case when o.kind in (1, 2, 3) then o.route else r.route end
      from ours o
     where r.key_index = o.found_index
    returning o.ord, o.kind, o.id, o.old_state
  )
  select array_agg(w.ord), array_agg(w.kind), array_agg(w.id) filter (where w.old_state = 2)
    into changed, kinds, emptied
    from written w;
  if emptied is not null then
    delete from callonce.answer a where a.id = any(emptied);
  end if;

  return query
    select i.ord::integer,
           coalesce(kinds[array_position(changed, i.ord)],
                    case when i.ord = any(blocked) then 6 end::smallint),
           wall, clock, r.*
      from unnest(p_key_index) with ordinality i(key_index, ord)
      left join callonce.whole r on r.key_index = i.key_index
     where i.key_index <> all(first);
end $$;

-- An operator's or a probe's decision about one record; it raises the attempt. A head: completed
-- with it; none: released.
create function callonce.settle_one(
  p_key_index uuid, p_attempt integer, p_claim_id uuid, p_head bytea, p_body bytea,
  p_retention_ms bigint, p_who text, p_why text
) returns setof callonce.found
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  wall constant bigint := callonce.wall_clock();
  clock constant bigint := callonce.lease_clock();
  settled callonce.record;
  clocks callonce.found;
begin
  clocks.ord := 0;
  clocks.wall_ms := wall;
  clocks.clock_ms := clock;
  return next clocks;

  update callonce.record r
     set state = case when p_head is null then 3 else 2 end,
         attempt = r.attempt + 1,
         claim_id = p_claim_id,
         completed_at_ms = case when p_head is null then r.completed_at_ms else wall end,
         body_until_ms = case when p_head is null then r.body_until_ms
                         else wall + r.retention_ms end,
         expires_at_ms = wall + case when p_head is null then p_retention_ms
                                else greatest(r.key_retention_ms, r.retention_ms) end
   where r.id = (select f.id from callonce.record f
                  where f.key_index = p_key_index and f.claim_id <> p_claim_id
                    and f.attempt = p_attempt and f.state <> 2
                    for no key update skip locked)
     and r.key_index = p_key_index
  returning r.* into settled;
  if not found then
    return query
      select 1, null::smallint, wall, clock, r.*
        from (values (p_key_index)) i(key_index)
        left join callonce.whole r on r.key_index = i.key_index;
    return;
  end if;
  if p_head is not null then
    insert into callonce.answer (id, form, head, body) values (settled.id, 1, p_head, p_body);
  end if;
  insert into callonce.audit (at_ms, key_index, attempt, state, who, why)
  values (wall, p_key_index, settled.attempt, settled.state, p_who, p_why);
end $$;

-- Looks at some records in the order in which they were made, and removes or parks what is due.
create function callonce.purge_some(p_after bigint, p_limit integer,
  out last bigint, out seen integer, out bodies integer, out records integer, out parked integer)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  wall constant bigint := callonce.wall_clock();
  clock constant bigint := callonce.lease_clock();
  looked bigint[];
  chosen bigint[];
begin
  select array_agg(s.id), max(s.id), count(*) into looked, last, seen
    from (select r.id from callonce.record r where r.id > p_after order by r.id limit p_limit) s;
  bodies := 0;
  records := 0;
  parked := 0;
  if looked is null then
    return;
  end if;

  with due as materialized (
    select r.key_index from callonce.record r
     where r.id = any(looked) and r.state = 1 and r.park and r.lease_until_ms <= clock
       for no key update skip locked)
  update callonce.record r set state = 4 from due where r.key_index = due.key_index;
  get diagnostics parked = row_count;

  with due as materialized (
    select r.key_index, r.id from callonce.record r
     where r.id = any(looked) and r.expires_at_ms <= wall
       and (r.state in (2, 3) or (r.state = 1 and r.lease_until_ms <= clock and not r.park))
       for update skip locked),
  removed as (
    delete from callonce.record r using due where r.key_index = due.key_index returning r.id)
  select array_agg(x.id), count(*) into chosen, records from removed x;
  if chosen is not null then
    delete from callonce.answer a where a.id = any(chosen);
  end if;

  with due as materialized (
    select r.id from callonce.record r
     where r.id = any(looked) and r.state = 2 and r.body_until_ms <= wall
       for no key update skip locked)
  update callonce.answer a set body = null from due
   where a.id = due.id and length(a.body) > 0;
  get diagnostics bodies = row_count;
end $$;
