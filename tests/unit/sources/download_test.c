/* download_test.c - files from a server of this machine (download_server.py): whole, cut, wrong, moved, gone; and the
 * data sets that are fetched so. Checksums are those of Python's hashlib and of RFC 1321. */
#include "status_testing.h"

#include <burn/datasets.h>
#include <burn/train.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char md5[] = "9190adccfc682786e450755b4fa8229f", path[] = "download_test_folder/below/file";
static FILE *server;
static long server_process, server_port;

static int server_start(void **state) {
  (void)state;
  char line[64] = "";
  server = popen(
      "python3 " BURN_SOURCE_DIR "/tests/unit/sources/download_server.py " BURN_DATA_DIR "/mnist & echo $!; wait", "r");
  if (server == NULL || fgets(line, sizeof line, server) == NULL) return -1;
  server_process = atol(line);
  if (fgets(line, sizeof line, server) == NULL) return -1;
  server_port = atol(line);
  return server_port > 0 ? 0 : -1;
}

static int server_stop(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "kill %ld", server_process);
  const int code = system(command);
  pclose(server);
  return code;
}

static int folder_remove(void **state) {
  (void)state;
  return system("rm -rf download_test_folder");
}

static BurnStatus fetch(const char *const *names, size_t count, const char *sum) {
  char texts[4][128];
  const char *urls[4];
  for (size_t i = 0; i < count; i++) {
    snprintf(texts[i], sizeof texts[i], "http://127.0.0.1:%ld/%s", server_port, names[i]);
    urls[i] = texts[i];
  }
  const BurnDownload download = {.urls = urls, .url_count = count, .md5 = sum, .path = path};
  return burn_download(&download);
}

static BurnStatus fetch_one(const char *name) { return fetch(&name, 1, md5); }

static void file_check(void) {
  struct stat info;
  char text[33];
  check_status(burn_file_md5(path, text));
  assert_string_equal(text, md5);
  assert_int_not_equal(stat("download_test_folder/below/file.part", &info), 0);
}

static int requests_made(void) {
  char command[256], line[32] = "";
  snprintf(command, sizeof command,
           "python3 -c \"import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:%ld/requests').read()"
           ".decode())\"",
           server_port);
  FILE *python = popen(command, "r");
  assert_non_null(fgets(line, sizeof line, python));
  pclose(python);
  return atoi(line);
}

static void checksums_are_those_of_the_standard(void **state) {
  (void)state;
  static const struct {
    const char *text, *sum;
  } cases[] = {{"", "d41d8cd98f00b204e9800998ecf8427e"},
               {"a", "0cc175b9c0f1b6a831c399e269772661"},
               {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
               {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char sum[33];
    FILE *file = fopen("download_test.md5", "wb");
    fputs(cases[i].text, file);
    fclose(file);
    check_status(burn_file_md5("download_test.md5", sum));
    assert_string_equal(sum, cases[i].sum);
  }
  remove("download_test.md5");
}

static void files_are_fetched_once(void **state) {
  (void)state;
  check_status(fetch_one("good"));
  file_check();
  const int before = requests_made();
  check_status(fetch_one("good"));
  assert_int_equal(requests_made(), before);
  remove(path);
  check_status(fetch_one("moved"));
  file_check();
}

/* Three answers of 100,000 bytes each. */
static void what_was_cut_goes_on(void **state) {
  (void)state;
  const int before = requests_made();
  check_status(fetch_one("cut"));
  file_check();
  assert_int_equal(requests_made(), before + 3);
}

/* A part that lies there is used, if the server can and if it is of this file. */
static void parts_are_used_or_replaced(void **state) {
  (void)state;
  static const char *const names[] = {"good", "plain"};
  for (size_t i = 0; i < 4; i++) {
    (void)system("rm -rf download_test_folder; mkdir -p download_test_folder/below");
    FILE *file = fopen("download_test_folder/below/file.part", "wb");
    for (unsigned j = 0; j < 200000; j++) fputc(i < 2 ? (int)((j * j + 7) % 251) : 'x', file);
    fclose(file);
    check_status(fetch_one(names[i % 2]));
    file_check();
  }
}

static void other_addresses_are_tried(void **state) {
  (void)state;
  check_status(fetch((const char *const[]){"gone", "wrong", "good"}, 3, md5));
  file_check();
}

static void failures_say_what_every_address_answered(void **state) {
  (void)state;
  struct stat info;
  char message[1024];
  const BurnStatus status = fetch((const char *const[]){"gone", "wrong"}, 2, md5);
  snprintf(
      message, sizeof message,
      "download: %s could not be had: http://127.0.0.1:%ld/gone: the server answers 404; http://127.0.0.1:%ld/wrong: "
      "checksum b4f35f6c8b4f0c8dd9c8b1cb2c2ee4c5, %s expected. Without a network, fetch it elsewhere and put it there",
      path, server_port, server_port, md5);
  const char *told = burn_status_message(status), *sum = strstr(told, "checksum ");
  assert_non_null(sum);
  memcpy(strstr(message, "checksum "), sum, 9 + 32); /* that of 300,000 zeros is not the point here */
  assert_string_equal(told, message);
  assert_int_equal(burn_status_code(status), BURN_STATUS_IO);
  assert_int_not_equal(stat(path, &info), 0);
  assert_int_not_equal(stat("download_test_folder/below/file.part", &info), 0);
}

static void too_much_is_refused(void **state) {
  (void)state;
  char url[128];
  const char *const urls[] = {url};
  snprintf(url, sizeof url, "http://127.0.0.1:%ld/good", server_port);
  const BurnStatus status =
      burn_download(&(BurnDownload){.urls = urls, .url_count = 1, .md5 = md5, .path = path, .bytes_limit = 1000});
  assert_non_null(strstr(burn_status_message(status), "/good: it is larger than the limit"));
}

static void nobody_answers(void **state) {
  (void)state;
  const char *const urls[] = {"http://127.0.0.1:1/file"};
  const BurnStatus status = burn_download(&(BurnDownload){.urls = urls, .url_count = 1, .md5 = md5, .path = path});
  assert_non_null(strstr(burn_status_message(status), "http://127.0.0.1:1/file: "));
  assert_non_null(strstr(burn_status_message(status), "Without a network, fetch it elsewhere and put it there"));
}

/* MNIST's own checksums, from this machine's copy by way of the server; then without it. */
static void mnist_is_fetched(void **state) {
  (void)state;
  char mirror[128];
  BurnStatus status = BURN_OK;
  BurnVisionConfig config = {.folder = "download_test_folder/mnist", .mirror = mirror, .offline = true};
  assert_null(burn_dataset_mnist_fetch(&config, BURN_MNIST_TEST, &status));
  assert_string_equal(
      burn_status_message(status),
      "mnist: there is no download_test_folder/mnist/t10k-images-idx3-ubyte.gz, and nothing is fetched "
      "offline; fetch https://ossci-datasets.s3.amazonaws.com/mnist/t10k-images-idx3-ubyte.gz elsewhere "
      "and put it there");
  struct stat info;
  if (stat(BURN_DATA_DIR "/mnist/t10k-images-idx3-ubyte.gz", &info) != 0) {
    print_message("skipped: no " BURN_DATA_DIR "/mnist\n");
    return;
  }
  snprintf(mirror, sizeof mirror, "http://127.0.0.1:%ld/set/", server_port);
  for (int offline = 0; offline < 2; offline++) {
    config.offline = offline;
    status = BURN_OK;
    BurnDataset *dataset = burn_dataset_mnist_fetch(&config, BURN_MNIST_TEST, &status);
    check_status(status);
    assert_int_equal(burn_dataset_count(dataset), 10000);
    burn_dataset_drop(dataset);
  }
}

static void folders_are_those_of_the_user(void **state) {
  (void)state;
  char folder[256];
  setenv("XDG_CACHE_HOME", "/tmp/cache", 1);
  check_status(burn_datasets_folder("mnist", folder, sizeof folder));
  assert_string_equal(folder, "/tmp/cache/burn/datasets/mnist");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/somebody", 1);
  check_status(burn_datasets_folder("mnist", folder, sizeof folder));
  assert_string_equal(folder, "/home/somebody/.cache/burn/datasets/mnist");
  assert_int_equal(burn_status_code(burn_datasets_folder("mnist", folder, 10)), BURN_STATUS_INVALID_ARGUMENT);
}

/* -- CIFAR ------------------------------------------------------------------------------------ */

/* An archive by Python's tarfile: CIFAR-10's batch k has at item i the label (i + k) % 10 and the pixels (i + k + j) %
 * 256; CIFAR-100 the labels i % 20 and i % 100. */
static const char cifar_make[] =
    "python3 -c \"\n"
    "import io, tarfile\n"
    "ramp = bytes(range(256)) * 14\n"
    "def item(labels, first): return bytes(labels) + ramp[first % 256:][:3072]\n"
    "def write(path, files):\n"
    "    with tarfile.open(path, 'w:gz', compresslevel=1) as tar:\n"
    "        for name, data in files:\n"
    "            info = tarfile.TarInfo(name); info.size = len(data); tar.addfile(info, io.BytesIO(data))\n"
    "batches = [('cifar-10-batches-bin/data_batch_%d.bin' % k, b''.join(item([(i + k) % 10], i + k) for i in "
    "range(10000)))"
    " for k in (3, 1, 2, 5, 4)]\n"
    "test = ('cifar-10-batches-bin/test_batch.bin', b''.join(item([i % 10], i) for i in range(10000)))\n"
    "write('download_test_folder/10.tar.gz', [('cifar-10-batches-bin/readme.html', b'x' * 700)] + batches + [test])\n"
    "write('download_test_folder/short.tar.gz', batches[:4])\n"
    "write('download_test_folder/label.tar.gz', [('test_batch.bin', test[1][:3073] + b'\\\\x0a' + test[1][3074:])])\n"
    "write('download_test_folder/100.tar.gz', [('cifar-100-binary/test.bin', b''.join(item([i % 20, i % 100], i) for i "
    "in"
    " range(10000)))])\n\"";

static void cifar_check(const char *file, uint32_t classes, uint32_t split, size_t first) {
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_cifar_archive(file, classes, split, &status);
  check_status(status);
  assert_int_equal(burn_dataset_count(dataset), split == BURN_MNIST_TRAIN ? 50000 : 10000);
  for (size_t i = 0; i < burn_dataset_count(dataset); i += 999) {
    uint8_t image[3072];
    int64_t label = -1, coarse = -1;
    const size_t at = i % 10000 + (split == BURN_MNIST_TRAIN ? i / 10000 + first : 0);
    check_status(burn_dataset_get(dataset, i, (void *const[]){image, &label, &coarse}));
    assert_int_equal(label, at % classes);
    if (classes == 100) assert_int_equal(coarse, at % 20);
    assert_true(image[0] == at % 256 && image[3071] == (at + 3071) % 256);
  }
  burn_dataset_drop(dataset);
}

static void refuse(const char *file, uint32_t classes, uint32_t split, const char *reason) {
  BurnStatus status = BURN_OK;
  assert_null(burn_dataset_cifar_archive(file, classes, split, &status));
  if (strstr(burn_status_message(status), reason) == NULL)
    fail_msg("'%s' does not contain '%s'", burn_status_message(status), reason);
}

static void cifar_is_read_from_its_archive(void **state) {
  (void)state;
  (void)system("mkdir -p download_test_folder");
  assert_int_equal(system(cifar_make), 0);
  cifar_check("download_test_folder/10.tar.gz", 10, BURN_MNIST_TRAIN, 1);
  cifar_check("download_test_folder/10.tar.gz", 10, BURN_MNIST_TEST, 0);
  cifar_check("download_test_folder/100.tar.gz", 100, BURN_MNIST_TEST, 0);
  refuse("download_test_folder/short.tar.gz", 10, BURN_MNIST_TRAIN,
         "the archive ends before all items have come, at byte");
  refuse("download_test_folder/label.tar.gz", 10, BURN_MNIST_TEST, "no such class at byte");
  assert_int_equal(system("head -c 100000 download_test_folder/10.tar.gz > download_test_folder/cut.tar.gz"), 0);
  refuse("download_test_folder/cut.tar.gz", 10, BURN_MNIST_TRAIN, "cifar: download_test_folder/cut.tar.gz: ");
  refuse("download_test_folder/none", 10, BURN_MNIST_TRAIN, "cifar: download_test_folder/none: ");
}

/* Without a checksum whatever comes is right, but for nothing. */
static void empty_files_are_none(void **state) {
  (void)state;
  char url[4096 + 64] = "";
  assert_int_equal(system("mkdir -p download_test_folder && : > download_test_folder/nothing"), 0);
  FILE *here = popen("pwd", "r");
  assert_non_null(here);
  memcpy(url, "file://", 7);
  assert_non_null(fgets(url + 7, 4096, here));
  pclose(here);
  memcpy(url + strcspn(url, "\n"), "/download_test_folder/nothing", sizeof "/download_test_folder/nothing");
  const char *const urls[] = {url};
  const BurnStatus status = burn_download(&(BurnDownload){.urls = urls, .url_count = 1, .path = path});
  assert_int_equal(burn_status_code(status), BURN_STATUS_IO);
  assert_non_null(strstr(burn_status_message(status), "/nothing: the file is empty"));
}

int main(void) {
  if (!burn_datasets_has(BURN_DATASETS_DOWNLOAD) || system("python3 -c 'import http.server' >/dev/null 2>&1") != 0) {
    printf("skipped: this build has no libcurl, or there is no python3\n");
    return 0;
  }
#define IN_FOLDER(test) cmocka_unit_test_teardown(test, folder_remove)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(checksums_are_those_of_the_standard),
      IN_FOLDER(files_are_fetched_once),
      IN_FOLDER(what_was_cut_goes_on),
      IN_FOLDER(parts_are_used_or_replaced),
      IN_FOLDER(other_addresses_are_tried),
      IN_FOLDER(failures_say_what_every_address_answered),
      IN_FOLDER(too_much_is_refused),
      IN_FOLDER(nobody_answers),
      IN_FOLDER(empty_files_are_none),
      IN_FOLDER(mnist_is_fetched),
      IN_FOLDER(cifar_is_read_from_its_archive),
      cmocka_unit_test(folders_are_those_of_the_user),
  };
  return cmocka_run_group_tests(tests, server_start, server_stop);
}
