/* The tables of include/orderd/tbl: names are unique and well formed, and each row is used by some source. */
#include "testing.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orderd/metric.h"
#include "orderd/strbuf.h"

struct row {
    const char *symbol, *name, *text; /* as in code, as people see it, its prose or NULL */
};

static const struct row events[] = {
#define X(event, level, per_second, name, sentence) {"LOG_EVENT_" #event, name, sentence},
#include "orderd/tbl/log_event.h"
#undef X
};
static const struct row metrics[] = {
#define X(metric, name, help) {"METRIC_" #metric, name, help},
#include "orderd/tbl/metric.h"
#undef X
};
static const struct row spans[] = {
#define X(span, name, help) {"METRIC_SPAN_" #span, name, help},
#include "orderd/tbl/metric_span.h"
#undef X
};
static const struct row faults[] = {
#define X(fault, name) {"(" #fault ")", name, NULL},
#include "orderd/tbl/fault.h"
#undef X
};
static const struct row errors[] = {
#define X(code, class_, name) {"ERROR_" #code, name, NULL},
#include "orderd/tbl/error.h"
#undef X
};
static const struct row keys[] = {
#define X(section, name, type, def, min, max, flags, prose) {#section "_" #name, #section "." #name, prose},
#include "orderd/tbl/conf.h"
#undef X
};

static const struct table {
    const char *what, *letters;
    const struct row *rows;
    size_t count;
} tables[] = {
#define TABLE(what, letters, rows)                                                                                     \
    {                                                                                                                  \
        what, letters, rows, sizeof rows / sizeof *rows                                                                \
    }
    TABLE("log event", "_", events), TABLE("metric", "_", metrics), TABLE("span", "_", spans),
    TABLE("fault", "_.", faults),    TABLE("error", "_", errors),   TABLE("configuration key", "_.", keys),
#undef TABLE
};

#define TABLES ((int)(sizeof tables / sizeof *tables))

START_TEST(names)
{
    const struct table *t = &tables[_i];

    for (size_t i = 0; i < t->count; i++) {
        for (const char *c = t->rows[i].name; *c; c++)
            ck_assert_msg(islower((unsigned char)*c) || strchr(t->letters, *c), "%s \"%s\"", t->what, t->rows[i].name);
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(strcmp(t->rows[i].name, t->rows[j].name) != 0, "%s %s twice", t->what, t->rows[i].name);
        ck_assert_msg(t->rows[i].text == NULL || t->rows[i].text[0], "%s %s says nothing", t->what, t->rows[i].name);
    }
}
END_TEST

/* The naming rules of Prometheus for counters; help is a sentence. */
START_TEST(metric_names)
{
    for (int i = 0; i < METRIC_COUNT; i++) {
        const char *name = metric_name((enum metric)i), *help = metric_help((enum metric)i);

        ck_assert_msg(strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0, "%s", name);
        ck_assert_msg(help[strlen(help) - 1] == '.', "%s: %s", name, help);
    }
    for (int i = 0; i < METRIC_SPAN_COUNT; i++) {
        ck_assert_str_eq(metric_span_name((enum metric_span)i), spans[i].name);
        ck_assert_str_eq(metric_span_help((enum metric_span)i), spans[i].text);
    }
}
END_TEST

static void add_file(const char *path, struct strbuf *out)
{
    FILE *f = fopen(path, "r");
    int c;

    ck_assert_msg(f != NULL, "%s cannot be read", path);
    while ((c = fgetc(f)) != EOF)
        strbuf_add_char(out, (char)c);
    strbuf_add_char(out, '\n');
    fclose(f);
}

/* All sources below a folder. */
static void add_sources(const char *path, struct strbuf *out)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    char inner[512];

    ck_assert_msg(dir != NULL, "%s cannot be read", path);
    while ((entry = readdir(dir)) != NULL) {
        size_t len = strlen(entry->d_name);

        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            add_sources(inner, out);
        else if (len > 2 && (strcmp(entry->d_name + len - 2, ".c") == 0 || strcmp(entry->d_name + len - 2, ".h") == 0))
            add_file(inner, out);
    }
    closedir(dir);
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool mentions(const struct strbuf *sources, const char *symbol)
{
    size_t len = strlen(symbol);

    for (const char *at = sources->data; (at = strstr(at, symbol)) != NULL; at++) {
        if (symbol[0] == '(' || (!in_word(at[len]) && (at == sources->data || !in_word(at[-1]))))
            return true;
    }
    return false;
}

/* An event nobody logs, a counter nobody counts, a key nobody reads: each is a promise not kept. */
START_TEST(every_row_is_used)
{
    struct strbuf sources = STRBUF_INIT, unused = STRBUF_INIT;
    char path[512];

    snprintf(path, sizeof path, "%s/src", getenv("ORDERD_SOURCE"));
    strbuf_reset(&unused);
    add_sources(path, &sources);
    for (size_t i = 0; i < tables[_i].count; i++) {
        if (!mentions(&sources, tables[_i].rows[i].symbol))
            strbuf_addf(&unused, " %s", tables[_i].rows[i].name);
    }
    ck_assert_msg(unused.len == 0, "%s rows that no source uses:%s", tables[_i].what, unused.data);
    strbuf_release(&sources);
    strbuf_release(&unused);
}
END_TEST

/* While the layers are built apart, what uses the rows is not there yet: judged once the daemon stands. */
static bool tree_is_whole(void)
{
    char path[512];

    snprintf(path, sizeof path, "%s/src/program/orderd_main.c", getenv("ORDERD_SOURCE"));
    return access(path, F_OK) == 0;
}

int main(void)
{
    Suite *s = suite_create("tables");
    TCase *c = tcase_create("tables");

    tcase_add_loop_test(c, names, 0, TABLES);
    tcase_add_test(c, metric_names);
    if (tree_is_whole())
        tcase_add_loop_test(c, every_row_is_used, 0, TABLES);
    suite_add_tcase(s, c);
    return testing_main(s);
}
