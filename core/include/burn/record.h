/* record.h - save and load. Files are those of Burn's recorders (0.14 to 0.21): named MessagePack, JSON, bincode, plain
 * or gzipped; or Burnpacks (.bpk, version 1). In full, half or double precision, readable by Burn and by us.
 *
 * The metadata of a .mpk that we write holds a checksum of the item, "crc32:0123abcd", under a key that Burn passes
 * over. Reading refuses an item that does not match it (CORRUPT_DATA); a record without one, as Burn writes it, is read
 * as it is.
 *
 * Files are written to a temporary name, flushed to disk and renamed: a reader or a crash never meets half a file.
 * Reading treats every byte as hostile: sizes are checked before use, messages carry offsets, and a module is changed
 * only when the whole record fits it. */
#ifndef BURN_RECORD_H
#define BURN_RECORD_H

#include <burn/module.h>
#include <burn/quantization.h>

BURN_EXTERN_C_BEGIN

/* Formats. MPK, JSON and their gzipped forms have names; so has BPK, which is flat. BIN (bincode) has none: its values
 * follow each other in the order of the rows, so that it is only written from a module, and only read into one that is
 * built alike; quantized parameters and adapters are refused (UNIMPLEMENTED). It is that of Burn 0.21 alone. JSON,
 * indented, is fifteen times as large as the others. */
enum {
  BURN_RECORD_MPK = 0,     /* .mpk: NamedMpkFileRecorder */
  BURN_RECORD_MPK_GZ = 1,  /* .mpk.gz: NamedMpkGzFileRecorder */
  BURN_RECORD_BPK = 2,     /* .bpk: Burnpack */
  BURN_RECORD_JSON = 3,    /* .json, indented: PrettyJsonFileRecorder */
  BURN_RECORD_JSON_GZ = 4, /* .json.gz: JsonGzFileRecorder */
  BURN_RECORD_BIN = 5,     /* .bin: BinFileRecorder */
  BURN_RECORD_BIN_GZ = 6   /* .bin.gz: BinGzFileRecorder */
};
/* f32 and i32, f16 and i16, f64 and i64; or each tensor in its own dtype, as Burn's stores write it: for a .bpk alone,
 * the others being refused (INVALID_ARGUMENT), as their metadata name one of the first three. */
enum { BURN_PRECISION_FULL = 0, BURN_PRECISION_HALF = 1, BURN_PRECISION_DOUBLE = 2, BURN_PRECISION_AS_IS = 3 };

/* What a record file is like. */
typedef struct BurnRecordConfig {
  uint32_t format;
  uint32_t precision; /* of floats and ints in the file; loading converts to the dtype of the module's tensors */
} BurnRecordConfig;

/* Saves a module. The extension of the format replaces that of `path`, as in Burn: "mlp" and "mlp.x" become "mlp.mpk";
 * but .bpk is only appended where there is none: "mlp" becomes "mlp.bpk", "mlp.x" stays.
 * `config` NULL means {BURN_RECORD_MPK, BURN_PRECISION_FULL}. A module in which two tensors have one id (a layer beside
 * its clone) is refused: give one of them a new id with burn_param. */
BURN_API BURN_USE_RESULT BurnStatus burn_record_save(BurnModule module, const char *path,
                                                     const BurnRecordConfig *config);

/* Loads a module that has been built with the same structure, on its present devices. Names and shapes are checked; ids
 * are restored, and refused where two tensors have the same; all or nothing. Parameters become quantized where the file
 * has them so, and floats where it has floats (quantizer.h); adapters must be in both or in neither (lora.h). `config`
 * says the format of the file name; the file's own header says its precision. A .bpk names tensors by their paths
 * ("layers.0.weight"); a name that only the file or only the module has is an error that says it, and a parameter
 * without an id in the file keeps its own. */
BURN_API BURN_USE_RESULT BurnStatus burn_record_load(BurnModule module, const char *path,
                                                     const BurnRecordConfig *config);

/* The same to and from memory: what the file would hold. *bytes is malloc'd and the caller's to free, untouched on
 * failure; the bytes given to load are only read. */
BURN_API BURN_USE_RESULT BurnStatus burn_record_to_bytes(BurnModule module, const BurnRecordConfig *config,
                                                         uint8_t **bytes, size_t *count);
BURN_API BURN_USE_RESULT BurnStatus burn_record_from_bytes(BurnModule module, const void *bytes, size_t count,
                                                           const BurnRecordConfig *config);

/* -- loading with options --------------------------------------------------------------------- */

/* What dtypes a module's tensors have after loading. */
enum {
  BURN_DTYPES_FROM_RECORD = 0,   /* those of the record */
  BURN_DTYPES_CAST_TO_MODULE = 1 /* those that they had: what burn_record_load does */
};

/* How a record is loaded. Zeros are the defaults of Burn's ModuleRecord. */
typedef struct BurnRecordLoad {
  uint32_t dtypes;    /* BURN_DTYPES_* */
  bool allow_partial; /* what only the module has is not an error, and keeps its value and id */
  bool allow_unused;  /* what only the record has is not an error */
  bool no_validate;   /* a tensor of another shape, or a float for an integer, is not an error: the module keeps its own
                         (Burn's validate = false) */
  /* Whether the tensor of a path is loaded; NULL: all are. The others are skipped: the module keeps what it has there,
   * and what the record has is not looked at. */
  bool (*filter)(void *context, const char *path);
  void *filter_context;
} BurnRecordLoad;

/* What became of a tensor. */
enum {
  BURN_RECORD_LOADED = 0,
  BURN_RECORD_MISSING = 1,
  BURN_RECORD_UNUSED = 2,
  BURN_RECORD_MISMATCHED = 3,
  BURN_RECORD_SKIPPED = 4, /* by the filter */
  BURN_RECORD_OUTCOMES = 5 /* how many there are */
};
typedef struct BurnRecordEntry {
  uint32_t what; /* BURN_RECORD_LOADED .. */
  char *path;    /* "conv1.weight" */
  char *detail;  /* shape and dtype, "[8,1,3,3] f32; nearest in the file is conv1.wieght"; or what does not match */
} BurnRecordEntry;

/* All of them: the module's in row order, then those that only the record has, by name. Start from zeros. */
typedef struct BurnRecordReport {
  BurnRecordEntry *entries;
  size_t count;
  size_t counts[BURN_RECORD_OUTCOMES]; /* entries of each kind */
} BurnRecordReport;

/* burn_record_load with options (NULL: all zeros), for every format. The report (NULL: none) must be empty before; it
 * is filled whether the record is taken or refused, and the caller's to release. Mismatched tensors are refused first
 * (INVALID_SHAPE), then missing (NOT_FOUND), then unused ones (INVALID_ARGUMENT); all or nothing. Numbers of a .bpk
 * that are not tensors are passed over. A .bin has no names, so that it is refused where its structure is not the
 * module's, whatever the options. */
BURN_API BURN_USE_RESULT BurnStatus burn_record_load_with(BurnModule module, const char *path,
                                                          const BurnRecordConfig *config, const BurnRecordLoad *options,
                                                          BurnRecordReport *report);
BURN_API BURN_USE_RESULT BurnStatus burn_record_from_bytes_with(BurnModule module, const void *bytes, size_t count,
                                                                const BurnRecordConfig *config,
                                                                const BurnRecordLoad *options,
                                                                BurnRecordReport *report);

/* A tensor that is not a record's, but has a place in a module: read only when its turn comes. */
typedef struct BurnRecordTensor {
  const char *path; /* in the module, "conv1.weight" */
  BurnDType dtype;
  BurnShape shape;
  /* Writes its values, row-major in its dtype, to room for just them. */
  BurnStatus (*read)(void *context, void *values);
  void *context;
} BurnRecordTensor;

/* burn_record_load_with for such tensors, whose paths differ; parameters and buffers keep their ids. One is in memory
 * at a time, beside the new tensors of the module. */
BURN_API BURN_USE_RESULT BurnStatus burn_record_load_tensors(BurnModule module, const BurnRecordTensor *tensors,
                                                             size_t count, const BurnRecordLoad *options,
                                                             BurnRecordReport *report);

/* A line for each entry and one with the sums; printed, or as a text to be freed with free(), NULL without memory. */
BURN_API void burn_record_report_print(const BurnRecordReport *report);
BURN_API BURN_USE_RESULT char *burn_record_report_text(const BurnRecordReport *report);
/* Frees the entries; the report is empty again. */
BURN_API void burn_record_report_release(BurnRecordReport *report);

/* -- records of anything else: a tree of values ----------------------------------------------- */

/* Kinds of a record value. */
enum {
  BURN_VALUE_NIL = 0,
  BURN_VALUE_BOOL,
  BURN_VALUE_INT,
  BURN_VALUE_FLOAT,
  BURN_VALUE_TEXT,
  BURN_VALUE_ARRAY,
  BURN_VALUE_MAP,
  BURN_VALUE_TENSOR /* bytes on the host with shape and dtype */
};

/* A value owns its children. NULL stands for "out of memory or failed before": every function takes it and passes it
 * on, and writing it fails. */
typedef struct BurnValue BurnValue;

/* A new value, which the caller owns; NULL when out of memory. A text is copied; an array or map has no children yet.
 */
BURN_API BURN_USE_RESULT BurnValue *burn_value_nil(void);
BURN_API BURN_USE_RESULT BurnValue *burn_value_bool(bool value);
BURN_API BURN_USE_RESULT BurnValue *burn_value_int(int64_t value);
BURN_API BURN_USE_RESULT BurnValue *burn_value_float(double value);
BURN_API BURN_USE_RESULT BurnValue *burn_value_text(const char *value);
BURN_API BURN_USE_RESULT BurnValue *burn_value_array(void);
BURN_API BURN_USE_RESULT BurnValue *burn_value_map(void);
/* Reads the tensor (taken) into host memory. */
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnValue *burn_value_tensor(BurnTensor *x);
/* A module's record, as burn_record_save writes it. */
BURN_API BURN_USE_RESULT BurnValue *burn_value_module(BurnModule module);
BURN_API void burn_value_destroy(BurnValue *value);

/* Adds a child, which is taken (also on failure). A map keeps the order of insertion. Returns false if anything was
 * NULL. */
BURN_API bool burn_value_append(BurnValue *array, BurnValue *child);
BURN_API bool burn_value_set(BurnValue *map, const char *key, BurnValue *child);

BURN_API uint32_t burn_value_kind(const BurnValue *value); /* NIL for NULL */
BURN_API size_t burn_value_count(const BurnValue *value);  /* children of an array or map */
/* A child, and its key, by its place in the order; borrowed. NULL past the end, and for what is not an array or map. */
BURN_API const BurnValue *burn_value_at(const BurnValue *value, size_t index);
BURN_API const char *burn_value_key_at(const BurnValue *map, size_t index);
BURN_API const BurnValue *burn_value_get(const BurnValue *map, const char *key); /* NULL if absent */
/* The value as that type, an integer as a float, too; `fallback` for NULL and for other kinds. */
BURN_API bool burn_value_as_bool(const BurnValue *value, bool fallback);
BURN_API int64_t burn_value_as_int(const BurnValue *value, int64_t fallback);
BURN_API double burn_value_as_float(const BurnValue *value, double fallback);
BURN_API const char *burn_value_as_text(const BurnValue *value, const char *fallback);
/* A tensor of the value's own shape and dtype on a device; failed if it is not a tensor. */
BURN_API BURN_GIVES BurnTensor *burn_value_as_tensor(const BurnValue *value, BurnDevice *device);
/* The shape of a tensor, also of a quantized one; rank 0 if it is none. */
BURN_API BurnShape burn_value_shape(const BurnValue *value);
/* Where the elements of a tensor lie, row-major, and what they are; they stay the value's. NULL if it is not a tensor
 * or a quantized one. */
BURN_API const void *burn_value_elements(const BurnValue *value, BurnDType *dtype, BurnShape *shape);
/* True if it is a quantized tensor, which burn_value_as_tensor makes floats of; its scheme goes to *scheme. */
BURN_API bool burn_value_is_quantized(const BurnValue *value, BurnQuantScheme *scheme);
/* Puts a module's record into a module: all or nothing. What does not fit is reported with its path: NOT_FOUND for what
 * the record lacks, INVALID_ARGUMENT for what the module lacks, INVALID_SHAPE and INVALID_DTYPE for tensors that
 * differ; CORRUPT_DATA if it is not a module's record. */
BURN_API BURN_USE_RESULT BurnStatus burn_value_into_module(const BurnValue *value, BurnModule module);

/* Writes or reads a tree as the `item` of a record file. The value given to write stays the caller's; *out is the
 * caller's. A .bpk has no trees: its value is a map from path to {"id": text, "param": tensor}, to a tensor that has no
 * id, or to a number or bool (a scalar of the file); everything else is INVALID_ARGUMENT. burn_record_load, not
 * burn_value_into_module, puts such a file into a module. */
BURN_API BURN_USE_RESULT BurnStatus burn_value_write(const BurnValue *value, const char *path,
                                                     const BurnRecordConfig *config);
BURN_API BURN_USE_RESULT BurnStatus burn_value_read(const char *path, const BurnRecordConfig *config, BurnValue **out);

/* Reads a record file of any format, known by its content and not its name, as burn inspect does: *format is
 * BURN_RECORD_MPK, MPK_GZ or BPK, *metadata a map of texts (NULL where a .bpk has none), *item the tree. Both are the
 * caller's; all three are untouched on failure. */
BURN_API BURN_USE_RESULT BurnStatus burn_value_read_any(const char *path, uint32_t *format, BurnValue **metadata,
                                                        BurnValue **item);

/* The same for a file that lies in memory; a failure has no path. */
BURN_API BURN_USE_RESULT BurnStatus burn_value_decode_any(const void *bytes, size_t count, uint32_t *format,
                                                          BurnValue **metadata, BurnValue **item);

/* The same, but the tensors of a .bpk stay where they stand in `bytes`, which must outlive *item: no more than the
 * header is read. Bools, and tensors that are not aligned as malloc aligns, are copied, as is all of another format. */
BURN_API BURN_USE_RESULT BurnStatus burn_value_decode_in_place(const void *bytes, size_t count, uint32_t *format,
                                                               BurnValue **metadata, BurnValue **item);

/* -- text forms ------------------------------------------------------------------------------- */

/* A parameter id as Burn writes it: 13 characters of base32 (0-9a-v) and a terminator. */
BURN_API void burn_param_id_text(uint64_t id, char text[14]);

BURN_EXTERN_C_END

#endif
