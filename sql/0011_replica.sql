-- The fleet: one row for each running orderd, written by itself about once a second, so that any of them can tell of all. A
-- clean stop deletes it; one that is not seen any more is `lost`. seen_at is by the clock of the database, started_at by
-- that of the replica's machine. report is a JSON object: what the replica did in the last seconds.
CREATE TABLE IF NOT EXISTS replica (
  host VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  instance VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  pid INT UNSIGNED NOT NULL,
  version VARCHAR(40) NOT NULL,
  admin VARCHAR(280) NOT NULL,
  state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  why VARCHAR(400) NOT NULL,
  started_at DATETIME(3) NOT NULL,
  seen_at DATETIME(6) NOT NULL,
  report MEDIUMTEXT NOT NULL,
  PRIMARY KEY (host, instance, pid)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
