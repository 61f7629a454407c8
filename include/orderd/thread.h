/* A thread is a row: a name, a function, private data. */
#ifndef ORDERD_THREAD_H
#define ORDERD_THREAD_H

#include <pthread.h>
#include <stdbool.h>

struct thread {
    char name[16]; /* at most 15 bytes: the kernel's limit; shows in top -H and in the log */
    void (*run)(void *data);
    void *data;
    pthread_t id;
    bool started;
};

/* Starts t with all signals blocked (the main thread waits for them; those a thread causes itself, like SIGSEGV, stay),
 * the name set and the log context ready. The struct must outlive the thread. Cannot fail unless the system is out of
 * threads (check). */
void thread_start(struct thread *t);

/* Waits for the thread's function to return; nothing where it was never started. */
void thread_join(struct thread *t);

#endif
