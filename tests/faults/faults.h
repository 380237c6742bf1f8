/* faults.h - what the files of the crash-safety harness share. */
#ifndef BURN_TESTS_FAULTS_H
#define BURN_TESTS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PATH_BYTES = 512, MESSAGE_BYTES = 1024 };

/* -- one run of the training program (faults_run.c) ------------------------------------------- */

/* How a stack is run. */
typedef struct Setup {
  const char *name, *backend, *threads, *workers;
} Setup;

/* What is done to a run; zeros: nothing. */
typedef struct Fault {
  double kill_after; /* seconds; with `kills` */
  bool kills;
  long at;         /* before this file operation .. */
  int error;       /* .. fail with this errno; 0: die */
  bool lasting;    /* and all later ones */
  const char *log; /* a file that gets a line per operation */
} Fault;

typedef struct Outcome {
  int status; /* exit status; -1: died of a signal */
  int signal;
  bool hangs; /* ended by us after a minute */
  double seconds;
  char message[MESSAGE_BYTES]; /* what it said on stderr */
} Outcome;

/* Folder of the artifacts below the working directory of a run, which is part of every path that is watched. */
#define ARTIFACTS "run-of-faults"

typedef struct Harness {
  const char *program, *shim; /* mnist, faults_shim.so */
  char scratch[PATH_BYTES];   /* all runs are below it */
} Harness;

/* Trains in folder `where` of the scratch folder, three epochs of four batches. */
Outcome harness_run(const Harness *harness, const Setup *setup, const char *where, unsigned seed, bool resume,
                    unsigned epochs, const Fault *fault);
double harness_now(void);

/* -- folders (faults_compare.c) --------------------------------------------------------------- */

/* True if both folders hold the same run: the same files; records with the same values, bit for bit, but for ids and
 * times; the same config and, with_logs, logs. Else the first difference is in `why`. */
bool folders_are_same(const char *a, const char *b, bool with_logs, char why[MESSAGE_BYTES]);

/* The name of a temporary file of ours below a folder. */
bool folder_has_leftover(const char *folder, char name[MESSAGE_BYTES]);

void folder_remove(const char *folder);
void folder_copy(const char *from, const char *to);

#endif
