/* In place of the fuzzer: every file that is named, and every file of a folder that is named, goes through the target
 * once. So what was found once is tried again by every build, with any compiler. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"

static size_t inputs;

/* Its own piece of memory of exactly that size, so that a sanitizer sees a byte too many. */
static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    uint8_t *bytes;
    size_t size;

    CHECK(file != NULL && fstat(fileno(file), &st) == 0);
    size = (size_t)st.st_size;
    bytes = malloc(size ? size : 1);
    CHECK(bytes != NULL && fread(bytes, 1, size, file) == size);
    fclose(file);
    (void)LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    inputs++;
}

static void run_folder(const char *path, DIR *folder)
{
    const struct dirent *entry;
    char file[4096];

    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        CHECK(snprintf(file, sizeof file, "%s/%s", path, entry->d_name) < (int)sizeof file);
        run_file(file);
    }
}

/* A target that has nothing to prepare does not define it. */
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

int main(int argc, char **argv)
{
    (void)LLVMFuzzerInitialize(&argc, &argv);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);

        if (folder) {
            run_folder(argv[i], folder);
            closedir(folder);
        } else {
            run_file(argv[i]);
        }
    }
    fprintf(stderr, "%zu inputs\n", inputs);
    return inputs ? 0 : 1;
}
