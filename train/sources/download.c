/* download.c - files by libcurl. What has come lies in PATH.part, which is renamed once its checksum is right; so
 * nobody sees half of a file, and what was cut goes on where it ended. The folder is taken for one process
 * (burn_folder_lock). */
#include "null_check.h"

#include <burn/datasets.h>
#include <burn/file.h>
#include <burn/train/learner.h>

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, TRIES = 5, WHY_BYTES = 2048, CONNECT_SECONDS = 30, STALL_SECONDS = 60, NO_RANGE = 416 };
static const uint64_t default_limit = UINT64_C(16) << 30;

/* One file on its way. */
typedef struct Fetch {
  const BurnDownload *download;
  char part[PATH_BYTES];
  FILE *file; /* of the part, while it grows */
  uint64_t bytes;
  bool too_large;
  int error;           /* errno of a write that failed */
  char why[WHY_BYTES]; /* what each address answered */
} Fetch;

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
static void curl_begin(void) { (void)curl_global_init(CURL_GLOBAL_DEFAULT); }

static uint64_t size_of(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && info.st_size > 0 ? (uint64_t)info.st_size : 0;
}

static void why_add(Fetch *fetch, const char *url, const char *reason) {
  const size_t used = strlen(fetch->why);
  (void)snprintf(fetch->why + used, sizeof fetch->why - used, "%s%s: %s", used > 0 ? "; " : "", url, reason);
}

/* -- one request ------------------------------------------------------------------------------ */

static size_t bytes_take(char *bytes, size_t size, size_t count, void *context) {
  Fetch *fetch = context;
  const uint64_t limit = fetch->download->bytes_limit > 0 ? fetch->download->bytes_limit : default_limit;
  fetch->too_large = fetch->bytes + size * count > limit;
  if (fetch->too_large) return 0;
  errno = 0;
  const size_t written = fwrite(bytes, 1, size * count, fetch->file);
  if (written < size * count) fetch->error = errno;
  fetch->bytes += written;
  return written;
}

static int progress_tell(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up_now) {
  const Fetch *fetch = context;
  (void)up_total, (void)up_now;
  const uint64_t before = fetch->bytes - (uint64_t)(now > 0 && (uint64_t)now <= fetch->bytes ? now : 0);
  fetch->download->progress(fetch->download->context, fetch->bytes, total > 0 ? before + (uint64_t)total : 0);
  return 0;
}

static void request_set(CURL *curl, const char *url, Fetch *fetch) {
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https,file");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALL_SECONDS);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "burn");
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, bytes_take);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, fetch);
  curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)fetch->bytes);
  if (fetch->download->progress == NULL) return;
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, progress_tell);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, fetch);
}

/* What a request came to: it may be tried again at the same address, from where it ended or from the beginning. */
typedef enum Outcome { FETCHED, CUT, FROM_THE_BEGINNING, REFUSED } Outcome;

static Outcome outcome_of(Fetch *fetch, CURL *curl, CURLcode code, uint64_t before, const char *url) {
  long answer = 0;
  char text[128];
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer);
  if (code == CURLE_OK) return FETCHED;
  if (code == CURLE_RANGE_ERROR || (before > 0 && answer == NO_RANGE)) return FROM_THE_BEGINNING;
  if (fetch->bytes > before && !fetch->too_large && fetch->error == 0) return CUT;
  if (fetch->too_large)
    why_add(fetch, url, "it is larger than the limit");
  else if (fetch->error != 0)
    why_add(fetch, fetch->part, strerror_r(fetch->error, text, sizeof text) == 0 ? text : "cannot be written");
  else if (answer >= 400)
    why_add(fetch, url, (snprintf(text, sizeof text, "the server answers %ld", answer), text));
  else
    why_add(fetch, url, curl_easy_strerror(code));
  return REFUSED;
}

static Outcome request_run(Fetch *fetch, const char *url) {
  const uint64_t before = fetch->bytes = size_of(fetch->part);
  CURL *curl = curl_easy_init();
  fetch->file = fopen(fetch->part, before > 0 ? "ab" : "wb");
  Outcome outcome = REFUSED;
  if (curl == NULL || fetch->file == NULL) {
    why_add(fetch, fetch->part, "cannot be opened");
  } else {
    request_set(curl, url, fetch);
    outcome = outcome_of(fetch, curl, curl_easy_perform(curl), before, url);
  }
  curl_easy_cleanup(curl);
  if (fetch->file != NULL && fclose(fetch->file) != 0 && outcome == FETCHED) {
    why_add(fetch, fetch->part, "cannot be written");
    outcome = REFUSED;
  }
  return outcome;
}

/* -- a file ----------------------------------------------------------------------------------- */

/* Whether the file has the checksum; its own is in `text`. */
static bool checksum_fits(const BurnDownload *download, const char *path, char text[33]) {
  if (download->md5 == NULL) return size_of(path) > 0;
  return burn_file_md5(path, text) == BURN_OK && strcmp(text, download->md5) == 0;
}

/* Fetches from one address, again where it was cut; true if the part is whole then. */
static bool address_try(Fetch *fetch, const char *url) {
  char sum[33] = "", text[128];
  bool resumed = size_of(fetch->part) > 0;
  for (int i = 0; i < TRIES; i++) {
    const Outcome outcome = request_run(fetch, url);
    if (outcome == REFUSED) return false;
    if (outcome == FETCHED && checksum_fits(fetch->download, fetch->part, sum)) return true;
    if (outcome == CUT) {
      resumed = true;
      continue;
    }
    /* What lay there may have been of another address: once more from the beginning. */
    (void)remove(fetch->part);
    if (outcome == FETCHED && !resumed) {
      if (fetch->download->md5 != NULL)
        (void)snprintf(text, sizeof text, "checksum %s, %s expected", sum, fetch->download->md5);
      else
        (void)snprintf(text, sizeof text, "the file is empty");
      why_add(fetch, url, text);
      return false;
    }
    resumed = false;
  }
  why_add(fetch, url, "the connection was cut again and again; what has come is kept");
  return false;
}

static BurnStatus part_rename(const Fetch *fetch) {
  char text[128];
  FILE *file = fopen(fetch->part, "rb+");
  const bool flushed = file != NULL && fsync(fileno(file)) == 0;
  if (file != NULL) fclose(file);
  if (flushed && rename(fetch->part, fetch->download->path) == 0) return BURN_OK;
  const char *reason = strerror_r(errno, text, sizeof text) == 0 ? text : "failed";
  return burn_status_make(BURN_STATUS_IO, "download: %s: %s", fetch->download->path, reason);
}

static BurnStatus file_fetch(Fetch *fetch) {
  const BurnDownload *download = fetch->download;
  char sum[33] = "";
  bool whole = download->md5 != NULL && size_of(fetch->part) > 0 && checksum_fits(download, fetch->part, sum);
  for (size_t i = 0; !whole && i < download->url_count; i++) whole = address_try(fetch, download->urls[i]);
  if (whole) return part_rename(fetch);
  return burn_status_make(BURN_STATUS_IO,
                          "download: %s could not be had: %s. Without a network, fetch it elsewhere and put it there",
                          download->path, fetch->why);
}

/* The folder of the file. */
static BurnStatus folder_of(const char *path, char folder[PATH_BYTES]) {
  const char *slash = strrchr(path, '/');
  const size_t length = slash != NULL ? (size_t)(slash - path) : 1;
  if (strlen(path) + 6 > PATH_BYTES)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "download: a path of more than %d bytes", PATH_BYTES - 6);
  memcpy(folder, slash != NULL ? path : ".", length);
  folder[length > 0 ? length : 1] = '\0';
  return BURN_OK;
}

BurnStatus burn_download(const BurnDownload *download) {
  char folder[PATH_BYTES] = "/", sum[33] = "";
  BurnStatus status = BURN_REQUIRED(download, "a BurnDownload");
  if (status != BURN_OK) return status;
  if (download->path == NULL || download->url_count < 1)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "download: no path or no address");
  if (size_of(download->path) > 0 && checksum_fits(download, download->path, sum)) return BURN_OK;
  status = folder_of(download->path, folder);
  if (status == BURN_OK) status = burn_folder_make(folder);
  if (status != BURN_OK) return burn_status_annotate(status, "download");
  BurnFolderLock *lock = burn_folder_lock(folder, &status);
  if (lock == NULL) return burn_status_annotate(status, "download: %s", folder);
  pthread_once(&curl_once, curl_begin);
  Fetch *fetch = calloc(1, sizeof *fetch);
  status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "download: out of memory");
  if (fetch != NULL) {
    fetch->download = download;
    (void)snprintf(fetch->part, sizeof fetch->part, "%s.part", download->path);
    status = file_fetch(fetch);
  }
  free(fetch);
  burn_folder_unlock(lock);
  return status;
}
