-- The accounts of a shop at MySQL or MariaDB, and what makes the tables. Run it as the administrator:
--
--   mysql <mysql-1-accounts.sql; orderctl -c admin.conf migrate up; mysql orderd <mysql-2-rights.sql
--
-- An account that exists keeps its password: ALTER USER 'shop'@'%' IDENTIFIED BY '...' gives it another.
-- Put passwords for the four SECRETs first, and another database or other names where yours are other. Where TLS is to be
-- had, let the accounts insist on it: REQUIRE SSL behind each password, or REQUIRE X509 where they have a certificate.
--
--   orderd         the daemon                          orderctl   people: activities, dead letters, reconciliation
--   orderd_admin   migrations, and nothing by day      shop       who writes local messages (docs/local-message.md)

CREATE DATABASE IF NOT EXISTS orderd CHARACTER SET utf8mb4;

CREATE USER IF NOT EXISTS 'orderd'@'%' IDENTIFIED BY 'SECRET';
CREATE USER IF NOT EXISTS 'orderctl'@'%' IDENTIFIED BY 'SECRET';
CREATE USER IF NOT EXISTS 'orderd_admin'@'%' IDENTIFIED BY 'SECRET';
CREATE USER IF NOT EXISTS 'shop'@'%' IDENTIFIED BY 'SECRET';

GRANT SELECT, INSERT, UPDATE, CREATE, ALTER, INDEX, REFERENCES ON orderd.* TO 'orderd_admin'@'%';
