#!/usr/bin/python3
"""The whole of a web tier's duty towards orderd, as a program that buys for the users it is told.

Packages on Debian: python3-redis python3-amqp. Read docs/web-tier.md beside it; in a service of yours, buy() is what
a request calls, with connections of its own thread.

  web-tier.py --lua deduct.lua --redis HOST:PORT --broker HOST:PORT --user NAME --password-file FILE
              --activity ID --sku ID --price MINOR [--quantity N] [--wait S] [--vhost NAME] [--queue NAME] [--queues N]
              [--order-no NO] BUYER...

One line for each buyer: BUYER ORDER_NO OUTCOME. Exit code 0, or 75 where the outcome is not known: take that order up
again with --order-no.
"""
import argparse
import json
import secrets
import sys
import time
import zlib

import amqp
import redis

REASONS = {0: "sold_out", -1: "no_such_shard", -2: "over_limit", -3: "order_is_done_with", -4: "not_for_sale_now",
           -5: "order_no_is_taken", -8: "shard_is_damaged", -9: "bad_argument"}


def new_order_no():
    """Ordered by time, so that the index grows at its end; given before the deduct and never changed again."""
    return "%012x%014x" % (time.time_ns() // 1_000_000, secrets.randbits(56))


def create_queue(queue, activity, queues):
    """The routing key: where orderd has several create queues, each activity has one of them."""
    key, number, jump = activity, 0, 0
    while jump < queues:  # jump consistent hash
        number = jump + 1
        key = (key * 2862933555777941757 + 1) % 2**64
        jump = (number << 31) // ((key >> 33) + 1)
    return queue if number == 1 else "%s.%d" % (queue, number)


def repeat(action, errors, give_up_at):
    """Both things that are done here are safe to repeat, so an answer that did not come is asked for again."""
    wait = 0.05
    while True:
        try:
            return action()
        except errors:
            if time.monotonic() + wait > give_up_at:
                raise
            time.sleep(wait)
            wait = min(2 * wait, 2)


class WebTier:
    def __init__(self, options):
        self.options = options
        host, port = options.redis.rsplit(":", 1)
        self.redis = redis.Redis(host, int(port), socket_timeout=3)
        with open(options.lua, encoding="utf-8") as lua:
            self.deduct = self.redis.register_script(lua.read())  # EVALSHA, and EVAL where Redis has lost it
        self.channel = None
        self.sale = None  # epoch and shards, as orderd announced them

    def buy(self, user, order_no):
        give_up_at = time.monotonic() + self.options.wait
        order = self.reserve(user, order_no, give_up_at)
        if isinstance(order, str):
            return order
        # From here on the buyer has a unit. A service keeps `order` until the broker has confirmed it.
        repeat(lambda: self.publish(order), (OSError, amqp.AMQPError), give_up_at)
        return "accepted"

    def reserve(self, user, order_no, give_up_at):
        """The order message, or why there is none."""
        if self.sale is None:
            self.sale = self.read_sale(give_up_at)
        while self.sale:
            epoch, shards = self.sale
            answer = self.ask(user, order_no, epoch, zlib.crc32(b"%d" % user) % shards, give_up_at)
            if answer != "other_epoch":
                return answer
            self.sale = self.read_sale(give_up_at)  # the stock was rebuilt; nothing was taken
            if not self.sale or self.sale[0] == epoch:
                break
        return "not_for_sale_now"

    def read_sale(self, give_up_at):
        """Epoch and number of shards; None where the activity is not, or not any more, in Redis."""
        key = "sk:{%d:0}:state" % self.options.activity
        fields = repeat(lambda: self.redis.hmget(key, "epoch", "shards"),
                        (redis.ConnectionError, redis.TimeoutError), give_up_at)
        return (int(fields[0]), int(fields[1])) if all(fields) else None

    def ask(self, user, order_no, epoch, shard, give_up_at):
        o = self.options
        keys = ["sk:{%d:%d}:%s" % (o.activity, shard, name) for name in ("stock", "held", "gone", "buyers", "meta")]
        amount = o.price * o.quantity
        code, user_seq, _left, reserved_at, note = repeat(
            lambda: self.deduct(keys, [order_no, user, o.quantity, amount, epoch]),
            (redis.ConnectionError, redis.TimeoutError), give_up_at)
        if code == -4 and note == b"epoch":
            return "other_epoch"
        if code not in (1, 2):
            return REASONS.get(code, "code_%d" % code)
        return {"v": 1, "order_no": order_no, "activity_id": o.activity, "user_id": user, "user_seq": user_seq,
                "sku_id": o.sku, "quantity": o.quantity, "amount": amount, "shard": shard, "epoch": epoch,
                "reserved_at": reserved_at}

    def publish(self, order):
        """Returns when the broker has the message on disk; raises when that is not known."""
        try:
            message = amqp.Message(json.dumps(order), content_type="application/json", delivery_mode=2,
                                   message_id=order["order_no"])
            channel = self.open_channel()
            key = create_queue(self.options.queue, order["activity_id"], self.options.queues)
            channel.basic_publish(message, "order", key, mandatory=True, timeout=5, confirm_timeout=5)
        except BaseException:
            self.close_channel()  # what it still may answer belongs to an older attempt
            raise

    def open_channel(self):
        if self.channel is None:
            o = self.options
            with open(o.password_file, encoding="utf-8") as file:
                password = file.readline().rstrip("\n")
            # With confirm_publish, basic_publish waits for the confirm and raises on a nack. A message that no queue
            # takes comes back (mandatory) before its confirm, and raises too.
            connection = amqp.Connection(o.broker, o.user, password, virtual_host=o.vhost, connect_timeout=3,
                                         confirm_publish=True)
            connection.connect()
            self.channel = connection.channel()
        return self.channel

    def close_channel(self):
        channel, self.channel = self.channel, None
        try:
            channel.connection.collect()
        except Exception:  # it is gone either way
            pass


def main():
    parser = argparse.ArgumentParser(description="Buys from an activity of orderd, as a web tier does.")
    for name in ("lua", "redis", "broker", "user", "password-file"):
        parser.add_argument("--" + name, required=True)
    for name in ("activity", "sku", "price"):
        parser.add_argument("--" + name, type=int, required=True)
    parser.add_argument("--quantity", type=int, default=1)
    parser.add_argument("--queue", default="order.create", help="routing key: create.queue of orderd.conf")
    parser.add_argument("--queues", type=int, default=1, help="create.queues of orderd.conf")
    parser.add_argument("--vhost", default="/", help="broker.vhost of orderd.conf")
    parser.add_argument("--order-no", help="go on with this order instead of a new one")
    parser.add_argument("--wait", type=float, default=60, help="seconds to go on trying while a server is away")
    parser.add_argument("buyers", type=int, nargs="+", metavar="BUYER")
    options = parser.parse_args()
    tier, code = WebTier(options), 0
    for user in options.buyers:
        order_no = options.order_no or new_order_no()
        try:
            outcome = tier.buy(user, order_no)
        except (OSError, amqp.AMQPError, redis.RedisError) as error:
            outcome, code = "unknown: %s" % error, 75
        print(user, order_no, outcome, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
