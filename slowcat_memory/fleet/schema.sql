-- Every table begins with the tenant, so that one policy covers all.

CREATE TABLE slowcat.tenant (
  tenant text NOT NULL,
  role   name NOT NULL,           -- may use the tenant's rows, and no others
  PRIMARY KEY (role, tenant)
);

-- Who may append to a person's log, and how far it has come. One row a person.
CREATE TABLE slowcat.owner (
  tenant        text        NOT NULL,
  person        text        NOT NULL,
  epoch         bigint      NOT NULL DEFAULT 0,     -- grows with every lease
  holder        text        NOT NULL DEFAULT '',
  purpose       text        NOT NULL DEFAULT '',    -- conversation | idle | copy
  until         timestamptz NOT NULL DEFAULT '-infinity',
  released      boolean     NOT NULL DEFAULT true,  -- by its holder, with nothing left to send
  last_seq      bigint      NOT NULL DEFAULT 0,     -- of the log; also when its rows are gone
  snapshot_upto bigint      NOT NULL DEFAULT 0,
  forget_epoch  bigint      NOT NULL DEFAULT 0,     -- of the snapshot: what was forgotten before is nowhere
  purged_under  bigint      NOT NULL DEFAULT 0,     -- epoch of the lease that last removed what was forgotten
  purged_in     oid[]       NOT NULL DEFAULT '{}',  -- files of the tables that had it
  purged_at     timestamptz NOT NULL DEFAULT '-infinity',  -- when that was
  PRIMARY KEY (tenant, person)
) WITH (fillfactor = 50);         -- most updates stay on their page
CREATE INDEX owner_purged ON slowcat.owner (tenant, purged_at);
CREATE INDEX owner_held ON slowcat.owner (tenant) WHERE NOT released;  -- not on what renewals change

-- Where an epoch ended that was not released: what its worker had not sent must go another way.
CREATE TABLE slowcat.taken_over (
  tenant text        NOT NULL,
  person text        NOT NULL,
  epoch  bigint      NOT NULL,
  upto   bigint      NOT NULL,
  at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, person, epoch)
);

CREATE TABLE slowcat.log (
  tenant     text        NOT NULL,
  person     text        NOT NULL,
  seq        bigint      NOT NULL,
  epoch      bigint      NOT NULL,
  last_event bigint      NOT NULL,  -- highest id of the turns in it, 0 for derived rows alone
  body       bytea       NOT NULL,  -- a change set, compressed
  crc        bigint      NOT NULL,  -- CRC-32 of body
  at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, person, seq)
);
ALTER TABLE slowcat.log ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE slowcat.snapshot (
  tenant text    NOT NULL,
  person text    NOT NULL,
  upto   bigint  NOT NULL,          -- the change sets that it contains
  part   integer NOT NULL,
  body   bytea   NOT NULL,
  crc    bigint  NOT NULL,
  PRIMARY KEY (tenant, person, upto, part)
);
ALTER TABLE slowcat.snapshot ALTER COLUMN body SET STORAGE EXTERNAL;

-- Idle work of a person: all of it that is due.
CREATE TABLE slowcat.task (
  tenant      text        NOT NULL,
  person      text        NOT NULL,
  not_before  timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts    integer     NOT NULL DEFAULT 0,       -- failures; at the fifth it is given up
  leased_by   text        NOT NULL DEFAULT '',      -- the run of it, as long as the person's lease lasts
  error       text        NOT NULL DEFAULT '',      -- of the last failure
  PRIMARY KEY (tenant, person)
);
CREATE INDEX task_due ON slowcat.task (tenant, not_before);

-- What lies on workers' disks beside copies: turns that wait, and copies that could not be read.
CREATE TABLE slowcat.kept (
  tenant text        NOT NULL,
  copies text        NOT NULL,    -- the name of a person's copies, a hash
  host   text        NOT NULL,
  place  text        NOT NULL,
  PRIMARY KEY (tenant, host, place)
);

-- A worker sees its own tenants' rows alone, also in the list of tenants; whoever made the tables may
-- fill that list and upgrade them. FORCE: the maker of the tables is no exception among the workers.
DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['owner', 'taken_over', 'log', 'snapshot', 'task', 'kept'] LOOP
    EXECUTE format(
      'CREATE POLICY own_tenant ON slowcat.%I USING (tenant IN '
      '(SELECT t.tenant FROM slowcat.tenant t WHERE t.role = current_user))', name);
  END LOOP;
  FOREACH name IN ARRAY ARRAY['tenant', 'migration'] LOOP
    EXECUTE format('CREATE POLICY maker ON slowcat.%I TO CURRENT_USER USING (true)', name);
  END LOOP;
  CREATE POLICY own_tenant ON slowcat.tenant FOR SELECT USING (role = current_user);
  CREATE POLICY versions ON slowcat.migration FOR SELECT USING (true);
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'slowcat' LOOP
    EXECUTE format('ALTER TABLE slowcat.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE slowcat.%I FORCE ROW LEVEL SECURITY', name);
  END LOOP;
END $$;
