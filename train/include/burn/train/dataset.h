/* dataset.h - items by index. An item is a row of typed columns ("image" f32 [1, 28, 28], "label" i64): so a loader can
 * build batches of any dataset, and a step takes them by name.
 *
 * Datasets are immutable and counted; get may be called from several threads at once. Transforms are lazy and keep (a
 * reference to) what they are given: the caller's own reference is taken.
 *
 * Functions that make a dataset or a loader return NULL where they fail, with the reason in the status of a chain
 * (burn/error.h), also where that is a failure already: then they only release what they take. So calls nest. */
#ifndef BURN_TRAIN_DATASET_H
#define BURN_TRAIN_DATASET_H

#include <burn/burn.h>

BURN_EXTERN_C_BEGIN

/* The highest number of columns. */
enum { BURN_MAX_COLUMNS = 8 };

/* One column. Shape is that of one item; rank 0 means a single number, which gives a batch of shape [batch]. */
typedef struct BurnColumn {
  const char *name;
  BurnDType dtype;
  BurnShape shape;
} BurnColumn;

typedef struct BurnDataset BurnDataset;

/* A dataset of your own. `get` writes item `index` (0 .. count-1) to columns[i], which has room for one item of column
 * i. */
typedef struct BurnDatasetInterface {
  size_t column_count;
  const BurnColumn *columns; /* copied; names too */
  size_t count;
  BurnStatus (*get)(void *context, size_t index, void *const *columns);
  void (*destroy)(void *context); /* NULL: nothing to do */
  void *context;
} BurnDatasetInterface;
BURN_API BURN_CHAINS(2) BURN_USE_RESULT BurnDataset *burn_dataset_create(const BurnDatasetInterface *dataset,
                                                                         BurnStatus *status);

/* Item `index` as it is in an epoch, from 1; 0: as it is without one. */
typedef BurnStatus (*BurnGetInEpoch)(void *context, size_t epoch, size_t index, void *const *columns);

/* The same for items that differ between epochs, as images that are cropped at random do: `get` is called in place of
 * dataset->get, which may be NULL. An item is a function of epoch and index, so that it is the same on every thread and
 * in a run that resumes. Transforms pass the epoch on; burn_dataset_cache keeps the items of epoch 0. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_create_by_epoch(const BurnDatasetInterface *dataset,
                                                                                  BurnGetInEpoch get,
                                                                                  BurnStatus *status);

/* Datasets are counted: clone holds the same one, drop lets it go; NULL is allowed. */
BURN_API BurnDataset *burn_dataset_clone(BurnDataset *dataset);
BURN_API void burn_dataset_drop(BurnDataset *dataset); /* NULL is allowed */

/* What it has; a column is borrowed. NULL, what could not be made, has nothing. */
BURN_API size_t burn_dataset_count(const BurnDataset *dataset);
BURN_API size_t burn_dataset_column_count(const BurnDataset *dataset);
BURN_API const BurnColumn *burn_dataset_column(const BurnDataset *dataset, size_t index);
BURN_API size_t burn_dataset_column_bytes(const BurnDataset *dataset, size_t index); /* of one item */
/* OUT_OF_RANGE when index is not below the count. */
BURN_API BURN_USE_RESULT BurnStatus burn_dataset_get(const BurnDataset *dataset, size_t index, void *const *columns);
/* The item as it is in an epoch, from 1, which is what a loader reads; burn_dataset_get reads that of epoch 0. */
BURN_API BURN_USE_RESULT BurnStatus burn_dataset_get_in_epoch(const BurnDataset *dataset, size_t epoch, size_t index,
                                                              void *const *columns);

/* -- sources ---------------------------------------------------------------------------------- */

/* `count` items in memory; data[i] holds the items of column i one after the other and is copied. */
BURN_API BURN_CHAINS(5) BURN_USE_RESULT BurnDataset *burn_dataset_memory(const BurnColumn *columns, size_t column_count,
                                                                         const void *const *data, size_t count,
                                                                         BurnStatus *status);

/* MNIST from a folder with the four IDX files, plain or with .gz: columns "image" u8 [28, 28] and "label" u8. Header,
 * sizes and label range are checked; messages name file and offset. */
enum { BURN_MNIST_TRAIN = 0, BURN_MNIST_TEST = 1 };
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_mnist(const char *folder, uint32_t split,
                                                                        BurnStatus *status);

/* What a reader does about what it cannot read. Zero-initialised, it stops at the first. */
typedef struct BurnReadConfig {
  bool skip_bad;   /* leave it out, with one warning in the log that counts them and names the first */
  size_t *skipped; /* NULL, or where their number goes */
} BurnReadConfig;

/* A file with a JSON object per line, plain or gzipped, read as a whole. Column "x" is the value of key "x": a number,
 * or a list of lists as its shape says; true and false are 1 and 0; a u8 column [n] may also be a text of at most n
 * bytes, with zeros after it. Other keys and blank lines are passed over. Numbers must fit the dtype (integers below
 * 2^53; f16 and bf16 are not read). A bad line is CORRUPT_DATA, with file, line and column. `config` may be NULL. */
BURN_API BURN_CHAINS(5) BURN_USE_RESULT BurnDataset *burn_dataset_json_lines(
    const char *path, const BurnColumn *columns, size_t column_count, const BurnReadConfig *config, BurnStatus *status);

/* How burn_dataset_csv reads. */
typedef struct BurnCsvConfig {
  char delimiter;      /* between fields; 0: a comma */
  bool no_header;      /* the first line is an item: columns have the fields one after the other, from the first on */
  bool cut_texts;      /* a text that is longer than its column is cut, instead of refused */
  BurnReadConfig read; /* for bad lines */
} BurnCsvConfig;

/* A file of comma-separated values (RFC 4180: a field in quotes may have delimiters, line ends and doubled quotes),
 * plain or gzipped, read as a whole. Column "x" begins at the field that the header calls so and has as many fields as
 * elements, in order; other fields are passed over, as are blank lines. A u8 column [n] is one field, a text of at most
 * n bytes with zeros after it. Other fields are numbers with a point, or true and false, which fit the dtype (f16 and
 * bf16 are not read). Every line has as many fields as the first. A bad line is CORRUPT_DATA, with file and line; a
 * column that the header lacks is NOT_FOUND. `config` may be NULL. */
BURN_API BURN_CHAINS(5) BURN_USE_RESULT BurnDataset *burn_dataset_csv(const char *path, const BurnColumn *columns,
                                                                      size_t column_count, const BurnCsvConfig *config,
                                                                      BurnStatus *status);

/* How texts become items. */
typedef struct BurnTextConfig {
  size_t bytes;        /* of an item, at least 1: shorter texts have zeros after them */
  bool cut_texts;      /* longer texts are cut (not within a character of UTF-8), instead of refused */
  bool keep_blank;     /* empty texts are items, too */
  BurnReadConfig read; /* for texts that are too long or have a zero byte, and files that cannot be read */
} BurnTextConfig;

/* A line of a text file, plain or gzipped, per item, without its line end: columns "text" u8 [bytes] and "length" i64,
 * its bytes. Read as a whole. A bad line is CORRUPT_DATA, with file and line. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_text_lines(const char *path,
                                                                             const BurnTextConfig *config,
                                                                             BurnStatus *status);

/* Arrays of a NumPy file (numpy.h), whose first axis is that of the items: of an .npz file those of these names, or all
 * with NULL, each a column of its name; a .npy file is one column names[0], or "x" with NULL. All have as many items.
 * Read as a whole. */
BURN_API BURN_CHAINS(4) BURN_USE_RESULT BurnDataset *burn_dataset_numpy(const char *path, const char *const *names,
                                                                        size_t name_count, BurnStatus *status);

/* What burn_dataset_wav gives. */
typedef struct BurnWavConfig {
  size_t frames;         /* of an item: longer files are cut, shorter ones have silence after them */
  uint32_t channels;     /* that every file has; 0: 1 */
  uint32_t sample_rate;  /* that every file has; 0: any, they are not resampled */
  const int64_t *labels; /* NULL, or one per file; copied */
  BurnReadConfig read;   /* for files that cannot be read, or are not as the others */
} BurnWavConfig;

/* A sound file per item (wav.h), by paths (copied): columns "samples" f32 [channels, frames], "frames" i64, how many
 * are of the file, and with labels "label" i64. Headers are read at once, samples when an item is asked for. */
BURN_API BURN_CHAINS(4) BURN_USE_RESULT BurnDataset *burn_dataset_wav(const char *const *paths, size_t count,
                                                                      const BurnWavConfig *config, BurnStatus *status);

/* Digits drawn on the fly: 28 x 28 images of 0-9 from stroke outlines with random affine distortion, thickness and
 * noise. Same columns as MNIST. Item i depends on seed and i only, so any number of items costs no memory and no
 * download. */
typedef struct BurnDigitsConfig {
  size_t count;
  uint64_t seed;
} BurnDigitsConfig;
BURN_API BURN_CHAINS(2) BURN_USE_RESULT BurnDataset *burn_dataset_digits(const BurnDigitsConfig *config,
                                                                         BurnStatus *status);

/* -- transforms ------------------------------------------------------------------------------- */

/* Every item passed through `map`, which reads the columns of the source and writes those listed. One of `map` and
 * `map_item` is given. */
typedef struct BurnMapInterface {
  size_t column_count;
  const BurnColumn *columns; /* copied */
  BurnStatus (*map)(void *context, const void *const *in, void *const *out);
  void *context; /* must outlive the dataset, unless `destroy` ends it */
  /* The same with the index of the item, of which anything random is made: so it is the same on every thread. */
  BurnStatus (*map_item)(void *context, size_t index, const void *const *in, void *const *out);
  void (*destroy)(void *context); /* at the end of the dataset, also if it cannot be made; NULL: nothing to do */
} BurnMapInterface;
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_map(BurnDataset *source, const BurnMapInterface *map,
                                                                      BurnStatus *status);

/* Images u8 [28, 28] and labels u8 as the Burn guide feeds them: "image" f32 [1, 28, 28], (x / 255 - 0.1307) / 0.3081,
 * and "label" i64. */
BURN_API BURN_CHAINS(2) BURN_USE_RESULT BurnDataset *burn_dataset_mnist_normalize(BurnDataset *source,
                                                                                  BurnStatus *status);

/* Items start .. end-1; end is clamped to the count. */
BURN_API BURN_CHAINS(4) BURN_USE_RESULT BurnDataset *burn_dataset_slice(BurnDataset *source, size_t start, size_t end,
                                                                        BurnStatus *status);

/* Parts of a dataset one after the other, into parts[0 .. count-1], which are the caller's: a share of the items each,
 * by fractions in 0 .. 1 whose sum is at most 1; with NULL all equally large, where the last has what remains, as in
 * Burn. Part k begins where part k-1 ends, at the sum of the fractions times the count, to the nearest item. Shuffle
 * before if the items are sorted. false where it fails; all parts are NULL then. */
BURN_API BURN_CHAINS(5) bool burn_dataset_split(BurnDataset *source, const double *fractions, size_t count,
                                                BurnDataset **parts, BurnStatus *status);

/* The items at these indices (copied), in this order; an item may come more than once. OUT_OF_RANGE names the first
 * index that the source does not have. */
BURN_API BURN_CHAINS(4) BURN_USE_RESULT BurnDataset *burn_dataset_select(BurnDataset *source, const size_t *indices,
                                                                         size_t count, BurnStatus *status);

/* The items of several datasets one after the other. Names, dtypes and shapes of their columns are the same. All are
 * taken. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_compose(BurnDataset *const *sources, size_t count,
                                                                          BurnStatus *status);

/* All runs of `size` items: item i has the items i .. i + size - 1 of the source, in columns of shape [size, ...]. They
 * overlap; there is none if the source has fewer items. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_windows(BurnDataset *source, size_t size,
                                                                          BurnStatus *status);

/* What burn_dataset_sample draws. */
typedef struct BurnSampleConfig {
  size_t count;             /* items drawn; 0: as many as the source has */
  uint64_t seed;            /* of the draw */
  bool without_replacement; /* no item twice before every item came once; with weights, never twice */
  const double *weights;    /* how likely an item is, one per item of the source, 0 or more; NULL: all alike; copied */
  const char *balance;      /* instead: a column of single integers, of which each value is as likely as any other */
} BurnSampleConfig;

/* Items drawn at random, once: item i is always the same, so a loader meets them in the same order with any number of
 * workers, and every epoch has the same items. `balance` reads every item of the source once. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_sample(BurnDataset *source,
                                                                         const BurnSampleConfig *config,
                                                                         BurnStatus *status);

/* All items in a fixed order drawn once from the seed. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_shuffle(BurnDataset *source, uint64_t seed,
                                                                          BurnStatus *status);

/* All items read once and kept in memory. Fails with the first item that fails. */
BURN_API BURN_CHAINS(2) BURN_USE_RESULT BurnDataset *burn_dataset_cache(BurnDataset *source, BurnStatus *status);

BURN_EXTERN_C_END

#endif
