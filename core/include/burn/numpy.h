/* numpy.h - arrays in NumPy's files: .npy, one array, and .npz, several by name.
 *
 *   BurnTensor *x = burn_npy_read(device, "x.npy");              // numpy.save("x.npy", x)
 *   status = burn_npz_write("both.npz", names, tensors, 2, false);
 *
 * dtypes: bool, u8, i8, i16, i32, i64, f16, f32, f64, in either byte order and either order of elements; others
 * (unsigned of more bytes, complex, text, structs, objects) are refused with what to convert to. Nothing is executed:
 * an array of Python objects is not read. Bytes are taken as hostile; a message has the file and what is wrong. */
#ifndef BURN_NUMPY_H
#define BURN_NUMPY_H

#include <burn/tensor.h>

#include <stddef.h>
#include <stdint.h>

BURN_EXTERN_C_BEGIN

/* What the header of a .npy file says. */
typedef struct BurnNpyHeader {
  BurnDType dtype;
  BurnShape shape;
  size_t offset;      /* of the values in the file */
  size_t bytes;       /* of the values; all of them are there */
  bool fortran_order; /* the first axis runs fastest */
  bool swapped;       /* big-endian */
} BurnNpyHeader;

/* Reads the header of a .npy file that lies in memory. CORRUPT_DATA if it is none or has not all of its values;
 * INCOMPATIBLE for a version after 3, INVALID_DTYPE and INVALID_SHAPE for what tensors cannot be. */
BURN_API BURN_USE_RESULT BurnStatus burn_npy_header(const uint8_t *bytes, size_t count, BurnNpyHeader *header);
/* The values of such a file, row-major and in this machine's byte order, to `out`, which has header->bytes. */
BURN_API void burn_npy_values(const BurnNpyHeader *header, const uint8_t *bytes, void *out);

/* The array in a .npy file as a tensor, one without axes as [1]; a failed one if it cannot be read. */
BURN_API BURN_GIVES BurnTensor *burn_npy_read(BurnDevice *device, const char *path);
/* Writes a tensor as a .npy file, as a whole (burn_file_write, whose failures it has). bf16, which NumPy lacks, is
 * written as f32. A failed tensor gives its own failure, and nothing is written. */
BURN_API BURN_USE_RESULT BURN_TAKES(2) BurnStatus burn_npy_write(const char *path, BurnTensor *x);

/* -- .npz ------------------------------------------------------------------------------------- */

typedef struct BurnNpz BurnNpz;

/* Opens an .npz file of numpy.savez or savez_compressed: reads it, and the headers of its arrays. NULL on failure, with
 * the reason in *status, which is that of a chain (burn/error.h). */
BURN_API BURN_CHAINS(2) BURN_USE_RESULT BurnNpz *burn_npz_open(const char *path, BurnStatus *status);
/* Frees what was read. NULL is allowed. */
BURN_API void burn_npz_close(BurnNpz *npz);
/* How many arrays there are; 0 for an archive that is NULL. */
BURN_API size_t burn_npz_count(const BurnNpz *npz);
/* The name of array `index`, that of its member without ".npy"; borrowed. NULL where there is no such array. */
BURN_API const char *burn_npz_name(const BurnNpz *npz, size_t index);
/* The index of the array of that name; the count where there is none. */
BURN_API size_t burn_npz_find(const BurnNpz *npz, const char *name);
/* The header of array `index`; borrowed. NULL where there is no such array. */
BURN_API const BurnNpyHeader *burn_npz_header(const BurnNpz *npz, size_t index);
/* The values of array `index`, as burn_npy_values gives them, to `out`; nothing where there is no such array. */
BURN_API void burn_npz_values(const BurnNpz *npz, size_t index, void *out);
/* The array of that name as a tensor; a failed one, with the names that there are, if there is none. */
BURN_API BURN_GIVES BurnTensor *burn_npz_read(const BurnNpz *npz, const char *name, BurnDevice *device);

/* Writes tensors, all taken, by names as an .npz file, as a whole; `deflated` as savez_compressed does. bf16 is written
 * as f32. OUT_OF_RANGE for more than 4 GiB; otherwise as burn_npy_write. */
BURN_API BURN_USE_RESULT BurnStatus burn_npz_write(const char *path, const char *const *names,
                                                   BurnTensor *const *tensors, size_t count, bool deflated);

BURN_EXTERN_C_END

#endif
