#!/bin/sh
# A web tier in a few lines of shell: takes units with redis-cli and leaves the order message in the local message table,
# from which orderd publishes it. Slow, since it starts a program for each step; but it has every case.
#
#   REDIS="redis-cli -h HOST -p PORT" MYSQL="mysql SCHEMA" web-tier.sh DEDUCT.LUA ACTIVITY SKU PRICE USER [ORDER_NO]
#
# Prints USER ORDER_NO OUTCOME. Exit 0: that is the outcome. Exit 75: it is not known; run it again with that ORDER_NO.
set -eu
[ $# -eq 5 ] || [ $# -eq 6 ] || { sed -n '2,/^set /s/^#\( \|$\)//p' "$0" >&2 && exit 64; }
lua=$1 activity=$2 sku=$3 price=$4 user=$5

# Only what these values may be reaches a command or the SQL text.
for number in "$activity" "$sku" "$price" "$user"; do
    case $number in *[!0-9]* | '') echo "not a number: $number" >&2 && exit 65 ;; esac
done

# 1. The number, before anything else; the same through every repetition.
order_no=${6:-$(date +%s%N)_$user}
case $order_no in *[!0-9A-Za-z_]* | '') echo "bad order number: $order_no" >&2 && exit 65 ;; esac

redis() { ${REDIS:-redis-cli} "$@"; }

end() { # CODE OUTCOME
    echo "$user $order_no $2"
    exit "$1"
}

# Epoch and shards, as orderd announces them; empty where the activity is not for sale.
read_state() {
    state=$(redis hmget "sk:{$activity:0}:state" epoch shards) || end 75 unknown:redis_is_away
    # shellcheck disable=SC2086 # two words
    set -- $state
    epoch=${1:-} shards=${2:-}
    [ -n "$shards" ] || end 0 not_for_sale
}

# zlib's CRC-32 of the user id, which gzip writes at the end of its output: a buyer's orders meet in one shard.
crc32() { printf %s "$1" | gzip -c | tail -c 8 | od -An -tu4 -N4 --endian=little | tr -d ' '; }

# 2. Deduct. redis-cli prints the five members of the answer one a line.
deduct() {
    key="sk:{$activity:$(($(crc32 "$user") % shards))}"
    redis evalsha "$(sha1sum <"$lua" | cut -c 1-40)" 5 "$key:stock" "$key:held" "$key:gone" "$key:buyers" "$key:meta" \
        "$order_no" "$user" 1 "$price" "$epoch"
}

read_state
tries=0
while :; do
    answer=$(deduct) || end 75 unknown:redis_is_away
    code=$(echo "$answer" | sed -n 1p) note=$(echo "$answer" | sed -n 5p)
    case $code in
    1 | 2) break ;;
    NOSCRIPT*) redis -x script load <"$lua" >/dev/null || end 75 unknown:redis_is_away ;; # Redis has restarted
    -4)
        [ "$note" = epoch ] || end 0 "not_for_sale_now:$note"
        read_state # the stock was made anew; nothing was taken
        ;;
    0) end 0 sold_out ;;
    -2) end 0 over_limit ;;
    -[0-9]*) end 0 "refused:$code:$note" ;;
    *) end 75 "unknown:$code" ;; # LOADING, READONLY and the like: Redis is not itself
    esac
    tries=$((tries + 1))
    [ $tries -lt 5 ] || end 75 unknown:redis_changes
done

# 3. The message. From here on the buyer has a unit.
seq=$(echo "$answer" | sed -n 2p) reserved_at=$(echo "$answer" | sed -n 4p)
shard=$(($(crc32 "$user") % shards))
body='{"v":1,"order_no":"'$order_no'","activity_id":'$activity',"user_id":'$user',"user_seq":'$seq',"sku_id":'$sku
body=$body',"quantity":1,"amount":'$price',"shard":'$shard',"epoch":'$epoch',"reserved_at":'$reserved_at'}'
said=$(${MYSQL:-mysql} 2>&1 <<SQL
INSERT INTO local_message (message_key, topic, payload)
VALUES ('order.create:$order_no', 'order.create', '$body');
SQL
) || case $said in
*1062*) ;; # an earlier run has written it
*) end 75 unknown:mysql_is_away ;;
esac

# 4. It is written down, and will be sent whatever happens next.
end 0 accepted
