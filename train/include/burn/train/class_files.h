/* class_files.h - folders whose subfolders are classes, as ImageFolder of torchvision and of Burn: root/cat/1.png.
 * Classes are the subfolders in the order of their names (bytes), files those below them in the order of their paths,
 * also in folders further down. Names that begin with a point are passed over.
 *
 *   BurnClassFiles files;
 *   status = burn_class_files_read("speech", (const char *const[]){".wav", NULL}, &files);
 *   BurnDataset *data = burn_dataset_wav(files.paths, files.count, &(BurnWavConfig){.labels = files.labels, ..}, ..);
 *   burn_class_files_release(&files);  */
#ifndef BURN_TRAIN_CLASS_FILES_H
#define BURN_TRAIN_CLASS_FILES_H

#include <burn/train/dataset.h>

BURN_EXTERN_C_BEGIN

/* The files of a folder, and its classes. */
typedef struct BurnClassFiles {
  const char *const *paths; /* [count], each with the folder before it */
  int64_t *labels;          /* [count], indices of classes */
  size_t count;
  const char *const *classes; /* [class_count], names */
  size_t class_count;
  void *internal; /* what the texts lie in */
} BurnClassFiles;

/* Reads the names in the folder; `extensions` end with NULL and are in lower case, names may have them in any. Released
 * by burn_class_files_release, empty on failure: NOT_FOUND where there is no folder, class or file. */
BURN_API BURN_USE_RESULT BurnStatus burn_class_files_read(const char *folder, const char *const *extensions,
                                                          BurnClassFiles *files);
/* Frees what was read and leaves it empty. */
BURN_API void burn_class_files_release(BurnClassFiles *files);

/* The texts (.txt) of such a folder, an item a file: columns "text" u8 [bytes], "length" i64 and "label" i64. Read at
 * once. A text must be UTF-8, of which a mark at its beginning is left out; an empty one is an item, whatever
 * keep_blank says. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_text_folder(const char *folder,
                                                                              const BurnTextConfig *config,
                                                                              BurnStatus *status);

BURN_EXTERN_C_END

#endif
