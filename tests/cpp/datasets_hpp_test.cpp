// datasets_hpp_test.cpp - datasets.hpp: the same datasets as in C, and failures as exceptions.
#include <burn/datasets.hpp>

#include "expect.hpp"

#include <cstdio>
#include <string>

using namespace burn;

template <class Call>
static std::string message_of(Call call) {
  try {
    call();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

static void tables_go_both_ways() {
  const std::vector<std::int64_t> y = {5, 6, 7};
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  datasets::sqlite_write("datasets_hpp_test.db", "items", train::Dataset::memory({{"x", x, {2}}, {"y", y}}), true);
  const train::Dataset items =
      datasets::sqlite("datasets_hpp_test.db", "items", {{"y", BURN_DTYPE_I64, {}}, {"x", BURN_DTYPE_F32, {2}}});
  std::int64_t label = 0;
  float pair[2] = {};
  void *const columns[] = {&label, pair};
  check(burn_dataset_get(items.get(), 2, columns));
  EXPECT(items.count() == 3 && label == 7 && pair[0] == 5 && pair[1] == 6);
  std::remove("datasets_hpp_test.db");
}

static void pictures_go_both_ways() {
  BurnImage grey;
  check(burn_image_init(&grey, 2, 1, 1));
  grey.pixels[0] = 9;
  check(burn_image_write_png("datasets_hpp_test.png", &grey));
  burn_image_release(&grey);
  datasets::Image image = datasets::Image::read("datasets_hpp_test.png");
  image.flip();
  const datasets::Image wide = image.resize(4, 2);
  EXPECT(image.get().channels == 1 && image.get().pixels[1] == 9 && wide.get().width == 4 && wide.get().pixels[7] == 9);
  std::remove("datasets_hpp_test.png");
}

int main() {
  if (burn_datasets_has(BURN_DATASETS_SQLITE)) tables_go_both_ways();
  if (burn_datasets_has(BURN_DATASETS_PNG)) pictures_go_both_ways();
  BurnImageConfig config = {};
  config.height = config.width = 1;
  EXPECT(message_of([&] { datasets::image_folder("nowhere", config); }) ==
         "image_folder: class_files: no folder nowhere");
  BurnVisionConfig offline = {"nowhere", nullptr, true};
  EXPECT(message_of([&] { datasets::cifar10(BURN_MNIST_TEST, offline); }).find("nowhere/cifar-10-binary.tar.gz") !=
         std::string::npos);
  return failures != 0;
}
