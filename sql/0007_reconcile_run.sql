-- Every run of `orderctl reconcile`, one row for each activity: who looked, what was found, what was done about it. Written
-- when the run begins, so one that was cut short is there without a verdict. `found` and `sums` are JSON objects, `listed`
-- a JSON array of the first findings, one object each.
CREATE TABLE IF NOT EXISTS reconcile_run (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  activity_id BIGINT UNSIGNED NOT NULL,
  mode ENUM('look', 'dry_run', 'repair') CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  who VARCHAR(200) NOT NULL,
  in_flight_ms BIGINT UNSIGNED NOT NULL,
  started_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  ended_at DATETIME(6) NULL,
  verdict ENUM('clean', 'explained', 'broken') CHARACTER SET ascii COLLATE ascii_bin NULL,
  findings BIGINT UNSIGNED NOT NULL DEFAULT 0,
  repaired BIGINT UNSIGNED NOT NULL DEFAULT 0,
  not_repaired BIGINT UNSIGNED NOT NULL DEFAULT 0,
  sums MEDIUMTEXT NULL,
  found MEDIUMTEXT NULL,
  listed MEDIUMTEXT NULL,
  PRIMARY KEY (id),
  KEY k_activity (activity_id, started_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
