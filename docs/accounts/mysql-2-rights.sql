-- What each account of mysql-1-accounts.sql may do, table by table: no more than it needs. Run it in orderd's database after
-- each `orderctl migrate up`: rights to a table can only be given once it is there, and giving them again does no harm.
-- `orderctl doctor` says what an account lacks.

-- The daemon. No row of an order, a payment or a dead letter can be deleted by it.
GRANT SELECT ON schema_migration TO 'orderd'@'%';
GRANT SELECT, UPDATE ON activity TO 'orderd'@'%';
GRANT SELECT, UPDATE ON activity_stock TO 'orderd'@'%';
GRANT SELECT, INSERT, UPDATE ON orders TO 'orderd'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON local_message TO 'orderd'@'%';
GRANT SELECT, INSERT ON payment TO 'orderd'@'%';
GRANT SELECT, INSERT, UPDATE ON reconcile_run TO 'orderd'@'%';
GRANT SELECT, INSERT, UPDATE ON activity_walk TO 'orderd'@'%';
GRANT SELECT, INSERT, UPDATE ON dead_letter TO 'orderd'@'%';
GRANT SELECT, INSERT ON dead_letter_action TO 'orderd'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON replica TO 'orderd'@'%';
GRANT SELECT, INSERT, UPDATE ON survey TO 'orderd'@'%';
GRANT SELECT, INSERT ON dead_letter_made TO 'orderd'@'%';
GRANT SELECT, INSERT, UPDATE ON stock_transfer TO 'orderd'@'%';

-- People, by orderctl: the same, and new activities.
GRANT SELECT ON schema_migration TO 'orderctl'@'%';
GRANT SELECT, INSERT, UPDATE ON activity TO 'orderctl'@'%';
GRANT SELECT, INSERT, UPDATE ON activity_stock TO 'orderctl'@'%';
GRANT SELECT, INSERT, UPDATE ON orders TO 'orderctl'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON local_message TO 'orderctl'@'%';
GRANT SELECT, INSERT ON payment TO 'orderctl'@'%';
GRANT SELECT, INSERT, UPDATE ON reconcile_run TO 'orderctl'@'%';
GRANT SELECT, INSERT, UPDATE ON activity_walk TO 'orderctl'@'%';
GRANT SELECT, INSERT, UPDATE ON dead_letter TO 'orderctl'@'%';
GRANT SELECT, INSERT ON dead_letter_action TO 'orderctl'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON replica TO 'orderctl'@'%';
GRANT SELECT, INSERT, UPDATE ON survey TO 'orderctl'@'%';
GRANT SELECT, INSERT ON dead_letter_made TO 'orderctl'@'%';
GRANT SELECT, INSERT, UPDATE ON stock_transfer TO 'orderctl'@'%';

-- A producer of local messages.
GRANT INSERT, SELECT (message_key, state), UPDATE (state, sent_at, due_at) ON local_message TO 'shop'@'%';
