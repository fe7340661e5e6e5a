-- Turns that could not be sent lie on the worker that heard them, until it appends them itself.
ALTER TABLE slowcat.late NO FORCE ROW LEVEL SECURITY;
DO $$
BEGIN
  IF EXISTS (SELECT FROM slowcat.late) THEN
    RAISE EXCEPTION 'late turns wait in the database'
      USING HINT = 'Run `slowcat-memory fleet work --until-done` of the version before';
  END IF;
END $$;
DROP TABLE slowcat.late;

ALTER TABLE slowcat.owner
  ADD purged_under bigint NOT NULL DEFAULT 0,  -- epoch of the lease that last removed what was forgotten
  ADD purged_in    oid[]  NOT NULL DEFAULT '{}';  -- files of the tables that had it

-- What lies on workers' disks beside copies: turns that wait, and copies that could not be read.
CREATE TABLE slowcat.kept (
  tenant text        NOT NULL,
  copies text        NOT NULL,   -- the name of a person's copies, a hash
  host   text        NOT NULL,
  place  text        NOT NULL,
  at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, host, place)
);
CREATE POLICY own_tenant ON slowcat.kept USING (tenant IN
  (SELECT t.tenant FROM slowcat.tenant t WHERE t.role = current_user));
ALTER TABLE slowcat.kept ENABLE ROW LEVEL SECURITY;
ALTER TABLE slowcat.kept FORCE ROW LEVEL SECURITY;
DO $$
DECLARE name text;
BEGIN
  FOR name IN SELECT DISTINCT rolname FROM slowcat.tenant JOIN pg_roles ON rolname = role LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON slowcat.kept TO %I', name);
  END LOOP;
END $$;
