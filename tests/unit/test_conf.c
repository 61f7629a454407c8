/* conf: what is refused and in which words, origins, secrets, dump and sample, reload. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orderd/conf.h"
#include "orderd/strbuf.h"

#include "../../src/service/conf/conf_tls.h"

static char folder[32];

static void enter_folder(void)
{
    strcpy(folder, "/tmp/orderd_conf_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    unsetenv("CREDENTIALS_DIRECTORY");
}

static void leave_folder(void)
{
    char command[64];

    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void write_bytes(const char *name, const char *bytes, size_t len)
{
    FILE *f = fopen(name, "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
    ck_assert_int_eq(fclose(f), 0);
}

static void write_file(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

static struct conf *load(const char *text)
{
    struct error err = {0};
    struct conf *conf;

    write_file("orderd.conf", text);
    conf = conf_load("orderd.conf", &err);
    ck_assert_msg(conf != NULL, "%s", err.text);
    return conf;
}

static void assert_refused(const char *sentence)
{
    struct error err = {0};
    struct conf *conf = conf_load("orderd.conf", &err);

    ck_assert_msg(conf == NULL, "was accepted, not refused with: %s", sentence);
    ck_assert_str_eq(err.text, sentence);
    ck_assert_int_eq(err.code, ERROR_CONF_INVALID);
}

#define LONG_16  "0123456789abcdef"
#define LONG_64  LONG_16 LONG_16 LONG_16 LONG_16
#define LONG_256 LONG_64 LONG_64 LONG_64 LONG_64

/* Files that the rows below include or name. */
static void write_others(void)
{
    write_file("broken.conf", "broker: {\n  port = ;\n};\n");
    write_file("wrong.conf", "redis: { port = 1;\n database = 16; };\n");
    write_file("loop.conf", "@include \"loop.conf\"\n");
    write_file("twice.conf", "@include \"twice.conf\"\n@include \"twice.conf\"\n");
    write_file("empty", "");
    write_file("newline", "\n");
    write_file("two_lines", "first\nsecond\n");
    write_bytes("nul", "a\0b", 3);
    write_file("long", LONG_256 LONG_256 LONG_256 LONG_256 "x\n");
    write_file("much_longer", LONG_256 LONG_256 LONG_256 LONG_256 LONG_256);
    write_file("ca.pem", "a certificate\n");
    write_file("own.key", "a key\n");
    ck_assert_int_eq(mkdir("directory", 0700), 0);
}

#define EXPECT_NODES  " (expected 0 to 64 servers as \"host:port, host:port\")"
#define EIGHT         "a:1 a:2 a:3 a:4 a:5 a:6 a:7 a:8 "
#define EXPECT_SECRET " (expected the name of a file with one line of at most 1024 bytes)"

static const struct {
    const char *text, *sentence;
} bad[] = {
    /* names */
    {"brokr: { };",
     "orderd.conf:1: brokr: unknown section; did you mean \"broker\"? (expected one of daemon, broker, "
     "mysql, redis, create, payment, cancel, release, retry, relay, events, walk, activity, survey, admin, log)"},
    {"\n\nkafka: { };", "orderd.conf:3: kafka: unknown section (expected one of daemon, broker, mysql, redis, create, "
                        "payment, cancel, release, retry, relay, events, walk, activity, survey, admin, log)"},
    {"log: {\n levl = \"info\"; };", "orderd.conf:2: log.levl: unknown key; did you mean \"level\"? (expected one of "
                                     "level, format, priority_prefix)"},
    {"log: {\n colour = \"red\"; };",
     "orderd.conf:2: log.colour: unknown key (expected one of level, format, priority_prefix)"},
    {"log: { host = \"a\"; };",
     "orderd.conf:1: log.host: unknown key (expected one of level, format, priority_prefix)"},
    {"log = 5;", "orderd.conf:1: log: not a group (expected log: { ... })"},
    {"log: ( );", "orderd.conf:1: log: not a group (expected log: { ... })"},
    {"log: { level = \"info\";\n level = \"debug\"; };", "orderd.conf:2: duplicate setting name"},
    {"log: { };\nlog: { };", "orderd.conf:2: duplicate setting name"},
    /* types */
    {"broker: { port = \"5672\"; };",
     "orderd.conf:1: broker.port: a string is the wrong type (expected a number from 1 to 65535)"},
    {"broker: { port = 5672.5; };",
     "orderd.conf:1: broker.port: a fraction is the wrong type (expected a number from 1 to 65535)"},
    {"broker: { port = true; };",
     "orderd.conf:1: broker.port: a truth value is the wrong type (expected a number from 1 to 65535)"},
    {"broker: { port = [1, 2]; };",
     "orderd.conf:1: broker.port: an array is the wrong type (expected a number from 1 to 65535)"},
    {"broker: { port: { }; };",
     "orderd.conf:1: broker.port: a group is the wrong type (expected a number from 1 to 65535)"},
    {"broker: { host = 5; };",
     "orderd.conf:1: broker.host: a number is the wrong type (expected text of 1 to 255 bytes)"},
    {"log: { level = ( \"info\" ); };", "orderd.conf:1: log.level: a list is the wrong type (expected one of "
                                        "\"error\", \"warning\", \"info\", \"debug\")"},
    {"daemon: { drain_timeout = 25; };", "orderd.conf:1: daemon.drain_timeout: a number is the wrong type (expected a "
                                         "duration like \"5s\" from 1s to 10m)"},
    /* ranges and words */
    {"broker: { port = 0; };", "orderd.conf:1: broker.port: 0 is out of range (expected a number from 1 to 65535)"},
    {"broker: { port = 65536; };",
     "orderd.conf:1: broker.port: 65536 is out of range (expected a number from 1 to 65535)"},
    {"broker: { port = -1; };", "orderd.conf:1: broker.port: -1 is out of range (expected a number from 1 to 65535)"},
    {"broker: { port = 5000000000L; };",
     "orderd.conf:1: broker.port: 5000000000 is out of range (expected a number from 1 to 65535)"},
    {"daemon: { drain_timeout = \"11m\"; };", "orderd.conf:1: daemon.drain_timeout: \"11m\" is out of range (expected "
                                              "a duration like \"5s\" from 1s to 10m)"},
    {"daemon: { drain_timeout = \"999ms\"; };", "orderd.conf:1: daemon.drain_timeout: \"999ms\" is out of range "
                                                "(expected a duration like \"5s\" from 1s to 10m)"},
    {"daemon: { drain_timeout = \"5 parsecs\"; };", "orderd.conf:1: daemon.drain_timeout: \"5 parsecs\" is not a "
                                                    "duration (expected a duration like \"5s\" from 1s to 10m)"},
    {"daemon: { drain_timeout = \"25\"; };", "orderd.conf:1: daemon.drain_timeout: \"25\" is not a duration (expected "
                                             "a duration like \"5s\" from 1s to 10m)"},
    {"broker: { heartbeat = \"5500ms\"; };", "orderd.conf:1: broker.heartbeat: \"5500ms\" is not in whole seconds "
                                             "(expected a duration in whole seconds like \"5s\" from 5s to 1m)"},
    {"log: { level = \"loud\"; };", "orderd.conf:1: log.level: \"loud\" is not one of its words (expected one of "
                                    "\"error\", \"warning\", \"info\", \"debug\")"},
    {"log: { level = \"\"; };", "orderd.conf:1: log.level: \"\" is not one of its words (expected one of "
                                "\"error\", \"warning\", \"info\", \"debug\")"},
    {"broker: { host = \"\"; };", "orderd.conf:1: broker.host: text is empty (expected text of 1 to 255 bytes)"},
    {"broker: { host = \"" LONG_256 "\"; };",
     "orderd.conf:1: broker.host: text of 256 bytes is too long (expected text of 1 to 255 bytes)"},
    {"broker: { host = \"a\\nb\"; };",
     "orderd.conf:1: broker.host: \"a b\" has a control character (expected text of 1 to 255 bytes)"},
    /* what libconfig 1.5 would swallow */
    {"create: { lanes =\n 4294967298; };", "orderd.conf:2: create.lanes: 64-bit number needs an L (expected "
                                           "4294967298L)"},
    {"create: { lanes = 2147483648; };",
     "orderd.conf:1: create.lanes: 64-bit number needs an L (expected 2147483648L)"},
    {"create: { lanes = -2147483649; };",
     "orderd.conf:1: create.lanes: 64-bit number needs an L (expected -2147483649L)"},
    {"create: { lanes = 0x100000002; };",
     "orderd.conf:1: create.lanes: 64-bit number needs an L (expected 0x100000002L)"},
    {"create: { lanes = 99999999999999999999999999; };",
     "orderd.conf:1: create.lanes: 64-bit number needs an L (expected 99999999999999999999999999L)"},
    {"log: { level = \"debug\"; };\n/* never closed\ncreate: { lanes = 1; };",
     "orderd.conf:2: comment does not end (expected */)"},
    {"log: { };\n  @include \"directory\"\n",
     "orderd.conf:2: @include \"directory\": not a regular file (expected a file)"},
    /* files */
    {"log: {\n level = ;\n};", "orderd.conf:2: syntax error: a value is missing behind \"level\""},
    {"log: {\n", "orderd.conf:2: syntax error: a } is missing at its end"},
    {"@include \"absent.conf\"\n", "orderd.conf:1: cannot open include file"},
    {"@include \"broken.conf\"\n", "broken.conf:2: syntax error: a value is missing behind \"port\""},
    {"@include \"loop.conf\"\n", "loop.conf:1: include file nesting too deep"},
    {"@include \"twice.conf\"\n", "twice.conf:2: @include: more than 64 files are included"},
    {"@include \"wrong.conf\"\n", "wrong.conf:2: redis.database: 16 is out of range (expected a number from 0 to 15)"},
    /* secrets */
    {"\nmysql: { password_file = \"absent\"; };",
     "orderd.conf:2: mysql.password_file: secret file \"absent\": No such file or directory" EXPECT_SECRET},
    {"redis: { password_file = \"directory\"; };",
     "orderd.conf:1: redis.password_file: secret file \"directory\": Is a directory" EXPECT_SECRET},
    {"mysql: { password_file = \"empty\"; };",
     "orderd.conf:1: mysql.password_file: secret file \"empty\" is empty" EXPECT_SECRET},
    {"mysql: { password_file = \"newline\"; };",
     "orderd.conf:1: mysql.password_file: secret file \"newline\" is empty" EXPECT_SECRET},
    {"mysql: { password_file = \"two_lines\"; };",
     "orderd.conf:1: mysql.password_file: secret file \"two_lines\" has more than one line" EXPECT_SECRET},
    {"mysql: { password_file = \"nul\"; };",
     "orderd.conf:1: mysql.password_file: secret file \"nul\" has a NUL byte" EXPECT_SECRET},
    {"mysql: { password_file = \"long\"; };",
     "orderd.conf:1: mysql.password_file: secret file \"long\" is too long" EXPECT_SECRET},
    {"mysql: { password_file = \"much_longer\"; };",
     "orderd.conf:1: mysql.password_file: secret file \"much_longer\" is too long" EXPECT_SECRET},
    {"mysql: { password_file = 5; };", "orderd.conf:1: mysql.password_file: a number is the wrong type" EXPECT_SECRET},
    /* other files */
    {"broker: { tls = \"verify\";\n tls_ca_file = \"absent\"; };",
     "orderd.conf:2: broker.tls_ca_file: file \"absent\": No such file or directory (expected the name of a file)"},
    {"redis: { tls_key_file = \"empty\"; };", "orderd.conf:1: redis.tls_key_file: file \"empty\" is empty (expected "
                                              "the name of a file with a private key)"},
    {"mysql: { tls_cert_file = true; };", "orderd.conf:1: mysql.tls_cert_file: a truth value is the wrong type "
                                          "(expected the name of a file)"},
    /* TLS: nothing may look protected that is not */
    {"broker: {\n tls = \"verify\"; };", "orderd.conf:2: broker.tls: \"verify\" needs broker.tls_ca_file (expected the "
                                         "file of the authority that signed the "
                                         "server's certificate)"},
    {"mysql: { tls = \"required\";\n tls_ca_file = \"ca.pem\"; };",
     "orderd.conf:2: mysql.tls_ca_file: nothing is verified by it (expected mysql.tls = \"verify\")"},
    {"redis: { tls_ca_file = \"ca.pem\"; };",
     "orderd.conf:1: redis.tls_ca_file: nothing is verified by it (expected redis.tls = \"verify\")"},
    {"redis: { tls_cert_file = \"ca.pem\"; tls_key_file = \"own.key\"; };",
     "orderd.conf:1: redis.tls_cert_file: nobody is shown it where redis.tls is \"off\" (expected another word there)"},
    {"mysql: { tls_cert_file = \"ca.pem\"; };",
     "orderd.conf:1: mysql.tls_cert_file: a certificate and its key go together (expected mysql.tls_key_file, too)"},
    {"broker: { tls = \"verify\"; tls_ca_file = \"ca.pem\"; tls_key_file = \"own.key\"; };",
     "orderd.conf:1: broker.tls_key_file: a certificate and its key go together (expected broker.tls_cert_file, too)"},
    {"mysql: { hosts = \"10.0.0.1:3306 10.0.0.2\"; };",
     "orderd.conf:1: mysql.hosts: \"10.0.0.1:3306 10.0.0.2\" is no list of servers (expected 0 to 16 servers as "
     "\"host:port, host:port\")"},
    {"mysql: { tls = \"required\"; socket = \"/run/mysqld/mysqld.sock\"; };",
     "orderd.conf:1: mysql.tls: a local socket (mysql.socket) is not encrypted (expected \"preferred\" or \"off\")"},
    {"broker: {\n auth = \"external\"; };", "orderd.conf:2: broker.auth: \"external\" is the login by a certificate "
                                            "(expected broker.tls_cert_file, or \"plain\")"},
    {"redis: { tls = \"preferred\"; };",
     "orderd.conf:1: redis.tls: \"preferred\" is not one of its words (expected one of \"off\", \"verify\")"},
    /* rules between keys, at whichever of them the file sets */
    {"broker: {\n reconnect_min = \"6s\"; };", "orderd.conf:2: broker.reconnect_min: \"6s\" is too much where "
                                               "broker.reconnect_max is \"5s\" (expected at most \"5s\")"},
    {"mysql: { reconnect_min = \"2s\"; reconnect_max = \"1s\"; };",
     "orderd.conf:1: mysql.reconnect_min: \"2s\" is too much where mysql.reconnect_max is \"1s\" (expected at most "
     "\"1s\")"},
    {"mysql: {\n\n read_timeout = \"5s\"; };", "orderd.conf:3: mysql.lock_wait_timeout: \"3s\" is too much where "
                                               "mysql.read_timeout is \"5s\" (expected at most \"2500ms\")"},
    {"create: { prefetch = 100; };", "orderd.conf:1: create.batch_max: 500 is too much where create.prefetch is 100 "
                                     "(expected at most 100)"},
    /* lists of servers */
    {"redis: {\n nodes = \"10.0.0.1:26379 10.0.0.2\"; };",
     "orderd.conf:2: redis.nodes: \"10.0.0.1:26379 10.0.0.2\" is no list of servers" EXPECT_NODES},
    {"redis: { nodes = \":1\"; };", "orderd.conf:1: redis.nodes: \":1\" is no list of servers" EXPECT_NODES},
    {"redis: { nodes = \"a:0\"; };", "orderd.conf:1: redis.nodes: \"a:0\" is no list of servers" EXPECT_NODES},
    {"redis: { nodes = \"a:1;b:2\"; };", "orderd.conf:1: redis.nodes: \"a:1;b:2\" is no list of servers" EXPECT_NODES},
    {"redis: { nodes = \"fe80::1:6379\"; };",
     "orderd.conf:1: redis.nodes: \"fe80::1:6379\" is no list of servers" EXPECT_NODES},
    {"redis: { nodes = \"[]:6379\"; };", "orderd.conf:1: redis.nodes: \"[]:6379\" is no list of servers" EXPECT_NODES},
    {"redis: { nodes = \"" EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT "b:1\"; };",
     "orderd.conf:1: redis.nodes: 65 servers are too many" EXPECT_NODES},
    {"broker: { hosts = \"" EIGHT EIGHT "b:1\"; };",
     "orderd.conf:1: broker.hosts: 17 servers are too many (expected 0 to 16 servers as \"host:port, host:port\")"},
    {"redis: { nodes = 7; };", "orderd.conf:1: redis.nodes: a number is the wrong type" EXPECT_NODES},
    {"redis: {\n mode = \"sentinel\"; };",
     "orderd.conf:2: redis.mode: without redis.nodes nobody can be asked (expected "
     "\"host:port, host:port\" there)"},
    {"redis: { host = \"a\";\n nodes = \"a:1, b:1\"; };",
     "orderd.conf:2: redis.nodes: nobody asks them while redis.mode is \"server\" (expected \"sentinel\" or "
     "\"cluster\" "
     "there, or redis.host alone)"},
    {"redis: { mode = \"cluster\"; nodes = \"a:1\";\n database = 1; };",
     "orderd.conf:2: redis.database: a cluster has only one (expected 0)"},
};

/* What is likely wrong where libconfig only says "syntax error". Words of no configuration are not repeated: the file
 * may be one of secrets. */
#define SYNTAX(line) "orderd.conf:" line ": syntax error: "
static const struct {
    const char *text, *sentence;
} hints[] = {
    {"create: {\n lanes 2;\n};", SYNTAX("2") "a = or : is missing behind \"lanes\""},
    {"log {\n level = \"info\";\n};", SYNTAX("1") "a = or : is missing behind \"log\""},
    {"log: {\n level\n};", SYNTAX("3") "a = or : is missing behind \"level\" in line 2"},
    {"hunter2\n", SYNTAX("2") "a = or : is missing behind a name in line 1"},
    {"mysql.host = \"a\";", SYNTAX("1") "a name has no point (mysql.host is written as: mysql: { host = \"...\"; };)"},
    {"log: {\n level =\n};", SYNTAX("3") "a value is missing behind \"level\" in line 2"},
    {"log: {\n level = info;\n};",
     SYNTAX("2") "text stands in double quotes, also 5s or 64KiB: see the value of \"level\""},
    {"log: {\n level = 'info';\n};",
     SYNTAX("2") "text stands in double quotes, also 5s or 64KiB: see the value of \"level\""},
    {"daemon: {\n drain_timeout = 5s;\n};",
     SYNTAX("2") "text stands in double quotes, also 5s or 64KiB: see the value of \"drain_timeout\""},
    {"mysql: {\n password_file = hunter2;\n};",
     SYNTAX("2") "text stands in double quotes, also 5s or 64KiB: see the value of \"password_file\""},
    {"log: {\n level = \"info;\n};\n", SYNTAX("4") "a \" is missing at the end of a text in line 2"},
    {"log: {\n level = \"info;\n format = \"json\";\n};\n",
     SYNTAX("5") "a \" is missing at the end of a text in line 2"},
    {"log: {\n level = \"info\";;\n};", SYNTAX("2") "there is a ; or , too many"},
    {"log: {\n level = \"info\";\n}};", SYNTAX("3") "there is a } too many"},
    {"[log]\nlevel = info\n", SYNTAX("1") "a name is expected (as in: name = value;)"},
    {"log: { level = \"in\" \"fo\" x = true; y = 0x1F; z = 1e5; };\ncreate: { lanes = [\"a\", b]; };",
     SYNTAX("2") "expected settings as in: mysql: { host = \"localhost\"; port = 3306; };"},
};

START_TEST(a_syntax_error_is_explained)
{
    write_file("orderd.conf", hints[_i].text);
    assert_refused(hints[_i].sentence);
}
END_TEST

START_TEST(refused)
{
    write_others();
    write_file("orderd.conf", bad[_i].text);
    assert_refused(bad[_i].sentence);
}
END_TEST

START_TEST(refused_files)
{
    struct error err;

    assert_refused(
        "orderd.conf: No such file or directory (expected a configuration file, see -c; `orderd --dump-defaults` "
        "prints one to begin with)");
    ck_assert_int_eq(mkdir("orderd.conf", 0700), 0);
    assert_refused("orderd.conf: Is a directory (expected a configuration file)");
    ck_assert_ptr_null(conf_load("/dev/zero", &err));
    ck_assert_str_eq(err.text, "/dev/zero: File too large (expected a configuration file)");
    write_bytes("nul.conf", "log: { };\0log: { level = 5; };", 30);
    ck_assert_ptr_null(conf_load("nul.conf", &err));
    ck_assert_str_eq(err.text, "nul.conf: holds a NUL byte (expected text)");
}
END_TEST

START_TEST(defaults)
{
    struct error err;
    struct conf *conf = conf_load(NULL, &err);

    ck_assert_ptr_nonnull(conf);
    ck_assert_ptr_null(conf->path);
    ck_assert_int_eq(conf->broker_port, 5672);
    ck_assert_int_eq(conf->broker_heartbeat, 10000);
    ck_assert_int_eq(conf->broker_topology, CONF_TOPOLOGY_VERIFY);
    ck_assert_int_eq(conf->log_level, CONF_LOG_LEVEL_INFO);
    ck_assert_str_eq(conf->create_queue, "order.create");
    ck_assert_str_eq(conf->broker_password_file, "guest");
    ck_assert_ptr_null(conf->mysql_password_file);
    ck_assert_ptr_null(conf->redis_password_file);
    conf_destroy(&conf);
    ck_assert_ptr_null(conf);
}
END_TEST

START_TEST(values)
{
    struct conf *conf = load("# a comment with { and 5000000000\n"
                             "broker = { host = \"mq.\" \"example\"; port = 0x1F; topology = \"trust\" };\n"
                             "mysql: { user = \"say \\\"5000000000\\\" \\\\ so\"; port = 3307L };\n"
                             "// 5000000000 \" /* \n"
                             "/* 5000000000 \" */ create: { hold_max = \"15m\"; batch_max = 1; };\n"
                             "log: { level = \"debug\"; format = \"json\"; priority_prefix = \"never\"; };\n");

    ck_assert_str_eq(conf->path, "orderd.conf");
    ck_assert_str_eq(conf->broker_host, "mq.example");
    ck_assert_int_eq(conf->broker_port, 31);
    ck_assert_int_eq(conf->broker_topology, CONF_TOPOLOGY_TRUST);
    ck_assert_str_eq(conf->mysql_user, "say \"5000000000\" \\ so");
    ck_assert_int_eq(conf->mysql_port, 3307);
    ck_assert_int_eq(conf->create_hold_max, 900000);
    ck_assert_int_eq(conf->create_batch_max, 1);
    ck_assert_int_eq(conf->log_level, CONF_LOG_LEVEL_DEBUG);
    ck_assert_int_eq(conf->log_format, CONF_LOG_FORMAT_JSON);
    ck_assert_int_eq(conf->log_priority_prefix, CONF_PRIORITY_NEVER);
    conf_destroy(&conf);
}
END_TEST

/* The dump has this setting, with this comment after it. */
static void assert_dumped(const struct strbuf *dump, const char *setting, const char *comment)
{
    const char *at = strstr(dump->data, setting);

    ck_assert_msg(at != NULL, "\"%s\" is not in:\n%s", setting, dump->data);
    at += strlen(setting);
    at += strspn(at, " ");
    ck_assert_msg(strncmp(at, comment, strlen(comment)) == 0 && at[strlen(comment)] == '\n',
                  "\"%s\" is not the comment of \"%s\" in:\n%s", comment, setting, dump->data);
}

START_TEST(origins)
{
    struct strbuf dump = STRBUF_INIT;
    struct error err = {0};
    struct conf *conf;

    ck_assert_int_eq(mkdir("etc", 0700), 0);
    ck_assert_int_eq(mkdir("etc/part", 0700), 0);
    write_file("etc/orderd.conf", "broker: {\n  @include \"part/broker.conf\"\n  port = 1;\n};\n");
    write_file("etc/part/broker.conf", "\nhost = \"included\";\n");
    conf = conf_load("etc/orderd.conf", &err);
    ck_assert_msg(conf != NULL, "%s", err.text);
    ck_assert_str_eq(conf->broker_host, "included");
    conf_dump(conf, &dump);
    assert_dumped(&dump, "host = \"included\";", "# etc/part/broker.conf:2");
    assert_dumped(&dump, "port = 1;", "# etc/orderd.conf:3");
    assert_dumped(&dump, "vhost = \"/\";", "# default");
    conf_destroy(&conf);
    strbuf_release(&dump);
}
END_TEST

START_TEST(secrets)
{
    struct conf *conf;
    struct strbuf dump = STRBUF_INIT;

    ck_assert_int_eq(mkdir("credentials", 0700), 0);
    write_file("credentials/db.pass", "from-credentials\n");
    write_file("db.pass", "beside\n");
    write_file("credentials/kv.pass", "\n"); /* counts as none */
    write_file("kv.pass", "no newline, \"quoted\"");
    write_file("windows.pass", "carriage\r\n");
    setenv("CREDENTIALS_DIRECTORY", "credentials", 1);
    conf = load("broker: { password_file = \"windows.pass\"; };\n"
                "mysql: { password_file = \"db.pass\"; };\nredis: { password_file = \"kv.pass\"; };\n");
    ck_assert_str_eq(conf->broker_password_file, "carriage");
    ck_assert_str_eq(conf->mysql_password_file, "from-credentials");
    ck_assert_str_eq(conf->redis_password_file, "no newline, \"quoted\"");
    conf_dump(conf, &dump);
    assert_dumped(&dump, "password_file = \"db.pass\";", "# orderd.conf:2, *** read from credentials/db.pass");
    ck_assert_ptr_null(strstr(dump.data, "from-credentials"));
    ck_assert_ptr_null(strstr(dump.data, "quoted"));
    ck_assert_ptr_null(strstr(dump.data, "carriage"));
    conf_destroy(&conf);

    unsetenv("CREDENTIALS_DIRECTORY");
    conf = load("mysql: { password_file = \"db.pass\"; };\n");
    ck_assert_str_eq(conf->mysql_password_file, "beside");
    conf_destroy(&conf);
    strbuf_release(&dump);
}
END_TEST

/* A file that is no secret is found in the same places, and the value is where it is. */
START_TEST(files)
{
    struct strbuf dump = STRBUF_INIT;
    struct conf *conf;

    ck_assert_int_eq(mkdir("credentials", 0700), 0);
    write_others();
    write_file("credentials/own.key", "another key\n");
    write_file("credentials/ca.pem", "\n"); /* counts as none */
    setenv("CREDENTIALS_DIRECTORY", "credentials", 1);
    conf = load("broker: { tls = \"verify\"; tls_ca_file = \"ca.pem\"; };\n"
                "mysql: { tls = \"preferred\";\n tls_cert_file = \"ca.pem\"; tls_key_file = \"own.key\"; };\n");
    ck_assert_int_eq(conf->broker_tls, CONF_TLS_VERIFY);
    ck_assert_str_eq(conf->broker_tls_ca_file, "ca.pem");
    ck_assert_ptr_null(conf->broker_tls_cert_file);
    ck_assert_ptr_null(conf->redis_tls_ca_file);
    ck_assert_int_eq(conf->mysql_tls, CONF_MYSQL_TLS_PREFERRED);
    ck_assert_str_eq(conf->mysql_tls_key_file, "credentials/own.key");
    conf_dump(conf, &dump);
    assert_dumped(&dump, "tls_key_file = \"own.key\";", "# orderd.conf:3, in credentials/own.key");
    conf_destroy(&conf);
    strbuf_release(&dump);
}
END_TEST

/* What this build cannot do, the configuration cannot ask for. */
START_TEST(without_tls)
{
    struct conf_tls_able none = {false, false}, all = {true, true};
    struct conf *conf;
    struct error err;

    write_others();
    conf = load("broker: { tls = \"verify\"; tls_ca_file = \"ca.pem\"; };\nredis: { };\n");
    ck_assert_uint_eq(conf_tls_wrong(conf, &all, &err), CONF_KEY_COUNT);
    ck_assert_uint_eq(conf_tls_wrong(conf, &none, &err), CONF_INDEX_broker_tls);
    ck_assert_str_eq(err.text, "broker.tls: this orderd was built without TLS for it, for want of OpenSSL, or of a "
                               "librabbitmq that has it (expected \"off\")");
    conf_destroy(&conf);
    conf = load("redis: { tls = \"verify\"; tls_ca_file = \"ca.pem\"; };\n");
    ck_assert_uint_eq(conf_tls_wrong(conf, &none, &err), CONF_INDEX_redis_tls);
    ck_assert_str_eq(err.text,
                     "redis.tls: this orderd was built without TLS for it, for want of OpenSSL (expected \"off\")");
    conf_destroy(&conf);
    conf = load("mysql: { tls = \"required\"; socket = \"/not/used\"; hosts = \"[::1]:3306, db:3307\"; };\n");
    ck_assert_uint_eq(conf_node_count(conf->mysql_hosts), 2);
    conf_destroy(&conf);
    conf = load("mysql: { tls = \"verify\"; tls_ca_file = \"ca.pem\"; };\n"); /* its library has its own */
    ck_assert_uint_eq(conf_tls_wrong(conf, &none, &err), CONF_KEY_COUNT);
    conf_destroy(&conf);
}
END_TEST

START_TEST(longest_secret)
{
    struct conf *conf;

    write_file("longest", LONG_256 LONG_256 LONG_256 LONG_256 "\r\n");
    conf = load("mysql: { password_file = \"longest\"; };");
    ck_assert_uint_eq(strlen(conf->mysql_password_file), 1024);
    conf_destroy(&conf);
}
END_TEST

/* Without the comments, which name other origins. */
static void strip_comments(struct strbuf *text)
{
    size_t kept = 0;

    for (size_t i = 0; i < text->len; i++) {
        if (text->data[i] == '#')
            i += strcspn(text->data + i, "\n");
        text->data[kept++] = text->data[i];
    }
    strbuf_cut(text, kept);
}

START_TEST(dump_parses_back)
{
    struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
    struct conf *conf;

    write_file("p", "secret");
    conf = load("broker: { user = \"a \\\"quote\\\" and a \\\\ \\xC3\\xA9\"; queue_type = \"classic\"; };\n"
                "mysql: { password_file = \"p\"; read_timeout = \"7s\"; };\n"
                "daemon: { drain_timeout = \"1500ms\"; };\n");
    conf_dump(conf, &first);
    conf_destroy(&conf);
    conf = load(first.data);
    ck_assert_str_eq(conf->broker_user, "a \"quote\" and a \\ \xc3\xa9");
    ck_assert_int_eq(conf->broker_queue_type, CONF_QUEUE_TYPE_CLASSIC);
    ck_assert_str_eq(conf->mysql_password_file, "secret");
    ck_assert_int_eq(conf->mysql_read_timeout, 7000);
    ck_assert_int_eq(conf->daemon_drain_timeout, 1500);
    conf_dump(conf, &second);
    strip_comments(&first);
    strip_comments(&second);
    ck_assert_str_eq(first.data, second.data);
    conf_destroy(&conf);
    strbuf_release(&first);
    strbuf_release(&second);
}
END_TEST

static void read_sample(struct strbuf *out)
{
    char path[512];
    FILE *f;
    int c;

    ck_assert_ptr_nonnull(getenv("ORDERD_SOURCE"));
    snprintf(path, sizeof path, "%s/config/orderd.conf", getenv("ORDERD_SOURCE"));
    f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s cannot be read", path);
    while ((c = fgetc(f)) != EOF)
        strbuf_add_char(out, (char)c);
    fclose(f);
}

static const char *const key_names[] = {
#define X(section, name, type, def, min, max, flags, prose) #name,
#include "orderd/tbl/conf.h"
#undef X
};

#define KEYS (sizeof key_names / sizeof *key_names)

START_TEST(sample_is_current)
{
    struct strbuf file = STRBUF_INIT, printed = STRBUF_INIT;
    const char *at;
    char copy[512];

    read_sample(&file);
    conf_dump_defaults(&printed);
    ck_assert_ptr_nonnull(getenv("ORDERD_BUILD"));
    snprintf(copy, sizeof copy, "%s/orderd.conf", getenv("ORDERD_BUILD"));
    write_bytes(copy, printed.data, printed.len);
    ck_assert_msg(strcmp(file.data, printed.data) == 0,
                  "config/orderd.conf is not what conf_dump_defaults prints; that is in %s", copy);
    at = file.data;
    for (size_t i = 0; i < KEYS; i++) {
        char line[64];

        snprintf(line, sizeof line, "\n    #%s = ", key_names[i]);
        at = strstr(at, line);
        ck_assert_msg(at != NULL, "%s is not in the sample, or not in its place", key_names[i]);
        at++;
    }
    for (at = file.data; *at; at += strcspn(at, "\n") + 1)
        ck_assert_msg(strcspn(at, "\n") <= 80, "too wide: %.*s", (int)strcspn(at, "\n"), at);
    strbuf_release(&file);
    strbuf_release(&printed);
}
END_TEST

/* Takes the # off the keys, as a user would. */
static void uncomment(const struct strbuf *from, struct strbuf *to)
{
    for (const char *at = from->data; *at; at++) {
        bool key = *at == '#' && at[1] >= 'a' && at[1] <= 'z';

        if (!key)
            strbuf_add_char(to, *at);
    }
}

/* As it stands and with every key taken in: both say what the defaults say. */
START_TEST(sample_loads)
{
    struct strbuf sample = STRBUF_INIT, uncommented = STRBUF_INIT, expected = STRBUF_INIT, got = STRBUF_INIT;
    struct error err;
    struct conf *conf = conf_load(NULL, &err);

    conf_dump(conf, &expected);
    conf_destroy(&conf);
    read_sample(&sample);
    conf = load(sample.data);
    conf_dump(conf, &got);
    ck_assert_str_eq(got.data, expected.data);
    conf_destroy(&conf);

    uncomment(&sample, &uncommented);
    conf = load(uncommented.data);
    strbuf_reset(&got);
    conf_dump(conf, &got);
    ck_assert_ptr_null(strstr(got.data, "# default"));
    strip_comments(&got);
    strip_comments(&expected);
    ck_assert_str_eq(got.data, expected.data);
    conf_destroy(&conf);
    strbuf_release(&sample);
    strbuf_release(&uncommented);
    strbuf_release(&expected);
    strbuf_release(&got);
}
END_TEST

static void assert_merge(struct conf *current, struct conf *fresh, const char *taken, const char *need_restart)
{
    struct strbuf took = STRBUF_INIT, left = STRBUF_INIT;

    strbuf_reset(&took);
    strbuf_reset(&left);
    conf_merge_reload(current, fresh, &took, &left);
    ck_assert_str_eq(took.data, taken);
    ck_assert_str_eq(left.data, need_restart);
    strbuf_release(&took);
    strbuf_release(&left);
}

START_TEST(reload)
{
    struct strbuf dump = STRBUF_INIT;
    struct conf *current, *fresh;

    write_file("p", "old");
    current = load("broker: { host = \"old\"; };\nmysql: { password_file = \"p\"; };\nlog: { level = \"info\"; };\n");
    write_file("p", "new");
    fresh = load("\n\n\nbroker: { host = \"new\"; port = 1; };\nmysql: { password_file = \"p\"; };\n"
                 "log: { level = \"debug\"; };\ncreate: { batch_max = 7; };\n");
    assert_merge(current, fresh, "create.batch_max,log.level", "broker.host,broker.port,mysql.password_file");
    conf_destroy(&current);
    ck_assert_str_eq(fresh->broker_host, "old");
    ck_assert_int_eq(fresh->broker_port, 5672);
    ck_assert_str_eq(fresh->mysql_password_file, "old");
    ck_assert_int_eq(fresh->log_level, CONF_LOG_LEVEL_DEBUG);
    ck_assert_int_eq(fresh->create_batch_max, 7);
    conf_dump(fresh, &dump);
    assert_dumped(&dump, "host = \"old\";", "# orderd.conf:1");
    assert_dumped(&dump, "port = 5672;", "# default");
    conf_destroy(&fresh);
    strbuf_release(&dump);
}
END_TEST

START_TEST(reload_of_the_same)
{
    struct conf *current = load("log: { level = \"debug\"; };"), *fresh = load("\nlog: { level = \"debug\"; };");

    assert_merge(current, fresh, "", "");
    conf_destroy(&current);
    conf_destroy(&fresh);
}
END_TEST

/* batch_max may be reloaded and prefetch not: the new one would be over the old prefetch. */
START_TEST(reload_keeps_the_rules)
{
    struct conf *current = load("create: { prefetch = 600; };");
    struct conf *fresh = load("create: { prefetch = 1500; batch_max = 1400; unknown_tries = 5; };");

    assert_merge(current, fresh, "create.unknown_tries", "create.batch_max,create.prefetch");
    ck_assert_int_eq(fresh->create_prefetch, 600);
    ck_assert_int_eq(fresh->create_batch_max, 500);
    conf_destroy(&current);
    conf_destroy(&fresh);
}
END_TEST

static void assert_node(const char **list, const char *host, int port)
{
    struct conf_node node;

    ck_assert(conf_node_next(list, &node));
    ck_assert_str_eq(node.host, host);
    ck_assert_int_eq(node.port, port);
}

START_TEST(lists_of_servers)
{
    const char *list = " 10.0.0.1:26379,redis-2.example:26380 , [fe80::1%eth0]:1 ", *none = NULL;
    struct conf_node node;

    assert_node(&list, "10.0.0.1", 26379);
    assert_node(&list, "redis-2.example", 26380);
    assert_node(&list, "fe80::1%eth0", 1);
    ck_assert(!conf_node_next(&list, &node));
    ck_assert_str_eq(list, "");
    ck_assert(!conf_node_next(&none, &node));
    ck_assert_str_eq(none, "");
}
END_TEST

START_TEST(one_of_a_list_of_servers)
{
    const char *list = "a:1, b:2 [::1]:3";
    struct conf_node node;

    ck_assert_uint_eq(conf_node_count(list), 3);
    ck_assert_uint_eq(conf_node_count(" , "), 0);
    ck_assert_uint_eq(conf_node_count(NULL), 0);
    ck_assert(conf_node_at(list, 0, &node));
    ck_assert_str_eq(node.host, "a");
    ck_assert(conf_node_at(list, 2, &node));
    ck_assert_str_eq(node.host, "::1");
    ck_assert_int_eq(node.port, 3);
    ck_assert(!conf_node_at(list, 3, &node));
    ck_assert(!conf_node_at(NULL, 0, &node));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("conf");
    TCase *c = tcase_create("conf");

    tcase_add_checked_fixture(c, enter_folder, leave_folder);
    tcase_add_loop_test(c, refused, 0, sizeof bad / sizeof *bad);
    tcase_add_loop_test(c, a_syntax_error_is_explained, 0, (int)(sizeof hints / sizeof *hints));
    tcase_add_test(c, refused_files);
    tcase_add_test(c, defaults);
    tcase_add_test(c, values);
    tcase_add_test(c, lists_of_servers);
    tcase_add_test(c, one_of_a_list_of_servers);
    tcase_add_test(c, origins);
    tcase_add_test(c, secrets);
    tcase_add_test(c, files);
    tcase_add_test(c, without_tls);
    tcase_add_test(c, longest_secret);
    tcase_add_test(c, dump_parses_back);
    tcase_add_test(c, sample_is_current);
    tcase_add_test(c, sample_loads);
    tcase_add_test(c, reload);
    tcase_add_test(c, reload_of_the_same);
    tcase_add_test(c, reload_keeps_the_rules);
    suite_add_tcase(s, c);
    return testing_main(s);
}
