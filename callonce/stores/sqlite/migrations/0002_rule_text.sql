-- A fingerprint rule may name the fields that it chooses, so it is kept as text; until now there was
-- one rule.
alter table callonce_record drop column rule;
alter table callonce_record add column rule text not null default 'raw';
