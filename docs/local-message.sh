#!/bin/sh
# A producer of order messages in a few lines of shell: the business change and the message in one transaction.
#
#   MYSQL="mysql orders_schema" local-message.sh ORDER_NO ACTIVITY USER SKU QUANTITY AMOUNT SHARD EPOCH RESERVED_AT
#
# ORDER_NO to RESERVED_AT are what the deduct was called with and has answered. May be run again with the same order
# number: the second time says "already there". Exit 0: it will be sent, whatever happens next.
set -eu
[ $# -eq 9 ] || { sed -n '2,/^set /s/^#\( \|$\)//p' "$0" >&2 && exit 64; }

# Only what these values may be reaches the SQL text.
case $1 in *[!0-9A-Za-z_]* | '') echo "bad order number: $1" >&2 && exit 65 ;; esac
for number in "$2" "$3" "$4" "$5" "$6" "$7" "$8" "$9"; do
    case $number in *[!0-9]* | '') echo "not a number: $number" >&2 && exit 65 ;; esac
done

body='{"v":1,"order_no":"'$1'","activity_id":'$2',"user_id":'$3',"user_seq":0,"sku_id":'$4
body=$body',"quantity":'$5',"amount":'$6',"shard":'$7',"epoch":'$8',"reserved_at":'$9'}'

# The client ends at the first error, and what was begun is rolled back with its connection.
if said=$(${MYSQL:-mysql} 2>&1 <<SQL
BEGIN;
INSERT INTO shop_order (order_no, total) VALUES ('$1', $6);
INSERT INTO local_message (message_key, topic, payload, headers)
VALUES ('order.create:$1', 'order.create', '$body', '{"shop":"shell"}');
COMMIT;
SQL
); then
    echo "order $1 is written and will be sent"
else
    case $said in
    *1062*) echo "order $1 is already there" ;;
    *) echo "$said" >&2 && exit 75 ;; # the database is away, or refuses: nothing has happened
    esac
fi
