/* download.h - files that are fetched once and kept: checksummed, resumed where they were cut, from several addresses.
 */
#ifndef BURN_DATASETS_DOWNLOAD_H
#define BURN_DATASETS_DOWNLOAD_H

#include <burn/error.h>

#include <stddef.h>
#include <stdint.h>

BURN_EXTERN_C_BEGIN

/* What is fetched, and where to. */
typedef struct BurnDownload {
  const char *const *urls; /* the same file at several places (http, https, file), tried in turn */
  size_t url_count;
  const char *md5;                                                 /* 32 hex digits; NULL: whatever comes */
  const char *path;                                                /* of the file; its folder is made if need be */
  uint64_t bytes_limit;                                            /* more is refused; 0: 16 GiB */
  void (*progress)(void *context, uint64_t bytes, uint64_t total); /* NULL, or called now and then; total 0: unknown */
  void *context;
} BurnDownload;

/* Has the file at its path: at once if it is there with that checksum. What has come is kept as path + ".part" until it
 * is whole, also when this fails, and the next call goes on from there, if the server can (a Range request). A checksum
 * that is another removes it and tries the next address. FAILED_PRECONDITION while another process fetches into the
 * same folder; IO, with what every address answered, and where to put the file by hand, if none had it. */
BURN_API BURN_USE_RESULT BurnStatus burn_download(const BurnDownload *download);

/* The folder for a data set of that name: $XDG_CACHE_HOME/burn/datasets/NAME, or below ~/.cache; to `path`, which has
 * room for `bytes`. FAILED_PRECONDITION where neither variable is set, and in a privileged program, which reads none of
 * them: its caller would choose where it writes. */
BURN_API BURN_USE_RESULT BurnStatus burn_datasets_folder(const char *name, char *path, size_t bytes);

/* MD5 of a file (RFC 1321), as 32 hex digits and a zero byte. It tells damage, not intent: against that addresses are
 * https, but that of Fashion-MNIST, whose host has none. */
BURN_API BURN_USE_RESULT BurnStatus burn_file_md5(const char *path, char text[33]);

BURN_EXTERN_C_END

#endif
